"""Drafts as their users read them, in the chat and over the API."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.cards.model import Card, CheckedCard, Claim, Evidence, LeftOut, Section
from qwestly_agent.stores.drafts import COLLECTION, Draft
from tests.servers import ChatServer, Client

Stored = Database[dict[str, Any]]
Drafts = Callable[..., str]

ABOUT, MORE = "I build payment products.", "I led a team of eight."
TEXT = f"{ABOUT} {MORE}"
LIE, WHY = "Won the Nobel Prize in 2019.", "No cited source says 2019."
SECRET = "what stands in a document, and is nobody's to repeat"
READ = "read_draft"

CHECKED = CheckedCard(
    card=Card(
        style="story",
        headline=Claim(text="Builds what she plans", evidence=("document:1",)),
        sections=(
            Section(
                kind="about",
                heading="About me",
                claims=(Claim(text=ABOUT, evidence=("document:1",)), Claim(text=MORE, evidence=("document:1",))),
            ),
        ),
    ),
    left_out=(LeftOut(claim=Claim(text=LIE, evidence=("document:1",)), why=(WHY,)),),
    confirmed=(),
)
EVIDENCE = Evidence(id="document:1", kind="document", trust="user_document", text=SECRET, source="résumé.pdf")


@pytest.fixture
def database(chat: ChatServer) -> Iterator[Stored]:
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        yield mongo[chat.settings.mongodb_database]


@pytest.fixture
def drafted(chat: ChatServer, client: Client, database: Stored) -> Drafts:
    """The id of a draft of this user, kept as the pipeline and the tools keep it."""

    def keep(kind: str = "about", *, user_id: str = client.user_id, checked: bool = True, **fields: Any) -> str:
        draft = Draft.model_validate(
            {
                "id": f"{kind}_{uuid.uuid4().hex}",
                "user_id": user_id,
                "run_id": "run1",
                "conversation_id": None,
                "kind": kind,
                "style": "story",
                "status": "drafted",
                "label": "Drafted",
                "created_at": chat.clock(),
                "updated_at": chat.clock(),
                **fields,
            }
        )
        parts = {"part_evidence": json.dumps([EVIDENCE.model_dump(mode="json")])}
        if checked:
            parts["part_card"] = json.dumps({"round": 1, "checked": CHECKED.model_dump(mode="json")})
        document = {"_id": draft.id, **draft.model_dump(mode="json", exclude={"id", "parts"}), **parts}
        database[COLLECTION].insert_one(document)
        return draft.id

    return keep


def calls(tool: str, draft_id: str, call_id: str = "call_1") -> Reply:
    return Reply(tool_calls=[{"name": tool, "arguments": {"draft_id": draft_id}, "id": call_id}])


def told(model: ModelServer) -> str:
    """What the model was told of its last call."""
    return [each["content"] for each in model.requests[-1].json["messages"] if each["role"] == "tool"][-1]


def result_in(model: ModelServer) -> dict[str, Any]:
    said = told(model)
    return json.loads(said[said.index("{") : said.rindex("}") + 1])


def at_level(client: Client, level: str) -> None:
    client.request("PUT", "/api/autonomy", json={"level": level}).raise_for_status()


# --- reading ----------------------------------------------------------------------------------------------------------

LEFT_OUT = [{"text": LIE, "why": [WHY]}]
SECTIONS = [{"heading": "About me", "claims": [ABOUT, MORE]}]


@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
@pytest.mark.parametrize(
    ("kind", "says"),
    [("about", {"text": TEXT}), ("card", {"headline": "Builds what she plans", "sections": SECTIONS})],
    ids=["about", "card"],
)
def test_a_draft_is_read_with_what_was_left_out_and_without_its_evidence(
    client: Client, model: ModelServer, drafted: Drafts, kind: str, says: dict[str, Any], level: str
) -> None:
    at_level(client, level)
    draft_id = drafted(kind)
    model.script(calls(READ, draft_id), Reply(text="That."))
    client.say("What does it say?")
    read = result_in(model)
    assert read.pop("note") == "Show the text word for word."
    state = {"kind": kind, "status": "drafted", "style": "story", "label": "Drafted"}
    assert read == {**state, **says, "left_out": LEFT_OUT}
    assert SECRET not in model.requests[-1].body.decode()
    nothing = {"headline": None, "sections": [], "text": None}
    answered = client.request("GET", f"/api/drafts/{draft_id}")
    about_it = {"draft_id": draft_id, "conversation_id": None, "approval_id": None, "flagged": False}
    assert answered.json() == {**about_it, **state, "content": {**nothing, **says, "left_out": LEFT_OUT}}


@pytest.mark.parametrize("checked", [False, True], ids=["the first time", "as its user wants it"])
def test_of_a_draft_that_is_being_made_it_is_told_how_far_it_is(
    client: Client, model: ModelServer, drafted: Drafts, checked: bool
) -> None:
    draft_id = drafted("card", status="running", label="Drafting 3 of 6 sections", checked=checked)
    model.script(calls(READ, draft_id), Reply(text="Half of it."))
    client.say("How far is it?")
    read = result_in(model)
    assert "how far it is" in read.pop("note")
    state = {"kind": "card", "status": "running", "style": "story", "label": "Drafting 3 of 6 sections"}
    assert read == state
    answered = client.get(f"/api/drafts/{draft_id}")
    assert {name: answered[name] for name in [*state, "content"]} == {**state, "content": None}


def test_of_a_draft_that_failed_it_is_told_why(client: Client, model: ModelServer, drafted: Drafts) -> None:
    draft_id = drafted("card", status="failed", label="It could not be finished", checked=False)
    model.script(calls(READ, draft_id), Reply(text="It failed."))
    client.say("And?")
    assert (result_in(model)["status"], result_in(model)["label"]) == ("failed", "It could not be finished")


def test_of_a_draft_that_rests_on_what_was_forgotten_the_model_is_told_so(
    client: Client, model: ModelServer, drafted: Drafts
) -> None:
    draft_id = drafted(flagged=True)
    model.script(calls(READ, draft_id), Reply(text="That."))
    client.say("What does it say?")
    assert "had forgotten since" in result_in(model)["note"]
    assert client.get(f"/api/drafts/{draft_id}")["flagged"] is True


def test_over_the_api_a_draft_of_somebody_else_is_not_there(client: Client, drafted: Drafts) -> None:
    for draft_id in (drafted(user_id=f"{client.user_id}-other"), "about_that_nobody_has", "..%2Fme", "$where"):
        refused = client.request("GET", f"/api/drafts/{draft_id}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found"), draft_id
    assert client.http.get(f"{client.url}/api/drafts/{drafted()}").status_code == 401


def test_a_draft_of_somebody_else_is_not_there(client: Client, model: ModelServer, drafted: Drafts) -> None:
    theirs = drafted(user_id=f"{client.user_id}-other")
    said = []
    for draft_id in (theirs, "about_that_nobody_has"):
        model.script(calls(READ, draft_id), Reply(text="There is none."))
        assert client.say("Go").text == "There is none."
        said.append(told(model))
    assert "There is no such draft." in said[0]
    assert said[0] == said[1]
