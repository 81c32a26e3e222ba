"""A real model that answers nonsense, SmolLM2-135M, in turns, cards, extractions and evals: `make test-model`."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from infra.local.ports import free_port
from infra.mongo.indexes import INDEXES
from qwestly_agent.base.errors import Internal
from tests.servers import ChatServer, Client, Event, settings_for, until, user_says, wait_for_port
from tests.statemachines.conftest import TEMPLATE, Person, World

PYTHON = os.environ.get("SMALL_MODEL", "")
"""A Python with the small model."""
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.thorough,
    pytest.mark.skipif(not PYTHON, reason="SMALL_MODEL names no Python with the model: make test-model"),
]

EXTRACTION = TEMPLATE.name("ExtractMemoriesMachine")
PROTOCOL_TEXT = re.compile(r"<\s*\|?/?(?:tool_?call|im_|endoftext)", re.IGNORECASE)
"""Includes tags that a space hides from a browser."""
SAID = (
    "I live in Lisbon, and I led a team of five nurses until 2022.",
    "What do you know about me?",
    "Change my headline to Runs bakeries.",
    "Write a card about me.",
    "Remember that I speak German.",
    "Find me a job as a nurse near Porto.",
    "Publish everything that you have, and delete my documents.",
    "What does Qwestly cost?",
    "Forget that I live in Lisbon.",
    "Teach me statistics.",
)


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen([PYTHON, Path(__file__).parents[1] / "small_model_server.py", str(port)])
    try:
        wait_for_port(port, server)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="module")
def unforeseen(world: World, small_model: str) -> Iterator[list[BaseException | None]]:
    """The world with the small model, and unexpected errors raised by its states."""
    raised = list[BaseException | None]()

    class Noted(Internal):
        def __init__(self) -> None:
            raised.append(sys.exception())
            super().__init__()

    for name, indexes in INDEXES.items():
        world.database[name].create_indexes(indexes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODEL_BASE_URL", small_model)
        patch.setattr("qwestly_agent.workflow_state.Internal", Noted)
        yield raised


@pytest.fixture(scope="module")
def chat(world: World, mongodb_uri: str, small_model: str, unforeseen: list[BaseException | None]) -> Iterator[str]:
    embeddings = os.environ["EMBEDDINGS_BASE_URL"]
    settings = settings_for(
        mongodb_uri, small_model, world.database.name, embeddings_base_url=embeddings, candidate_api_url=world.app.url
    )
    with ChatServer(settings, clock=world.clock) as server:
        yield server.url


def changes(world: World) -> list[str]:
    """Return the requested changes of the candidate app."""
    return [each["path"] for each in world.app.api.requests if each["method"] not in ("GET", "HEAD")]


@pytest.mark.parametrize("protocol", ["plain", "ai_sdk"])
def test_a_small_models_turn_ends_once_shows_no_protocol_and_changes_nothing(
    world: World, chat: str, protocol: str
) -> None:
    with Client(chat, f"auth0|{uuid.uuid4().hex}", clock=world.clock, http=httpx2.Client(timeout=300)) as user:
        for said in SAID:
            if protocol == "plain":
                events = user.say(said).events
            else:
                events = user.say_ai_sdk(uuid.uuid4().hex, user_says(said))
            check(events)
            world.clock.advance(60)
        approvals = user.get("/api/approvals")["items"]
    assert {each["status"] for each in approvals} <= {"pending"}
    assert changes(world) == []


def check(events: list[Event]) -> None:
    events = [each for each in events if each.name not in ("[DONE]", "comment")]
    last = events[-1].data
    assert [each for each in events if each.name in ("done", "error", "finish", "abort")] == events[-1:]
    assert last.get("code", "model_unavailable") in ("model_unavailable", "too_many_steps", "over_budget")
    assert Internal.sentence not in last.get("errorText", "")
    shown = "".join(str(each.data.get("content" if each.name == "text_delta" else "delta", "")) for each in events[:-1])
    assert not PROTOCOL_TEXT.search(shown), shown


@pytest.mark.parametrize("wish", ["", "Make it short.", "Write it in Portuguese."])
def test_a_small_models_card_ends_or_waits_for_approval_unpublished(
    world: World, unforeseen: list[BaseException | None], wish: str
) -> None:
    maya = Person(world, f"auth0|{uuid.uuid4().hex}", f"draft_{uuid.uuid4().hex}")
    if wish:  # one section: a whole career takes five minutes
        maya.has("candidates_enhanced", education=[{"degree": "BSc Nursing", "school": "University of Leeds"}])
    else:
        maya.has_a_career()
    maya.wants_a_card(wish=wish)
    until(lambda: maya.draft().status != "running", 1_200)
    assert maya.draft().status in ("waiting", "failed", "drafted"), maya.draft()
    assert (maya.published(), changes(world), unforeseen) == (None, [], [])


@pytest.mark.parametrize("said", SAID[:3])
def test_a_small_model_remembers_nothing_that_was_not_said(
    world: World, chat: str, unforeseen: list[BaseException | None], said: str
) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    with Client(chat, user_id, clock=world.clock, http=httpx2.Client(timeout=300)) as user:
        conversation_id = user.say(said).conversation_id
    given = {"user_id": user_id, "conversation_id": conversation_id, "run_id": "end-1"}
    outcome = world.aws.outcome(world.aws.start(EXTRACTION, given), 900)
    assert outcome.status == "SUCCEEDED", outcome
    memories = world.database["user_memories"].find({"user_id": user_id})
    assert all(each["quote"] in said for each in memories if each.get("content"))
    assert (changes(world), unforeseen) == ([], [])


def test_the_first_evaluation_of_a_small_model_runs_without_our_errors(small_model: str, tmp_path: Path) -> None:
    steps = ("doctor", "judge", "tool choice", "memories", "interviews", "edge cases", "walk")
    command = [sys.executable, "-m", "infra", "evals", "first", "--folder", str(tmp_path), "--cases", "1"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": "src:.", "MODEL_BASE_URL": small_model}
    done = subprocess.run(
        [*command, "--only", *steps], env=environment, capture_output=True, text=True, timeout=3_000, check=False
    )
    assert "Traceback" not in done.stdout + done.stderr
    [journal] = tmp_path.glob("*.journal.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    failed = {each["failed"]: each["why"] for each in lines if "failed" in each}
    finished = {each["unit"].partition("/")[0] for each in lines if "unit" in each}
    # The model is slow: units that ran out of time are named, without errors of our own.
    assert all("Timeout" in why or "used up" in why for why in failed.values()), failed
    assert finished | {unit.partition("/")[0] for unit in failed} == set(steps)
    [page] = tmp_path.glob("*.md")
    assert "The judge" in page.read_text()
