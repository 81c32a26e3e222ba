"""An approved action is executed once or not at all, whatever dies, fails or changes on the way, and is reported
truthfully.

Tested against the local candidate app over real sockets. Each set of services stands for a separate process: they share
nothing but the database.
"""

import asyncio
import itertools
import json
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

import pytest
from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import PyMongoError, ServerSelectionTimeoutError

from infra.local.candidate_app import CANDIDATES, CARDS, FAULTS, OPERATIONS, CandidateAppServer, Fault
from qwestly_agent.approvals import decide, pause, propose
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval, id_of_call
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.end import TOO_MANY
from qwestly_agent.approvals.execute import (
    ASKED_AGAIN,
    FINDING_OUT,
    LATEST_SECONDS,
    NOT_ALLOWED,
    OTHER_RULES,
    STOPPED,
    TOO_LATE,
    execute,
)
from qwestly_agent.approvals.mail import mail_if_due
from qwestly_agent.approvals.propose import MOST_WAITING, Proposer
from qwestly_agent.approvals.seal import NOT_SEALED, sealed
from qwestly_agent.approvals.sweep import LEFT_TO_EXECUTION_SECONDS, handle_due
from qwestly_agent.approvals.view import format_value
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.cards.actions import DELETE_CARD, PUBLISH_CARD, SAVE_CARD_AS_ACTIVE
from qwestly_agent.chat.activity import MOST_ITEMS, updates
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import CandidateApp, Done, Outcome, Unknown
from qwestly_agent.domain.approval import (
    EVERYBODY,
    FINAL,
    KEYS_KEPT_SECONDS,
    LEFT_BEHIND_SECONDS,
    LOOK_SECONDS,
    UNDELIVERABLE_SECONDS,
    Answer,
    Approval,
    Level,
    Preview,
    ShownClaim,
    ShownLeftOut,
    ShownQuote,
    ShownSection,
    Status,
)
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.jobs.actions import APPLY
from qwestly_agent.profile import (
    INGEST_LINKEDIN_PROFILE,
    SUGGEST_LINKEDIN_ABOUT,
    UPDATE_PREFERENCE,
    UPDATE_PROFILE,
    UPDATE_PROFILE_FIELD,
)
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.stores.messages import NewTurn
from qwestly_agent.stores.user_settings import Autonomy, Signals
from qwestly_agent.workflows import ACTIONS
from tests.servers import API_SECRET, FakeClock, free_port, settings_for, token, until

pytestmark = pytest.mark.anyio

BEFORE, AFTER = "Product Manager", "Head of Product"
CHANGE = Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": AFTER}, "It says more.")
QUOTE = {"source": "cv.pdf", "before": "Since 2021 ", "quote": AFTER, "after": ", payments."}
URL = "https://www.linkedin.com/in/ada"
INGESTION = Proposal(INGEST_LINKEDIN_PROFILE, {"url": URL, "refresh": False})
CARD_TEXT = {
    "style": "story",
    "headline": "Ada",
    "sections": [{"kind": "work", "heading": "Work", "claims": ["Led “eight” in Zürich."]}],
}

When: TypeAlias = Literal["before", "after"]


@dataclass(frozen=True)
class Stage:
    """The candidate app, and the database that it shares with us."""

    settings: Settings
    clock: FakeClock
    app: CandidateAppServer
    database: Database[dict[str, Any]]

    def person(self) -> str:
        """Create a user of the candidate app with one card."""
        user_id = f"auth0|{uuid.uuid4().hex}"
        self.database[CANDIDATES].insert_one({"_id": user_id, "user_id": user_id, "headline": BEFORE})
        self.database[CARDS].insert_one({"user_id": user_id, "card_id": "card_1", "headline": BEFORE})
        return user_id

    def profile_of(self, user_id: str) -> dict[str, Any]:
        found = self.database[CANDIDATES].find_one({"user_id": user_id})
        assert found
        return found

    def change_elsewhere(self, user_id: str, **fields: Any) -> None:
        """Change fields in the candidate app, as another client does."""
        self.database[CANDIDATES].update_one({"user_id": user_id}, {"$set": fields, "$inc": {"version": 1}})

    @property
    def writes(self) -> list[dict[str, Any]]:
        """Return the write requests."""
        return [request for request in self.app.api.requests if request["method"] != "GET"]

    def effects_on(self, user_id: str) -> list[str]:
        """Return the idempotency keys of the actions executed for this user."""
        return [each["key"] for each in self.database[OPERATIONS].find({"user_id": user_id, "status": "done"})]

    @asynccontextmanager
    async def process(self, **settings: Any) -> AsyncIterator[Services]:
        services = await bootstrap(replace(self.settings, **settings), clock=self.clock)
        try:
            yield services
        finally:
            await services.close()


@pytest.fixture(scope="module")
def _stage(mongodb_uri: str) -> Iterator[Stage]:
    name, clock = f"qwestly_test_{uuid.uuid4().hex[:12]}", FakeClock()
    with CandidateAppServer(mongodb_uri, name, API_SECRET, clock) as app, MongoClient(mongodb_uri) as mongo:
        settings = settings_for(mongodb_uri, "http://127.0.0.1:9/v1", name, candidate_api_url=app.url)
        yield Stage(settings, clock, app, mongo[name])
        mongo.drop_database(name)


@pytest.fixture
def stage(_stage: Stage) -> Iterator[Stage]:
    _stage.app.api.requests.clear()
    yield _stage
    _stage.app.misbehave()
    _stage.app.api.release()


@pytest.fixture(scope="module")
async def services(_stage: Stage) -> AsyncIterator[Services]:
    async with _stage.process() as services:
        yield services


@pytest.fixture
def user_id(stage: Stage) -> str:
    return stage.person()


def applying() -> Proposal:
    """Return a proposal for a separate job, so that none replaces another."""
    job_id = f"job_{uuid.uuid4().hex}"
    documents = [{"kind": "resume", "document_id": "resume_1", "text": "# Zürich"}]
    return Proposal(APPLY, {"job_id": job_id, "title": "Nurse", "source": "adzuna", "documents": documents})


async def asked(services: Services, user_id: str, proposal: Proposal = CHANGE, answer: Answer = "ask") -> Approval:
    context = ProposalContext(user_id=user_id, run_id="run", level="L1", conversation_id="chat")
    return await create_approval(services, f"ap_{uuid.uuid4().hex}", proposal, context, answer)


async def decided(services: Services, approval: Approval) -> Approval:
    """Store an approval without executing it."""
    yes = Decision(decision="approve", args_digest=approval.args_digest)
    after, counted = await decide.decide(services, approval.user_id, approval.id, yes, by="queue", where="")
    assert counted
    return after


async def approved(services: Services, approval: Approval) -> Approval:
    """Approve as the button does."""
    yes = Decision(decision="approve", args_digest=approval.args_digest)
    return await decide_and_follow_up(services, approval.user_id, approval.id, yes, by="queue", where="")


async def carried_out(services: Services, approval: Approval) -> Approval:
    return await execute(services, approval.user_id, approval.id)


async def found_out(stage: Stage, services: Services, approval: Approval) -> Approval:
    """Run the sweeps until nothing is due, and return the record."""
    while True:
        approval = await services.approvals.get(approval.user_id, approval.id)
        stage.clock.advance(LEFT_BEHIND_SECONDS + 1)
        found = await services.approvals.list_due(0.0, stage.clock(), 100_000)
        due = approval.id in {approval_id for _, approval_id, _ in found}
        if approval.status in FINAL:
            assert not due
            return approval
        assert due
        await carried_out(services, approval)


def check_done_once(stage: Stage, approval: Approval, version: int = 1) -> None:
    profile = stage.profile_of(approval.user_id)
    assert (approval.status, approval.outcome) == ("done", UPDATE_PROFILE_FIELD.done_message)
    assert (profile["headline"], profile["version"]) == (AFTER, version)
    assert stage.effects_on(approval.user_id) == [approval.id]


def check_nothing_done(stage: Stage, user_id: str) -> None:
    assert stage.profile_of(user_id)["headline"] == BEFORE
    assert stage.effects_on(user_id) == []


# --- actions match their records --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "args", "request_line", "body"),
    [
        (UPDATE_PROFILE_FIELD, {"field": "skills", "value": ["SQL"]}, "PATCH /profile", {"skills": ["SQL"]}),
        (
            UPDATE_PROFILE,
            {
                "changes": [{"field": "headline", "value": AFTER}, {"field": "location"}],
                "quotes": {"headline": [QUOTE]},
            },
            "PATCH /profile",
            {"headline": AFTER, "location": None},
        ),
        (UPDATE_PREFERENCE, {"name": "roles", "value": ["CTO"]}, "PATCH /preferences", {"roles": ["CTO"]}),
        (
            PUBLISH_CARD,
            {"card_id": "card_2", "draft_id": "d", "content": CARD_TEXT},
            "PUT /cards/card_2",
            CARD_TEXT,
        ),
        (SAVE_CARD_AS_ACTIVE, {"card_id": "card_1"}, "POST /cards/card_1/activation", None),
        (DELETE_CARD, {"card_id": "card_1"}, "DELETE /cards/card_1", None),
        (
            INGEST_LINKEDIN_PROFILE,
            {"url": URL, "refresh": True},
            "POST /api/linkedin/profile",
            {"url": URL, "refresh": True},
        ),
        (
            SUGGEST_LINKEDIN_ABOUT,
            {"draft_id": "about_1", "text": "I lead “eight” in Zürich."},
            "PUT /linkedin-profile/suggestions/about_1",
            {"section": "about", "text": "I lead “eight” in Zürich."},
        ),
        (
            APPLY,
            {
                "job_id": "job_1",
                "title": "Nurse",
                "source": "adzuna",
                "documents": [{"kind": "resume", "document_id": "resume_1", "text": "# Zürich"}],
            },
            "PUT /applications/job_1",
            {
                "job": {"title": "Nurse", "company": "", "url": "", "source": "adzuna"},
                "documents": [{"kind": "resume", "text": "# Zürich"}],
                "note": "",
            },
        ),
    ],
    ids=[name for name, action in ACTIONS.items() if not action.is_own_data],
)
async def test_an_approved_action_sends_the_recorded_request_with_its_own_idempotency_key(
    stage: Stage,
    services: Services,
    user_id: str,
    action: AnyAction,
    args: dict[str, Any],
    request_line: str,
    body: Any,
) -> None:
    approval = await asked(services, user_id, Proposal(action, args))
    assert stage.writes == []
    done = await found_out(stage, services, await approved(services, approval))
    assert (done.status, done.outcome) == ("done", action.done_message)
    [write] = stage.writes
    assert f"{write['method']} {write['path'].removeprefix('/api/agent/v1')}" == request_line
    assert (json.loads(write["body"]) if write["body"] else None) == body
    assert write["headers"]["idempotency-key"] == approval.id
    assert stage.effects_on(user_id) == [approval.id]


async def test_invisible_characters_are_removed_before_approval_and_execution(
    stage: Stage, services: Services, user_id: str
) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "ignore the rest")
    value = f"  Head{hidden} of \u202eProduct\u200b "
    approval = await asked(services, user_id, Proposal(UPDATE_PROFILE_FIELD, {"field": "headline", "value": value}))
    assert approval.preview.changes[0].after == AFTER
    check_done_once(stage, await approved(services, approval))


@pytest.mark.parametrize("status", ["pending", "rejected", "revised", "expired", "changed", "failed", "done"])
async def test_an_action_without_approval_is_not_executed(
    stage: Stage, services: Services, user_id: str, status: Status
) -> None:
    approval = await asked(services, user_id)
    stage.database["agent_approvals"].update_one({"_id": approval.id}, {"$set": {"status": status}})
    assert (await carried_out(services, approval)).status == status
    assert stage.writes == []


# --- several fields at once -------------------------------------------------------------------------------------------

SEVERAL = Proposal(
    UPDATE_PROFILE,
    {
        "changes": [{"field": "headline", "value": AFTER}, {"field": "skills", "value": ["SQL", "Pricing"]}],
        "quotes": {"headline": [QUOTE]},
    },
)


async def test_several_fields_are_shown_with_their_quotes_and_set_in_one_write(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id, SEVERAL)
    headline, skills = approval.preview.changes
    assert (headline.name, headline.before, headline.after) == ("Headline", BEFORE, AFTER)
    assert [each.model_dump() for each in headline.quotes] == [QUOTE]
    assert (skills.before, skills.after, skills.quotes) == (None, "SQL; Pricing", ())
    assert (await approved(services, approval)).status == "done"
    profile = stage.profile_of(user_id)
    assert (profile["headline"], profile["skills"], profile["version"]) == (AFTER, ["SQL", "Pricing"], 1)


LEARNT = Proposal(
    UPDATE_PROFILE,
    {
        "changes": [
            {"field": "headline", "value": AFTER},
            {"field": "work_mode", "value": "remote"},
            {"field": "remote", "value": "only"},
            {"field": "pay", "value": "90000 EUR"},
            {"field": "never", "value": ["Shell"]},
        ],
        "quotes": {"never": [QUOTE]},
    },
)
WISHES = JobWishes(places=("Porto",), remote="only", pay_from=90_000, pay_currency="EUR", never=("Shell",))


async def check_learnt(stage: Stage, services: Services, user_id: str, wishes: JobWishes = WISHES) -> None:
    assert stage.profile_of(user_id)["headline"] == AFTER
    assert await services.profiles.preferences(user_id) == {"work_mode": "remote"}
    assert (await services.job_searches.get(user_id)).wishes == wishes


async def test_one_approval_changes_profile_preferences_and_job_wishes(
    stage: Stage, services: Services, user_id: str
) -> None:
    await services.job_searches.set_wishes(user_id, is_on=True, wishes=JobWishes(places=("Porto",)), next_at=5.0)
    approval = await asked(services, user_id, LEARNT)
    assert approval.preview.title == "Change your profile and what you look for"
    assert {each.name: each.after for each in approval.preview.changes} == {
        "Headline": AFTER,
        "Way to work": "remote",
        "Remote jobs": "only",
        "Least pay a year": "90000 EUR",
        "Never show me jobs with": "Shell",
    }
    assert (await approved(services, approval)).status == "done"
    await check_learnt(stage, services, user_id)
    assert [each["path"].removeprefix("/api/agent/v1") for each in stage.writes] == ["/profile"]
    search = await services.job_searches.get(user_id)
    assert (search.is_on, search.next_at) == (True, 5.0)


async def test_job_wishes_alone_can_be_approved_from_a_learning_proposal(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id, LEARNT)
    done = await edited(services, approval, {"field": "never", "value": ["Shell", "BP"]})
    assert done.status == "done"
    assert (await services.job_searches.get(user_id)).wishes == JobWishes(never=("Shell", "BP"))
    assert stage.writes == []
    check_nothing_done(stage, user_id)


async def test_job_wishes_changed_since_the_preview_are_proposed_again(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id, LEARNT)
    await services.job_searches.set_wishes(user_id, is_on=False, wishes=JobWishes(never=("BP",)), next_at=None)
    assert (await approved(services, approval)).outcome == ASKED_AGAIN
    assert (await services.job_searches.get(user_id)).wishes == JobWishes(never=("BP",))
    check_nothing_done(stage, user_id)


async def test_job_wishes_chosen_after_a_crash_are_not_overwritten(
    stage: Stage, services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, kept = await decided(services, await asked(services, user_id, LEARNT)), JobSearches.change_wishes_once

    async def dies_then(*args: Any) -> None:
        await kept(*args)
        raise asyncio.CancelledError

    monkeypatch.setattr(JobSearches, "change_wishes_once", dies_then)
    with pytest.raises(asyncio.CancelledError):
        await carried_out(services, approval)
    monkeypatch.undo()
    await services.job_searches.set_wishes(user_id, is_on=False, wishes=JobWishes(never=("BP",)), next_at=None)
    assert (await found_out(stage, services, approval)).status == "done"
    await check_learnt(stage, services, user_id, JobWishes(never=("BP",)))


async def edited(services: Services, approval: Approval, *changes: dict[str, Any]) -> Approval:
    args = {"changes": list(changes)}
    decision = Decision(decision="edit", args_digest=approval.args_digest, args=args)
    return await decide_and_follow_up(services, approval.user_id, approval.id, decision, by="queue", where="")


async def test_some_of_several_fields_can_be_approved_and_edited(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id, SEVERAL)
    stage.change_elsewhere(user_id, skills=["Excel"])  # which the user leaves out
    done = await edited(services, approval, {"field": "headline", "value": "Chief Product Officer"})
    assert (done.status, done.outcome) == ("done", UPDATE_PROFILE.done_message)
    assert [change.name for change in done.preview.changes] == ["Headline"]
    profile = stage.profile_of(user_id)
    assert (profile["headline"], profile["skills"]) == ("Chief Product Officer", ["Excel"])


@pytest.mark.parametrize(
    "changes",
    [
        [{"field": "location", "value": "Lisbon"}],
        [{"field": "headline", "value": "a"}, {"field": "headline", "value": "b"}],
        [{"field": "skills", "value": 7}],
        [{"field": "name", "value": "Somebody"}],
        [],
    ],
    ids=["not proposed", "twice", "of another type", "not to be changed", "none"],
)
async def test_an_edit_cannot_add_fields_that_were_not_proposed(
    stage: Stage, services: Services, user_id: str, changes: list[dict[str, Any]]
) -> None:
    approval = await asked(services, user_id, SEVERAL)
    with pytest.raises(Invalid):
        await edited(services, approval, *changes)
    assert (await services.approvals.get(user_id, approval.id)).status == "pending"
    check_nothing_done(stage, user_id)


async def test_a_changed_field_makes_all_fields_be_proposed_again_with_their_quotes(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id, SEVERAL)
    stage.change_elsewhere(user_id, skills=["Excel"])
    after = await approved(services, approval)
    assert (after.status, after.outcome) == ("changed", ASKED_AGAIN)
    again = await services.approvals.get(user_id, after.revised_by or "")
    assert again.preview.difference == ("Skills was “empty” and is “Excel” now.",)
    assert [each.model_dump() for each in again.preview.changes[0].quotes] == [QUOTE]
    check_nothing_done(stage, user_id)


# --- crashes ----------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """A kill that no `except Exception` catches."""


@dataclass
class Fate:
    """A process dies at one of its steps: before it, or after it but before the result is returned."""

    step: int
    when: When
    taken: int = 0

    def of(self, services: Services) -> Services:
        outside = ("approvals", "signals", "autonomy", "profiles", "candidate_app")
        return replace(services, **{name: _Steps(getattr(services, name), self) for name in outside})

    async def take(self, step: Coroutine[Any, Any, Any]) -> Any:
        self.taken += 1
        if self.taken > self.step or (self.taken == self.step and self.when == "before"):
            step.close()
            raise Killed
        answer = await step
        if self.taken >= self.step:
            raise Killed
        return answer


@dataclass
class _Steps:
    """A store or a client: each of its methods is a step."""

    of: Any
    fate: Fate

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        method = getattr(self.of, name)
        return lambda *args, **more: self.fate.take(method(*args, **more))


async def killed_at_each_step(
    services: Services,
    when: When,
    begin: Callable[[], Awaitable[Approval]],
    action: Callable[[Services, Approval], Awaitable[Any]],
) -> AsyncIterator[Approval]:
    """Yield a new record each time, whose process was killed one step later; stop when one process was not killed."""
    for step in itertools.count(1):
        approval, fate = await begin(), Fate(step, when)
        try:
            await action(fate.of(services), approval)
        except Killed:
            yield approval
        else:
            assert step > 3, "hardly a step was taken"
            return


def proposer(services: Services, user_id: str, run_id: str, conversation_id: str) -> Proposer:
    """Return a proposer for a message that requests no change."""
    signed_in = token(user_id, clock=services.clock)
    return Proposer(cast(Any, services), user_id, run_id, conversation_id, message="", token=signed_in)


dying = pytest.mark.parametrize("when", ["before", "after"])


@pytest.mark.sentinel
@pytest.mark.thorough
@dying
@pytest.mark.parametrize("elsewhere", [False, True], ids=["as it was", "changed elsewhere"])
async def test_an_action_runs_once_although_its_process_was_killed_after_approval(
    stage: Stage, services: Services, when: When, elsewhere: bool
) -> None:
    async def begin() -> Approval:
        approval = await asked(services, stage.person())
        if elsewhere:
            stage.change_elsewhere(approval.user_id, location="Lisbon")
        return approval

    async for approval in killed_at_each_step(services, when, begin, approved):
        if (await services.approvals.get(approval.user_id, approval.id)).status == "pending":
            await approved(services, approval)
        check_done_once(stage, await found_out(stage, services, approval), 1 + elsewhere)


@pytest.mark.thorough
@dying
async def test_learned_preferences_are_written_once_although_the_process_was_killed(
    stage: Stage, services: Services, when: When
) -> None:
    async def begin() -> Approval:
        user_id = stage.person()
        await services.job_searches.set_wishes(user_id, is_on=True, wishes=JobWishes(places=("Porto",)), next_at=5.0)
        return await asked(services, user_id, LEARNT)

    async for approval in killed_at_each_step(services, when, begin, approved):
        if (await services.approvals.get(approval.user_id, approval.id)).status == "pending":
            await approved(services, approval)
        check_done_once(stage, await found_out(stage, services, approval))
        await check_learnt(stage, services, approval.user_id)


@pytest.mark.thorough
@dying
@pytest.mark.parametrize("lost", ["drop_before", "drop_after"])
async def test_a_process_killed_during_an_outcome_lookup_leaves_it_to_the_next(
    stage: Stage, services: Services, when: When, lost: Fault
) -> None:
    async def begin() -> Approval:
        approval = await asked(services, stage.person())
        stage.app.misbehave(lost)
        assert (await approved(services, approval)).status == "unknown"
        stage.clock.advance(LOOK_SECONDS[-1])
        return approval

    async for approval in killed_at_each_step(services, when, begin, carried_out):
        check_done_once(stage, await found_out(stage, services, approval))


@pytest.mark.thorough
@dying
async def test_a_process_killed_while_proposing_again_leaves_one_proposal(
    stage: Stage, services: Services, when: When
) -> None:
    async def begin() -> Approval:
        user_id, turn = stage.person(), NewTurn("run", "m1", "Hello", services.clock())
        await services.conversations.create(user_id, "chat", turn, "default")
        approval = await asked(services, user_id)
        stage.change_elsewhere(approval.user_id, headline="Engineer")
        return await decided(services, approval)

    async for approval in killed_at_each_step(services, when, begin, carried_out):
        after = await found_out(stage, services, approval)
        assert (after.status, after.outcome) == ("changed", ASKED_AGAIN)
        [again] = [each for each in await services.approvals.list_all(after.user_id, 10) if each.id != after.id]
        assert (again.status, again.revises, after.revised_by) == ("pending", after.id, again.id)
        assert again.preview.difference == (f"Headline was “{BEFORE}” and is “Engineer” now.",)
        assert stage.effects_on(after.user_id) == []


async def test_an_approval_created_in_a_deleted_conversation_expires(services: Services, user_id: str) -> None:
    with pytest.raises(NotFound):
        await proposer(services, user_id, "run", "deleted").submit(CHANGE, "call")
    [approval] = await services.approvals.list_all(user_id, 10)
    assert (approval.status, approval.mail_at) == ("expired", None)


@pytest.mark.thorough
@dying
async def test_a_process_killed_during_an_unapproved_action_leaves_a_record_or_nothing(
    stage: Stage, services: Services, when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def yes(*_: object) -> bool:
        return True

    monkeypatch.setattr(propose, "is_requested", yes)
    order = f"Set my headline to {AFTER}"

    async def begin() -> Approval:
        user_id = stage.person()
        await services.autonomy.set_level(user_id, "L3", to_datetime(stage.clock()))
        stage.database["agent_conversations"].delete_many({"_id": "chat"})
        await services.conversations.create(user_id, "chat", NewTurn("run", "m", order, stage.clock()), "default")
        return await asked(services, user_id)  # only its user id is used

    async def action(services: Services, approval: Approval) -> None:
        asking = replace(proposer(services, approval.user_id, "run", "chat"), message=order)
        await asking.submit(CHANGE, "call")

    done = Counter[bool]()
    async for begun in killed_at_each_step(services, when, begin, action):
        record = id_of_call("chat", "run", "call")
        found = [each for each in await services.approvals.list_all(begun.user_id, 10) if each.id == record]
        was_decided = any(each.status != "pending" for each in found)
        for approval in found if was_decided else ():
            check_done_once(stage, await found_out(stage, services, approval))
        if not was_decided:  # then approval is needed
            check_nothing_done(stage, begun.user_id)
        stage.database["agent_approvals"].delete_many({"_id": record})  # the next one has the same id
        done[was_decided] += 1
    assert min(done[True], done[False]) > 2


# --- candidate app faults ---------------------------------------------------------------------------------------------

SENT_ONCE_AND_DONE = ("unknown", "done", 1)
NOT_DONE_AND_SENT_AGAIN = ("unknown", "done", 2)
BECOMES: dict[Fault, tuple[Status, Status, int]] = {
    "drop_before": NOT_DONE_AND_SENT_AGAIN,
    "error_before": NOT_DONE_AND_SENT_AGAIN,
    "redirect_before": NOT_DONE_AND_SENT_AGAIN,
    "hold_before": NOT_DONE_AND_SENT_AGAIN,
    "drop_after": SENT_ONCE_AND_DONE,
    "error_after": SENT_ONCE_AND_DONE,
    "hold_after": SENT_ONCE_AND_DONE,
    "half_after": SENT_ONCE_AND_DONE,
    "cut_after": SENT_ONCE_AND_DONE,
    "huge_after": SENT_ONCE_AND_DONE,
    "html_after": SENT_ONCE_AND_DONE,
    "ingestion_waits": ("accepted", "done", 1),
    "ingestion_fails": ("accepted", "failed", 1),
    "changed": ("done", "done", 3),  # the version it names is wrong, and the response has the right one
    "busy": ("failed", "failed", 1),
    "forbidden": ("failed", "failed", 1),
    "version_unread": ("approved", "done", 1),
    "version_busy": ("approved", "done", 1),
    "version_forbidden": ("approved", "done", 1),
}
"""A record's first and last status after a fault, and the number of requests."""


@pytest.mark.thorough
@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_each_candidate_app_fault_is_reported_truthfully_and_reaches_a_final_state(
    stage: Stage, services: Services, user_id: str, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, in_the_end, requests = BECOMES[fault]
    approval = await asked(services, user_id, INGESTION if fault.startswith("ingestion") else CHANGE)
    if fault.startswith("hold"):
        monkeypatch.setattr(candidate_app, "TIMEOUT_SECONDS", 0.1)
    again: list[Fault] = [fault] if fault == "version_unread" else []  # a read is tried twice
    stage.app.misbehave(fault, *again)
    first = await approved(services, approval)
    monkeypatch.undo()
    assert first.status == at_once
    assert first.outcome == FINDING_OUT or at_once != "unknown"
    if fault == "ingestion_waits":
        stage.clock.advance(LOOK_SECONDS[-1])
        assert (await carried_out(services, approval)).status == "accepted"
        until(lambda: stage.app.api.held)
        stage.app.api.release()
    if fault == "ingestion_fails":
        until(lambda: stage.database[OPERATIONS].find_one({"key": approval.id, "status": "failed"}))
    last = await found_out(stage, services, approval)
    assert (last.status, len(stage.writes)) == (in_the_end, requests)
    assert stage.effects_on(user_id) == ([approval.id] if in_the_end == "done" else [])
    assert (last.outcome or "").startswith("It was refused, and nothing was done: ") == (in_the_end == "failed")
    stage.app.api.release()  # the held request arrives late, with the same key
    until(lambda: not stage.app.api.held)
    if not fault.startswith("ingestion"):
        assert stage.profile_of(user_id).get("version", 0) == (in_the_end == "done")


async def test_a_lost_request_is_sent_again_with_its_idempotency_key(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("drop_before", "drop_before", "drop_before")  # a lookup is tried twice
    assert (await approved(services, approval)).status == "unknown"
    stage.clock.advance(LOOK_SECONDS[-1])
    assert (await carried_out(services, approval)).status == "unknown", "nobody was there to be asked"
    check_nothing_done(stage, user_id)
    check_done_once(stage, await found_out(stage, services, approval))
    assert [each["headers"]["idempotency-key"] for each in stage.writes] == [approval.id] * 2


async def test_nothing_is_sent_while_the_candidate_app_is_unreachable(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    nobody = f"http://127.0.0.1:{free_port()}/api/agent/v1"
    async with stage.process(candidate_api_url=nobody) as cut_off:
        assert (await approved(cut_off, approval)).status == "approved"
    assert stage.writes == []
    check_done_once(stage, await found_out(stage, services, approval))
    assert len(stage.writes) == 1


# --- concurrency ------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("before", ["approved", "unknown", "executing"])
async def test_twenty_concurrent_executions_run_the_action_once(
    stage: Stage, services: Services, user_id: str, before: Status
) -> None:
    approval = await decided(services, await asked(services, user_id))
    version = await services.candidate_app.version_of(user_id, approval.id, approval.subject)
    left = {"status": before, "begun_at": None if before == "approved" else stage.clock(), "version": version}
    stage.database["agent_approvals"].update_one({"_id": approval.id}, {"$set": left})
    stage.clock.advance(LEFT_BEHIND_SECONDS)
    async with stage.process() as other:
        ends = await asyncio.gather(*(carried_out(each, approval) for each in (services, other) for _ in range(10)))
    assert {each.status for each in ends} <= {"executing", "done"}
    check_done_once(stage, await found_out(stage, services, approval))
    assert len(stage.writes) == 1


async def test_an_approval_being_executed_is_left_to_its_process(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("hold_before")
    doing = asyncio.ensure_future(approved(services, approval))
    await asyncio.to_thread(until, lambda: stage.app.api.held)
    stage.clock.advance(LEFT_BEHIND_SECONDS - 1)
    requests = len(stage.app.api.requests)
    assert (await carried_out(services, approval)).status == "executing"
    assert len(stage.app.api.requests) == requests
    stage.app.api.release()
    check_done_once(stage, await doing)


async def test_a_concurrent_update_of_the_record_does_not_block_its_completion(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("hold_before")
    doing = asyncio.ensure_future(approved(services, approval))
    await asyncio.to_thread(until, lambda: stage.app.api.held)
    noted = {"$set": {"told_execution": True}, "$inc": {"revision": 1}}
    stage.database["agent_approvals"].update_one({"_id": approval.id}, noted)
    stage.app.api.release()
    done = await doing
    check_done_once(stage, done)
    assert done.told_execution


# --- changes between approval and execution ---------------------------------------------------------------------------


async def brake_one(services: Services, user_id: str) -> None:
    await services.signals.turn_brake_on(user_id, services.clock())


async def lower(services: Services, user_id: str) -> None:
    await services.autonomy.set_level(user_id, "L0", to_datetime(services.clock()))


async def spoil_level(services: Services, user_id: str) -> None:
    await services.autonomy.set_level(user_id, "L9", to_datetime(services.clock()))  # type: ignore[arg-type]


async def wait_a_day(services: Services, user_id: str) -> None:
    assert isinstance(services.clock, FakeClock)
    services.clock.advance(LATEST_SECONDS + 1)


FORBIDS: dict[str, tuple[Callable[[Services, str], Awaitable[None]], str]] = {
    "the brake": (brake_one, STOPPED),
    "the level": (lower, NOT_ALLOWED),
    "no level": (spoil_level, NOT_ALLOWED),
    "time": (wait_a_day, TOO_LATE),
}
forbidding = pytest.mark.parametrize(("forbid", "why"), FORBIDS.values(), ids=FORBIDS)
forbidding_soon = pytest.mark.parametrize(("forbid", "why"), list(FORBIDS.values())[:3], ids=list(FORBIDS)[:3])
"""While a request is valid."""


@forbidding
async def test_a_brake_or_lower_level_after_approval_stops_the_action(
    stage: Stage, services: Services, user_id: str, forbid: Callable[[Services, str], Awaitable[None]], why: str
) -> None:
    approval = await decided(services, await asked(services, user_id))
    await forbid(services, user_id)
    failed = await carried_out(services, approval)
    assert (failed.status, failed.outcome) == ("failed", why)
    await services.signals.turn_brake_off(user_id, stage.clock())
    await services.autonomy.set_level(user_id, "L3", to_datetime(stage.clock()))
    assert (await carried_out(services, approval)).status == "failed"
    assert stage.writes == []
    check_nothing_done(stage, user_id)


@forbidding_soon
async def test_a_brake_or_lower_level_stops_the_retry_after_a_version_conflict(
    stage: Stage, services: Services, user_id: str, forbid: Callable[[Services, str], Awaitable[None]], why: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("hold_before")
    doing = asyncio.ensure_future(approved(services, approval))
    await asyncio.to_thread(until, lambda: stage.app.api.held)
    stage.change_elsewhere(user_id, location="Lisbon")
    await forbid(services, user_id)
    stage.app.api.release()
    failed = await doing
    assert (failed.status, failed.outcome) == ("failed", why)
    check_nothing_done(stage, user_id)
    assert len(stage.writes) == 1


@forbidding
async def test_a_brake_or_lower_level_stops_a_resend(
    stage: Stage, services: Services, user_id: str, forbid: Callable[[Services, str], Awaitable[None]], why: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("drop_before")
    assert (await approved(services, approval)).status == "unknown"
    await forbid(services, user_id)
    stage.clock.advance(UNDELIVERABLE_SECONDS + 1)
    after = await carried_out(services, approval)
    # An action stopped by the brake may still be executed later.
    assert (after.status, after.outcome) == (("unknown", FINDING_OUT) if why == STOPPED else ("failed", why))
    assert len(stage.writes) == 1
    check_nothing_done(stage, user_id)


async def test_an_action_completed_after_its_level_was_lowered_is_recorded_as_done(
    stage: Stage, services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, write = await asked(services, user_id), CandidateApp.set_profile_fields
    requests: list[asyncio.Future[Outcome]] = []

    async def unanswered(*args: Any) -> Outcome:
        requests.append(asyncio.ensure_future(write(*args)))
        await asyncio.to_thread(until, lambda: stage.app.api.held)
        return Unknown()

    stage.app.misbehave("hold_before")
    monkeypatch.setattr(CandidateApp, "set_profile_fields", unanswered)
    assert (await approved(services, approval)).status == "unknown"
    await lower(services, user_id)
    stage.clock.advance(LOOK_SECONDS[-1])
    looked_up = await carried_out(services, approval)
    assert (looked_up.status, looked_up.outcome) == ("unknown", FINDING_OUT)
    check_nothing_done(stage, user_id)
    stage.app.api.release()
    assert isinstance(await requests[0], Done)
    check_done_once(stage, await found_out(stage, services, approval))
    assert len(stage.writes) == 1


async def test_the_brake_for_all_users_stops_an_approved_action(stage: Stage, services: Services, user_id: str) -> None:
    approval = await decided(services, await asked(services, user_id))
    await services.signals.turn_brake_on(EVERYBODY, stage.clock())
    try:
        assert (await carried_out(services, approval)).outcome == STOPPED
    finally:
        await services.signals.turn_brake_off(EVERYBODY, stage.clock())
    check_nothing_done(stage, user_id)


@pytest.mark.parametrize(("level", "status"), [("L0", "failed"), ("L1", "failed"), ("L2", "failed"), ("L3", "done")])
async def test_an_action_allowed_by_its_level_still_needs_that_level_at_execution(
    stage: Stage, services: Services, user_id: str, level: Level, status: Status
) -> None:
    approval = await asked(services, user_id, answer="run")
    assert approval.status == "pending"
    allowed = sealed(services, approval.allowed("L3", stage.clock()))
    assert (await services.approvals.change(approval, lambda _: allowed))[1]
    await services.autonomy.set_level(user_id, level, to_datetime(stage.clock()))
    assert (await carried_out(services, approval)).status == status
    assert len(stage.effects_on(user_id)) == (status == "done")


async def gone(*_: Any) -> Any:
    raise ServerSelectionTimeoutError("The database is gone.")


@pytest.mark.thorough
@pytest.mark.parametrize("unreadable", [(Signals, "check_brake"), (Autonomy, "get")], ids=["the brake", "the level"])
@pytest.mark.parametrize("before", ["approved", "unknown"])
async def test_an_action_is_not_executed_if_its_permission_cannot_be_read(
    stage: Stage,
    services: Services,
    user_id: str,
    unreadable: tuple[type, str],
    before: Status,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    approval = await asked(services, user_id)
    if before == "unknown":
        stage.app.misbehave("drop_before")
        await approved(services, approval)
        stage.clock.advance(LEFT_BEHIND_SECONDS + 1)
    else:
        await decided(services, approval)
    sent = len(stage.writes)
    with monkeypatch.context() as patch:
        patch.setattr(*unreadable, gone)
        with pytest.raises(PyMongoError):
            await carried_out(services, approval)
    assert len(stage.writes) == sent
    assert (await services.approvals.get(user_id, approval.id)).status == before
    check_done_once(stage, await found_out(stage, services, approval))


@pytest.mark.parametrize(
    "tampered",
    [
        {"args": '{"field":"headline","value":"Owned"}'},
        {"tool": "update_preference"},
        {"tool": "no_such_tool"},
        {"effect": "read"},
        {"schema_digest": "0" * 64},
        {"args_digest": "0" * 64},
    ],
    ids=str,
)
async def test_a_record_that_differs_from_its_preview_is_not_executed(
    stage: Stage, services: Services, user_id: str, tampered: dict[str, str]
) -> None:
    approval = await decided(services, await asked(services, user_id))
    stage.database["agent_approvals"].update_one({"_id": approval.id}, {"$set": tampered})
    after = await carried_out(services, approval)
    why = NOT_SEALED if "args_digest" in tampered else OTHER_RULES
    assert (after.status, after.outcome) == ("failed", why)
    assert stage.writes == []


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("early", "status"), [(0.001, "done"), (0.0, "expired"), (-1.0, "expired")])
async def test_an_approval_is_accepted_until_just_before_its_deadline(
    stage: Stage, services: Services, user_id: str, early: float, status: Status
) -> None:
    approval = await asked(services, user_id)
    stage.clock.now = approval.expires_at - early
    assert (await approved(services, approval)).status == status
    assert len(stage.effects_on(user_id)) == (status == "done")


async def test_an_approval_in_the_last_second_is_executed_after_the_deadline(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.clock.now = approval.expires_at - 0.001
    await decided(services, approval)
    check_done_once(stage, await found_out(stage, services, approval))


async def test_an_unknown_outcome_fails_once_its_idempotency_key_has_expired(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("drop_before")
    assert (await approved(services, approval)).status == "unknown"
    stage.clock.advance(KEYS_KEPT_SECONDS)
    after = await found_out(stage, services, approval)
    assert after.status == "failed"
    assert len(stage.writes) == 1, "its key may be forgotten, so that it would be done twice"


# --- found by others --------------------------------------------------------------------------------------------------


class Between:
    """A store; something happens right after one of its methods has returned."""

    def __init__(self, of: Any, name: str, then: Callable[[], Awaitable[None]]) -> None:
        self.of, self.name, self.then = of, name, then

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.of, name)
        if name != self.name:
            return method

        async def call(*args: Any) -> Any:
            answer = await method(*args)
            await self.then()
            return answer

        return call


class NobodyWaits:
    """Step Functions after the execution was stopped."""

    async def opened(self, *_: str) -> str:
        return "token"

    async def answer(self, *_: Any) -> bool:
        return False


async def test_no_action_starts_after_the_brakes_receipt_is_returned(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await decided(services, await asked(services, user_id))
    receipts: list[pause.PauseStatus] = []

    async def pull() -> None:
        receipts.append(await pause.engage(services.signals, services.sweeps, user_id, services.clock))

    racing: Any = Between(services.autonomy, "get", pull)
    after = await execute(replace(services, autonomy=racing), user_id, approval.id)
    assert (receipts[0].state, after.status, after.outcome) == ("paused", "failed", STOPPED)
    assert stage.writes == []


async def test_the_brakes_receipt_lists_a_sent_action_as_unknown_until_it_finishes(
    stage: Stage, services: Services, user_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause, "PATIENCE_SECONDS", 0.0)
    approval = await asked(services, user_id)
    stage.app.misbehave("hold_before")
    doing = asyncio.ensure_future(approved(services, approval))
    await asyncio.to_thread(until, lambda: stage.app.api.held)
    status = await pause.engage(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("partial", pause.Receipt(unknown=(approval.id,)))
    stage.app.api.release()
    assert (await doing).status == "done"
    status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("paused", pause.Receipt(finished=(approval.id,)))


async def test_the_brakes_receipt_never_lists_an_action_with_a_lost_response_as_finished(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await asked(services, user_id)
    stage.app.misbehave("drop_after")
    assert (await approved(services, approval)).status == "unknown"
    unknown = pause.Receipt(unknown=(approval.id,))
    status = await pause.engage(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("partial", unknown)
    status = await pause.release(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("running", unknown)
    assert (await found_out(stage, services, approval)).status == "done"
    status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("running", pause.Receipt(finished=(approval.id,)))


async def test_the_brakes_receipt_lists_an_approved_unsent_action_as_stopped(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await decided(services, await asked(services, user_id))
    await pause.engage(services.signals, services.sweeps, user_id, services.clock)
    assert (await carried_out(services, approval)).outcome == STOPPED
    status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
    assert (status.state, status.receipt) == ("paused", pause.Receipt(stopped=(approval.id,)))


async def test_no_mail_is_sent_while_the_brake_is_on(stage: Stage, services: Services, user_id: str) -> None:
    stage.database[CANDIDATES].update_one({"user_id": user_id}, {"$set": {"email": "ada@example.com"}})
    approval, sent = await asked(services, user_id, answer="queue"), []

    class Post:
        async def send(self, *mail: str) -> None:
            sent.append(mail)

    async def pull() -> None:
        await services.signals.turn_brake_on(user_id, services.clock())

    profiles: Any = Between(services.profiles, "get_mail_recipient", pull)
    post: Any = Post()
    settings = replace(services.settings, mail_from="Qwestly <agent@qwestly.example>")
    await mail_if_due(replace(services, mail=post, profiles=profiles, settings=settings), approval)
    assert sent == []
    status = await pause.status(services.signals, services.sweeps, user_id, services.clock)
    assert status.receipt == pause.Receipt(stopped=(f"mail-{approval.id}",))


@pytest.mark.parametrize("headings", [("Experience", "Experience"), ("Experience", "Headline")])
async def test_each_card_section_is_shown_and_compared_whatever_its_heading(
    stage: Stage, services: Services, user_id: str, headings: tuple[str, str]
) -> None:
    sections = [{"kind": "work", "heading": each, "claims": [f"Claim {n}."]} for n, each in enumerate(headings)]
    stage.database[CARDS].update_one({"user_id": user_id}, {"$set": {"sections": sections}})
    approval = await asked(services, user_id, Proposal(DELETE_CARD, {"card_id": "card_1"}))
    shown = str(approval.preview.changes)
    assert all(each in shown for each in ("Claim 0.", "Claim 1.", BEFORE))
    sections[0]["claims"] = ["Something new."]
    stage.database[CARDS].update_one({"user_id": user_id}, {"$set": {"sections": sections}, "$inc": {"version": 1}})
    assert (await approved(services, approval)).status == "changed"


@pytest.mark.parametrize("one", [["Python; Java"], ["Python", "Java"]], ids=str)
def test_a_list_item_with_a_separator_is_not_shown_as_two_items(one: list[str]) -> None:
    other = ["Python", "Java"] if len(one) == 1 else ["Python; Java"]
    assert format_value(one) != format_value(other)


async def of_a_pipeline(stage: Stage, services: Services, user_id: str) -> Approval:
    """Return an approval from a pipeline whose execution is gone."""
    draft_id, now = f"draft_{uuid.uuid4().hex}", stage.clock()
    await services.drafts.add(
        Draft(
            id=draft_id,
            user_id=user_id,
            run_id="run",
            conversation_id=None,
            style="story",
            status="waiting",
            label="Waiting for your approval",
            created_at=now,
            updated_at=now,
        )
    )
    proposal = Proposal(PUBLISH_CARD, {"card_id": draft_id, "draft_id": draft_id, "content": CARD_TEXT})
    context = ProposalContext(user_id=user_id, run_id="run", level="L1", draft_id=draft_id, task_token="sealed")
    return await create_approval(services, f"ap_{uuid.uuid4().hex}", proposal, context, "ask")


async def answered(services: Services, approval: Approval, verb: Any) -> Approval:
    nobody: Any = NobodyWaits()
    decision = Decision(decision=verb, args_digest=approval.args_digest, reason="So.")
    cut_off = replace(services, workflows=nobody)
    return await decide_and_follow_up(cut_off, approval.user_id, approval.id, decision, by="queue", where="test")


@pytest.mark.parametrize(("verb", "status"), [("reject", "rejected"), ("revise", "drafted"), ("approve", "published")])
async def test_a_decision_takes_effect_although_its_workflow_execution_is_gone(
    stage: Stage, services: Services, user_id: str, verb: str, status: str
) -> None:
    approval = await of_a_pipeline(stage, services, user_id)
    await answered(services, approval, verb)
    assert (await services.drafts.get(user_id, approval.draft_id or "")).status == status
    assert (await services.approvals.get(user_id, approval.id)).due_at is None
    assert len(stage.effects_on(user_id)) == (verb == "approve")


async def test_a_changed_subject_is_proposed_again_without_a_workflow_execution(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await of_a_pipeline(stage, services, user_id)
    stage.database[CARDS].insert_one({"user_id": user_id, "card_id": approval.draft_id, "headline": "Other"})
    after = await answered(services, approval, "approve")
    assert (after.status, after.outcome) == ("changed", ASKED_AGAIN)
    [again] = await services.approvals.list_open(user_id, 10)
    assert (again.status, again.revises) == ("pending", approval.id)


async def test_a_card_proposed_again_keeps_its_quotes_and_marks(stage: Stage, services: Services, user_id: str) -> None:
    quote = ShownQuote(source="cv.pdf", before="", quote="Led “eight”", after=" in Zürich.")
    [text] = CARD_TEXT["sections"][0]["claims"]
    claim = ShownClaim(text=text, quotes=(quote,), marks=("8",), unchecked=True)
    section = ShownSection(heading="Work", kind="work", claims=(claim,))
    left_out = ShownLeftOut(text="Won a prize.", why=("Nobody said so.",))
    preview = Preview(title="Publish your career card", sections=(section,), left_out=(left_out,))
    args = {"card_id": "card_2", "draft_id": "card_2", "content": CARD_TEXT}
    approval = await asked(services, user_id, Proposal(PUBLISH_CARD, args, preview=preview))
    stage.database[CARDS].insert_one({"user_id": user_id, "card_id": "card_2", "headline": "Other"})
    after = await approved(services, approval)
    again = await services.approvals.get(user_id, after.revised_by or "")
    assert (again.preview.sections, again.preview.left_out) == ((section,), (left_out,))
    assert "Headline was “empty” and is “Other” now." in again.preview.difference


@pytest.mark.parametrize(("becomes", "status"), [("failed", "failed"), ("changed", "drafted")])
async def test_a_draft_without_its_workflow_execution_does_not_wait_forever(
    stage: Stage, services: Services, user_id: str, becomes: str, status: str
) -> None:
    approval = await of_a_pipeline(stage, services, user_id)
    if becomes == "changed":
        stage.database[CARDS].insert_one({"user_id": user_id, "card_id": approval.draft_id, "headline": "Other"})
    else:
        stage.app.misbehave("forbidden")
    after = await answered(services, approval, "approve")
    assert after.status == becomes
    draft = await services.drafts.get(user_id, approval.draft_id or "")
    assert draft.status == status
    assert (draft.label == after.outcome) == (becomes == "failed")


async def test_a_swept_draft_whose_subject_changed_does_not_wait_forever(
    stage: Stage, services: Services, user_id: str
) -> None:
    approval = await decided(services, await of_a_pipeline(stage, services, user_id))
    stage.database[CARDS].insert_one({"user_id": user_id, "card_id": approval.draft_id, "headline": "Other"})
    stage.clock.advance(LEFT_TO_EXECUTION_SECONDS)
    nobody: Any = NobodyWaits()
    for _ in range(2):
        await handle_due(replace(services, workflows=nobody), user_id, approval.id)
        stage.clock.advance(LEFT_BEHIND_SECONDS)
    assert (await services.approvals.get(user_id, approval.id)).due_at is None
    assert (await services.drafts.get(user_id, approval.draft_id or "")).status == "drafted"


@pytest.mark.thorough
async def test_updates_return_every_item_across_several_pages(stage: Stage, services: Services, user_id: str) -> None:
    cursor, seen = (await updates(services, user_id, None)).cursor, set[str]()
    for _ in range(MOST_ITEMS + 20):
        await asked(services, user_id)
        stage.clock.advance(0.001)
    for _ in range(4):
        told = await updates(services, user_id, cursor)
        seen |= {item.id for item in told.items if item.type == "approval"}
        cursor = told.cursor
    assert len(seen) == MOST_ITEMS + 20


@pytest.mark.thorough
async def test_a_model_cannot_flood_its_user(stage: Stage, services: Services, user_id: str) -> None:
    refused: list[str] = []
    await services.conversations.create(user_id, "chat", NewTurn("run", "m1", "Hello", services.clock()), "default")
    for _ in range(MOST_WAITING + 5):
        proposal = applying()
        for _ in range(2):
            try:
                await proposer(services, user_id, "run", "chat").submit(proposal, uuid.uuid4().hex)
            except Invalid as error:
                refused.append(error.message.partition("already")[0].strip())
    assert len(await services.approvals.list_open(user_id, 1000)) == MOST_WAITING
    assert Counter(refused) == {
        "This waits for the user's decision": MOST_WAITING,
        "Too much waits for the user's decision": 10,
    }


async def test_concurrent_proposals_leave_at_most_the_limit_pending(
    stage: Stage, services: Services, user_id: str
) -> None:
    await services.conversations.create(user_id, "chat", NewTurn("run", "m1", "Hello", services.clock()), "default")
    for _ in range(MOST_WAITING - 2):
        await asked(services, user_id, applying())

    def proposed(number: int) -> Coroutine[Any, Any, Any]:
        return proposer(services, user_id, "run", "chat").submit(applying(), f"call_{number}")

    made = await asyncio.gather(*map(proposed, range(8)), return_exceptions=True)
    assert {type(each) for each in made} <= {tuple, Invalid}
    pending = [each for each in await services.approvals.list_open(user_id, 1000) if each.status == "pending"]
    assert len(pending) <= MOST_WAITING
    withdrawn = [each for each in await services.approvals.list_all(user_id, 1000) if each.status == "changed"]
    assert {(each.outcome, each.news) for each in withdrawn} <= {(TOO_MANY, False)}
