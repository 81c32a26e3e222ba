"""The local AWS with its state machines in LocalStack's interpreter, in a process with its own Python.

moto's interpreter is an older copy of the same code: a difference between the two is a hint, but agreement proves
nothing. Lambda, SES, KMS and Parameter Store stay moto's, and the handlers are the real ones in this process.
"""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.local.aws import AwsServer
from infra.local.aws_functions import Answer
from infra.local.aws_moto import NO_ROLE, STATE_ENTERED, Outcome, Workflow
from infra.local.environment import ACCOUNT, REGION, ROOT, aws_variables
from infra.local.schedules import Schedule, event_of

PYTHON = os.environ.get("SECOND_INTERPRETER", "")
"""A Python with LocalStack; empty runs the machines in moto."""
SERVER = Path(__file__).with_name("localstack_server.py")


@dataclass
class LocalStackServer(AwsServer):
    _machines_url: str = field(default="", init=False)

    def __enter__(self) -> "LocalStackServer":
        with ExitStack() as closing:
            super().__enter__()
            closing.callback(super().__exit__)
            process = subprocess.Popen(
                [PYTHON, str(SERVER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={**os.environ, **aws_variables(self.url)},
            )
            closing.enter_context(process)
            assert process.stdin
            closing.callback(process.stdin.close)
            assert process.stdout
            self._machines_url = f"http://127.0.0.1:{int(process.stdout.readline())}"
            closing.callback(self._clients.clear)
            for machine in self._deployed:
                self.create_machine(*machine)
            self._ending = closing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def _deploy(self) -> None:
        self._deployed: list[tuple[str, Mapping[str, Any]]] = []
        super()._deploy()

    @property
    def variables(self) -> dict[str, str]:
        return {**super().variables, "AWS_ENDPOINT_URL_SFN": self._machines_url}

    def client(self, service: str) -> Any:
        if service != "stepfunctions":
            return super().client(service)
        if service not in self._clients:
            import boto3

            session = boto3.Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=REGION)
            self._clients[service] = session.client(service, endpoint_url=self._machines_url)
        return self._clients[service]

    # State machines

    def create_machine(self, name: str, definition: Mapping[str, Any]) -> str:
        if not self._machines_url:  # its interpreter starts after the rest
            self._deployed.append((name, definition))
            return f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{name}"
        client = self.client("stepfunctions")
        return client.create_state_machine(name=name, definition=json.dumps(definition), roleArn=NO_ROLE)[
            "stateMachineArn"
        ]

    def start(self, machine: str, given: object = None, name: str = "") -> str:
        arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{machine}"
        return self._start(arn, json.dumps(given or {}), name or str(uuid.uuid4()))

    def _start(self, arn: str, given: str, name: str) -> str:
        return self.client("stepfunctions").start_execution(stateMachineArn=arn, input=given, name=name)["executionArn"]

    def outcome(self, execution_arn: str, seconds: float = 20) -> Outcome:
        """Wait for the end. Raises `TimeoutError` if nothing happens in the execution for so many seconds."""
        until, seen = time.monotonic() + seconds, 0
        while (found := self._described(execution_arn))["status"] == "RUNNING":
            if time.monotonic() > until:
                if (happened := self._newest_event(execution_arn)) == seen:
                    raise TimeoutError(f"It is still in {self.states(execution_arn)[-1:]}.")
                until, seen = time.monotonic() + seconds, happened
            time.sleep(0.01)
        states = self.states(execution_arn)
        return Outcome(found["status"], found.get("output"), found.get("error"), found.get("cause"), states)

    def _newest_event(self, execution_arn: str) -> int:
        history = self.client("stepfunctions").get_execution_history(
            executionArn=execution_arn, reverseOrder=True, maxResults=1
        )
        return int(history["events"][0]["id"])

    def _described(self, execution_arn: str) -> dict[str, Any]:
        return self.client("stepfunctions").describe_execution(executionArn=execution_arn)

    def states(self, execution_arn: str) -> list[str]:
        history = self.client("stepfunctions").get_execution_history(executionArn=execution_arn, maxResults=1000)
        events = [each for each in history["events"] if re.fullmatch(STATE_ENTERED, each["type"])]
        return [each["stateEnteredEventDetails"]["name"] for each in events]

    def let_time_out(self, task_token: str) -> None:
        try:
            self._control("let_time_out", task_token)
        except urllib.error.HTTPError as error:
            raise LookupError(error.read().decode()) from None

    def sleep_at(self, address: str) -> None:
        """Ask this address to wait before each retry; if empty, retries take no time."""
        self._control("sleep_at", address)

    def _control(self, command: str, body: str) -> None:
        urllib.request.urlopen(f"{self._machines_url}/_control/{command}", body.encode()).close()

    def workflows(self) -> list[Workflow]:
        client = self.client("stepfunctions")
        found = [
            each
            for machine in client.list_state_machines()["stateMachines"]
            for page in client.get_paginator("list_executions").paginate(stateMachineArn=machine["stateMachineArn"])
            for each in page["executions"]
        ]
        return sorted(map(self._workflow, found), key=lambda workflow: workflow.started_at, reverse=True)

    def _workflow(self, found: dict[str, Any]) -> Workflow:
        entered = self.states(found["executionArn"]) if found["status"] in ("RUNNING", "SUCCEEDED") else []
        state = entered[-1] if entered else None
        machine = found["stateMachineArn"].rpartition(":")[2]
        return Workflow(found["name"], machine, found["status"], state, found["startDate"].timestamp())

    # Schedules

    def fire(self, schedule: Schedule, moment: float) -> Answer:
        if ":states:" not in schedule.target:
            return super().fire(schedule, moment)
        event = event_of(schedule, moment, execution_id := str(uuid.uuid4()))
        return Answer(json.dumps({"executionArn": self._start(schedule.target, event, execution_id)}).encode())
