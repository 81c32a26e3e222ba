"""Run Python handlers as Lambda does: a thread for each invocation, limits, errors as JSON.

All functions share this process, including its environment and module globals.
"""

import importlib.util
import json
import logging
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any, TypeAlias

from infra.local.aws_limits import Slots, check_event_size, check_size
from infra.local.environment import ACCOUNT, REGION, Template

Handler: TypeAlias = Callable[[Any, Any], Any]

THREADS = 1_000
"""More threads than concurrent invocations. They are started on demand."""

logger = logging.getLogger(__name__)


@dataclass
class Context:
    """The second argument of a handler, with the fields that our handlers and Powertools use."""

    function_name: str
    memory_limit_in_mb: int
    timeout_seconds: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    started: float = field(default_factory=lambda: time.monotonic())  # looked up late: tests patch the clock

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.started + self.timeout_seconds - time.monotonic()) * 1000))


@dataclass(frozen=True)
class Answer:
    payload: bytes
    failed: bool = False
    """True for an error that Lambda calls "Unhandled"."""

    @classmethod
    def error(cls, kind: str, message: str, context: Context, stack: list[str] | None = None) -> "Answer":
        request = {"requestId": context.aws_request_id}
        body = {"errorMessage": message, "errorType": kind, **request, "stackTrace": stack or []}
        return cls(json.dumps(body).encode(), failed=True)


@dataclass
class Function:
    name: str
    load: Callable[[], Handler]
    timeout_seconds: float = 30
    memory_mb: int = 128
    _handler: Handler | None = field(default=None, init=False)
    _loading: Lock = field(default_factory=Lock, init=False)

    @property
    def handler(self) -> Handler:
        """Import the handler on first use: a cold start."""
        with self._loading:
            self._handler = self._handler or self.load()
            return self._handler

    def answer(self, payload: bytes, context: Context) -> Answer:
        """Never raises: an error in the function becomes its answer."""
        try:
            handler = self.handler
        except Exception as error:
            logger.exception("%s cannot be imported", self.name)
            return Answer.error("Runtime.ImportModuleError", f"{type(error).__name__}: {error}", context)
        try:
            result = handler(json.loads(payload or b"{}"), context)
        except Exception as error:
            logger.exception("%s failed", self.name)
            return Answer.error(type(error).__name__, str(error), context, traceback.format_tb(error.__traceback__))
        try:
            return Answer(json.dumps(result).encode())
        except (TypeError, ValueError) as error:
            return Answer.error("Runtime.MarshalError", f"Unable to marshal response: {error}", context)


class Functions:
    """Functions by name."""

    def __init__(self, slots: Slots) -> None:
        self._functions: dict[str, Function] = {}
        self._slots = slots
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="lambda")

    def add(self, function: Function) -> None:
        self._functions[function.name] = function

    def find(self, name_or_arn: str) -> Function | None:
        """Find a function by name or ARN, with or without a version or alias."""
        _, is_arn, name = name_or_arn.partition(":function:")
        return self._functions.get((name if is_arn else name_or_arn).partition(":")[0])

    def invoke(self, function: Function, payload: bytes, *, queued: bool = False) -> Answer:
        """Invoke a function. Raises `Refused` if the payload is too large or no slot is free; if `queued`, waits for a
        slot."""
        check_size(len(payload))
        with self._slots.taken(function.name, queued=queued):
            context = Context(function.name, function.memory_mb, function.timeout_seconds)
            running = self._threads.submit(function.answer, payload, context)
            if wait_for([running], function.timeout_seconds).done:
                answer = running.result()
                self._slots.counted["Errors", function.name] += answer.failed
                return answer
            self._slots.counted["Errors", function.name] += 1
            # Its thread keeps running: Python cannot stop it.
            seconds = f"{function.timeout_seconds:.2f} seconds"
            message = f"RequestId: {context.aws_request_id} Error: Task timed out after {seconds}"
            return Answer.error("Sandbox.Timedout", message, context)

    def invoke_later(self, function: Function, payload: bytes) -> None:
        """Queue the event until a slot is free (asynchronous invocation). Raises `Refused` if it is too large."""
        check_event_size(len(payload))
        self._threads.submit(self._answer_queued, function, payload)

    def _answer_queued(self, function: Function, payload: bytes) -> None:
        with self._slots.taken(function.name, queued=True):
            answer = function.answer(payload, Context(function.name, function.memory_mb, function.timeout_seconds))
            self._slots.counted["Errors", function.name] += answer.failed

    def close(self) -> None:
        self._slots.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


def functions_of(template: Template) -> list[Function]:
    return [
        _function(template, logical_id, properties) for logical_id, properties in template.python_functions().items()
    ]


def _function(template: Template, logical_id: str, properties: Mapping[str, Any]) -> Function:
    folder, handler = template.folder / properties["CodeUri"], properties["Handler"]
    memory = int(template.text(properties.get("MemorySize", 128)))
    return Function(
        template.name(logical_id), lambda: load_handler(folder, handler), template.timeout(logical_id), memory
    )


def load_handler(folder: Path, handler: str) -> Handler:
    """Load a handler. The module's name includes its folder: on Lambda each function has its own root, so file names
    can repeat."""
    module, _, attribute = handler.rpartition(".")
    return getattr(load_module(folder, module), attribute)


def load_module(folder: Path, module: str) -> ModuleType:
    return _module(f"functions.{folder.name}.{module}", folder / f"{module}.py")


def _module(name: str, path: Path) -> ModuleType:
    known = sys.modules.get(name)
    if known and known.__file__ and path.samefile(known.__file__):
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
