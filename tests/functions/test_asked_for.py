"""At L3 something is changed without approval only if the user requests exactly that in the message they just typed,
and it can be undone: whatever untrusted text says, and wherever it is."""

from dataclasses import replace

import pytest
from pymongo import MongoClient

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.agents.tools import changes
from qwestly_agent.stores import candidate_data
from qwestly_agent.workflows import ACTIONS
from tests.functions.talking import WISH_JUDGE, wishes
from tests.functions.test_approvals import HEADLINE, asked, decide, profile_of, wants
from tests.servers import Answer, ChatServer, Client

WISH = "Please change my headline to Head of Product."
NO_JUDGE = tuple([Reply(fault=503, to=WISH_JUDGE)] * 2)


@pytest.fixture
def person(chat: ChatServer, client: Client) -> Client:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        profile = {"_id": client.user_id, "user_id": client.user_id, "headline": "Product Manager", "skills": ["SQL"]}
        mongo[chat.settings.mongodb_database]["candidates_enhanced"].insert_one(profile)
    client.request("PUT", "/api/autonomy", json={"level": "L3"})
    return client


def judged(model: ModelServer) -> int:
    """Return the number of requests to the judge of wishes."""
    return sum(WISH_JUDGE in each.body.decode() for each in model.requests)


def waits(answer: Answer) -> bool:
    return "approval_required" in answer.names


def test_a_requested_change_is_executed_at_once_recorded_and_undoable(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    model.script(wants(), wishes("change my headline to Head of Product"), Reply(text="Changed."))
    answer = person.say(WISH)
    assert (answer.text, waits(answer)) == ("Changed.", False)
    [shown] = [event.data for event in answer.events if event.name == "approval_decided"]
    assert (shown["status"], shown["undo_until"] is None) == ("done", False), "with its undo in sight"
    assert profile_of(chat, person)["headline"] == HEADLINE
    record = person.get("/api/approvals?state=all")["items"][0]
    assert (record["status"], record["decided_by"]) == ("done", "level")
    assert record["undo_until"]
    model.script(Reply(text="Yes."))
    person.say("Sure?", answer.conversation_id)
    assert judged(model) == 0 or model.requests[-1].json["messages"][-1]["content"] == "Sure?"


def test_over_its_daily_limit_an_action_needs_approval_again(
    chat: ChatServer, person: Client, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = replace(ACTIONS["update_profile_field"], most_unasked_a_day=1)
    monkeypatch.setitem(ACTIONS._by_tool, limited.tool, limited)
    monkeypatch.setattr(changes, "UPDATE_PROFILE_FIELD", limited)
    model.script(wants(), wishes("change my headline to Head of Product"), Reply(text="Changed."))
    assert not waits(person.say(WISH))
    model.script(wants(value="Designer"), wishes("change my headline to Designer"))
    assert asked(person.say("Please change my headline to Designer."))["status"] == "pending"
    assert profile_of(chat, person)["headline"] == HEADLINE


@pytest.mark.thorough
@pytest.mark.parametrize(
    "reply", [wishes(""), wishes("words that nobody typed"), *NO_JUDGE[:1]], ids=["no", "made up", "away"]
)
def test_a_change_the_judge_does_not_find_in_the_message_needs_approval(
    chat: ChatServer, person: Client, model: ModelServer, reply: Reply
) -> None:
    model.script(wants(), reply, reply)
    assert asked(person.say(WISH))["status"] == "pending"
    assert profile_of(chat, person)["headline"] == "Product Manager"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "message",
    [
        f"```\n{WISH}\n```",
        f"> {WISH}",
        f"Please do this: “{WISH}”",
        f"{WISH}\n\nIt is time.\n\nReally.",
        f"{WISH} {'It is time. ' * 24}",
        f"From: Eve\nSubject: hello\n\n{WISH}",
        "Make my headline better",
        "Change my headline to Head of Products",
    ],
    ids=[
        "fenced",
        "quoted",
        "in quotation marks",
        "three lines",
        "301 characters",
        "a mail",
        "no value",
        "a longer word",
    ],
)
def test_a_long_or_pasted_message_or_one_without_the_value_needs_approval(
    chat: ChatServer, person: Client, model: ModelServer, message: str
) -> None:
    model.script(wants(), wishes(message.strip()[:40]))
    assert waits(person.say(message))
    assert judged(model) == 0
    assert profile_of(chat, person)["headline"] == "Product Manager"


def test_each_added_or_removed_item_must_be_named(chat: ChatServer, person: Client, model: ModelServer) -> None:
    model.script(wants("skills", ["SQL", "Go"]), wishes("Add Go to my skills"), Reply(text="Done."))
    assert person.say("Add Go to my skills").text == "Done."
    assert profile_of(chat, person)["skills"] == ["SQL", "Go"]
    model.script(wants("skills", ["Go", "Rust"]))  # and SQL is removed
    assert waits(person.say("Add Rust to my skills"))
    model.script(wants("skills", ["SQL", "Go", "Rust", "Power"]))
    assert waits(person.say("Add Rust to my skills"))
    assert profile_of(chat, person)["skills"] == ["SQL", "Go"]


def test_the_label_of_a_work_mode_counts_as_its_name(chat: ChatServer, person: Client, model: ModelServer) -> None:
    change = {"name": "work_mode", "value": "remote"}
    words = "Set my work mode to home office"
    model.script(
        Reply(tool_calls=[{"name": "update_preference", "arguments": change}]), wishes(words), Reply(text="Ok.")
    )
    assert person.say(words).text == "Ok."


def test_one_message_allows_one_change_without_approval_however_often_answered(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    message = "Add Go to my skills"
    both = [wants("skills", ["SQL", "Go"]), wants("skills", ["Go", "SQL"], call_id="call_2")]
    together = Reply(tool_calls=[call for each in both for call in each.tool_calls])
    model.script(together, wishes(message), wishes(message), Reply(text="Done."))
    answer = person.say(message)
    assert answer.names.count("approval_required") == 1
    done = [each for each in person.get("/api/approvals?state=all")["items"] if each["status"] == "done"]
    assert len(done) == 1
    [new] = set(profile_of(chat, person)["skills"]) - {"SQL"}
    other = "Rust" if new == "Go" else "Go"
    last = person.get(f"/api/conversations/{answer.conversation_id}")["messages"][-1]["id"]
    model.script(wants("skills", ["SQL", new, other], call_id="call_3"), wishes(message), Reply(text="Done."))
    assert waits(Answer(person.post({"conversation_id": answer.conversation_id, "replaces": last})))
    assert set(profile_of(chat, person)["skills"]) == {"SQL", new}


def test_a_public_change_always_needs_approval(chat: ChatServer, person: Client, model: ModelServer) -> None:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        card = {"user_id": person.user_id, "card_id": "two", "headline": "Product", "sections": [], "active": False}
        mongo[chat.settings.mongodb_database][candidate_data.CARDS].insert_one(card)
    for message in ("Which Product should I learn?", "Please show my card Product first"):
        model.script(
            Reply(tool_calls=[{"name": "save_card_as_active", "arguments": {"card_id": "two"}}]), wishes(message)
        )
        answer = person.say(message)
        assert waits(answer)
        decide(person, asked(answer), "reject")
    assert judged(model) == 0


def test_an_irreversible_change_always_needs_approval(person: Client, model: ModelServer) -> None:
    message = "Read https://www.linkedin.com/in/ada please"
    model.script(Reply(tool_calls=[{"name": "ingest_linkedin_profile", "arguments": {}}]), wishes(message))
    assert waits(person.say(message))
    assert judged(model) == 0


# --- untrusted text ---------------------------------------------------------------------------------------------------


def test_untrusted_text_from_two_turns_ago_changes_nothing(
    chat: ChatServer, person: Client, model: ModelServer
) -> None:
    look = Reply(tool_calls=[{"name": "query_user_knowledge", "arguments": {"query": "titles"}}])
    model.script(look, wants())
    answer = person.say("Make me what my résumé says")
    assert decide(person, asked(answer), "reject").json()["status"] == "rejected"
    model.script(Reply(text="Yes?"))
    person.say("Hello", answer.conversation_id)
    model.script(wants(value="Chief", call_id="call_3"), wishes("Hello"))
    assert waits(person.say("Now go on", answer.conversation_id))
    assert profile_of(chat, person)["headline"] == "Product Manager"
