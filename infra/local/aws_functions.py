"""Run handlers in Python as Lambda does: a thread for each running invocation, limits, errors as JSON.

All functions share this process: its environment, and whatever a module keeps for its container.
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
"""More threads than concurrent invocations; they are made when needed."""

logger = logging.getLogger(__name__)


@dataclass
class Context:
    """The second argument of a handler, with the fields that handlers and Powertools read."""

    function_name: str
    memory_limit_in_mb: int
    timeout_seconds: float
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    function_version: str = "$LATEST"
    started: float = field(default_factory=lambda: time.monotonic())  # looked up late: tests let time pass

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.started + self.timeout_seconds - time.monotonic()) * 1000))


@dataclass(frozen=True)
class Answer:
    payload: bytes
    failed: bool = False
    """True for what Lambda calls "Unhandled"."""

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
        """Imported once, when it is first needed: a cold start."""
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
    """Functions by name; any other does not exist."""

    def __init__(self, slots: Slots) -> None:
        self._functions: dict[str, Function] = {}
        self._slots = slots
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="lambda")

    def add(self, function: Function) -> None:
        self._functions[function.name] = function

    def find(self, name_or_arn: str) -> Function | None:
        """By its name or its ARN, each with or without a version or an alias behind it."""
        _, is_arn, name = name_or_arn.partition(":function:")
        return self._functions.get((name if is_arn else name_or_arn).partition(":")[0])

    def invoke(self, function: Function, payload: bytes, *, queued: bool = False) -> Answer:
        """Raises `Refused` where the payload is too large or no slot is free; a `queued` one waits for its slot."""
        check_size(len(payload))
        with self._slots.taken(function.name, queued=queued):
            context = Context(function.name, function.memory_mb, function.timeout_seconds)
            running = self._threads.submit(function.answer, payload, context)
            if wait_for([running], function.timeout_seconds).done:
                answer = running.result()
                self._slots.counted["Errors", function.name] += answer.failed
                return answer
            self._slots.counted["Errors", function.name] += 1
            # Its thread goes on: Python has no way to end it.
            seconds = f"{function.timeout_seconds:.2f} seconds"
            message = f"RequestId: {context.aws_request_id} Error: Task timed out after {seconds}"
            return Answer.error("Sandbox.Timedout", message, context)

    def invoke_later(self, function: Function, payload: bytes) -> None:
        """Keep the event until a slot is free: nobody waits for its answer. Raises `Refused` where it is too large."""
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
    """The module gets a name with its folder in it: on Lambda each function has a root of its own, and two may have a
    file of the same name."""
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
