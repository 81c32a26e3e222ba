"""`qwestly-agent review` turns failures into cases and asks for verdicts on memories, without names."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pymongo import MongoClient
from pymongo.database import Database

from evals.pseudonyms import Pseudonyms, left_over
from evals.review import add_arguments, command, look_at_cases, look_at_memories
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from infra.stages import WrongUsage
from qwestly_agent.domain.candidate import CANDIDATES, EMPLOYMENT
from qwestly_agent.stores import approvals, messages
from qwestly_agent.stores.measures import PLANTED_LIES as PLANTED
from qwestly_agent.stores.memories import COLLECTION as MEMORIES
from tests.servers import ChatServer, Client

SAID = "I am Ada Lovelace of Kestrel Aviation, ada@kestrel.example, +44 20 7946 0958. Is my title right?"


class Answers:
    """A person's typed answers, followed by the end of input."""

    def __init__(self, *given: str) -> None:
        self.given = list(given)
        self.asked = 0

    def __call__(self, _: str) -> str:
        self.asked += 1
        if not self.given:
            raise EOFError
        return self.given.pop(0)


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Database[dict[str, Any]]]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database = mongo[chat.settings.mongodb_database]
        for name in (messages.COLLECTION, approvals.COLLECTION, MEMORIES, PLANTED):
            database[name].delete_many({})  # of other tests
        yield database


@pytest.fixture
def complained(client: Client, model: ModelServer, database: Database[dict[str, Any]]) -> str:
    """A conversation about a name, with a thumbs down and a comment; returns the conversation's id."""
    database[CANDIDATES].insert_one({"user_id": client.user_id, "name": "Ada Lovelace", "location": "Hamm"})
    database[EMPLOYMENT].insert_one({"user_id": client.user_id, "company": "Kestrel Aviation", "title": "Pilot"})
    model.script(Reply(text="Hello."), Reply(text="You are a cook at Kestrel Aviation, Ada."))
    first = client.say("Hello from Hamm")
    answer = client.say(SAID, first.conversation_id)
    thumb = {"thumb": "down", "words": "I am no cook, says Lovelace."}
    run_id = answer.events[0].data["run_id"]
    client.request("POST", f"/api/messages/msg_{run_id}/feedback", json=thumb).raise_for_status()
    return first.conversation_id


@pytest.mark.usefixtures("complained")
def test_a_case_is_stored_after_a_yes_without_identifying_the_user(
    database: Database[dict[str, Any]], tmp_path: Path
) -> None:
    file, said = tmp_path / "cases.yaml", list[str]()
    look_at_cases(database, file, 100, Answers(), said.append)
    assert not file.exists(), "without an answer nothing is written"
    for no in ("n", "", "what?"):
        look_at_cases(database, file, 100, Answers(no, "Something."), said.append)
        assert not file.exists()
    look_at_cases(database, file, 100, Answers("y", "Say that they are a pilot."), said.append)
    [kept] = yaml.safe_load(file.read_text())
    assert (kept["why"], kept["role"], kept["words"]) == ("a thumb down", "chat", "I am no cook, says Person A.")
    assert kept["before"] == [{"by": "user", "said": "Hello from Place A"}, {"by": "assistant", "said": "Hello."}]
    assert kept["said"] == "I am Person A of Company A, [mail], [number]. Is my title right?"
    assert kept["answer"] == "You are a cook at Company A, Person A."
    assert kept["expected"] == "Say that they are a pilot."
    again = Answers("y")
    look_at_cases(database, file, 100, again, said.append)
    assert again.asked == 0, "what is kept is not shown again"


def test_a_denied_change_becomes_a_case(
    database: Database[dict[str, Any]], client: Client, model: ModelServer, tmp_path: Path
) -> None:
    change: ToolCall = {"name": "update_preference", "arguments": {"name": "work_mode", "value": "remote"}}
    model.script(Reply(tool_calls=[change]), Reply(text="Please decide."))
    client.say("I like offices")
    [waits] = client.get("/api/approvals")["items"]
    no = {"decision": "reject", "args_digest": waits["args_digest"]}
    client.request("POST", f"/api/approvals/{waits['approval_id']}/decision", json=no).raise_for_status()
    file = tmp_path / "cases.yaml"
    look_at_cases(database, file, 100, Answers("y", "Propose nothing."), lambda _: None)
    kept = [each for each in yaml.safe_load(file.read_text()) if each["said"] == "I like offices"]
    assert [(each["why"], each["called"]) for each in kept] == [
        ("update_preference was rejected", ["update_preference"])
    ]


def test_details_that_may_identify_a_person_are_shown_for_review() -> None:
    assert left_over("Person A worked with Dr Okafor in 2019, at Company B.") == ["2019", "Dr", "Okafor"]
    names = Pseudonyms(
        [{"name": "Al", "company": "Acme"}, {"company": "ACME"}, {"nested": [{"school": "Acme College"}]}]
    )
    assert names.of("Al was at acme, then at Acme College. See https://acme.example/al") == (
        "Al was at Company A, then at School A. See [address]"
    )


def test_a_memory_gets_a_verdict_without_its_text(
    database: Database[dict[str, Any]], client: Client, tmp_path: Path
) -> None:
    for number, content in enumerate(("Lives in Lisbon", "Is a cook")):
        memory = {"status": "active", "type": "fact", "content": content, "quote": f"{content}!", "created": number}
        database[MEMORIES].insert_one({"_id": f"{client.user_id}{number}", "user_id": client.user_id, **memory})
    file, said = tmp_path / "verdicts.yaml", list[str]()
    look_at_memories(database, file, 2, Answers("x", "r", "w", "They were joking."), said.append)
    kept = yaml.safe_load(file.read_text())
    assert [(each["verdict"], each["why"]) for each in kept] == [("right", ""), ("wrong", "They were joking.")]
    assert not any(words in file.read_text() for words in ("Lisbon", "cook", client.user_id))
    assert any("quote: “Lives in Lisbon!”" in each for each in said)
    assert said[-1] == f"\n2 judged: 1 of 2 right (9.5–90.5 %), 0 unsure. They are in {file}."
    again = Answers("r")
    look_at_memories(database, file, 2, again, said.append)
    assert again.asked == 0


# --- one user, for support --------------------------------------------------------------------------------------------


def review(chat: ChatServer, *typed: str) -> int:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    uri, name = chat.settings.mongodb_uri, chat.settings.mongodb_database
    return command(parser.parse_args(typed), {"MONGODB_URI": uri, "MONGODB_DATABASE": name})


@pytest.mark.parametrize(("passed", "rings"), [(1, False), (11, True)])
def test_a_judges_rate_of_passed_lies_is_shown(
    chat: ChatServer, database: Database[dict[str, Any]], capsys: pytest.CaptureFixture[str], passed: int, rings: bool
) -> None:
    assert review(chat, "judge") == 0
    assert "No lie has been planted yet." in capsys.readouterr().out
    plants = [
        {"kind": ("figure", "denial")[number % 2], "language": "de", "passed": number < passed} for number in range(200)
    ]
    database[PLANTED].insert_one({"_id": "deepseek:deepseek-flash", "plants": plants})
    assert review(chat, "judge") == 0
    told = capsys.readouterr().out
    assert f"deepseek:deepseek-flash passed {passed} of 200 (" in told
    assert ("the alarm rings" in told) == rings
    assert f"figure, de: {(passed + 1) // 2} of 100 (" in told
    assert ("denial, de" in told) == (passed > 1)


@pytest.mark.usefixtures("complained")
def test_support_views_a_user_on_one_page_and_the_user_sees_the_access(
    chat: ChatServer, client: Client, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    change: ToolCall = {"name": "update_preference", "arguments": {"name": "work_mode", "value": "remote"}}
    model.script(Reply(tool_calls=[change]), Reply(text="Please decide."))
    client.say("I like offices")
    with Client(client.url, f"{client.user_id}-neighbour") as neighbour:
        neighbour.say("I am somebody else")
        capsys.readouterr()
        assert review(chat, "--user", client.user_id, "--reason", " Ticket 88:\nthe answer is wrong ") == 0
        assert "support.looked" not in {each["type"] for each in neighbour.get("/api/activity")["items"]}
    page = capsys.readouterr().out
    for shown in (
        "agent, complete: You are a cook at Kestrel Aviation, Ada.",
        "thumb down: I am no cook, says Lovelace.",
        "tool update_preference: ",
        "pending: Change your preference for work mode to remote (update_preference, ap_",
        "approval.asked: Your approval is asked for",
    ):
        assert shown in page
    assert "somebody else" not in page
    [look] = [each for each in client.get("/api/activity")["items"] if each["type"] == "support.looked"]
    assert look["title"] == (
        "Qwestly support looked at your conversations, approvals and activity: Ticket 88: the answer is wrong"
    )
    assert (look["role"], "each look is listed here" in look["why"]) == ("operators", True)
    exported = client.get("/api/me/export")["collections"]["agent_activity"]
    assert look["title"] in [each["title"] for each in exported]


@pytest.mark.parametrize("typed", [(), ("--reason", " "), ("--reason", "x" * 201), ("cases", "--reason", "Ticket 88")])
def test_without_a_reason_support_sees_nothing(
    chat: ChatServer, client: Client, typed: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    client.say("Hello")
    capsys.readouterr()
    with pytest.raises(WrongUsage):
        review(chat, "--user", client.user_id, *typed)
    assert capsys.readouterr().out == ""
    assert client.get("/api/activity")["items"] == []


def test_support_does_not_see_forgotten_data(
    chat: ChatServer, client: Client, database: Database[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    client.say("I was ill in 2019.")
    database[messages.COLLECTION].update_one({"user_id": client.user_id, "role": "user"}, {"$set": {"withheld": True}})
    review(chat, "--user", client.user_id, "--reason", "Ticket 88")
    page = capsys.readouterr().out
    assert "(holds something that the user had forgotten)" in page
    assert "I was ill" not in page


def test_pasted_control_characters_do_not_reach_supports_terminal(
    chat: ChatServer, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    client.say("Look: \x1b[2J")
    review(chat, "--user", client.user_id, "--reason", "Ticket 88")
    assert "\x1b" not in capsys.readouterr().out


def test_a_mistyped_user_is_reported_and_gets_no_activity(
    chat: ChatServer, database: Database[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert review(chat, "--user", "auth0|nobody", "--reason", "Ticket 88") == 1
    assert "Nothing is kept about auth0|nobody." in capsys.readouterr().err
    assert database["agent_activity"].count_documents({"user_id": "auth0|nobody"}) == 0
