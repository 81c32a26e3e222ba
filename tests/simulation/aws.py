"""AWS as the clients of `clients/aws.py` see it: mails, task tokens and their key, executions, and functions.

Each call to it is one of the scheduler's, so it can be late, lost or repeated.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from email import message_from_bytes
from email.header import decode_header, make_header
from io import BytesIO
from typing import Any

from botocore.exceptions import ClientError, EndpointConnectionError

from tests.simulation.scheduler import Kind, Process, Scheduler


def _unreachable() -> Exception:
    return EndpointConnectionError(endpoint_url="https://aws.example")


WORKFLOWS = Kind(error=_unreachable, refused=_unreachable, slow=(0.5, 5.0), patience=60.0)
MAIL = Kind(error=_unreachable, refused=_unreachable, slow=(0.5, 5.0), weight=4, patience=60.0)
INVOKE = Kind(error=_unreachable, refused=_unreachable, slow=(0.05, 2.0, 20.0), patience=65.0)


@dataclass(frozen=True)
class SentMail:
    at: float
    to: str
    subject: str
    text: str
    html: str
    unsubscribe: str
    process: Process[Any] | None


@dataclass(frozen=True)
class TokenAnswer:
    """An answer to an execution that waits, or waited, with this token."""

    at: float
    token: str
    output: dict[str, Any]
    is_accepted: bool
    process: Process[Any] | None


@dataclass
class Aws:
    scheduler: Scheduler
    invoke_act: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
    mails: list[SentMail] = field(default_factory=list[SentMail])
    answers: list[TokenAnswer] = field(default_factory=list[TokenAnswer])
    started: list[str] = field(default_factory=list[str])
    """Names of executions."""
    erasures: list[str] = field(default_factory=list[str])
    """Lines of the erasure log."""
    begin: Callable[[str, dict[str, Any]], None] = lambda name, given: None
    """Called with each execution that is started, and its input."""
    waiting: dict[str, Callable[[dict[str, Any]], None]] = field(default_factory=dict[str, Any])
    """Callbacks of waiting executions, by task token."""

    def client(self, service: str) -> "Aws":
        return self

    async def to_thread(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Replaces `asyncio.to_thread`, in which the clients call AWS."""
        where, _, inner = call.__qualname__.partition(".<locals>")
        if not inner:  # the reading of a body that is here already
            return call(*given, **named)
        operation = _closure(call).get("operation", where)
        kind = {"invoke": INVOKE, "Mail.send": MAIL}.get(operation, WORKFLOWS)
        is_read = operation in ("encrypt", "decrypt")
        result = await self.scheduler.call(operation, call, kind, writes=not is_read)
        return await result.body() if isinstance(result, _Invoked) else result

    # --- operations, given what boto3 is given ---

    def create_log_stream(self, **_: Any) -> None:
        pass

    def put_log_events(self, **given: Any) -> dict[str, Any]:
        self.erasures += [each["message"] for each in given["logEvents"]]
        return {}

    def send_email(self, **given: Any) -> None:
        parsed = message_from_bytes(given["Content"]["Raw"]["Data"])  # ten times as fast as with the newer policies
        parts = [each.get_payload(decode=True) for each in parsed.walk() if not each.is_multipart()]
        text, html = [each.decode() for each in parts if isinstance(each, bytes)]
        subject = str(make_header(decode_header(parsed["Subject"])))
        [to] = given["Destination"]["ToAddresses"]
        unsubscribe = str(parsed["List-Unsubscribe"] or "").strip("<>")
        self.scheduler.note(f"        a mail to {to}: {subject}")
        now, running = self.scheduler.now, self.scheduler.running
        self.mails.append(SentMail(now, to, subject, text, html, unsubscribe, running))

    def encrypt(self, **given: Any) -> dict[str, bytes]:
        sealed = [given["Plaintext"].decode(), given["EncryptionContext"]]
        return {"CiphertextBlob": json.dumps(sealed).encode()}

    def decrypt(self, **given: Any) -> dict[str, bytes]:
        token, bound_to = json.loads(given["CiphertextBlob"])
        if bound_to != given["EncryptionContext"]:
            raise _refusal("InvalidCiphertextException", "Decrypt")
        return {"Plaintext": token.encode()}

    def start_execution(self, **given: Any) -> None:
        if given["name"] in self.started:
            raise _refusal("ExecutionAlreadyExists", "StartExecution")
        self.started.append(given["name"])
        self.begin(given["name"], json.loads(given["input"]))

    def send_task_success(self, **given: Any) -> dict[str, Any]:
        token, output = given["taskToken"], json.loads(given["output"])
        go_on = self.waiting.pop(token, None)
        now, running = self.scheduler.now, self.scheduler.running
        self.answers.append(TokenAnswer(now, token, output, go_on is not None, running))
        if go_on is None:
            raise _refusal("TaskTimedOut", "SendTaskSuccess")
        go_on(output)
        return {}

    def send_task_heartbeat(self, **given: Any) -> dict[str, Any]:
        if given["taskToken"] not in self.waiting:
            raise _refusal("TaskTimedOut", "SendTaskHeartbeat")
        return {}

    def invoke(self, **given: Any) -> Any:
        async def answer() -> dict[str, Any]:
            answered = await self.invoke_act(json.loads(given["Payload"]))
            return {"Payload": BytesIO(json.dumps(answered).encode())}

        return _Invoked(answer)


@dataclass(frozen=True)
class _Invoked:
    """A function that runs, and what it will have answered."""

    body: Callable[[], Awaitable[dict[str, Any]]]


def new_task_token(number: int) -> str:
    return urlsafe_b64encode(f"a task token, {number}".encode()).decode()


def _refusal(code: str, operation: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)


def _closure(call: Callable[..., Any]) -> dict[str, Any]:
    cells = (each.cell_contents for each in call.__closure__ or ())
    return dict(zip(call.__code__.co_freevars, cells, strict=True))
