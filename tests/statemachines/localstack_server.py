"""Serve the Step Functions API on loopback with LocalStack's interpreter, which has its own environment.

`second_interpreter.py` starts it, and it prints its port. In addition to AWS's API it has POST /_control/let_time_out,
whose body is a task token, and POST /_control/sleep_at, whose body is an address: that address is asked to wait before
a retry. Without one, retries take no time; Wait states never do.
"""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

import json
import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

os.environ |= {"DISABLE_EVENTS": "1", "LS_LOG": "error"}

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError
from localstack.aws.api import RequestContext
from localstack.aws.skeleton import Skeleton
from localstack.aws.spec import load_service
from localstack.http import Request
from localstack.services.stepfunctions.asl.component.common.retry import retrier_decl
from localstack.services.stepfunctions.asl.component.state.state_execution.state_task import lambda_eval_utils
from localstack.services.stepfunctions.asl.component.state.state_execution.state_task.service import (
    state_task_service_lambda,
)
from localstack.services.stepfunctions.asl.component.state.state_execution.state_task.state_task_lambda import (
    StateTaskLambda,
)
from localstack.services.stepfunctions.asl.component.state.state_wait.wait_function.wait_function import WaitFunction
from localstack.services.stepfunctions.asl.utils import json_path
from localstack.services.stepfunctions.backend.execution import Execution
from localstack.services.stepfunctions.backend.models import sfn_stores
from localstack.services.stepfunctions.provider import StepFunctionsProvider

ACCOUNT, REGION = "123456789012", os.environ["AWS_REGION"]
SERVICE = load_service("stepfunctions")
sleeping_at = ""


class Provider(StepFunctionsProvider):
    """With two fixes that moto has as well: a token sent while an execution starts finds it without an environment, and
    an execution stopped while it waits for a token keeps waiting."""

    _starting = threading.Lock()

    def start_execution(self, *args: Any, **more: Any) -> Any:
        with self._starting:
            answer = super().start_execution(*args, **more)
            worker = sfn_stores[ACCOUNT][REGION].executions[answer["executionArn"]].exec_worker
            while worker.env is None:
                time.sleep(0.001)
            return answer

    def stop_execution(self, *args: Any, **more: Any) -> Any:
        answer = super().stop_execution(*args, **more)
        execution = sfn_stores[ACCOUNT][REGION].executions[more["execution_arn"]]
        for waiting in list(execution.exec_worker.env.callback_pool_manager._pool.values()):
            waiting.interrupt_all()
        return answer

    def send_task_success(self, *args: Any, **more: Any) -> Any:
        with self._starting:
            return super().send_task_success(*args, **more)


def let_time_out(task_token: str) -> None:
    for execution in list(sfn_stores[ACCOUNT][REGION].executions.values()):
        if waiting := execution.exec_worker.env.callback_pool_manager.get(task_token):
            waiting.interrupt_all()
            return
    raise LookupError("Nothing waits for this token.")


class Pause:
    """Replaces the module `time` where the interpreter waits before a retry."""

    @staticmethod
    def sleep(seconds: float) -> None:
        if sleeping_at:
            urllib.request.urlopen(sleeping_at, json.dumps(seconds).encode()).close()


def mend() -> None:
    """Send Lambda calls to the local AWS, without any waiting.

    Two fixes: a rejected function call has the name that AWS gives it, and a path with `[*]` returns a list even if
    only one item matches: moto learnt that from AWS users (its issue 7825).
    """
    functions = boto3.client(
        "lambda", config=Config(retries={"total_max_attempts": 1}, max_pool_connections=200, read_timeout=600)
    )
    for module in (lambda_eval_utils, state_task_service_lambda):
        if hasattr(module, "boto_client_for"):
            module.boto_client_for = lambda **_: functions
    Execution.publish_execution_status_change_event = lambda _: None
    retrier_decl.time = Pause
    WaitFunction._wait_interval = lambda *_, **__: None
    from_error = StateTaskLambda._from_error

    def named(self: Any, env: Any, ex: Exception) -> Any:
        if isinstance(ex, ClientError):
            kind = f"Lambda.{ex.response['Error']['Code']}"
            ex = lambda_eval_utils.LambdaFunctionErrorException("Unhandled", json.dumps({"errorType": kind}))
        return from_error(self, env, ex)

    StateTaskLambda._from_error = named
    extract = json_path.extract_json

    def extract_json(path: str, data: Any) -> Any:
        matches = json_path.parse(path).find(data)
        is_list_of_one = len(matches) == 1 and "[*]" in path and not isinstance(matches[0].path, json_path.Index)
        return [matches[0].value] if is_list_of_one else extract(path, data)

    for module in list(sys.modules.values()):
        if getattr(module, "extract_json", None) is extract:
            module.extract_json = extract_json


class Handler(BaseHTTPRequestHandler):
    skeleton = Skeleton(SERVICE, Provider())
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/_control/"):
            self._answer(*control(self.path.removeprefix("/_control/"), body.decode()))
            return
        context = RequestContext(Request("POST", "/", headers=dict(self.headers), body=body))
        context.service, context.protocol = SERVICE, "json"
        context.account_id, context.region = ACCOUNT, REGION
        answer = self.skeleton.invoke(context)
        self._answer(answer.status_code, answer.get_data())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def control(command: str, body: str) -> tuple[int, bytes]:
    global sleeping_at
    if command == "sleep_at":
        sleeping_at = body
        return 200, b"{}"
    try:
        let_time_out(body)
    except LookupError as error:
        return 404, json.dumps(str(error)).encode()
    return 200, b"{}"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    mend()
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # the starting process holds this pipe, and releases it even when killed


if __name__ == "__main__":
    main()
