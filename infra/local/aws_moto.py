"""All access to moto: patches, resources, and queries.

Its modules are imported on use: importing them takes a second, and most importers of the stack do not need them.
"""

import email
import email.policy
import hashlib
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock, patch

from infra.local.aws_functions import Functions
from infra.local.aws_limits import Refused
from infra.local.environment import ACCOUNT, REGION
from qwestly_agent.base.clock import system_clock

if TYPE_CHECKING:
    from moto.kms.models import KmsBackend
    from moto.ses.models import SESBackend
    from moto.ssm.models import SimpleSystemManagerBackend

STATE_ENTERED = re.compile(r"\w+StateEntered")
NO_ROLE = f"arn:aws:iam::{ACCOUNT}:role/local"


@contextmanager
def patched_moto(
    functions: Functions, keep: Callable[["Mail"], None], hurried: bool, executions: Path | None
) -> Iterator[None]:
    """Patch moto to call these functions and to add missing features; afterwards undo the patches and clear its
    state."""
    _import_without_ec2()
    from moto.core.base_backend import BackendDict
    from moto.core.config import default_user_config

    executes = {"stepfunctions": {"execute_state_machine": True}, "lambda": {"use_docker": False}}
    with ExitStack() as changes:
        changes.enter_context(patch.dict(default_user_config, executes))
        changes.callback(BackendDict.reset)
        changes.callback(_end_all_executions)
        _invoke(changes, functions)
        _keep_mail(changes, keep)
        _mend_executions(changes)
        _make_once(changes)
        if executions:
            _keep_executions(changes, executions)
        if hurried:
            _hurry(changes)
        yield


@cache
def _import_without_ec2() -> None:
    """Skip importing moto's EC2, which takes half a second and is needed only for Batch and SSM instances."""
    absent = {name: Mock() for name in ("moto.batch", "moto.batch.utils", "moto.ec2") if name not in sys.modules}
    sys.modules.update(absent)
    try:
        import moto.ssm.models
        import moto.stepfunctions.parser.asl.parse.asl_parser  # noqa: F401
    finally:
        for name in absent:
            del sys.modules[name]


def _invoke(changes: ExitStack, functions: Functions) -> None:
    from moto.awslambda.exceptions import LambdaClientError, UnknownFunctionException
    from moto.awslambda_simple.models import LambdaSimpleBackend

    def invoke(_: Any, function_name: str, qualifier: object, body: Any, headers: Any, response_headers: Any) -> bytes:
        function = functions.find(function_name)
        if function is None:
            raise UnknownFunctionException(function_name)
        payload = body.encode() if isinstance(body, str) else body or b""
        try:
            if headers.get("X-Amz-Invocation-Type") == "Event":
                functions.invoke_later(function, payload)
                return b""
            answer = functions.invoke(function, payload)
        except Refused as refused:
            error = LambdaClientError(refused.kind, str(refused))
            error.code, error.description = refused.status, refused.body
            raise error from None
        if answer.failed:
            response_headers["x-amz-function-error"] = "Unhandled"
        return answer.payload

    changes.enter_context(patch.object(LambdaSimpleBackend, "invoke", invoke))


def _make_once(changes: ExitStack) -> None:
    """Cache what moto would create again for each task: the Lambda client and the path parsers."""
    from jsonpath_ng.ext.parser import parse
    from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
    from moto.stepfunctions.parser.asl.utils import json_path
    from moto.stepfunctions.parser.asl.utils.boto_client import boto_client_for

    client = cache(boto_client_for)

    def client_for(region: str, service: str, state_credentials: object = None) -> Any:
        return client(region, service)

    changes.enter_context(patch.object(lambda_eval_utils, "boto_client_for", client_for))
    changes.enter_context(patch.object(json_path, "parse", cache(parse)))


def _hurry(changes: ExitStack) -> None:
    from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
    from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

    class NoTime:
        @staticmethod
        def sleep(_: float) -> None:
            pass

    changes.enter_context(patch.object(retrier_decl, "time", NoTime))
    changes.enter_context(patch.object(WaitFunction, "_wait_interval", lambda *_, **__: None))


# --- executions -------------------------------------------------------------------------------------------------------


def _mend_executions(changes: ExitStack) -> None:
    """Fix three bugs of moto: sending a token while another execution starts raises AttributeError, as that execution
    has no environment yet; an execution that is stopped while waiting for a token keeps waiting and then counts as
    failed; and a heartbeat of a task that waits without `HeartbeatSeconds` is refused."""
    from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackEndpoint
    from moto.stepfunctions.parser.asl.eval.environment import Environment
    from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped
    from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser as Parser
    from moto.stepfunctions.parser.models import StepFunctionsParserBackend as Backend

    starting = threading.RLock()
    start, stop, set_error = Backend.start_execution, Backend.stop_execution, Environment.set_error

    def start_execution(self: Any, *args: Any, **more: Any) -> Any:
        with starting:
            execution: Any = start(self, *args, **more)
            while execution.exec_worker.env is None:
                time.sleep(0.001)
            return execution

    def stop_execution(self: Any, *args: Any, **more: Any) -> Any:
        execution = stop(self, *args, **more)
        _interrupt(execution)
        return execution

    def set_error_unless_stopped(self: Any, *args: Any, **more: Any) -> None:
        if not isinstance(self.program_state(), ProgramStopped):
            set_error(self, *args, **more)

    def not_while_one_starts(send: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(send)
        def sent(*args: Any, **more: Any) -> Any:
            with starting:
                return send(*args, **more)

        return sent

    def beats_while_it_waits(self: Any) -> bool:
        return self.get_outcome() is None

    changes.enter_context(patch.object(CallbackEndpoint, "notify_heartbeat", beats_while_it_waits))
    changes.enter_context(patch.object(Parser, "parse", cache(Parser.parse)))
    changes.enter_context(patch.object(Backend, "start_execution", start_execution))
    changes.enter_context(patch.object(Backend, "stop_execution", stop_execution))
    changes.enter_context(patch.object(Environment, "set_error", set_error_unless_stopped))
    for name in ("send_task_success", "send_task_failure", "send_task_heartbeat"):
        changes.enter_context(patch.object(Backend, name, not_while_one_starts(getattr(Backend, name))))


def _keep_executions(changes: ExitStack, folder: Path) -> None:
    """Store the current state and input of each running execution in a file, so that another process can `resume`
    it."""
    from moto.stepfunctions.parser.asl.component.state.state import CommonStateField
    from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

    folder.mkdir(parents=True, exist_ok=True)
    enter, run = CommonStateField._eval_body, ExecutionWorker._execution_logic

    def enter_and_keep(self: Any, env: Any) -> None:
        context = env.states.context_object.context_object_data
        machine, name = context["StateMachine"]["Id"], context["Execution"]["Name"]
        if (
            self.name in json.loads(_machines().describe_state_machine(machine).definition)["States"]
        ):  # not a state within a Map
            left = {"machine": machine, "name": name, "state": self.name, "given": json.dumps(env.states.get_input())}
            file = _file_of(folder, machine, name)
            file.with_suffix(".new").write_text(json.dumps(left), encoding="utf-8")
            file.with_suffix(".new").replace(file)
        enter(self, env)

    def run_and_forget(self: Any) -> None:
        run(self)
        details = self._evaluation_details
        _file_of(folder, details.state_machine_details.arn, details.execution_details.name).unlink(missing_ok=True)

    changes.enter_context(patch.object(CommonStateField, "_eval_body", enter_and_keep))
    changes.enter_context(patch.object(ExecutionWorker, "_execution_logic", run_and_forget))


def _file_of(folder: Path, machine_arn: str, name: str) -> Path:
    return folder / f"{machine_arn.rpartition(':')[2]}.{name}.json"


def resume(folder: Path) -> None:
    """Restart the executions that a previous process left, each at its stored state, which runs again."""
    machines = _machines()
    known = {machine.arn: machine for machine in machines.state_machines}
    for file in sorted(folder.glob("*.json")):
        left = json.loads(file.read_text(encoding="utf-8"))
        machine = known.get(left["machine"])
        if machine is None or left["state"] not in json.loads(machine.definition)["States"]:
            file.unlink()  # left by another version
            continue
        whole = machine.definition
        machine.definition = json.dumps({**json.loads(whole), "StartAt": left["state"]})
        try:
            start(machine.arn, left["given"], left["name"])  # with moto's copy of the machine
        finally:
            machine.definition = whole


def _interrupt(execution: Any) -> None:
    for waiting in list(execution.exec_worker.env.callback_pool_manager._pool.values()):
        waiting.interrupt_all()


def _end_all_executions() -> None:
    for execution in _machines()._get_executions():
        if execution.status == "RUNNING":
            _machines().stop_execution(execution.execution_arn)


@dataclass(frozen=True)
class Outcome:
    """The result of an execution."""

    status: str
    output: Any
    error: str | None
    cause: str | None
    states: list[str]
    """The states it entered, in order."""


@dataclass(frozen=True)
class Workflow:
    """An execution of a state machine."""

    name: str
    machine: str
    status: str
    state: str | None
    """The current or last state, also after a stop or a rejection. None if the execution failed."""
    started_at: float


def create_machine(name: str, definition: Mapping[str, Any]) -> str:
    """Create or replace a state machine, and return its ARN."""
    machines = _machines()
    machines.state_machines[:] = [machine for machine in machines.state_machines if machine.name != name]
    return machines.create_state_machine(name, json.dumps(definition), NO_ROLE).arn


def start(machine_arn: str, given: str, name: str) -> str:
    """Start an execution and return its ARN."""
    return _machines().start_execution(machine_arn, name, given).execution_arn


def outcome(execution_arn: str, seconds: float) -> Outcome:
    """Wait until the execution ends. Raises `TimeoutError` with its current state."""
    execution = _machines().describe_execution(execution_arn)
    until = time.monotonic() + seconds
    while execution.status == "RUNNING":
        if time.monotonic() > until:
            raise TimeoutError(f"It is still in {states(execution_arn)[-1:]}.")
        time.sleep(0.002)
    error, cause = execution.error, execution.cause
    return Outcome(str(execution.status), execution.output, error, cause, states(execution_arn))


def states(execution_arn: str) -> list[str]:
    """Return the states that it has entered."""
    return _entered(_machines().describe_execution(execution_arn))


def _entered(execution: Any) -> list[str]:
    # moto's API deep-copies the whole history at each call. A new execution has no worker yet, then no history.
    environment = getattr(execution.exec_worker, "env", None)
    events = list(environment.event_manager._history_event_list) if environment else []
    return [each["stateEnteredEventDetails"]["name"] for each in events if STATE_ENTERED.fullmatch(each["type"])]


def let_time_out(task_token: str) -> None:
    _waiting(task_token)[1].interrupt_all()


def machine_of_token(task_token: str) -> str:
    """Return the ARN of the machine that waits for this token."""
    return _waiting(task_token)[0].state_machine_arn


def _waiting(task_token: str) -> tuple[Any, Any]:
    """Return the execution and its callback. Raises `LookupError` if no execution waits for the token."""
    for execution in _machines()._get_executions():
        if waiting := execution.exec_worker.env.callback_pool_manager.get(task_token):
            return execution, waiting
    raise LookupError("Nothing waits for this token.")


def workflows() -> list[Workflow]:
    """Return all executions, newest first."""
    machines = _machines().state_machines
    found = [_workflow(machine.name, execution) for machine in machines for execution in machine.executions]
    return sorted(found, key=lambda workflow: workflow.started_at, reverse=True)


def _workflow(machine: str, execution: Any) -> Workflow:
    status = str(execution.status)
    entered = _entered(execution) if status in ("RUNNING", "SUCCEEDED") else []
    state = entered[-1] if entered else None
    return Workflow(execution.name, machine, status, state, execution.start_date.timestamp())


def _machines() -> Any:
    from moto.stepfunctions.parser.models import stepfunctions_parser_backends

    return stepfunctions_parser_backends[ACCOUNT][REGION]


# --- mail, keys, parameters -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mail:
    id: str
    at: float
    to: str
    subject: str
    text: str
    html: str


def _keep_mail(changes: ExitStack, keep: Callable[[Mail], None]) -> None:
    from moto.ses.models import SESBackend

    send = SESBackend.send_raw_email

    def send_raw_email(self: Any, source: str, destinations: list[str], raw_data: str) -> Any:
        message = send(self, source, destinations, raw_data)
        keep(_mail(message.id, raw_data))
        return message

    changes.enter_context(patch.object(SESBackend, "send_raw_email", send_raw_email))


def _mail(message_id: str, raw: str) -> Mail:
    message = email.message_from_bytes(raw.encode(), EmailMessage, policy=email.policy.default)
    to, subject = str(message["to"] or ""), str(message["subject"] or "")
    return Mail(message_id, system_clock(), to, subject, _part(message, "plain"), _part(message, "html"))


def _part(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return part.get_content() if part else ""


def allow_sender(address: str) -> None:
    """Verify the address's domain, so that any address in it can send."""
    backend: SESBackend = _backend("ses")
    backend.create_email_identity_v2(parseaddr(address)[1].rpartition("@")[2], None, None, None)


def create_key(key_id: str) -> None:
    """Create a key with a fixed id and fixed material. It is symmetric, which avoids generating an RSA key. It must be
    the same after a restart: a token that cannot be decrypted would be retried for five minutes."""
    backend: KmsBackend = _backend("kms")
    made_known = patch("moto.kms.models.generate_key_id", lambda _: key_id)
    material = hashlib.sha256(key_id.encode()).digest()
    made_again = patch("moto.kms.models.generate_master_key", lambda: material)
    with made_known, made_again, patch("moto.kms.models.generate_private_key", lambda _: None):
        backend.create_key(None, "ENCRYPT_DECRYPT", "SYMMETRIC_DEFAULT", "", None)


def create_alias(alias: str, key_id: str) -> None:
    backend: KmsBackend = _backend("kms")
    backend.create_alias(key_id, alias)


def create_log_group(name: str) -> None:
    _backend("logs").create_log_group(name, {})


def put_parameter(name: str, value: str) -> None:
    backend: SimpleSystemManagerBackend = _backend("ssm")
    backend.put_parameter(name, "", value, "SecureString", "", "alias/aws/ssm", True, [], "text", None, None)


def delete_parameter(name: str) -> None:
    _backend("ssm").delete_parameter(name)


def _backend(service: Any) -> Any:
    from moto.backends import get_backend

    return get_backend(service)[ACCOUNT][REGION]
