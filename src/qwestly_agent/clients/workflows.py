"""Start Step Functions executions, and answer those that wait for a person by a task token.

A task token is a credential: it is encrypted with a KMS key as soon as it is received, bound to its record, and
decrypted only to be sent back.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from qwestly_agent.base.errors import Unavailable

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
    """What the state machines' ARNs begin with, before the workflow's name."""

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
        """Answer the waiting execution. Returns False if it no longer waits. Raises `Unavailable`."""
        answered = await self._call(
            "stepfunctions",
            "send_task_success",
            {"taskToken": task_token, "output": json.dumps(output)},
            passed=WAITS_NO_MORE,
        )
        return answered is not None

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
        """Call the service; None for errors that are ignored."""

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
