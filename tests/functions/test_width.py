"""The modules and calls of the package that a turn goes through, by the profiler."""

import threading
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import qwestly_agent
from infra.local.model_server import ModelServer, Reply
from tests.functions.test_chat_turn import CALL
from tests.servers import ChatServer, Client

MOST_MODULES, MOST_CALLS = 50, 2_000
PACKAGE = qwestly_agent.__path__[0]


class Profiler:
    """Counts the calls of the package's functions; a resumption of a generator or coroutine is one."""

    def __init__(self) -> None:
        self.calls: Counter[str] | None = None
        """By module; None while nothing is counted."""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.calls is not None and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls[frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")] += 1


@pytest.fixture
def profiler() -> Iterator[Profiler]:
    before, profiler = threading.getprofile(), Profiler()
    threading.setprofile(profiler)
    yield profiler
    threading.setprofile(before)


def test_a_turn_with_one_tool_is_narrow(
    profiler: Profiler, client: Client, chat: ChatServer, model: ModelServer
) -> None:
    turns: list[Counter[str]] = []
    with ChatServer(chat.settings) as server, Client(server.url, client.user_id) as person:
        conversation_id = None
        for _ in range(6):
            model.script(Reply(tool_calls=[CALL]), Reply(text=["You are ", "new here."]))
            calls = profiler.calls = Counter[str]()
            conversation_id = person.say("Who am I?", conversation_id).conversation_id
            profiler.calls = None
            turns.append(calls)
    # A turn that takes longer than 0.3 s is also watched and stored while it runs: the machine's speed is not meant.
    narrowest = min(turns[3:], key=Counter.total)
    assert len(narrowest) <= MOST_MODULES, sorted(narrowest)
    assert narrowest.total() <= MOST_CALLS, narrowest.most_common(20)
