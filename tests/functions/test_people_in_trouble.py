"""People in acute trouble get a fixed answer at once: nothing is called, nothing proposed, no model needed."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from infra.local.model_answers import ToolCall
from infra.local.model_faults import FaultStatus
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.help import words_for
from qwestly_agent.text.trouble import Kind, Trouble
from tests.counts import everyday
from tests.functions.talking import finds, judges, note, talking
from tests.functions.test_metrics import metrics_of
from tests.functions.test_tools import audit_of, call, calls, chats, offered, steps_of
from tests.servers import ChatServer, Client, user_says

WANTED: list[ToolCall] = [
    call("query_user_knowledge", only="memories", query="trouble"),
    call("update_profile_field", field="headline", value="Gone"),
]


@pytest.mark.parametrize(
    ("said", "kind", "language"),
    everyday(
        2,
        [
            ("I lost my job and I don't want to live anymore. Can you update my headline?", "self_harm", "en"),
            ("Mein Mann schlägt mich, wenn ich zu spät nach Hause komme.", "violence", "de"),
            ("Je veux en finir, je n'en peux plus.", "self_harm", "fr"),
            ("No quiero seguir viviendo", "self_harm", "es"),
            ("Quero morrer, já não aguento mais.", "self_harm", "pt"),
        ],
    ),
)
def test_help_is_given_at_once_and_without_the_model(
    chat: ChatServer, client: Client, model: ModelServer, said: str, kind: Kind, language: str
) -> None:
    model.script(*[calls(*WANTED)] * 3)
    words = words_for(Trouble(kind, language))
    answer = client.say(said)
    assert answer.names == ["conversation", "text_delta", "done"]
    assert (answer.text, answer.last.data["content"]) == (words, words)
    shown = client.say_ai_sdk("chat-1", user_says(said))
    assert "".join(each.data["delta"] for each in shown if each.name == "text-delta") == words
    assert not [each for each in shown if each.name.startswith(("tool", "data"))]
    assert chats(model) == 0
    assert audit_of(chat, client) == []
    assert client.get("/api/approvals")["items"] == []


MEANT = "The kettle is on and the letters are on the table. That was me, then."


@pytest.fixture(scope="module")
def moderated_server(chat: ChatServer) -> Iterator[ChatServer]:
    address = chat.settings.model_base_url
    with ChatServer(replace(chat.settings, moderation_base_url=address)) as server:
        yield server


@pytest.fixture
def moderated(moderated_server: ChatServer, client: Client) -> Iterator[Client]:
    """A user of a server that asks the moderation endpoint."""
    with Client(moderated_server.url, client.user_id) as user:
        yield user


def moderations(model: ModelServer) -> list[str]:
    return [each.json["input"] for each in model.requests if each.path.endswith("/moderations")]


@pytest.mark.parametrize("first", [calls(*WANTED), Reply(text="How cosy! What is in the letters?")])
def test_a_message_flagged_by_moderation_gets_only_the_fixed_answer(
    moderated: Client, moderated_server: ChatServer, model: ModelServer, first: Reply
) -> None:
    model.in_danger = ("letters are on the table",)
    words = words_for(Trouble("self_harm", "en"))
    model.script(first)
    answer = moderated.say(MEANT)
    assert (answer.names, answer.text) == (["conversation", "text_delta", "done"], words)
    assert moderations(model) == [MEANT]
    [_, kept] = moderated.get(f"/api/conversations/{answer.conversation_id}")["messages"]
    assert (kept["content"], kept["steps"], kept["receipt"]["help"]) == (words, [], "self_harm")
    model.script(first)
    shown = moderated.say_ai_sdk("chat-1", user_says(MEANT))
    assert "".join(each.data["delta"] for each in shown if each.name == "text-delta") == words
    assert not [each for each in shown if each.name.startswith(("tool", "data"))]
    assert audit_of(moderated_server, moderated) == []
    assert moderated.get("/api/approvals")["items"] == []
    model.script(Reply(text="These."))
    assert moderated.say("And my goals?", answer.conversation_id).text == "These."


@pytest.mark.parametrize("fault", [400, 401, 429, 500])
def test_a_failed_moderation_does_not_affect_the_answer(
    moderated: Client, model: ModelServer, fault: FaultStatus
) -> None:
    model.moderation_fault = fault
    model.script(Reply(text="Tea, then."))
    assert moderated.say(MEANT).text == "Tea, then."
    assert len(moderations(model)) == 1


@pytest.mark.thorough
def test_a_slow_moderation_is_awaited_until_its_timeout(moderated: Client, model: ModelServer) -> None:
    model.in_danger, model.moderation_seconds = ("letters",), 2.0
    model.script(Reply(text="Tea, then."))
    assert moderated.say(MEANT).text == "Tea, then."


def test_moderation_skips_pasted_text_and_is_off_without_its_setting(
    moderated: Client, client: Client, model: ModelServer
) -> None:
    model.script(Reply(text="A novel."), Reply(text="A novel."))
    moderated.say("What is this from?\n\n```\nI want it all to end tonight, he wrote.\n```")
    assert moderations(model) == ["What is this from?"]
    client.say(MEANT)
    assert len(moderations(model)) == 1


def test_help_needs_no_model_and_the_conversation_can_continue(
    client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    model.fault = Reply(fault=500)
    answer = client.say("I want to kill myself.")
    assert (answer.last.name, answer.text) == ("done", words_for(Trouble("self_harm", "en")))
    measured = metrics_of(capsys.readouterr().out)
    assert (measured["HelpTurns"], measured["FailedTurns"], measured["CostUsd"]) == ([1], [0], [0])
    [_, kept] = client.get(f"/api/conversations/{answer.conversation_id}")["messages"]
    assert (kept["content"], kept["status"]) == (answer.text, "complete")
    assert (kept["receipt"]["help"], kept["receipt"]["models"], kept["receipt"]["cost_usd"]) == ("self_harm", [], 0)
    model.fault = None
    model.script(calls(WANTED[0]), Reply(text="Your goals are these."))
    later = client.say("Thank you, I called them. What are my goals?", answer.conversation_id)
    assert later.last.data["content"] == "Your goals are these."
    assert "help" not in client.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["receipt"]


def test_quoted_or_pasted_text_triggers_no_help_answer(client: Client, model: ModelServer) -> None:
    poem = "I want to die. I want to kill myself tonight.\n" * 40
    for said in (
        f"Is this a good opening?\n> {poem}",
        f"Translate:\n```\n{poem}\n```",
        "My book is “I want to die now”.",
    ):
        model.script(Reply(text="Here you are."))
        assert client.say(said).text == "Here you are."
    assert client.say(f"Here is what I have:\n{'I led a team of nine. ' * 90}\nI want to die.").text != "Here you are."


@pytest.mark.parametrize(
    ("arguments", "words"),
    everyday(
        2,
        [
            ({"kind": "violence", "language": "fr"}, words_for(Trouble("violence", "fr"))),
            ({"kind": "abuse", "language": "pt-BR"}, words_for(Trouble("abuse", "pt"))),
            ({"kind": "self_harm", "language": "ja"}, words_for(Trouble("self_harm", "en"))),
            ({"kind": "?"}, words_for(Trouble("self_harm", "en"))),
        ],
    ),
)
def test_trouble_reported_by_the_model_is_answered_without_another_request(
    chat: ChatServer, client: Client, model: ModelServer, arguments: dict[str, str], words: str
) -> None:
    model.script(calls(call("report_trouble", **arguments), *WANTED), Reply(text="Never asked."))
    answer = client.say("You know what is going on with me.")
    assert answer.last.data["content"] == words
    assert chats(model) == 1
    assert "report_trouble" in offered(model)
    assert [step["problem"] for step in steps_of(client, answer)][1:] == ["Nothing is looked up or proposed now."] * 2
    assert {entry["tool"] for entry in audit_of(chat, client) if entry["outcome"] == "succeeded"} <= {"report_trouble"}
    assert client.get("/api/approvals")["items"] == []


def test_an_ai_sdk_client_gets_the_fixed_answer_for_trouble_the_model_reports(
    client: Client, model: ModelServer
) -> None:
    model.script(calls(call("report_trouble", kind="violence", language="de"), *WANTED))
    shown = client.say_ai_sdk("chat-1", user_says("…"))
    words = "".join(each.data["delta"] for each in shown if each.name == "text-delta")
    assert words == words_for(Trouble("violence", "de"))
    assert shown[-1].name == "[DONE]"
    assert chats(model) == 1


@pytest.mark.anyio
async def test_messages_about_acute_trouble_are_not_remembered(
    model: ModelServer, mongodb_uri: str, database_name: str
) -> None:
    async with talking(mongodb_uri, database_name, model) as talk:
        await talk.says("I live in Lisbon.", "I want to die since my wife left me in March.", "I speak Portuguese.")
        model.script(
            finds(
                note("Lives in Lisbon", "I live in Lisbon"),
                note("Wife left in March", "my wife left me in March", "m2"),
                note("Speaks Portuguese", "I speak Portuguese", "m2"),
            ),
            judges(True, True),
        )
        await talk.falls_silent()
        assert await talk.remembered() == ["Lives in Lisbon", "Speaks Portuguese"]
        assert all("wife" not in each.body.decode() for each in talk.asked("/chat/completions"))
        assert await talk.falls_silent() == [], "all of it was read"
