"""The database rights of each workflow's reader, compared with the stores that its states use."""

import json
from collections.abc import Mapping

import pytest

from infra.__main__ import main
from infra.mongo.roles import AGENT, CANDIDATE_APPS, CHAT, OPENER, READER, ROLES, Role
from infra.reached import asked_of_services, collections_of
from qwestly_agent.resumes.reader import ResumeServices
from qwestly_agent.rollout.reader import judge_day
from qwestly_agent.stores import (
    activity,
    approvals,
    candidate_data,
    conversations,
    learning,
    measures,
    memories,
    resumes,
    runs,
    user_settings,
)
from qwestly_agent.workflow import Side
from qwestly_agent.workflows import WORKFLOWS
from tests.statemachines.conftest import states_of

SERVICES = {name: field.type for name, field in ResumeServices.__dataclass_fields__.items()}
STORES = {
    name: kind
    for name, kind in SERVICES.items()
    if isinstance(kind, type) and kind.__module__.startswith("qwestly_agent.stores.")
}
NO_STORES = SERVICES.keys() - STORES.keys()
COLLECTIONS: Mapping[str, frozenset[str]] = {
    **{name: collections_of(kind) for name, kind in STORES.items()},
    "knowledge": frozenset({candidate_data.KNOWLEDGE}),
    "profiles": frozenset(candidate_data.READ_FIELDS),
}
"""Collections by store."""
EVERYTHING = {"sweeps", "user_data"}
ANSWERS = "judge_day"
"""State that a schedule calls on a reader alone."""
READERS = [*(each.name for each in WORKFLOWS if each.reader), ANSWERS]


def actions(role: Role) -> dict[str, set[str]]:
    return {collection: set(allowed) for collection, allowed in role.actions.items()}


def asked_for(workflow: str, side: Side) -> set[str]:
    """The names in `Services` that this function's states use."""
    states = [judge_day] if workflow == ANSWERS else states_of(workflow, side).values()
    return set[str]().union(*(asked_of_services(state.work) for state in states))


def test_a_states_collections_are_found_through_the_functions_it_calls() -> None:
    keeps = {"approvals", "candidate_app", "drafts", "runs", "signals", "workflows"}
    assert asked_for("generate_card", "writer") >= keeps
    assert asked_for("generate_card", "reader") >= {"judges", "models", "usage"}


def test_a_stores_collections_are_found_through_the_functions_it_calls() -> None:
    assert COLLECTIONS["lessons"] == {learning.LESSONS, activity.COLLECTION}
    assert COLLECTIONS["learning"] == {learning.LEARNING, conversations.COLLECTION, learning.LESSONS}
    assert COLLECTIONS["merges"] == {memories.COLLECTION}
    assert all(COLLECTIONS[name] for name in STORES.keys() - EVERYTHING)


def test_the_readers_role_covers_the_collections_of_its_stores() -> None:
    names = set[str]().union(*(asked_for(folder, "reader") for folder in READERS))
    assert not names & EVERYTHING
    assert set().union(*(COLLECTIONS[name] for name in names - NO_STORES)) == actions(READER).keys()


def test_only_the_writer_can_write_levels_approvals_and_signals() -> None:
    reader, writer = actions(READER), actions(AGENT)
    assert reader[user_settings.SIGNALS] == {"find"}
    assert not reader.keys() & {approvals.COLLECTION, user_settings.AUTONOMY}
    for collection in (approvals.COLLECTION, user_settings.AUTONOMY, user_settings.SIGNALS):
        assert writer[collection] >= {"insert", "update"}


def test_the_chat_cannot_set_levels_delete_approvals_or_start_trials() -> None:
    chat, own = actions(CHAT), actions(AGENT)
    assert chat.keys() == own.keys()
    assert {name: own[name] - allowed for name, allowed in chat.items() if allowed != own[name]} == {
        approvals.COLLECTION: {"remove"},
        user_settings.AUTONOMY: {"insert", "update", "remove"},
        measures.ROLLOUT: {"insert", "update", "remove"},
    }


def test_a_readers_rights_are_a_subset_of_the_other_roles() -> None:
    writer = actions(AGENT)
    assert all(allowed <= writer[collection] for collection, allowed in actions(READER).items())


def test_the_opener_can_access_only_files_runs_and_signals() -> None:
    names = asked_for("parse_resume", "opener") - NO_STORES
    assert names == {"resume_files", "runs", "signals"}
    opener, writer = actions(OPENER), actions(AGENT)
    assert opener.keys() == {resumes.FILES, runs.COLLECTION, user_settings.SIGNALS}
    assert opener[user_settings.SIGNALS] == {"find"}
    assert all(allowed <= writer[collection] for collection, allowed in opener.items())


@pytest.mark.parametrize("folder", READERS)
def test_a_reader_has_no_means_to_cause_an_effect(folder: str) -> None:
    assert not asked_for(folder, "reader") & {"approvals", "autonomy", "candidate_app", "mail", "workflows"}


@pytest.mark.parametrize("workflow", [each.name for each in WORKFLOWS])
def test_a_writer_has_no_model(workflow: str) -> None:
    assert not asked_for(workflow, "writer") & {"models", "judges", "embeddings", "moderation"}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_each_role_is_printed_for_atlas_and_for_mongodb(
    role: Role, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = {(action, collection) for collection, actions in role.actions.items() for action in actions}
    monkeypatch.setattr("sys.argv", role.printed_by.split())
    assert main() == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["roleName"] == role.name
    places = [(each["action"].lower(), place) for each in printed["actions"] for place in each["resources"]]
    assert {(action, place["collection"]) for action, place in places} == allowed
    assert {place["cluster"] for _, place in places} == {False}
    monkeypatch.setattr("sys.argv", [*role.printed_by.split(), "--command"])
    assert main() == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["createRole"] == role.name
    granted = {(action, each["resource"]["collection"]) for each in printed["privileges"] for action in each["actions"]}
    assert granted == allowed


def test_the_rights_of_each_role_are_printed_by_collection(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["qwestly-agent", "mongo", "rights"])
    assert main() == 0
    [signal] = [line for line in capsys.readouterr().out.splitlines() if line.startswith(user_settings.SIGNALS)]
    everything = ["find", "insert", "update", "remove"]
    assert signal.split() == [user_settings.SIGNALS, *everything, *everything, "find", "find"]


def test_no_role_may_write_to_the_candidate_apps_collections() -> None:
    for role in ROLES:
        assert all(role.actions[name] == ("find",) for name in CANDIDATE_APPS if name in role.actions)
