"""The summary of messages that left a conversation's window, with the real state machine."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.settings import Settings
from tests.servers import SECRET, ChatServer, Client
from tests.statemachines.conftest import TEMPLATE, World

WRITER, JUDGE = "You sum up the older part", "You are the second reader"
CUT = 23
"""Turns after which the window is cut: 46 messages are more than the largest one."""
FIRST = "I want to leave nursing for teaching by 2028."


def nothing_supported() -> Reply:
    verdicts = [{"id": n, "why": "They do not say so."} for n in range(10)]
    return Reply(tool_calls=[{"name": "final_result", "arguments": {"verdicts": verdicts}}], to=JUDGE)


def summed_up(*lines: tuple[str, str, str]) -> Reply:
    arguments = {"lines": [{"message_id": id_, "text": text, "quote": quote} for id_, text, quote in lines]}
    call: ToolCall = {"name": "final_result", "arguments": arguments}
    return Reply(tool_calls=[call], to=WRITER)


@dataclass
class Talker:
    """A user in a long conversation."""

    world: World
    chat: ChatServer
    model: ModelServer
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")
    conversation_id: str | None = None

    def says(self, *texts: str) -> None:
        with Client(self.chat.url, self.user_id, self.world.clock) as client:
            for text in texts:
                self.conversation_id = client.say(text, self.conversation_id).conversation_id

    def talks_past_the_cut(self) -> None:
        """The workflow of that turn has ended, too."""
        self.says(FIRST, *(f"Thanks, and here is thought {n}" for n in range(1, CUT)), "Where were we?")
        self.wait()

    def wait(self) -> None:
        self.statuses()

    def statuses(self) -> list[str]:
        """Return the ends of the executions that summarize, oldest first."""
        machine = TEMPLATE.arn("ExtractMemoriesMachine").replace(":stateMachine:", ":execution:")
        known = {each["run_id"] for each in self.world.database["agent_messages"].find({"user_id": self.user_id})}
        begun = [each for each in self.world.aws.workflows() if each.name.removeprefix("summary-") in known]
        return [self.world.aws.outcome(f"{machine}:{each.name}").status for each in reversed(begun)]

    def forgets(self, content: str) -> None:
        """Forget a memory with this content, on the page."""
        message = self.world.database["agent_messages"].find_one({"user_id": self.user_id, "content": content})
        assert message
        source = {"kind": "conversation", "conversation_id": self.conversation_id, "message_ids": [message["id"]]}
        fields = {"type": "goal", "content": content, "quote": content, "status": "active", "salience": 1.0}
        memory_id = f"mem_{uuid.uuid4().hex}"
        self.world.database["user_memories"].insert_one(
            {"_id": memory_id, "id": memory_id, "user_id": self.user_id, "source": source, **fields}
        )
        self.world.clock.advance(1)
        with Client(self.chat.url, self.user_id, self.world.clock) as client:
            client.request("DELETE", f"/api/memories/{memory_id}").raise_for_status()
        self.world.clock.advance(1)

    def kept(self) -> dict[str, Any]:
        document = self.world.database["agent_conversations"].find_one({"user_id": self.user_id})
        return document or {}

    def lines(self) -> list[tuple[str, str, str]]:
        return [(each["who"], each["text"], each["quote"]) for each in self.kept()["summary"]["lines"]]

    def told(self) -> list[str]:
        """Return the earlier messages' summary in the next turn's prompt."""
        self.says("Go on.")
        request = [each for each in self.model.requests if each.json.get("stream")][-1]
        said = [each["content"] for each in request.json["messages"] if each["role"] == "user"]
        return re.findall(r"- (?:The user|You): [^<\n]+", said[0]) if "<earlier_conversation>" in said[0] else []

    def asked_to_sum_up(self) -> list[str]:
        """Return the prompts that ask for a summary."""
        return [str(each.json["messages"][-1]) for each in self.model.requests if WRITER in str(each.json)]


@pytest.fixture(scope="module")
def chat(world: World) -> Iterator[ChatServer]:
    settings = replace(Settings.from_env(), qwestly_agent_shared_secret=SECRET, messages_a_minute=100_000)
    with ChatServer(settings, world.clock) as server:
        yield server


@pytest.fixture
def ada(world: World, chat: ChatServer, model: ModelServer) -> Talker:
    return Talker(world, chat, model)


LINE = ("m1", "Wants to leave nursing for teaching by 2028", "leave nursing for teaching by 2028")


@pytest.mark.thorough
def test_messages_outside_the_window_are_summarized_once(ada: Talker) -> None:
    ada.model.script(summed_up(LINE))
    ada.talks_past_the_cut()
    assert ada.lines() == [("user", LINE[1], LINE[2])]
    assert ada.told() == ["- The user: Wants to leave nursing for teaching by 2028"]
    assert ada.told() == ["- The user: Wants to leave nursing for teaching by 2028"]
    assert len(ada.asked_to_sum_up()) == 1, "one request a cut"
    assert ada.statuses() == ["SUCCEEDED"]


@pytest.mark.thorough
def test_an_unsupported_summary_line_becomes_its_quote_and_an_invented_one_is_dropped(ada: Talker) -> None:
    invented = ("m1", "Was promoted to head of nursing", "promoted to head")
    other_figure = ("m1", "Wants to leave nursing for teaching by 2030", "teaching by 2028")
    ada.model.script(summed_up(LINE, invented, other_figure), nothing_supported())
    ada.talks_past_the_cut()
    assert ada.told() == ["- The user: “leave nursing for teaching by 2028”", "- The user: “teaching by 2028”"]


@pytest.mark.nightly
@pytest.mark.thorough
def test_without_a_model_the_conversation_continues_without_an_alarm(ada: Talker) -> None:
    ada.model.script(*[Reply(fault=503, to=WRITER)] * 20)
    ada.talks_past_the_cut()
    assert ada.statuses() == ["SUCCEEDED"]
    assert "summary" not in ada.kept()
    assert ada.told() == []


@pytest.mark.thorough
def test_forgetting_deletes_the_summary_and_the_next_turn_recreates_it(ada: Talker) -> None:
    ada.model.script(summed_up(LINE, ("m3", "Had thought 1", "thought 1")))
    ada.talks_past_the_cut()
    ada.forgets(FIRST)
    assert "summary" not in ada.kept()
    ada.says("And now?")
    ada.wait()
    assert "summary" in ada.kept()
    assert FIRST not in ada.asked_to_sum_up()[-1]
    assert not any("nursing" in line for line in ada.told())


@pytest.mark.thorough
def test_no_model_is_called_for_a_summary_under_the_brake(ada: Talker) -> None:
    ada.says(FIRST, *(f"Thanks, and here is thought {n}" for n in range(1, CUT)))
    ada.model.script(Reply(text="Go on.", hold_after=0, streams=True))
    ada.world.run(lambda services: services.signals.turn_brake_on(ada.user_id, ada.world.clock()))
    ada.world.aws.start(
        TEMPLATE.name("ExtractMemoriesMachine"),
        {"user_id": ada.user_id, "conversation_id": ada.conversation_id, "run_id": "r1", "window_from": 31},
        f"summary-{uuid.uuid4().hex}",
    )
    ada.wait()
    assert ada.asked_to_sum_up() == []


@pytest.mark.thorough
def test_others_text_and_messages_of_people_in_trouble_are_not_summarized(ada: Talker) -> None:
    trouble = "I want to kill myself."
    pasted = "My boss wrote:\n> You are fired, pack your things\nWhat now?"
    ada.says(trouble, pasted)
    ada.talks_past_the_cut()
    [given] = ada.asked_to_sum_up()
    assert "kill myself" not in given
    assert "I'm glad you" not in given
    assert "fired" not in given
    assert ada.kept()["summary"]["has_others_words"] is True
