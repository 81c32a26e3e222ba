"""What the reader of each workflow may do in the database, against the stores that its states ask for."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from infra.__main__ import main
from infra.local.environment import MACHINE, ROOT, Template
from infra.mongo.command import OPENER_ROLE, READER_ROLE, ROLE
from qwestly_agent.resumes.services import ResumeServices
from qwestly_agent.stores import (
    activity,
    adverts,
    answers,
    applications,
    approvals,
    autonomy,
    briefings,
    conversations,
    docs,
    drafts,
    extractions,
    job_matches,
    job_searches,
    journal,
    knowledge,
    learning,
    lessons,
    memories,
    messages,
    profiles,
    resumes,
    rollouts,
    runs,
    signals,
    tool_calls,
    topics,
    usage,
    user_settings,
    variant_counts,
)
from tests.reached import asked_of_services
from tests.statemachines.conftest import states_of

COLLECTIONS: Mapping[str, set[str]] = {
    "activity": {activity.COLLECTION},
    "approvals": {approvals.COLLECTION, activity.COLLECTION},
    "autonomy": {autonomy.COLLECTION, activity.COLLECTION},
    "briefings": {briefings.COLLECTION, activity.COLLECTION},
    "briefing_plans": {user_settings.COLLECTION},
    "conversation_search": {conversations.COLLECTION, messages.COLLECTION},
    "conversations": {conversations.COLLECTION, messages.COLLECTION, variant_counts.COLLECTION},
    "messages": {messages.COLLECTION},
    "summaries": {conversations.COLLECTION},
    "interviews": {conversations.COLLECTION},
    "watermarks": {conversations.COLLECTION},
    "user_settings": {user_settings.COLLECTION},
    "docs": {docs.COLLECTION},
    "drafts": {drafts.COLLECTION, activity.COLLECTION},
    "extractions": {extractions.COLLECTION, activity.COLLECTION},
    "journal": {journal.COLLECTION, activity.COLLECTION},
    "knowledge": {knowledge.COLLECTION},
    "memories": {memories.COLLECTION, activity.COLLECTION},
    "unchecked": {memories.COLLECTION, activity.COLLECTION},
    "tombstones": {memories.COLLECTION, activity.COLLECTION},
    "merges": {memories.COLLECTION},
    "profiles": set(profiles.READ_FIELDS),
    "partial_answers": {conversations.COLLECTION},
    "runs": {runs.COLLECTION},
    "signals": {signals.COLLECTION, activity.COLLECTION},
    "tool_calls": {tool_calls.COLLECTION},
    "learning": {learning.COLLECTION, conversations.COLLECTION, lessons.COLLECTION},
    "answers": {answers.COLLECTION, messages.COLLECTION},
    "adverts": {adverts.COLLECTION, adverts.ANSWERS},
    "applications": {applications.COLLECTION, activity.COLLECTION},
    "job_matches": {job_matches.COLLECTION},
    "job_searches": {job_searches.COLLECTION, activity.COLLECTION},
    "lessons": {lessons.COLLECTION, activity.COLLECTION},
    "topics": {topics.COLLECTION},
    "resumes": {resumes.COLLECTION, resumes.FILES, activity.COLLECTION},
    "resume_files": {resumes.FILES},
    "rollouts": {rollouts.COLLECTION},
    "stage_day": {usage.COLLECTION},
    "usage": {usage.COLLECTION},
    "variant_counts": {variant_counts.COLLECTION},
}
"""Of each store. Two more, of all that is due and of all that a user has, reach every collection."""
NO_STORES = {
    "settings",
    "secrets",
    "traces",
    "clock",
    "new_id",
    "logger",
    "candidate_app",
    "event_bus",
    "job_boards",
    "workflows",
    "mail",
    "embeddings",
    "moderation",
    "models",
    "judges",
    "resume_parser",
}
EVERYTHING = {"sweeps", "user_data"}
WORKFLOWS = [
    str(machine["DefinitionUri"]).rpartition("/")[2].partition(".")[0]
    for machine in Template.load().of_type(MACHINE).values()
]

READERS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/reader.py"))
"""Of the workflows, and of what a schedule calls alone."""


def actions(role: Path) -> dict[str, set[str]]:
    privileges = json.loads(role.read_text(encoding="utf-8"))["privileges"]
    return {each["resource"]["collection"]: set(each["actions"]) for each in privileges}


def asked_for(workflow: str, side: str) -> set[str]:
    """The names in `Services` that the states of this function ask for."""
    return set[str]().union(*(asked_of_services(state.work) for state in states_of(workflow, side).values()))


def test_what_a_state_asks_for_is_found_through_the_functions_that_it_names() -> None:
    keeps = {"approvals", "candidate_app", "drafts", "runs", "signals", "workflows"}
    assert asked_for("generate_card", "writer") >= keeps
    assert asked_for("generate_card", "reader") >= {"judges", "models", "usage"}


def test_each_name_that_a_state_may_ask_for_is_a_store_or_none() -> None:
    known = {*COLLECTIONS, *NO_STORES, *EVERYTHING}
    assert set(ResumeServices.__dataclass_fields__) - {"mongo", "http"} == known


def test_the_readers_role_has_the_collections_of_the_stores_that_readers_ask_for() -> None:
    names = set[str]().union(*(asked_for(folder, "reader") for folder in READERS))
    assert not names & EVERYTHING
    assert set().union(*(COLLECTIONS[name] for name in names - NO_STORES)) == actions(READER_ROLE).keys()


def test_a_reader_can_write_neither_levels_nor_approvals_nor_signals_and_the_writer_can() -> None:
    reader, writer = actions(READER_ROLE), actions(ROLE)
    assert reader[signals.COLLECTION] == {"find"}
    assert not reader.keys() & {approvals.COLLECTION, autonomy.COLLECTION}
    for collection in (approvals.COLLECTION, autonomy.COLLECTION, signals.COLLECTION):
        assert writer[collection] >= {"insert", "update"}


def test_a_reader_may_do_nothing_that_the_other_role_may_not() -> None:
    writer = actions(ROLE)
    assert all(allowed <= writer[collection] for collection, allowed in actions(READER_ROLE).items())


def test_what_opens_files_reaches_those_files_alone_and_says_that_it_runs() -> None:
    names = asked_for("parse_resume", "opener") - NO_STORES
    assert names == {"resume_files", "runs", "signals"}
    opener, writer = actions(OPENER_ROLE), actions(ROLE)
    assert opener.keys() == {resumes.FILES, runs.COLLECTION, signals.COLLECTION}
    assert opener[signals.COLLECTION] == {"find"}
    assert all(allowed <= writer[collection] for collection, allowed in opener.items())


@pytest.mark.parametrize("folder", READERS)
def test_a_reader_is_given_no_way_to_have_an_effect(folder: str) -> None:
    assert not asked_for(folder, "reader") & {"approvals", "autonomy", "candidate_app", "mail", "workflows"}


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_writer_is_given_no_model(workflow: str) -> None:
    assert not asked_for(workflow, "writer") & {"models", "judges", "embeddings", "moderation"}


@pytest.mark.parametrize(("option", "role"), [("", ROLE), ("--reader", READER_ROLE), ("--opener", OPENER_ROLE)])
def test_atlas_is_given_either_role_in_its_own_words(
    option: str, role: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["qwestly-agent", "mongo", "role", *option.split()])
    assert main() == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["roleName"] == json.loads(role.read_text(encoding="utf-8"))["createRole"]
    given = {
        (each["action"].lower(), place["collection"]) for each in printed["actions"] for place in each["resources"]
    }
    assert given == {(action, collection) for collection, allowed in actions(role).items() for action in allowed}
    assert {place["cluster"] for each in printed["actions"] for place in each["resources"]} == {False}
