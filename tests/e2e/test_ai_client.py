"""The published AI SDK client, driven as `useChat` drives it: what it reads, and what it makes of our errors."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from infra.local.environment import ROOT
from infra.local.model_brain import ToolCall
from infra.local.model_server import ModelServer, Reply
from tests.e2e.processes import tool
from tests.servers import Client, token, until

SOURCE = Path(__file__).parent / "ai_client"
INSTALLED = ROOT / ".local" / "ai_client"
CALL: ToolCall = {"name": "get_user_profile", "arguments": {}}
ANSWER_SECONDS = 15


@dataclass
class Node:
    """The client's process: commands go in, answers come out, several at a time."""

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


@dataclass(frozen=True)
class Seen:
    """What a component that uses `useChat` has after a request, and the chunks that it read."""

    status: str
    error: str | None
    messages: list[dict[str, Any]]
    chunks: list[dict[str, Any]]
    aborted: bool

    @property
    def types(self) -> list[str]:
        return [chunk["type"] for chunk in self.chunks]

    @property
    def texts(self) -> list[str]:
        return [text_of(message) for message in self.messages]

    @property
    def refusal(self) -> str:
        """The code of an error that came instead of a stream: the client keeps the whole body."""
        assert self.status == "error"
        return json.loads(self.error or "")["error"]["code"]


@dataclass(frozen=True)
class UseChat:
    """A page with `useChat({id, messages, transport})`."""

    node: Node
    page: int

    def ask(self, command: str, **given: Any) -> Any:
        return self.node.begin(command, page=self.page, **given).result(ANSWER_SECONDS)

    def begin(self, command: str, **given: Any) -> Future[Seen]:
        seen: Future[Seen] = Future()
        asked = self.node.begin(command, page=self.page, **given)
        asked.add_done_callback(lambda done: seen.set_result(Seen(**done.result())))
        return seen

    def say(self, text: str, **more: Any) -> Seen:
        return Seen(**self.ask("send", message={"text": text, **more}))

    def regenerate(self, message_id: str | None = None) -> Seen:
        return Seen(**self.ask("regenerate", messageId=message_id))


def text_of(message: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in message["parts"])


def parts_of(message: dict[str, Any]) -> list[str]:
    return [part["type"] for part in message["parts"] if part["type"] != "step-start"]


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    program = install()
    process = subprocess.Popen(
        [program, str(INSTALLED / "client.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        yield Node(process)
        process.kill()


def install() -> str:
    """Node, once the lock's packages stand in a cache of their own; ready at once where they do."""
    node, npm = (tool(name, "the published AI SDK client needs it") for name in ("node", "npm"))
    INSTALLED.mkdir(parents=True, exist_ok=True)
    done, lock = INSTALLED / "installed-lock.json", SOURCE / "package-lock.json"
    if not done.exists() or done.read_bytes() != lock.read_bytes():
        done.unlink(missing_ok=True)
        shutil.copytree(SOURCE, INSTALLED, dirs_exist_ok=True)
        command = [npm, "ci", "--engine-strict=false", "--ignore-scripts", "--no-audit", "--no-fund"]
        npm_ci = subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True)
        if npm_ci.returncode and not os.environ.get("CI"):
            pytest.skip(f"npm could not install the AI SDK client: {npm_ci.stderr.strip()[-300:]}")
        assert npm_ci.returncode == 0, npm_ci.stderr
        shutil.copy(lock, done)
    shutil.copy(SOURCE / "client.mjs", INSTALLED)
    return node


@pytest.fixture
def chat_page(node: Node, client: Client) -> UseChat:
    return open_page(node, client, [])


def open_page(node: Node, client: Client, messages: list[dict[str, Any]]) -> UseChat:
    page = UseChat(node, next(node.numbers))
    page.ask("open", id="chat-1", url=client.url, token=token(client.user_id), messages=messages)
    return page


def test_a_turn_with_three_tools_is_read_to_its_end(chat_page: UseChat, client: Client) -> None:
    seen = chat_page.say("What do we know about me?")
    assert (seen.status, seen.error) == ("ready", None)
    assert (seen.types[0], seen.types[-1]) == ("start", "finish")
    assert seen.types.count("finish") == 1
    assert parts_of(seen.messages[-1]) == [
        "tool-get_user_profile",
        "tool-search_user_memories",
        "tool-query_user_knowledge",
        "text",
    ]
    calls = [part for part in seen.messages[-1]["parts"] if part["type"].startswith("tool-")]
    assert {part["state"] for part in calls} == {"output-available"}
    kept = client.get("/api/conversations/chat-1")["messages"][-1]
    assert (kept["id"], kept["content"]) == (seen.messages[-1]["id"], seen.texts[-1])


def test_words_before_and_after_a_tool_are_read_as_two_texts(chat_page: UseChat, model: ModelServer) -> None:
    model.script(Reply(text=["Let me ", "look."], tool_calls=[CALL]), Reply(text=["You are ", "new."]))
    seen = chat_page.say("Who am I?")
    assert (seen.status, seen.error) == ("ready", None)
    assert parts_of(seen.messages[-1]) == ["text", "tool-get_user_profile", "text"]
    assert [part["text"] for part in seen.messages[-1]["parts"] if part["type"] == "text"] == [
        "Let me look.",
        "You are new.",
    ]


@pytest.mark.parametrize("fault", ["bad_tool_arguments", "unknown_tool", "swapped_indices", "empty_choices"])
def test_a_turn_in_which_the_model_misbehaves_is_read_to_its_end(
    chat_page: UseChat, model: ModelServer, fault: Any
) -> None:
    model.script(Reply(tool_calls=[CALL], fault=fault), Reply(text="That is all."))
    seen = chat_page.say("Who am I?")
    assert (seen.status, seen.error, seen.types[-1]) == ("ready", None, "finish")
    assert seen.texts[-1] == "That is all."


def test_the_second_turn_knows_the_first(chat_page: UseChat, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[CALL]), Reply(text="Hello Ada."), Reply(text="Noted."))
    chat_page.say("My name is Ada.")
    seen = chat_page.say("And I like trains.")
    assert seen.texts == ["My name is Ada.", "Hello Ada.", "And I like trains.", "Noted."]
    sent = [m for m in model.requests[-1].json["messages"] if m["role"] != "system"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert [sent[0]["content"], sent[3]["content"], sent[4]["content"]] == [
        "My name is Ada.",
        "Hello Ada.",
        "And I like trains.",
    ]


def test_words_are_shown_while_the_model_still_speaks(chat_page: UseChat, model: ModelServer) -> None:
    model.script(Reply(text=["One, ", "two."], hold_after=1))
    said = chat_page.begin("send", message={"text": "Count"})
    chat_page.ask("untilSaid", text="One, ")
    assert not said.done()
    model.release()
    assert said.result(ANSWER_SECONDS).texts[-1] == "One, two."


def test_a_stopped_turn_ends_with_abort_and_the_conversation_goes_on(
    chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    said = chat_page.begin("send", message={"text": "Tell me"})
    chat_page.ask("untilSaid", text="Half of ")
    client.request("POST", "/api/conversations/chat-1/stop", json={})
    stopped = said.result(ANSWER_SECONDS)
    assert (stopped.status, stopped.error, stopped.types[-1]) == ("ready", None, "abort")
    assert stopped.texts == ["Tell me", "Half of "]
    model.script(Reply(text="The rest."))
    assert chat_page.say("Go on").texts == ["Tell me", "Half of ", "Go on", "The rest."]


def test_a_page_that_hangs_up_stops_nothing(chat_page: UseChat, client: Client, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    said = chat_page.begin("send", message={"text": "Tell me"})
    chat_page.ask("untilSaid", text="Half of ")
    chat_page.ask("hangUp")
    hung_up = said.result(ANSWER_SECONDS)
    assert (hung_up.status, hung_up.aborted) == ("ready", True)
    model.release()
    until(lambda: not client.get("/api/conversations/chat-1")["running"])
    assert client.get("/api/conversations/chat-1")["messages"][-1]["content"] == "Half of it."


def test_a_model_that_fails_is_an_error_with_our_sentence(chat_page: UseChat, model: ModelServer) -> None:
    model.script(Reply(fault=400))
    seen = chat_page.say("Hello")
    assert seen.status == "error"
    assert seen.error is not None
    assert seen.error.startswith("The language model did not accept this request.")
    assert seen.types[-1] == "error"
    model.script(Reply(text="Here I am."))
    assert chat_page.say("Again?").texts[-1] == "Here I am."


def test_an_answer_that_is_cut_off_keeps_its_words_and_is_an_error(
    chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text=["Half of ", "it."], fault="cut"))
    seen = chat_page.say("Tell me")
    assert (seen.status, seen.types[-1]) == ("error", "error")
    assert seen.error == "The answer broke off. What I had so far is kept; please try again."
    assert seen.texts[-1] == "Half of "
    assert client.get("/api/conversations/chat-1")["messages"][-1]["content"] == "Half of "


def test_a_failed_turn_is_made_again_by_regenerate(chat_page: UseChat, client: Client, model: ModelServer) -> None:
    model.script(Reply(fault=400))
    chat_page.say("Hello")
    model.script(Reply(text="Here I am."))
    seen = chat_page.regenerate()
    assert (seen.status, seen.error) == ("ready", None)
    kept = client.get("/api/conversations/chat-1")["messages"]
    assert [message["content"] for message in kept] == seen.texts == ["Hello", "Here I am."]


def test_a_file_is_refused_in_a_sentence(chat_page: UseChat, client: Client) -> None:
    file = {"type": "file", "mediaType": "application/pdf", "url": "data:application/pdf;base64,JVBERg=="}
    seen = chat_page.say("My résumé", files=[file])
    assert seen.refusal == "attachments_unsupported"
    assert client.get("/api/conversations")["items"] == []


def test_somebody_who_is_signed_out_is_told_so(chat_page: UseChat) -> None:
    chat_page.ask("signIn", token="expired")
    assert chat_page.say("Hello").refusal == "unauthorized"


def test_a_message_beside_a_running_turn_is_told_that_it_is_busy(
    node: Node, chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    chat_page.say("Hello")
    model.script(Reply(text="At last.", hold_after=0))
    said = chat_page.begin("send", message={"text": "First tab"})
    model.wait_until_held()
    second_tab = open_page(node, client, [])
    assert second_tab.say("Second tab").refusal == "conversation_busy"
    model.release()
    assert said.result(ANSWER_SECONDS).texts[-1] == "At last."


def test_a_reloaded_page_has_the_conversation_and_goes_on(
    node: Node, chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="Let me look.", tool_calls=[CALL]), Reply(text="Hello Ada."), Reply(text="Trains, noted."))
    before = chat_page.say("My name is Ada.")
    kept = client.get("/api/conversations/chat-1?as=ui")["messages"]
    assert [(message["id"], text_of(message)) for message in kept] == [
        (message["id"], text_of(message)) for message in before.messages
    ]
    assert [parts_of(message) for message in kept] == [parts_of(message) for message in before.messages]

    reloaded = open_page(node, client, kept)
    after = reloaded.say("And I like trains.")
    assert (after.status, after.texts[-1]) == ("ready", "Trains, noted.")
    assert len(client.get("/api/conversations/chat-1")["messages"]) == len(after.messages) == 4
    assert "Hello Ada." in model.requests[-1].body.decode()


def test_a_reloaded_page_shows_what_failed_and_what_was_stopped(
    node: Node, chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text=["Half of ", "it."], fault="cut"), Reply(fault=400), Reply(text="Here I am."))
    chat_page.say("Tell me")
    chat_page.say("And now?")
    kept = client.get("/api/conversations/chat-1?as=ui")["messages"]
    assert [message["role"] for message in kept][:3] == ["user", "assistant", "user"]
    assert text_of(kept[1]) == "Half of "
    after = open_page(node, client, kept).say("Still there?")
    assert (after.status, after.texts[-1]) == ("ready", "Here I am.")


def test_regenerate_replaces_the_answer(chat_page: UseChat, client: Client, model: ModelServer) -> None:
    model.script(Reply(text="First try."), Reply(text="Second try."), Reply(text="Third try."))
    chat_page.say("Hello")
    again = chat_page.regenerate()
    assert (again.status, again.texts) == ("ready", ["Hello", "Second try."])
    named = chat_page.regenerate(again.messages[-1]["id"])
    assert named.texts == ["Hello", "Third try."]
    kept = client.get("/api/conversations/chat-1?as=ui")["messages"]
    assert [message["id"] for message in kept] == [message["id"] for message in named.messages]
    assert [text_of(message) for message in kept] == named.texts


def test_regenerate_works_after_a_reload(node: Node, chat_page: UseChat, client: Client, model: ModelServer) -> None:
    model.script(Reply(tool_calls=[CALL]), Reply(text="First try."), Reply(text="Second try."))
    chat_page.say("Hello")
    reloaded = open_page(node, client, client.get("/api/conversations/chat-1?as=ui")["messages"])
    assert reloaded.regenerate().texts == ["Hello", "Second try."]


def test_regenerate_of_a_message_that_never_reached_us_answers_that_message(
    chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="First answer."), Reply(text="Second answer."))
    chat_page.say("First")
    chat_page.ask("signIn", token="expired")
    assert chat_page.say("Second").refusal == "unauthorized"
    chat_page.ask("signIn", token=token(client.user_id))
    seen = chat_page.regenerate()  # what `useChat`'s retry button calls
    assert seen.texts == ["First", "First answer.", "Second", "Second answer."]
    kept = client.get("/api/conversations/chat-1")["messages"]
    assert [message["content"] for message in kept] == seen.texts


def test_regenerate_of_a_first_message_that_never_reached_us_begins_the_conversation(
    chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="Hello Ada."))
    chat_page.ask("signIn", token="expired")
    assert chat_page.say("My name is Ada.").refusal == "unauthorized"
    chat_page.ask("signIn", token=token(client.user_id))
    assert chat_page.regenerate().texts == ["My name is Ada.", "Hello Ada."]
    assert client.get("/api/conversations")["items"][0]["title"] == "My name is Ada."


def test_the_same_message_posted_again_is_answered_with_the_same(
    chat_page: UseChat, client: Client, model: ModelServer
) -> None:
    model.script(Reply(tool_calls=[CALL]), Reply(text="Only once."))
    first = chat_page.say("Hello")
    asked_of_model = len(model.requests)
    again = chat_page.say("Hello", messageId=first.messages[0]["id"])
    assert (again.status, again.error) == ("ready", None)
    assert again.texts == first.texts == ["Hello", "Only once."]
    assert [message["id"] for message in again.messages] == [message["id"] for message in first.messages]
    assert len(model.requests) == asked_of_model
    assert len(client.get("/api/conversations/chat-1")["messages"]) == 2
