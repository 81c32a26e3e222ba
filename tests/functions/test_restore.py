"""`qwestly-agent restore check`: after the database was restored, nothing happens twice and nothing erased returns."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from infra import restore
from infra.local.aws import AwsServer
from infra.local.environment import ROOT
from infra.local.model_server import ModelServer
from qwestly_agent.approvals.sweep import EVENTS_OUT
from qwestly_agent.domain.approval import MAIL_AFTER_SECONDS
from qwestly_agent.stores import collections
from qwestly_agent.stores.learning import Lessons
from tests.counts import count
from tests.functions.approving import DAY, ERASURES, HOUR, local_aws
from tests.functions.restoring import BUS, Person, a_person, create_machines, play
from tests.servers import API_SECRET, USER

MINUTE = 60.0


@pytest.fixture(scope="module")
def aws() -> Iterator[AwsServer]:
    with local_aws() as aws:
        create_machines(aws)
        aws.client("events").create_event_bus(Name=BUS)
        yield aws


@pytest.fixture
def person(aws: AwsServer, mongodb_uri: str, database_name: str, model: ModelServer) -> Iterator[Person]:
    with a_person(aws, mongodb_uri, database_name, model) as person:
        yield person


def put_right(person: Person) -> None:
    """Pull the brake, check without changes, and then repair the findings, once."""
    person.brakes()
    before = dump(person)
    assert not person.check()
    assert dump(person) == before
    assert person.check(apply=True)
    assert person.check()
    person.releases()


def dump(person: Person) -> dict[str, list[Any]]:
    return {name: list(person.world.database[name].find()) for name in collections()}


def outcome_of(person: Person, approval_id: str) -> tuple[str, str | None]:
    shown = person.client.get(f"/api/approvals/{approval_id}")
    return shown["status"], shown["outcome"]


# --- approvals --------------------------------------------------------------------------------------------------------


def test_a_change_executed_since_the_backup_is_not_proposed_again(person: Person) -> None:
    person.proposes()
    [asked] = person.pending()
    person.keeps_a_backup()
    person.decides(asked)
    person.goes_back()
    assert person.pending()
    put_right(person)
    assert not person.pending()
    assert outcome_of(person, asked["approval_id"])[0] == "done"
    person.waits(HOUR)
    assert [*person.effects().values()] == [1]


@pytest.mark.thorough
def test_a_change_undone_since_the_backup_is_recorded_as_undone(person: Person) -> None:
    person.proposes()
    [asked] = person.pending()
    person.keeps_a_backup()
    person.decides(asked)
    person.undoes(asked["approval_id"])
    person.goes_back()
    put_right(person)
    shown = person.client.get(f"/api/approvals/{asked['approval_id']}")
    assert (shown["status"], bool(shown["undone_by"])) == ("done", True)
    assert person.undone() == {asked["approval_id"]: 1}


@pytest.mark.thorough
def test_a_change_done_before_and_undone_since_the_backup_is_not_undone_again(person: Person) -> None:
    person.proposes()
    [asked] = person.pending()
    person.decides(asked)
    person.keeps_a_backup()
    person.undoes(asked["approval_id"])
    person.goes_back()
    put_right(person)
    assert not person.done()
    person.undoes(asked["approval_id"])
    assert person.undone() == {asked["approval_id"]: 1}


@pytest.mark.thorough
def test_a_change_is_left_alone_if_the_candidate_app_does_not_answer(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    person.proposes()
    person.keeps_a_backup()
    person.decides(person.pending()[0])
    person.goes_back()
    person.brakes()
    person.world.candidate_app.misbehave("error_before", "error_before")
    assert not person.check(apply=True)
    assert "the candidate app does not answer" in capsys.readouterr().out
    assert person.world.database["agent_approvals"].count_documents({"status": "pending"}) == 1


@pytest.mark.thorough
def test_pending_approvals_stay_pending_after_a_restore(person: Person) -> None:
    person.proposes()
    person.wants_a_card()
    person.keeps_a_backup()
    person.goes_back()
    person.brakes()
    assert person.check(apply=True)
    person.releases()
    assert {each["kind"] for each in person.pending()} == {"profile", "card"}
    for each in person.pending():
        person.decides(each)
    person.waits(2 * HOUR)
    assert [*person.effects().values()] == [1, 1]


@pytest.mark.thorough
def test_a_card_whose_execution_ended_since_the_backup_is_closed_with_an_explanation(person: Person) -> None:
    person.wants_a_card()
    [asked] = person.pending()
    person.keeps_a_backup()
    person.decides(asked, "reject")
    person.goes_back()
    put_right(person)
    assert outcome_of(person, asked["approval_id"]) == ("changed", restore.WENT_BACK)
    [draft] = person.world.database["agent_drafts"].find()
    assert (draft["status"], draft["label"]) == ("drafted", restore.DRAFT_WENT_BACK)


@pytest.mark.thorough
def test_an_approval_of_memories_stays_pending_without_its_ended_execution(person: Person) -> None:
    world = person.world
    ids = world.proposed("Has diabetes.")
    asked = world.request_memories(ids, task_token="spent")
    person.keeps_a_backup()
    person.goes_back()
    put_right(person)
    kept = world.database["agent_approvals"].find_one({"_id": asked["approval_id"], "user_id": USER})
    assert kept
    assert (kept["status"], kept["task_token"]) == ("pending", None)


@pytest.mark.thorough
def test_running_work_is_ended_so_that_it_can_be_requested_again(person: Person) -> None:
    database = person.world.database
    person.wants_a_card()
    database["agent_drafts"].update_one({}, {"$set": {"status": "running"}})
    now = person.world.clock()
    lesson = {"_id": "lesson_1", "user_id": person.user_id, "run_id": "run_1", "status": "writing", "label": "Writing"}
    required = {"conversation_id": None, "topic": "feedback", "title": "Feedback", "created_at": now, "updated_at": now}
    database["agent_lessons"].insert_one({**lesson, **required})
    person.keeps_a_backup()
    person.goes_back()
    put_right(person)
    [draft], [failed] = database["agent_drafts"].find(), database["agent_lessons"].find()
    assert (draft["status"], draft["label"]) == ("stopped", restore.DRAFT_STOPPED)
    assert (failed["status"], failed["label"]) == ("failed", Lessons.try_again)


# --- erased and forgotten ---------------------------------------------------------------------------------------------


def test_a_restore_erases_users_erased_since_the_backup_again(person: Person) -> None:
    person.remembers()
    person.proposes()
    person.keeps_a_backup()
    person.leaves()
    person.goes_back()
    assert person.memories()
    put_right(person)
    assert not [
        name for name in person.kept if person.world.database[name].count_documents({"user_id": person.user_id})
    ]


@pytest.mark.thorough
def test_a_restore_keeps_the_data_of_a_returned_user(person: Person) -> None:
    person.leaves()
    person.world.clock.advance(HOUR)
    person.remembers()
    person.keeps_a_backup()
    person.goes_back()
    person.brakes()
    assert person.check(apply=True)
    assert len(person.memories()) == 1


@pytest.mark.thorough
def test_a_conversation_deleted_since_the_backup_is_deleted_again(person: Person) -> None:
    person.remembers()
    person.proposes()
    stays, goes = person.conversations()
    person.keeps_a_backup()
    person.deletes(goes)
    person.goes_back()
    put_right(person)
    assert person.conversations() == [stays]


def test_a_memory_forgotten_since_the_backup_is_forgotten_again(person: Person) -> None:
    goes, stays = person.remembers(), person.remembers()
    person.keeps_a_backup()
    person.forgets(goes)
    person.goes_back()
    put_right(person)
    assert [each["id"] for each in person.memories()] == [stays]
    [tombstone] = person.world.database["user_memories"].find({"status": "forgotten"})
    assert "content" not in tombstone


@pytest.mark.thorough
def test_a_restore_does_not_relearn_forgotten_memories(person: Person) -> None:
    """The message may be in the backup, not yet extracted."""
    person.keeps_a_backup()
    memory_id = person.remembers()
    said = {name: list(person.world.database[name].find()) for name in ("agent_messages", "agent_conversations")}
    person.forgets(memory_id)
    person.kept |= said
    person.goes_back()
    put_right(person)
    [tombstone] = person.world.database["user_memories"].find()
    assert (tombstone["_id"], tombstone["status"]) == (memory_id, "forgotten")
    assert tombstone["hashes"]
    assert [each["withheld"] for each in person.world.database["agent_messages"].find({"role": "user"})] == [True]


# --- sent again -------------------------------------------------------------------------------------------------------


def test_a_mail_sent_since_the_backup_is_not_sent_again_but_its_reminder_is_sent(person: Person) -> None:
    person.proposes()
    [asked] = person.pending()
    person.keeps_a_backup()
    person.waits(MAIL_AFTER_SECONDS + MINUTE)
    person.goes_back()
    put_right(person)
    person.waits(MINUTE)
    assert person.mailed == {(asked["approval_id"], "questions"): 1}
    person.waits(DAY)
    assert person.mailed == {(asked["approval_id"], kind): 1 for kind in ("questions", "reminders")}


@pytest.mark.thorough
def test_a_mail_postponed_by_the_brake_after_a_restore_is_not_sent_again(person: Person) -> None:
    person.proposes()
    person.keeps_a_backup()
    person.waits(MAIL_AFTER_SECONDS + MINUTE)
    person.goes_back()
    person.brakes()
    person.waits(0)
    assert person.check(apply=True)
    person.releases()
    person.waits(HOUR)
    assert {*person.mailed.values()} == {1}


@pytest.mark.thorough
def test_a_mail_not_yet_due_at_the_restore_is_sent_later(person: Person) -> None:
    person.proposes()
    person.keeps_a_backup()
    person.goes_back()
    person.brakes()
    assert person.check(apply=True)
    person.releases()
    person.waits(MAIL_AFTER_SECONDS + MINUTE)
    assert [*person.mailed.values()] == [1]


@pytest.mark.thorough
def test_a_briefing_sent_since_the_backup_is_not_sent_again(person: Person) -> None:
    person.wants_briefings()
    person.remembers()
    person.keeps_a_backup()
    person.waits(DAY)
    assert [kind for _, kind in person.mailed] == ["briefing"]
    person.goes_back()
    put_right(person)
    person.sweeps()
    assert [*person.mailed.values()] == [1]


@pytest.mark.thorough
def test_events_published_since_the_backup_are_not_published_again(person: Person) -> None:
    sweeps = person.world.run
    sweeps(lambda services: services.sweeps.save_position(EVENTS_OUT, person.world.clock()))
    person.world.clock.advance(HOUR)
    person.keeps_a_backup()
    person.goes_back()
    put_right(person)
    assert sweeps(lambda services: services.sweeps.position(EVENTS_OUT)) == person.moment


# --- the command ------------------------------------------------------------------------------------------------------


def test_a_restore_repairs_nothing_while_the_stage_runs(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    person.keeps_a_backup()
    before = dump(person)
    assert not person.check(apply=True)
    assert capsys.readouterr().err == f"{restore.NOT_BRAKED}\n"
    assert dump(person) == before


@pytest.fixture
def run(person: Person, mongodb_uri: str) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `qwestly-agent restore check …` as an operator does."""
    environment = {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": person.world.database.name,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "CANDIDATE_API_URL": person.world.candidate_app.url,
        **{name.upper(): value for name, value in ERASURES.items()},
    }

    def run(*arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "infra", "restore", "check", *arguments]
        return subprocess.run(command, env={**environment, **changes}, cwd=ROOT, capture_output=True, text=True)

    return run


@pytest.mark.thorough
def test_the_restore_command_reports_remaining_problems_by_exit_code(
    person: Person, run: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    since = datetime.now(UTC).isoformat()
    nothing = run("--since", since)
    assert (nothing.returncode, nothing.stdout) == (0, "Nothing is wrong.\n")
    unknown = run("--since", since, ERASURE_LOG="")
    assert (unknown.returncode, unknown.stdout) == (1, f"{restore.NOT_LOGGED}\nNothing is wrong.\n")
    later = run("--since", "2999-01-01")
    assert (later.returncode, "--since is before --until" in later.stderr) == (2, True)


# --- the drill --------------------------------------------------------------------------------------------------------


FOUND = (
    *("was erased at", "was deleted at", "was forgotten at", "was carried out:", "and undone:", "and was undone:"),
    *("its execution has ended", "The mail about", "The briefing of", "Events since"),
)
"""Kinds of findings that the histories must produce; otherwise they prove nothing."""


def test_a_few_random_histories_are_repaired(aws: AwsServer, mongodb_uri: str, model: ModelServer) -> None:
    play(range(count(2, 2, small=1)), 5, aws, mongodb_uri, model)


@pytest.mark.thorough
@pytest.mark.nightly
def test_two_hundred_random_histories_are_repaired(
    aws: AwsServer, mongodb_uri: str, model: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    count = int(os.environ.get("HISTORIES", "200"))
    play(range(count), 14, aws, mongodb_uri, model)
    told = capsys.readouterr().out
    assert count < 200 or not [each for each in FOUND if each not in told]
