"""However the stack is stopped, nothing of it is left behind."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.processes import END_SECONDS, Process, alive, descendants, kill, started, tool
from tests.servers import free_port, mongo_server, until

pytestmark = pytest.mark.thorough

PARTS = 4
"""Number of processes that start first, with a given database."""


@dataclass
class Made:
    """`make run` with all of its parts started."""

    process: Process

    @property
    def pids(self) -> list[int]:
        return descendants(self.process.popen.pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, as a terminal does."""
        os.killpg(self.process.popen.pid, number)

    def interrupt(self) -> None:
        """Press Ctrl-C again and again."""
        until(lambda: self.signal(signal.SIGINT) or not self.process.running(), END_SECONDS)


WAYS: dict[str, Callable[[Made], object]] = {
    "Ctrl-C": lambda made: made.signal(signal.SIGINT),
    "Ctrl-C again and again": Made.interrupt,
    "the terminal is closed": lambda made: made.signal(signal.SIGHUP),
    "SIGTERM to all": lambda made: made.signal(signal.SIGTERM),
    "SIGTERM to make": lambda made: made.process.popen.terminate(),
    "SIGKILL to the stack": lambda made: os.kill(made.pids[0], signal.SIGKILL),
}


@pytest.fixture(scope="module")
def mongodb_uri() -> Iterator[str]:
    with mongo_server() as (uri, _):
        yield uri


@pytest.mark.nightly
@pytest.mark.parametrize("way", WAYS)
def test_a_stopped_stack_leaves_nothing_behind(way: str, mongodb_uri: str) -> None:
    """Started like a background process of a script: with SIGINT ignored. SIGHUP is not ignored, even under nohup."""
    environment = os.path.dirname(os.path.dirname(sys.executable))
    command = f"{tool('make', 'it runs the stack')} --old-file={environment}/run run VENV={environment}"
    with started(
        "sh",
        "-c",
        f"trap '' INT; exec env --default-signal=HUP {command}",
        PORT=str(free_port()),
        MONGODB_URI=mongodb_uri,
    ) as process:
        made = Made(process)
        until(lambda: len(made.pids) > PARTS or not process.running(), END_SECONDS)
        assert process.running(), process.said
        pids = made.pids
        try:
            WAYS[way](made)
            process.wait()
            until(lambda: not alive(pids), END_SECONDS)
            assert "Traceback" not in process.said
        except BaseException:
            kill(pids)
            raise
