"""The stack and its parts as separate processes, started as a person starts them."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from infra.local.environment import DEMO_DATABASE, DEMO_USER, ROOT, Template
from infra.local.ports import listens
from qwestly_agent.base.settings import is_reference
from tests.servers import API_SECRET, SECRET, Client, free_port, until, wait_for_port

START_SECONDS = 70
END_SECONDS = 90
ENVIRONMENT = {
    "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
    "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
    "PYTHONUNBUFFERED": "1",
    "HOME": os.environ.get("HOME", "/"),
    "QWESTLY_AGENT_SHARED_SECRET": SECRET,
    "MONGODB_DATABASE": DEMO_DATABASE,
    # Tests of one user send more messages per minute than a person does.
    "MESSAGES_A_MINUTE": "1000",
}
"""No other variable of the machine is passed on: it would override the local defaults."""
CANDIDATE_API = {
    "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
    "CANDIDATE_API_URL": "http://127.0.0.1:1/api/agent/v1",
    "ERASURE_LOG": "",
}
"""Settings without which the chat function does not start; neither address is called."""


def tool(name: str, why: str) -> str:
    """Return the path of a program. Without it the test is skipped, but never in CI."""
    if found := shutil.which(name):
        return found
    if os.environ.get("CI"):
        pytest.fail(f"{name} is missing: {why}")
    pytest.skip(f"{name} is missing: {why}")


@dataclass
class Process:
    """A program whose output is stored as it arrives."""

    popen: subprocess.Popen[bytes]

    def __post_init__(self) -> None:
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.popen.stdout
        with self.popen.stdout as output:
            for line in output:
                self._lines.append(line.decode(errors="replace").rstrip("\n"))

    @property
    def said(self) -> str:
        return "\n".join(self._lines)

    def running(self) -> bool:
        return self.popen.poll() is None

    def end(self, how: signal.Signals) -> int:
        """End the process; return the exit code."""
        self.popen.send_signal(how)
        return self.wait()

    def interrupt(self) -> int:
        """Press Ctrl-C until the process has ended; return the exit code."""
        until(lambda: self.popen.send_signal(signal.SIGINT) or not self.running(), END_SECONDS)
        return self.wait()

    def wait(self, seconds: float = END_SECONDS) -> int:
        """Wait until the process ends by itself and all output is read; return the exit code."""
        try:
            code = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"It did not end within {seconds:g} seconds: {self.said}")
        self._reader.join(END_SECONDS)
        return code


@contextmanager
def started(*command: str, folder: str = ".", **environment: str) -> Iterator[Process]:
    popen = subprocess.Popen(
        command,
        cwd=ROOT / folder,
        env={**ENVIRONMENT, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    process = Process(popen)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(popen.pid, signal.SIGKILL)
        process.wait()


def python(module: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-m", module, *arguments)


@dataclass
class Stack:
    """The processes of `make run`."""

    process: Process
    port: int
    found: Any = None
    """The memories when the address first answered."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def answers(self) -> bool:
        return listens(self.port)

    def model(self, control: str, **body: Any) -> Any:
        """Control the stack's own model server, or ask it which requests it received."""
        [address] = re.findall(r"model server +(\S+)", self.process.said)
        with httpx2.Client(timeout=30) as http:
            return http.request("POST" if body else "GET", f"http://{address}/_control/{control}", json=body).json()

    def release(self) -> None:
        """Release the model's held answer, once it is held."""
        until(lambda: self.model("release", now=True)["released"])


@contextmanager
def running_stack(mongodb_uri: str, **environment: str) -> Iterator[Stack]:
    port = free_port()
    with started(*python("infra.local"), PORT=str(port), MONGODB_URI=mongodb_uri, **environment) as process:
        stack = Stack(process, port)
        try:
            until(lambda: stack.answers or not process.running(), START_SECONDS)
            assert process.running(), process.said
            with Client(stack.url, DEMO_USER) as first:
                stack.found = first.request("GET", "/api/memories").json()
            until(lambda: "Ctrl-C" in process.said or not process.running(), START_SECONDS)
            yield stack
        finally:
            if process.running():
                process.end(signal.SIGTERM)


def descendants(pid: int) -> list[int]:
    """Return the processes started by this one, and those started by them."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    parents = [tuple(map(int, line.split())) for line in table.stdout.splitlines()]
    found = [pid]
    for parent in found:
        found += [child for child, of in parents if of == parent]
    return found[1:]


def alive(pids: list[int]) -> list[str]:
    """Return those of these processes that still run; zombies do not count."""
    table = subprocess.run(["ps", "-A", "-o", "pid=,stat=,args="], capture_output=True, text=True, check=True)
    found = [line.split(maxsplit=2) for line in table.stdout.splitlines()]
    return [" ".join(words) for words in found if int(words[0]) in pids and not words[1].startswith("Z")]


def kill(pids: list[int]) -> None:
    """Kill those of these processes that still run."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextmanager
def model_server(port: int) -> Iterator[Process]:
    with started(*python("infra.local.model_server", "--port", str(port))) as process:
        wait_for_port(port, process.popen)
        yield process


@contextmanager
def chat_function(port: int, mongodb_uri: str, model_port: int) -> Iterator[Process]:
    """Run the chat handler as Lambda starts it, with the environment from template.yaml."""
    given = {k: v for k, v in Template.load().environment("ChatFunction").items() if not is_reference(v)}
    model_url = f"http://127.0.0.1:{model_port}/v1"
    environment = {
        **given,
        **CANDIDATE_API,
        "AWS_LWA_PORT": str(port),
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": DEMO_DATABASE,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "MODEL_BASE_URL": model_url,
        "EMBEDDINGS_BASE_URL": model_url,
    }
    with started("./run.sh", folder="functions/chat", **environment) as process:
        wait_for_port(port, process.popen, START_SECONDS)
        yield process
