"""The package's modules and calls in a turn, counted by a profiler."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import qwestly_agent
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals import pause
from qwestly_agent.chat import services
from tests.functions.test_approvals import asked, wants
from tests.functions.test_approvals import person as person
from tests.functions.test_chat_turn import CALL
from tests.servers import Answer, ChatServer, Client

MOST_MODULES, MOST_CALLS = 50, 1_800
MOST_MODULES_OF_AN_APPROVAL = 34
"""In addition to those of a turn without one."""
PACKAGE = qwestly_agent.__path__[0]


class Profiler:
    """Counts the calls of the package's functions; a resumption of a generator or coroutine is one."""

    def __init__(self) -> None:
        self.calls: Counter[str] | None = None
        """Count calls by module; None while nothing is counted."""

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.calls is not None and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.calls[frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")] += 1


@pytest.fixture
def profiler() -> Iterator[Profiler]:
    before, profiler = threading.getprofile(), Profiler()
    threading.setprofile(profiler)
    yield profiler
    threading.setprofile(before)


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn over 0.3 s is also watched and stored while it runs; that must not depend on the machine's speed."""
    for module, name in ((services, "KEEP_SECONDS"), (pause, "OFTEN_SECONDS"), (pause, "SELDOM_SECONDS")):
        monkeypatch.setattr(module, name, 60.0)


@pytest.mark.usefixtures("unwatched")
def test_a_turn_with_one_tool_goes_through_few_modules_and_calls(
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
    narrowest = min(turns[3:], key=Counter.total)
    assert len(narrowest) <= MOST_MODULES, sorted(narrowest)
    assert narrowest.total() <= MOST_CALLS, narrowest.most_common(20)


def test_an_approval_in_the_chat_adds_few_modules(
    profiler: Profiler, person: Client, chat: ChatServer, model: ModelServer
) -> None:
    def counted(turn: Callable[[], Any]) -> tuple[Any, set[str]]:
        calls = profiler.calls = Counter[str]()
        answer = turn()
        profiler.calls = None
        return answer, set(calls)

    with ChatServer(chat.settings) as server, Client(server.url, person.user_id) as client:
        conversation_id = client.say("Hello").conversation_id
        _, plain = counted(lambda: client.say("Hello again", conversation_id))
        model.script(wants())
        answer, asking = counted(lambda: client.say("Make me head of product", conversation_id))
        decision = {**{name: asked(answer)[name] for name in ("approval_id", "args_digest")}, "decision": "approve"}
        _, deciding = counted(
            lambda: Answer(client.post({"conversation_id": conversation_id, "decisions": [decision]}))
        )
    added = (asking | deciding) - plain
    assert len(added) <= MOST_MODULES_OF_AN_APPROVAL, sorted(added)
