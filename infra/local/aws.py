"""Local AWS: Lambda, Step Functions, SES, SSM, KMS and CloudWatch Logs on a moto server, from template.yaml.

State machines really run, and an invocation calls the real handler in this process. Additional routes: GET
/_control/outbox, GET /_control/workflows, GET /_control/schedules, and POST /_control/schedules/{name}, which fires a
schedule.

In a test `with AwsServer(…) as aws:` starts one on a free port.
"""

import argparse
import json
import logging
import os
import re
import signal
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from botocore.config import Config

from infra.local import aws_moto
from infra.local.aws_functions import Answer, Function, Functions, Handler, functions_of
from infra.local.aws_limits import ACCOUNT_CONCURRENCY, account_concurrency, slots_of
from infra.local.aws_moto import Mail, Outcome, Workflow
from infra.local.environment import (
    ACCOUNT,
    ALIAS,
    FUNCTION,
    KEY,
    LOG_GROUP,
    MACHINE,
    REGION,
    SCHEDULE,
    SENDER,
    Template,
    aws_variables,
    is_local,
)
from infra.local.schedules import Clock, Schedule, event_of, schedules_of
from infra.local.serving import listen
from infra.machines import read_machine, source_of
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.settings import is_reference

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


@dataclass
class AwsServer:
    """A moto server. moto keeps all state in module globals: a process can have only one server at a time, and closing
    it clears everything. So does any `mock_aws` that starts meanwhile: share a server within a test module, not within
    a session."""

    template: Template = field(default_factory=lambda: Template({}))
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Local values of variables that are references in the template, and MAIL_FROM."""
    handlers: Mapping[str, Handler] = field(default_factory=dict)
    """Functions by name, in addition to those of the template or replacing them."""
    port: int = 0
    hurried: bool = False
    """True to skip the delays of retries and `Wait` states."""
    concurrency: int = ACCOUNT_CONCURRENCY
    """The account's limit of concurrent invocations. The template reserves part of it."""
    executions: Path | None = None
    """Folder that stores running executions; the next server resumes them."""
    mails: Path | None = None
    """File that stores sent mails, one JSON object a line, for the next server."""

    outbox: list[Mail] = field(default_factory=list, init=False)
    """Sent mails, oldest first."""
    functions: Functions = field(init=False, repr=False)
    schedules: dict[str, Schedule] = field(init=False, repr=False)
    _clients: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    _running: ClassVar[threading.Lock] = threading.Lock()

    def __enter__(self) -> "AwsServer":
        if not self._running.acquire(blocking=False):
            raise RuntimeError("There is one AWS at a time in a process.")
        with ExitStack() as closing:
            closing.callback(self._running.release)
            listening = closing.enter_context(listen(self.port))
            self.port = listening.getsockname()[1]
            closing.enter_context(_moto_port(self.port))
            self.functions, self.schedules = Functions(slots_of(self.template, self.concurrency)), {}
            closing.callback(self.functions.close)
            closing.enter_context(aws_moto.patched_moto(self.functions, self._keep, self.hurried, self.executions))
            self._deploy()
            closing.enter_context(_served(_app(self), self.port, listening.fileno()))
            self._closing = closing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def _deploy(self) -> None:
        template = self.template
        for function in functions_of(template):
            self.functions.add(function)
        for name, handler in self.handlers.items():
            self.register(name, handler)
        self.schedules = {schedule.name: schedule for schedule in schedules_of(template)}
        aws_moto.allow_sender(self.environment.get("MAIL_FROM") or SENDER)
        for logical_id in template.of_type(KEY):
            aws_moto.create_key(template.name(logical_id))
        for logical_id, alias in template.of_type(ALIAS).items():
            aws_moto.create_alias(template.name(logical_id), template.text(alias["TargetKeyId"]))
        for logical_id in template.of_type(LOG_GROUP):
            aws_moto.create_log_group(template.name(logical_id))
        for reference, value in _secrets(template, self.environment).items():
            aws_moto.put_parameter(reference.removeprefix("ssm:"), value)
        for logical_id in template.of_type(MACHINE):
            self.create_machine(template.name(logical_id), definition_of(template, logical_id))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that point a process at this server."""
        return aws_variables(self.url)

    def client(self, service: str) -> Any:
        """Return a boto3 client for this server, independent of the environment. It does not retry, and is closed with
        the server."""
        if service not in self._clients:
            once = Config(retries={"total_max_attempts": 1})
            self._clients[service] = _session().client(service, endpoint_url=self.url, config=once)
            self._closing.callback(self._clients[service].close)
        return self._clients[service]

    # Functions

    def register(self, name: str, handler: Handler, timeout_seconds: float = 30) -> str:
        """Register a function, and return its ARN."""
        self.functions.add(Function(name, lambda: handler, timeout_seconds))
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"

    def invoke(self, name: str, event: object = None) -> Answer:
        """Invoke a function. Raises `LookupError` if it does not exist, and `Refused`."""
        if function := self.functions.find(name):
            return self.functions.invoke(function, json.dumps(event or {}).encode())
        raise LookupError(f"There is no function {name}.")

    # State machines

    def create_machine(self, name: str, definition: Mapping[str, Any]) -> str:
        """Create or replace a state machine, and return its ARN."""
        return aws_moto.create_machine(name, definition)

    def start(self, machine: str, given: object = None, name: str = "") -> str:
        """Start an execution of the named machine, and return its ARN."""
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{machine}"
        return aws_moto.start(arn, json.dumps(given or {}), name or str(uuid.uuid4()))

    def outcome(self, execution_arn: str, seconds: float = 20) -> Outcome:
        """Wait until the execution ends. Raises `TimeoutError` with its current state."""
        return aws_moto.outcome(execution_arn, seconds)

    def run(self, machine: str, given: object = None, seconds: float = 20) -> Outcome:
        """Start an execution and wait until it ends."""
        return self.outcome(self.start(machine, given), seconds)

    def states(self, execution_arn: str) -> list[str]:
        """Return the states that it has entered."""
        return aws_moto.states(execution_arn)

    def _keep(self, mail: Mail) -> None:
        self.outbox.append(mail)
        if self.mails:
            self.mails.parent.mkdir(parents=True, exist_ok=True)
            with self.mails.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(mail))}\n")

    def sent(self) -> list[dict[str, Any]]:
        """Return all mails, including those sent by earlier servers, newest first."""
        if self.mails and self.mails.exists():
            return [json.loads(line) for line in reversed(self.mails.read_text("utf-8").splitlines())]
        return [asdict(mail) for mail in reversed(self.outbox)]

    def resume(self) -> None:
        """Resume the executions that an earlier server left running."""
        if self.executions:
            aws_moto.resume(self.executions)

    def let_time_out(self, task_token: str) -> None:
        """End the wait for this token with `States.Timeout`. Raises `LookupError` for an unknown token."""
        aws_moto.let_time_out(task_token)

    def workflows(self) -> list[Workflow]:
        """Return all executions, newest first."""
        return aws_moto.workflows()

    # Schedules

    def fire(self, schedule: Schedule, moment: float) -> Answer:
        """Return the response of the schedule's function, or the ARN of the execution it started."""
        event = event_of(schedule, moment, execution_id := str(uuid.uuid4()))
        if function := self.functions.find(schedule.target):
            return self.functions.invoke(function, event.encode(), queued=True)
        return Answer(json.dumps({"executionArn": aws_moto.start(schedule.target, event, execution_id)}).encode())


@cache
def _session() -> Any:
    import boto3

    return boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=REGION)


def definition_of(template: Template, logical_id: str) -> dict[str, Any]:
    """Return a state machine's definition as AWS gets it. Raises `KeyError` for a missing substitution."""
    properties = template.of_type(MACHINE)[logical_id]
    written = read_machine(template.folder / source_of(properties["DefinitionUri"]))
    given = {name: template.text(value) for name, value in properties.get("DefinitionSubstitutions", {}).items()}
    return json.loads(re.sub(r"\$\{(\w+)\}", lambda found: given[found[1]], json.dumps(written)))


def _secrets(template: Template, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the local value of each Parameter Store reference in the functions' environments."""
    variables = [pair for function in template.of_type(FUNCTION) for pair in template.environment(function).items()]
    return {
        value: environment[name]
        for name, value in variables
        if is_reference(value) and value.startswith("ssm:") and environment.get(name)
    }


@contextmanager
def _moto_port(port: int) -> Iterator[None]:
    """Set the port of the moto server, which its state machines use to call Lambda functions."""
    os.environ["MOTO_PORT"] = str(port)
    try:
        yield
    finally:
        del os.environ["MOTO_PORT"]


# --- serving it -------------------------------------------------------------------------------------------------------


@contextmanager
def _served(app: "WSGIApplication", port: int, fd: int) -> Iterator[None]:
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    class QuietHandler(MotoRequestHandler):
        disable_nagle_algorithm = True  # head and body are sent separately; the body would wait 40 ms

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=QuietHandler, fd=fd)
    server.server_activate()
    thread = threading.Thread(target=server.serve_forever, args=[0.05], name="aws", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


def _app(aws: AwsServer) -> "WSGIApplication":
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug import Request, Response

    moto = DomainDispatcherApplication(create_backend_app)

    def app(environ: "WSGIEnvironment", start_response: "StartResponse") -> Any:
        request = Request(environ)
        if not request.path.startswith("/_control/"):
            return moto(environ, start_response)
        status, body = _control(aws, request.method, request.path.removeprefix("/_control/"))
        return Response(json.dumps(body), status, content_type="application/json")(environ, start_response)

    return app


def _control(aws: AwsServer, method: str, path: str) -> tuple[int, object]:
    match method, path.split("/"):
        case "GET", ["outbox"]:
            return 200, {"items": aws.sent()}
        case "GET", ["workflows"]:
            return 200, {"items": [asdict(workflow) for workflow in aws.workflows()]}
        case "GET", ["schedules"]:
            return 200, {"items": [_shown(schedule) for schedule in aws.schedules.values()]}
        case "POST", ["schedules", name] if schedule := aws.schedules.get(name):
            answer = aws.fire(schedule, system_clock())
            return 200, {"fired": name, "failed": answer.failed, "answer": json.loads(answer.payload)}
        case "POST", ["schedules", _]:
            return _not_found("There is no such schedule.")
        case _:
            return _not_found("There is no such address.")


def _not_found(sentence: str) -> tuple[int, object]:
    return 404, {"error": {"code": "not_found", "message": sentence}}


def _shown(schedule: Schedule) -> dict[str, str]:
    target = schedule.target.split(":")[6]  # an alias may follow
    return {"name": schedule.name, "expression": schedule.expression, "target": target}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8004)
    parser.add_argument("--executions", type=Path, help="a folder that keeps what runs, for the next start")
    parser.add_argument("--mails", type=Path, help="a file that keeps what is sent, for the next start")
    given = parser.parse_args()
    port = given.port
    # A running function cannot be stopped, and all state is in memory: exit at once.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    logging.basicConfig(format="%(asctime)s %(message)s")
    template = Template.load()
    os.environ.update(aws_variables(f"http://127.0.0.1:{port}"))
    for name, value in variables_of(template).items():
        os.environ.setdefault(name, value)
    for function in functions_of(template):
        function.load()  # fail at startup if it cannot be imported, and import it before the first call
    if not is_local(os.environ.get("MONGODB_URI", ""), os.environ.get("MONGODB_DATABASE", "")):
        template = template.without(SCHEDULE)
    concurrency = account_concurrency(os.environ)
    kept = {"executions": given.executions, "mails": given.mails}
    with AwsServer(template, dict(os.environ), port=port, concurrency=concurrency, **kept) as aws:
        print(f"AWS answers at {aws.url}", flush=True)
        aws.resume()
        _keep_time(aws)


def variables_of(template: Template) -> dict[str, str]:
    """The environment of all Python functions, which share one process. It contains no secrets."""
    variables = [template.environment(function).items() for function in template.python_functions()]
    return {name: value for each in variables for name, value in each if not is_reference(value)}


def _keep_time(aws: AwsServer) -> NoReturn:
    clock = Clock(aws.schedules.values(), system_clock())
    while True:
        for schedule, moment in clock.due(system_clock()):
            threading.Thread(target=aws.fire, args=(schedule, moment), daemon=True).start()
        time.sleep(1)


if __name__ == "__main__":
    main()
