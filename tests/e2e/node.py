"""A Node program that reads one command per line and answers each when it is done."""

import json
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.e2e.processes import tool


@dataclass
class Node:
    """The client's process: several commands can run at a time."""

    process: subprocess.Popen[str]
    numbers: Iterator[int] = field(default_factory=count)
    waiting: dict[int, Future[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()

    def begin(self, command: str, **given: Any) -> Future[Any]:
        number = next(self.numbers)
        answer = self.waiting[number] = Future()
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"number": number, "command": command, **given}) + "\n")
        self.process.stdin.flush()
        return answer

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            answer = json.loads(line)
            waiting = self.waiting.pop(answer["number"])
            if "failure" in answer:
                waiting.set_exception(AssertionError(answer["failure"]))
            else:
                waiting.set_result(answer["result"])


@contextmanager
def running(project: Path, *arguments: str) -> Iterator[Node]:
    """Run the project's `client.mjs`."""
    command = [tool("node", "it runs a published client"), str(project / "client.mjs"), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Node(process)
        process.kill()
