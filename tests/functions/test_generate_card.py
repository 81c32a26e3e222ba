"""The handlers of generate_card, each called as Lambda calls it."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pymongo import MongoClient

from infra.local.aws_functions import Context, load_module
from infra.local.model_server import ModelServer
from qwestly_agent import container
from qwestly_agent.base.errors import Internal, NotFound, Unavailable
from qwestly_agent.cards import GENERATE_CARD
from qwestly_agent.cards.model import CardState
from qwestly_agent.stores.drafts import Draft, Drafts
from qwestly_agent.workflow_state import UnknownState
from tests.servers import API_SECRET

FOLDER = Path(__file__).parents[2] / "functions" / "generate"
FUNCTIONS = {each: load_module(FOLDER, each) for each in ("reader", "writer")}
STATES = {state: FUNCTIONS[side].handler for side in GENERATE_CARD.sides for state in GENERATE_CARD.load_states(side)}
SECRET_WORDS = "My salary is a secret of mine"


@pytest.fixture(scope="module")
def environment(mongodb_uri: str, _model_server: ModelServer) -> Iterator[str]:
    name = f"qwestly_test_{uuid.uuid4().hex[:12]}"
    variables = {
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": name,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "CANDIDATE_API_URL": "http://127.0.0.1:9/api/agent/v1",
        "MODEL_BASE_URL": _model_server.base_url,
        "EMBEDDINGS_BASE_URL": _model_server.base_url,
        "LOG_LEVEL": "INFO",
    }
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in variables.items():
            patch.setenv(variable, value)
        yield name
        container.services.close()
        container.resume_services.close()
    with MongoClient(mongodb_uri) as client:
        client.drop_database(name)


@pytest.fixture
def draft(environment: str, model: ModelServer) -> Draft:
    """A draft of a user with one degree."""
    draft = Draft(
        id=f"draft_{uuid.uuid4().hex}",
        user_id=f"auth0|{uuid.uuid4().hex}",
        run_id="run1",
        conversation_id=None,
        style="standard",
        label="Beginning",
        created_at=1.0,
        updated_at=1.0,
    )
    container.services.run(lambda services: services.drafts.add(draft))
    return draft


def call(state: str, draft: Draft, **given: Any) -> dict[str, Any]:
    """Return the state's output as it is passed to the next state."""
    event = {"user_id": draft.user_id, "draft_id": draft.id, "run_id": draft.run_id, **given}
    handed = json.loads(json.dumps({"workflow": "generate_card", "state": state, "given": event}))
    return json.loads(json.dumps(STATES[state](handed, Context(state, 128, 30))))


def kept(draft: Draft) -> Draft:
    return container.services.run(lambda services: services.drafts.get(draft.user_id, draft.id))


@pytest.mark.parametrize("state", sorted({*STATES} - {"note_end", "draft_section"}))
def test_the_handlers_do_not_find_another_users_draft(draft: Draft, state: str) -> None:
    with pytest.raises(NotFound):
        call(state, draft.model_copy(update={"user_id": "auth0|somebody-else"}))


@pytest.mark.parametrize("state", sorted(STATES))
def test_an_event_without_ids_is_rejected_before_any_read(environment: str, state: str) -> None:
    with pytest.raises(ValidationError):
        STATES[state]({"workflow": "generate_card", "state": state, "given": {}}, None)


@pytest.mark.parametrize(
    ("function", "state"), [("reader", "publish"), ("writer", "draft_section"), ("writer", "gone")]
)
def test_an_unknown_state_is_one_clear_error(function: str, state: str) -> None:
    event = {"workflow": "generate_card", "state": state, "given": {"user_id": "auth0|ada", "draft_id": "draft_1"}}
    with pytest.raises(UnknownState, match=f"no state '{state}' of 'generate_card' here, only "):
        FUNCTIONS[function].handler(event, None)


def test_states_pass_only_ids_and_counts(draft: Draft, environment: str, mongodb_uri: str) -> None:
    with MongoClient(mongodb_uri) as client:
        degree = {"degree": "BSc Nursing", "school": "University of Leeds"}
        client[environment]["candidates_enhanced"].insert_one({"user_id": draft.user_id, "education": [degree]})
    step = call("gather_evidence", draft)
    call("draft_section", draft, **{**step, "section": "education"})
    step = call("keep_draft", draft, **step)
    assert (step["sections"], step["answer"], step["revises"]) == (["education"], "ask", None)
    assert step.keys() == CardState(user_id="u", draft_id="d").out.keys()
    assert "Nursing" not in json.dumps(step)
    assert len(json.dumps(step)) < 2_000
    assert kept(draft).label == "Drafted"


def test_no_error_or_log_line_of_a_handler_contains_user_content(
    draft: Draft, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(*_: object) -> Draft:
        raise ValueError(SECRET_WORDS)

    monkeypatch.setattr(Drafts, "get", broken)
    with pytest.raises(Internal) as failed:
        call("keep_draft", draft)
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__
    assert SECRET_WORDS not in str(failed.value)
    assert SECRET_WORDS not in "".join(capsys.readouterr())


def test_a_lost_database_raises_a_retryable_error(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    from pymongo.errors import AutoReconnect

    async def gone(*_: object) -> Draft:
        raise AutoReconnect("gone")

    monkeypatch.setattr(Drafts, "get", gone)
    with pytest.raises(Unavailable):
        call("keep_draft", draft)


@pytest.mark.parametrize(
    ("error", "end", "label"),
    [
        ("Braked", "stopped", "Stopped when you paused"),
        ("NotAllowed", "drafted", "Drafted; at your level nothing is published for you"),
        ("KeyError", "failed", "Your card could not be drafted. Nothing was published. Please ask for it again."),
        ("States.Timeout", "failed", "Your card could not be drafted. Nothing was published. Please ask for it again."),
    ],
)
def test_a_failed_card_reports_the_kind_of_error_without_its_text(
    draft: Draft, error: str, end: str, label: str
) -> None:
    step = call("note_end", draft, error={"Error": error, "Cause": SECRET_WORDS})
    assert step["end"] == end
    assert (kept(draft).status, kept(draft).label) == (end, label)


@pytest.mark.parametrize("error", ["KeyError", "Braked", "NotAllowed"])
def test_the_end_of_a_draft_is_reported_once_in_its_conversation(draft: Draft, error: str) -> None:
    wanted = draft.model_copy(update={"id": f"{draft.id}_wanted", "conversation_id": "c1"})
    container.services.run(lambda services: services.drafts.add(wanted))
    for each in (draft, wanted):
        call("note_end", each, error={"Error": error})
    assert (kept(draft).news, kept(wanted).news) == (False, True)
    container.services.run(lambda services: services.drafts.mark_reported(wanted.user_id, wanted.id))
    call("note_end", wanted, error={"Error": error})
    assert not kept(wanted).news, "delivered twice, told once"


def test_a_draft_deleted_during_its_workflow_triggers_no_alarm(draft: Draft) -> None:
    gone = draft.model_copy(update={"id": "draft_gone"})
    assert call("note_end", gone, error={"Error": "NotFound"})["end"] == "stopped"
