"""Earned autonomy over random histories: `approvals.earned` and the code that decides on an offer, on in-memory stores.

The expected result is counted here independently, from the decisions alone.
"""

import random
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar, get_args

import pytest

from qwestly_agent.action import Actions
from qwestly_agent.approvals.autonomy import RAISE_AUTONOMY, level_of, note_decision
from qwestly_agent.approvals.decide import Decision, Verb, decide
from qwestly_agent.base.errors import Invalid
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.candidate_app import Effect
from qwestly_agent.domain.approval import LADDER, Approval, DecidedBy, Grant, Standing
from qwestly_agent.services import Services
from qwestly_agent.workflows import ACTIONS
from tests.counts import count, sample
from tests.servers import settings_for
from tests.unit.test_earned import DAY, NOS, OTHERS, Said, record

KINDS: Sequence[str] = ("update_profile_field", "update_application")
ANSWERS: tuple[tuple[Verb, DecidedBy] | None, ...] = (
    ("approve", "queue"),
    ("approve", "queue"),
    ("reject", "queue"),
    ("approve", "link"),
    None,
)
"""Answers to an offer; None for no answer yet."""
T = TypeVar("T")


def run(work: Awaitable[T]) -> T:
    """In-memory calls never wait."""
    try:
        work.__await__().send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("It waits.")


@dataclass
class ApprovalsInMemory:
    decisions: list[Approval] = field(default_factory=list[Approval])
    """Newest last."""
    offers: list[Approval] = field(default_factory=list[Approval])

    async def list_decided(self, user_id: str, tool: str, since: float, limit: int) -> list[Approval]:
        found = list[Approval]()
        for each in reversed(self.decisions):
            if (each.decided_at or 0.0) < since or len(found) == limit:
                break
            if (each.user_id, each.tool) == (user_id, tool):
                found.append(each)
        return found

    async def find_latest(self, user_id: str, tool: str, subject: str) -> Approval | None:
        of_kind = (each for each in reversed(self.offers) if (each.tool, each.subject) == (tool, subject))
        return next(of_kind, None)

    async def list_open(self, user_id: str, limit: int) -> list[Approval]:
        return [each for each in self.offers if each.user_id == user_id and each.status == "pending"]

    async def add(self, approval: Approval) -> bool:
        self.offers.append(approval)
        return True

    async def get(self, user_id: str, approval_id: str) -> Approval:
        return next(each for each in self.offers if (each.user_id, each.id) == (user_id, approval_id))

    async def change(self, seen: Approval, change: Any) -> tuple[Approval, bool]:
        after = change(seen)
        if after is None:
            return seen, False
        self.offers[self.offers.index(seen)] = after
        return after, True


@dataclass
class AutonomyInMemory:
    kept: Standing

    async def get(self, user_id: str) -> Standing:
        return self.kept

    async def grant(self, user_id: str, grant: Grant) -> None:
        self.kept = replace(self.kept, grants=(*self._others(grant.tool), grant))

    async def revoke(self, user_id: str, tool: str, at: datetime) -> None:
        ended = [each.model_copy(update={"ended_at": at.timestamp()}) for each in self.kept.grants if each.tool == tool]
        self.kept = replace(self.kept, grants=(*self._others(tool), *ended))

    def _others(self, tool: str) -> tuple[Grant, ...]:
        return tuple(each for each in self.kept.grants if each.tool != tool)


@dataclass
class InMemory:
    """In-memory services."""

    autonomy: AutonomyInMemory
    approvals: ApprovalsInMemory = field(default_factory=ApprovalsInMemory)
    actions: Actions[Services] = field(default_factory=lambda: ACTIONS)
    now: float = 0.0
    settings: Settings = field(default_factory=lambda: settings_for("mongodb://none", "http://none"))

    def clock(self) -> float:
        return self.now

    @property
    def secrets(self) -> "InMemory":
        return self

    @property
    def candidate_app(self) -> "InMemory":
        return self

    @property
    def user_settings(self) -> "InMemory":
        return self

    zone = "UTC"

    async def get(self, user_id: str) -> "InMemory":
        return self

    async def version_of(self, *_: str) -> str:
        return "1"

    @property
    def signals(self) -> "InMemory":
        return self

    async def is_braked(self, user_id: str) -> bool:
        return False


class History:
    """One user's decisions and answers to offers, by time, for each kind of change."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        floor = chance.choice(LADDER[:3])
        ceiling = chance.choice(LADDER[LADDER.index(floor) :])
        self.floor, self.top = LADDER.index(floor), LADDER.index(ceiling)
        self.services: Any = InMemory(AutonomyInMemory(Standing(floor, ceiling)))
        self.said: dict[str, list[tuple[float, Said]]] = {tool: [] for tool in KINDS}
        self.offered_at: dict[str, float] = dict.fromkeys(KINDS, 0.0)

    def levels(self) -> dict[str, int]:
        standing = run(self.services.autonomy.get("u"))
        return {each: LADDER.index(run(level_of(self.services, "u", standing, each))) for each in KINDS}

    def decides(self, said: Said, tool: str) -> None:
        self.services.now += self.chance.uniform(0, 3 * DAY)
        decided = RECORDS[tool, said].model_copy(update={"decided_at": self.services.now})
        self.services.approvals.decisions.append(decided)
        self.said[tool].append((self.services.now, said))
        run(note_decision(self.services, decided))

    def offers(self) -> list[Approval]:
        return [each for each in self.services.approvals.offers if each.status == "pending"]

    def answers(self, offer: Approval, verb: Verb, by: DecidedBy) -> bool:
        """True if it was executed."""
        decision = Decision(decision=verb, args_digest=offer.args_digest)
        try:
            after, counted = run(decide(self.services, "u", offer.id, decision, by=by, where=""))
        except Invalid:
            return False
        if not counted or after.status != "approved":
            return False
        args = RAISE_AUTONOMY.arguments.model_validate(after.arguments)
        run(RAISE_AUTONOMY.perform(self.services, Effect("u", offer.id, offer.id, "1"), args))
        return True

    def days_before(self, tool: str) -> int:
        """Days with a yes that may count for an offer now, according to the decisions."""
        since, counted = max(self.services.now - 90 * DAY, self.offered_at[tool]), set[int]()
        for at, said in reversed(self.said[tool]):
            if at < since or said in NOS:
                break
            if said == "yes":
                counted.add(int(at // DAY))
        return len(counted)


RECORDS: dict[tuple[str, Said], Approval] = {
    (tool, said): record(said, 0.0, ACTIONS[tool].schema_digest).model_copy(update={"tool": tool})
    for tool in KINDS
    for said in get_args(Said)
}
"""Records to copy, as building one is slow."""


def histories(seed: int, count: int) -> Iterator[History]:
    chance = random.Random(seed)
    return (History(chance) for _ in range(count))


def words(chance: random.Random) -> Sequence[tuple[Said, str]]:
    likely, other = chance.choice([(40, 1), (9, 1), (1, 1)]), chance.choice((0.0, 0.1, 0.5))
    share = likely[0] / sum(likely)
    return [
        ("yes" if chance.random() < share else chance.choice(OTHERS), KINDS[chance.random() < other])
        for _ in range(chance.choice((16, 16, 30)))
    ]


def goes_through(history: History) -> int:
    """Check the invariants after each step; returns the number of steps up."""
    chance, raised, levels = history.chance, 0, history.levels()
    for said, tool in words(chance):
        offers_before = len(history.services.approvals.offers)
        history.decides(said, tool)
        after = history.levels()
        assert all(after[each] <= levels[each] for each in KINDS), "a decision alone raises nothing"
        assert all(after[each] == levels[each] for each in KINDS if each != tool), "nor lowers another kind"
        if said in NOS:
            assert after[tool] == history.floor
        for offer in history.services.approvals.offers[offers_before:]:
            assert (said, offer.arguments["tool"]) == ("yes", tool), "only a yes to the same kind offers anything"
            assert history.days_before(tool) >= 10
            history.offered_at[tool] = history.services.now
        levels = after
        for offer in history.offers():
            answer = chance.choice(ANSWERS)
            if answer is None:
                continue
            kind, since = offer.arguments["tool"], offer.created_at
            is_given = history.answers(offer, *answer)
            after = history.levels()
            assert all(history.floor <= after[each] <= history.top for each in KINDS)
            in_time = history.services.now < since + 7 * DAY
            assert is_given == (answer == ("approve", "queue") and in_time), "by no link, and not too late"
            if after != levels:
                assert is_given
                assert after == {**levels, kind: history.top}, "of this kind alone"
                assert not any(at >= since and said in NOS for at, said in history.said[kind])
                raised += 1
            levels = after
    return raised


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("seed", "count"),
    [
        (0, 300),
        *(pytest.param(seed, count(5_000, 25_000), marks=pytest.mark.thorough) for seed in sample(range(1, 5), 1)),
    ],
)
def test_no_history_exceeds_the_ceiling_or_survives_a_no(seed: int, count: int) -> None:
    assert sum(map(goes_through, histories(seed, count))) > count / 10
