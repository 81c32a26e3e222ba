"""The published AG-UI client: how it reads turns, answers interrupts and handles our errors."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.local.model_server import ModelServer, Reply
from tests.e2e.node import Node, running
from tests.e2e.npm import installed
from tests.e2e.profile import Profile
from tests.servers import ChatServer, Client, token

pytestmark = pytest.mark.thorough

SECONDS = 15
HEADLINE = "Head of Product"
CHANGE = {"field": "headline", "value": HEADLINE}


@dataclass(frozen=True)
class Seen:
    events: list[dict[str, Any]]
    error: str | None
    messages: list[dict[str, Any]]
    pending: list[dict[str, Any]]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def texts(self) -> list[str]:
        return [each["content"] for each in self.messages if each["role"] == "assistant" and each.get("content")]

    def custom(self, name: str) -> list[Any]:
        return [each["value"] for each in self.events if each["type"] == "CUSTOM" and each["name"] == name]


@dataclass(frozen=True)
class Page:
    node: Node
    number: int

    def ask(self, command: str, **given: Any) -> Any:
        return self.node.begin(command, page=self.number, **given).result(SECONDS)

    def say(self, message: str, **more: Any) -> Seen:
        return Seen(**self.ask("say", message=message, **more))

    def resume(self, interrupt: dict[str, Any], **answer: Any) -> Seen:
        return Seen(**self.ask("resume", resume=[{"interruptId": interrupt["id"], **answer}]))


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with running(installed(Path(__file__).parent / "ag_ui_client", "it is the published AG-UI client")) as node:
        yield node


@pytest.fixture
def page(node: Node, client: Client) -> Page:
    return open_page(node, client)


def open_page(node: Node, client: Client, thread_id: str = "thread-1") -> Page:
    page = Page(node, next(node.numbers))
    page.ask("open", url=client.url, token=token(client.user_id), threadId=thread_id)
    return page


def wants(page: Page, model: ModelServer, *then: Reply) -> dict[str, Any]:
    """Let the model propose a headline; return the interrupt that asks for approval."""
    model.script(Reply(tool_calls=[{"name": "update_profile_field", "arguments": CHANGE}]), *then)
    [interrupt] = page.say(f"Make my headline {HEADLINE}.").pending
    return interrupt


@pytest.mark.nightly
def test_a_turn_with_tools_is_read_to_its_end(page: Page, client: Client) -> None:
    seen = page.say("What do we know about me?")
    assert seen.error is None
    assert (seen.types[0], seen.types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    kept = client.get("/api/conversations/thread-1")["messages"][-1]
    assert seen.texts[-1] == kept["content"]
    calls = [call["function"]["name"] for each in seen.messages for call in each.get("toolCalls") or ()]
    assert calls == [step["name"] for step in kept["steps"]]
    answered = [each for each in seen.messages if each["role"] == "tool"]
    assert len(answered) == len(calls)
    assert [each["label"] for each in seen.custom("tool_call")] == [step["label"] for step in kept["steps"]]
    finished = seen.events[-1]["result"]
    assert finished["usage"]["output_tokens"] > 0
    assert finished["stopped"] is False


def test_an_onboarding_asks_questions_and_reports_its_end(page: Page, client: Client, model: ModelServer) -> None:
    role = {"forwardedProps": {"role": "onboarding"}}
    model.script_chat(Reply(text="Where do you live? And why?"))
    assert page.say("I am a nurse.", **role).texts == ["Where do you live? And why?"]
    client.request("POST", "/api/interviews/thread-1/finish").raise_for_status()
    model.script_chat(Reply(text="Thank you. That is all."))
    seen = page.say("That is all.", **role)
    assert [each.keys() for each in seen.custom("onboarding_complete")] == [{"covered", "open"}]
    assert (seen.error, "What is still open" in seen.texts[-1]) == (None, True)


def test_the_conversation_continues_from_the_stored_messages(page: Page, model: ModelServer) -> None:
    model.script(Reply(text="Noted."), Reply(text="Lisbon."))
    page.say("I live in Lisbon.")
    assert page.say("Where do I live?").texts[-1] == "Lisbon."
    said = [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "user"]
    assert said[-1].endswith("Where do I live?")
    assert sum("I live in Lisbon." in each for each in said) == 1


@pytest.mark.parametrize(
    ("answer", "status", "headline"),
    [
        ({"status": "resolved", "payload": {"approved": True}}, "done", HEADLINE),
        ({"status": "resolved", "payload": {"approved": True, "editedArgs": {"value": "CPO"}}}, "done", "CPO"),
        ({"status": "resolved", "payload": {"approved": False, "reason": "Not now."}}, "rejected", None),
        ({"status": "cancelled"}, "rejected", None),
    ],
    ids=["yes", "in other words", "no", "cancelled"],
)
def test_an_approval_interrupts_the_run_and_resumes_it(
    page: Page,
    client: Client,
    model: ModelServer,
    profile: Profile,
    answer: dict[str, Any],
    status: str,
    headline: str | None,
) -> None:
    interrupt = wants(page, model, Reply(text="So."))
    [waiting] = client.get("/api/approvals")["items"]
    assert interrupt["message"] == waiting["preview"]["title"]
    assert interrupt["metadata"]["approval"]["approval_id"] == waiting["approval_id"]
    resumed = page.resume(interrupt, **answer)
    assert (resumed.error, resumed.texts[-1], resumed.pending) == (None, "So.", [])
    [decided] = resumed.custom("approval_decided")
    assert decided["status"] == status
    [result] = [event for event in resumed.events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["toolCallId"] == interrupt["toolCallId"]
    assert profile.get() == headline


def test_an_invalid_resume_payload_decides_nothing(page: Page, client: Client, model: ModelServer) -> None:
    interrupt = wants(page, model)
    for payload in ({"approved": "yes"}, {"approved": 1}, {}):
        assert "invalid" in (page.resume(interrupt, status="resolved", payload=payload).error or "")
    [waiting] = client.get("/api/approvals")["items"]
    assert waiting["status"] == "pending"


def test_a_failed_answer_ends_with_our_error_code_and_sentence(page: Page, model: ModelServer) -> None:
    model.script(Reply(fault=400))
    seen = page.say("Hello")
    assert seen.types[-1] == "RUN_ERROR"
    assert seen.events[-1]["code"] == "model_unavailable"
    assert seen.events[-1]["message"]


def test_a_request_rejected_before_the_stream_is_an_error(node: Node, chat: ChatServer) -> None:
    with Client(chat.url, "auth0|nobody") as stranger:
        page = Page(node, next(node.numbers))
        page.ask("open", url=stranger.url, token="no token", threadId="thread-1")
        assert "401" in (page.say("Hello").error or "")
