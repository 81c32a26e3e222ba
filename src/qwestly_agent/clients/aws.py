"""AWS clients: references in the environment, Step Functions, SES, EventBridge."""

import asyncio
import base64
import hashlib
import hmac
import json
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import cached_property, partial
from typing import Any, Literal
from uuid import uuid4

import jwt
from botocore.exceptions import BotoCoreError, ClientError

from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.clients.candidate_app import ISSUER
from qwestly_agent.domain.activity import ActivityEvent

# --- aws --------------------------------------------------------------------------------------------------------------
# AWS clients.


ATTEMPTS, CONNECT_SECONDS, ANSWERS_WITHIN_SECONDS = 2, 2, 5
FUNCTION_ANSWERS_WITHIN_SECONDS = 25
"""An invoked function may itself wait for the candidate app. Both attempts end before the caller's own timeout of 60 s;
invoked functions are idempotent."""


class AWS:
    """AWS clients, each created at its first use, because botocore is slow to import. Creating one is not thread-safe,
    hence the lock.

    They come from botocore rather than boto3, whose other imports (for S3) take a third of the time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    @cached_property
    def _session(self) -> Any:
        from botocore.session import get_session

        return get_session()

    def client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                from botocore.config import Config

                seconds = FUNCTION_ANSWERS_WITHIN_SECONDS if service == "lambda" else ANSWERS_WITHIN_SECONDS
                config = Config(
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=seconds,
                    retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
                )
                self._clients[service] = self._session.create_client(service, config=config)
            return self._clients[service]


# --- references -------------------------------------------------------------------------------------------------------
# Look up the values of references: `ssm:/path` in Parameter Store, `secret:name` in Secrets Manager.


PARAMETERS_A_CALL = 10
"""Maximum number of names per call of `GetParameters`."""
WAITS_SECONDS = (0.3, 0.6, 1.2, 2.4, 3.9)
"""Maximum delays before retries: 8.4 s in total, and at least half of that with jitter. The permissions of a new role
take a moment to apply, and Parameter Store throttles when many containers start together. A state is tried five times,
so it outlasts 20 seconds (statemachines/common.yaml)."""
LONGEST_SECONDS = 10.0
"""Seconds after which nothing is retried: a single attempt takes long if the store does not respond, and a function
must end before its own timeout."""
_NOT_YET_ALLOWED = "AccessDeniedException"

ClientOf = Callable[[str], Any]
"""Returns the AWS client of a service."""


def look_up_all(
    references: Collection[str],
    client_of: ClientOf,
    sleep: Callable[[float], None] = time.sleep,
    # Environments restored from the same snapshot share the state of `random`.
    chance: Callable[[], float] = random.SystemRandom().random,
    now: Callable[[], float] = time.monotonic,
) -> dict[str, str]:
    """Return the values by reference. Raises `InvalidSettings`, which names the unreadable references, and
    `Unavailable` if the store throttles or cannot be reached."""
    patiently = partial(_patiently, sleep=sleep, chance=chance, now=now)
    parameters = sorted({each.removeprefix("ssm:") for each in references if each.startswith("ssm:")})
    secrets = sorted({each.removeprefix("secret:") for each in references if each.startswith("secret:")})
    values: dict[str, str] = {}
    for start in range(0, len(parameters), PARAMETERS_A_CALL):
        names = parameters[start : start + PARAMETERS_A_CALL]
        found = patiently(names, lambda names=names: _parameters(client_of, names))
        values |= {f"ssm:{name}": value for name, value in found.items()}
    for name in secrets:
        values[f"secret:{name}"] = patiently([name], lambda name=name: _secret(client_of, name))
    if missing := [each for each in references if each not in values]:
        raise InvalidSettings(f"{', '.join(missing)} cannot be read: there is no such parameter.")
    return values


def _parameters(client_of: ClientOf, names: list[str]) -> dict[str, str]:
    found = client_of("ssm").get_parameters(Names=names, WithDecryption=True)["Parameters"]
    return {each["Name"]: each["Value"] for each in found}


def _secret(client_of: ClientOf, name: str) -> str:
    return client_of("secretsmanager").get_secret_value(SecretId=name)["SecretString"]


def _patiently(
    names: list[str],
    read: Callable[[], Any],
    *,
    sleep: Callable[[float], None],
    chance: Callable[[], float],
    now: Callable[[], float],
) -> Any:
    """Read the values, retrying transient failures for a few seconds."""
    from botocore.exceptions import BotoCoreError, ClientError

    begun = now()
    for tried, wait in enumerate((*WAITS_SECONDS, 0.0)):
        try:
            return read()
        except (ClientError, BotoCoreError) as error:
            is_last = tried == len(WAITS_SECONDS) or now() - begun > LONGEST_SECONDS
            if is_last and _passes(error):
                raise Unavailable from error
            if is_last or not (_passes(error) or _cause(error) == _NOT_YET_ALLOWED):
                raise InvalidSettings(f"{', '.join(names)} cannot be read: {_cause(error)}.") from error
            sleep(wait * (1 + chance()) / 2)  # with jitter, because other containers start at the same time
    raise AssertionError("unreachable")


def _passes(error: "ClientError | BotoCoreError") -> bool:
    """True for a transient error: the store throttles, fails, or cannot be reached."""
    from botocore.exceptions import ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as NoConnection

    if not isinstance(error, ClientError):
        return isinstance(error, (NoConnection, HTTPClientError))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or any(each in _cause(error) for each in ("Throttl", "InternalS", "LimitExceeded"))


def _cause(error: "ClientError | BotoCoreError") -> str:
    response: Any = getattr(error, "response", None)
    return response["Error"]["Code"] if response else type(error).__name__


# --- workflows --------------------------------------------------------------------------------------------------------
# Start Step Functions executions, and use task tokens to respond to those that wait for a person.
#
# A task token is a credential: it is encrypted with a KMS key as soon as it is received, bound to its record, and
# decrypted only to be sent back.


WAITS_NO_MORE = ("InvalidToken", "TaskDoesNotExist", "TaskTimedOut")
ALREADY_STARTED = "ExecutionAlreadyExists"


@dataclass(frozen=True)
class Start:
    """An execution to be started."""

    workflow: str
    name: str
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Workflows:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    key_id: str
    """Id of the KMS key that encrypts task tokens."""
    machine_arn_prefix: str
    """Prefix of the state machines' ARNs, before the workflow's name."""

    async def start(self, workflow: str, name: str, given: Mapping[str, Any]) -> None:
        """Start an execution (idempotent by name). Raises `Unavailable`."""
        machine_arn = f"{self.machine_arn_prefix}{workflow.replace('_', '-')}"
        await self._call(
            "stepfunctions",
            "start_execution",
            {"stateMachineArn": machine_arn, "name": name, "input": json.dumps(given)},
            passed=(ALREADY_STARTED,),
        )

    async def answer(self, task_token: str, output: Mapping[str, Any]) -> bool:
        """Send the result to the waiting execution. Returns False if it no longer waits. Raises `Unavailable`."""
        answered = await self._call(
            "stepfunctions",
            "send_task_success",
            {"taskToken": task_token, "output": json.dumps(output)},
            passed=WAITS_NO_MORE,
        )
        return answered is not None

    async def waits(self, task_token: str) -> bool:
        """True if an execution still waits with this token; sends it a heartbeat, but no result. Raises
        `Unavailable`."""
        beats = {"taskToken": task_token}
        return await self._call("stepfunctions", "send_task_heartbeat", beats, passed=WAITS_NO_MORE) is not None

    async def invoke(self, function: str, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Invoke a function and return its response, a JSON object. Raises `Unavailable`, also if the function
        fails."""
        answered = await self._call("lambda", "invoke", {"FunctionName": function, "Payload": json.dumps(event)})
        payload = await asyncio.to_thread(answered["Payload"].read)
        if answered.get("FunctionError"):
            raise Unavailable
        return json.loads(payload)

    async def seal(self, task_token: str, approval_id: str) -> str:
        """Encrypt the task token, bound to its record. Raises `Unavailable`."""
        sealed = await self._call(
            "kms",
            "encrypt",
            {"KeyId": self.key_id, "Plaintext": task_token.encode(), "EncryptionContext": _bound_to(approval_id)},
        )
        return base64.b64encode(sealed["CiphertextBlob"]).decode()

    async def opened(self, sealed: str, approval_id: str) -> str:
        """Decrypt the task token. Raises `Unavailable`, also if it was encrypted for another record."""
        opened = await self._call(
            "kms",
            "decrypt",
            {
                "KeyId": self.key_id,
                "CiphertextBlob": base64.b64decode(sealed),
                "EncryptionContext": _bound_to(approval_id),
            },
        )
        return opened["Plaintext"].decode()

    async def _call(self, service: str, operation: str, given: Mapping[str, Any], passed: tuple[str, ...] = ()) -> Any:
        """Call the service; return None for errors in `passed`, which are ignored."""

        def call() -> Any:
            return getattr(self.aws(service), operation)(**given)

        try:
            return await asyncio.to_thread(call)
        except ClientError as error:
            if error.response["Error"]["Code"] in passed:
                return None
            raise Unavailable from error
        except BotoCoreError as error:
            raise Unavailable from error


def _bound_to(approval_id: str) -> dict[str, str]:
    return {"approval": approval_id}


# --- mail -------------------------------------------------------------------------------------------------------------
# Send mail by SES: each message to one person, as text and HTML.


TAG = "mail"
"""Name of the tag that identifies a mail in SES's events."""


@dataclass(frozen=True)
class Mail:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    sender: str
    configuration_set: str = ""
    """The configuration set that reports returned mail; empty for none."""

    async def send(self, to: str, subject: str, text: str, html: str, *, unsubscribe: str = "", tag: str = "") -> None:
        """Send the message. `unsubscribe` is the URL at which a single POST stops such mails (RFC 8058); `tag`
        identifies the mail if it is returned.

        Raises `Unavailable` if SES rejects it, also for an invalid address.
        """
        try:
            data = _unsubscribe_header(unsubscribe) + _message(self.sender, to, subject, text, html).as_bytes()
        except ValueError as error:  # an address contains a line break
            raise Unavailable from error

        watched: dict[str, Any] = {}
        if self.configuration_set:
            watched["ConfigurationSetName"] = self.configuration_set
            watched["EmailTags"] = [{"Name": TAG, "Value": tag}] if tag else []

        def call() -> None:
            self.aws("sesv2").send_email(
                FromEmailAddress=self.sender,
                Destination={"ToAddresses": [to]},
                Content={"Raw": {"Data": data}},
                **watched,
            )

        try:
            await asyncio.to_thread(call)
        except (ClientError, BotoCoreError) as error:
            raise Unavailable from error


def _unsubscribe_header(url: str) -> bytes:
    """Return the headers as bytes, unfolded: the library would fold a long URL into encoded words, which no mail
    program decodes there. Raises `ValueError`."""
    if not url:
        return b""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("not an address")
    return f"List-Unsubscribe: <{url}>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n".encode()


def _message(sender: str, to: str, subject: str, text: str, html: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    # Asks automatic responders not to reply.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    return message


# --- event bus --------------------------------------------------------------------------------------------------------
# Put events on an EventBridge bus: signed ids and enumerated words, without titles or other text.
#
# Listeners receive each event at least once, within about a minute, always with the same `id`. `token` signs it (HS256,
# with the secret shared with the candidate app), so that a listener behind a webhook need not trust the transport.


SOURCE = "qwestly-agent"
AUDIENCE = "candidate-app-events"
LIFE_SECONDS = 86_400
"""Lifetime of an event's token; EventBridge retries delivery for a day."""
MOST_ENTRIES = 10
"""Maximum number of entries in one request to EventBridge."""


@dataclass(frozen=True)
class EventBus:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    name: str
    """Name of the bus; empty if none is configured."""
    secret: str
    clock: Clock

    async def put(self, events: Sequence[ActivityEvent]) -> None:
        """Send the events in order. Raises `Unavailable` if EventBridge does not accept all of them."""
        for begin in range(0, len(events), MOST_ENTRIES):
            entries = [self._entry(each) for each in events[begin : begin + MOST_ENTRIES]]
            try:
                answer = await asyncio.to_thread(self.aws("events").put_events, Entries=entries)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable from error
            if answer["FailedEntryCount"]:
                raise Unavailable

    def _entry(self, event: ActivityEvent) -> dict[str, Any]:
        told = event.model_dump(mode="json", include={"id", "user_id", "type", "role", "severity", "run_id", "data"})
        told["at"] = to_datetime(event.at).isoformat()
        now = int(self.clock())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": event.user_id, "jti": event.id, "iat": now}
        token = jwt.encode({**claims, "exp": now + LIFE_SECONDS, "event": told}, self.secret, algorithm="HS256")
        detail = json.dumps({**told, "token": token}, ensure_ascii=False)
        return {"Source": SOURCE, "DetailType": event.type, "Detail": detail, "EventBusName": self.name}


# --- erasure log ------------------------------------------------------------------------------------------------------
# Record users' erasures outside of the database, so that `qwestly-agent restore check` can repeat them after a backup
# of the database was restored.


MOST_LINES = 50
"""Maximum number of lines per request, which may have 1 MiB; a tombstone has at most 10 KiB."""


@dataclass(frozen=True)
class Erasure:
    what: Literal["user", "conversation", "memory"]
    id: str = ""
    """The conversation's or the memory's id."""
    tombstone: Mapping[str, Any] = field(default_factory=dict)
    """The memory's hashes and signature, without text."""


@dataclass
class ErasureLog:
    """A log group with one line of JSON per erasure: `what`, `at` (in seconds since the epoch), `user` and, for a
    conversation or memory, its `id`. Ids of users and conversations are hashed (HMAC-SHA256)."""

    aws: Callable[[str], Any]
    """Returns the client of a service."""
    group: str
    """Name of the log group; empty to write nothing."""
    keys: Sequence[str] = field(repr=False)
    """The first key hashes; lines hashed with the others are still recognized."""
    clock: Clock
    _stream: str = field(default="", init=False)
    """The log stream of this process alone, as with Lambda's own logs; empty before the first line."""

    async def write(self, user_id: str, *erasures: Erasure) -> None:
        """Write the lines before the erasures begin. Raises `Unavailable`; then nothing may be erased."""
        if not (self.group and erasures):
            return
        now, at = int(time.time() * 1000), self.clock()
        events = [{"timestamp": now, "message": json.dumps(self._line(user_id, each, at))} for each in erasures]
        try:
            for begin in range(0, len(events), MOST_LINES):
                await asyncio.to_thread(self._put, events[begin : begin + MOST_LINES])
        except (ClientError, BotoCoreError) as error:
            raise Unavailable from error

    def hashes(self, *ids: str) -> list[str]:
        """Return one hash per key of these ids, the outermost id first."""
        return [hmac.digest(key.encode(), "\0".join(ids).encode(), hashlib.sha256).hex() for key in self.keys]

    def _line(self, user_id: str, erasure: Erasure, at: float) -> dict[str, Any]:
        line: dict[str, Any] = {"what": erasure.what, "at": at, "user": self.hashes(user_id)[0]}
        if erasure.what == "conversation":
            line["id"] = self.hashes(user_id, erasure.id)[0]
        if erasure.what == "memory":
            line |= {"id": erasure.id, "tombstone": dict(erasure.tombstone)}
        return line

    def _put(self, events: list[dict[str, Any]]) -> None:
        logs, stream = self.aws("logs"), self._stream or uuid4().hex
        try:
            if not self._stream:
                logs.create_log_stream(logGroupName=self.group, logStreamName=stream)
            answer = logs.put_log_events(logGroupName=self.group, logStreamName=stream, logEvents=events)
        except (ClientError, BotoCoreError):
            self._stream = ""
            raise
        self._stream = stream
        if answer.get("rejectedLogEventsInfo"):
            raise Unavailable
