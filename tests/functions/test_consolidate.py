"""What says the same becomes one: capped, whatever dies on the way, and as it was once somebody takes it back."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, cast

import pytest

from infra.consolidations import run as command
from infra.local.model_brain import embedding
from infra.mongo.indexes import INDEXES
from qwestly_agent.bootstrap import House, bootstrap_without_models
from qwestly_agent.clients.embeddings import DIMENSIONS
from qwestly_agent.errors import Braked, NotFound
from qwestly_agent.memory import consolidation
from qwestly_agent.memory.checking import hash_of
from qwestly_agent.memory.consolidation import Step, Undone
from qwestly_agent.memory.model import Memory
from qwestly_agent.memory.ranking import salience
from qwestly_agent.stores import journal, memories
from qwestly_agent.stores.journal import Run
from qwestly_agent.stores.search import Document
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import FakeClock, settings_for

pytestmark = pytest.mark.anyio

SAME = tuple(f"Knows {one}, {other} and {third}" for one, other, third in permutations(("Python", "Go", "Rust")))
"""So many say one thing, each with a hash of its own."""
OTHERS = (
    "Plays the cello",
    "Speaks Portuguese",
    "Wants to lead a team",
    "Has two children",
    "Worked at Acme until 2019",
)


@dataclass
class Someone:
    """A user, and what is remembered of them. Memories are named by letters here."""

    house: House
    clock: FakeClock
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")

    async def remembers(self, name: str, content: str, **more: Any) -> None:
        fields: dict[str, Any] = {"type": "fact", "last_seen": self.clock(), **more}
        memory = Memory(id=self.id_of(name), content=content, **fields)
        vector, seen = embedding(content, DIMENSIONS), [f"said {name}"]
        assert await self.house.memories.add(self.user_id, memory, hash_of(content), vector, self.clock(), seen)

    async def remembers_twice(self) -> None:
        """Three that say one thing, two that say another, and some that nobody else says; the most was heard of "a"."""
        await self.remembers("a", SAME[0], importance=0.5, count=3)
        self.clock.advance(10)
        await self.remembers("b", SAME[1], importance=0.9, count=2)
        await self.remembers("c", SAME[2], importance=0.2)
        await self.remembers("d", "Speaks Spanish and English", type="skill")
        await self.remembers("e", "Speaks English and Spanish", type="skill")
        for number in range(20):
            await self.remembers(f"other{number}", f"Ran the marathon number {number}")

    async def is_consolidated(self, run_id: str = "night1", house: House | None = None) -> Step:
        """Plan and apply, one after the other as the machine has them."""
        step = await consolidation.plan(house or self.house, Step(user_id=self.user_id, run_id=run_id))
        return await consolidation.apply(house or self.house, step) if step.begun else step

    async def takes_back(self, run_id: str = "night1", house: House | None = None) -> Undone:
        return await consolidation.undo(house or self.house, self.user_id, run_id)

    async def forgets(self, name: str) -> None:
        await self.house.memories.forget(self.user_id, [self.id_of(name)], {}, self.clock())

    async def says_again(self, name: str) -> None:
        self.clock.advance(100)
        again = [f"again {uuid.uuid4().hex}"]
        assert await self.house.memories.reinforce(self.user_id, self.id_of(name), again, self.clock())

    async def corrects(self, name: str) -> None:
        assert await self.house.memories.supersede(self.user_id, self.id_of(name), self.id_of("newer"), self.clock())

    def id_of(self, name: str) -> str:
        return f"{self.user_id}:{name}"

    async def memory(self, name: str) -> Document:
        return (await self.all())[name]

    async def all(self) -> dict[str, Document]:
        """Every field of every memory, the same for each user of whom the same is known."""
        found = self.house.memories.database[memories.COLLECTION].find({"user_id": self.user_id})
        return {each["_id"]: each for each in [self._nobodys(document) async for document in found]}

    async def journal(self) -> list[Document]:
        found = self.house.journal.database[journal.COLLECTION].find({"user_id": self.user_id})
        return [self._nobodys(document) async for document in found]

    def _nobodys(self, value: Any) -> Any:
        match value:
            case str():
                return value.removeprefix(f"{self.user_id}:").replace(self.user_id, "somebody")
            case dict():
                return {key: self._nobodys(item) for key, item in value.items()}
            case list():
                return [self._nobodys(item) for item in value]
            case float():
                return round(value, 6)  # the laptop's database updates fifteen digits
            case _:
                return value

    async def holding(self) -> set[str]:
        return {name for name, each in (await self.all()).items() if each["status"] == "active"}

    async def merged(self) -> dict[str, str]:
        """What is merged, into what."""
        found = (await self.all()).items()
        return {name: each["superseded_by"] for name, each in found if each["status"] == "merged"}


@pytest.fixture
async def house(mongodb_uri: str, database_name: str) -> AsyncIterator[House]:
    settings = settings_for(mongodb_uri, "http://127.0.0.1:9", database_name)
    house = await bootstrap_without_models(settings, clock=FakeClock())
    for name in (memories.COLLECTION, journal.COLLECTION):
        await house.mongo[database_name][name].create_indexes(INDEXES[name])
    yield house
    await house.close()


@pytest.fixture
def somebody(house: House) -> Callable[[], Someone]:
    """Another one at each call, all at the same moment."""

    def one() -> Someone:
        clock = FakeClock()
        return Someone(replace(house, clock=clock), clock)

    return one


@pytest.fixture
async def ada(somebody: Callable[[], Someone]) -> Someone:
    ada = somebody()
    await ada.remembers_twice()
    return ada


def without(documents: dict[str, Document], *names: str) -> dict[str, Document]:
    return {key: {name: value for name, value in each.items() if name not in names} for key, each in documents.items()}


# --- what is merged ---------------------------------------------------------------------------------------------------


async def test_what_says_the_same_is_merged_into_the_best_of_it(ada: Someone) -> None:
    ada.clock.advance(10)
    step = await ada.is_consolidated()
    # Of 25 memories two may go.
    assert (step.planned, step.begun, step.merged) == (3, 2, 2)
    merged = await ada.merged()
    assert set(merged.items()) < {("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")}
    assert len(merged) == 2
    gone = await ada.memory(next(iter(merged)))
    assert (gone["superseded_at"], gone["withdrawn_at"], gone["key"]) == (ada.clock(), ada.clock(), gone["_id"])
    assert gone["content"]


async def test_what_stays_keeps_its_words_and_takes_in_the_numbers(somebody: Callable[[], Someone]) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0], importance=0.5, count=3, quote="I know Python", trust="user_said")
    before = await ada.memory("a")
    ada.clock.advance(10)
    await ada.remembers("b", SAME[1], importance=0.9, count=2, trust="inferred")
    await ada.is_consolidated()
    after = await ada.memory("a")
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"count", "last_seen", "seen", "importance", "salience", "took_in", "consolidated"}
    assert (after["count"], after["last_seen"], after["importance"]) == (5, ada.clock(), 0.9)
    assert set(after["seen"]) == {"said a", "said b"}
    assert after["salience"] == pytest.approx(salience(0.9, before["created"]))


async def test_what_the_cap_leaves_over_is_due_the_next_night_and_the_surest_go_first(ada: Someone) -> None:
    first = await ada.is_consolidated()
    assert await ada.house.sweeps.users_to_consolidate("", 10**6)
    second = await ada.is_consolidated("night2")
    assert [(each.planned, each.merged) for each in (first, second)] == [(3, 2), (1, 1)]
    assert len(await ada.merged()) == 3
    assert ada.user_id not in await ada.house.sweeps.users_to_consolidate("", 10**6)
    assert (await ada.is_consolidated("night3")).planned == 0


async def test_of_a_few_memories_one_may_go(somebody: Callable[[], Someone]) -> None:
    ada = somebody()
    for name, content in zip("abcdef", SAME, strict=True):
        await ada.remembers(name, content)
    merged = [(await ada.is_consolidated(f"night{number}")).merged for number in range(6)]
    assert merged == [1, 1, 1, 1, 1, 0]
    assert len(await ada.holding()) == 1
    survivor = await ada.memory((await ada.holding()).pop())
    assert (survivor["count"], len(survivor["seen"])) == (6, 6)


async def test_memories_that_nobody_else_says_are_looked_at_once_and_leave_no_journal(
    somebody: Callable[[], Someone],
) -> None:
    ada = somebody()
    for name, content in zip("abcde", OTHERS, strict=True):
        await ada.remembers(name, content)
    before = await ada.all()
    assert (await ada.is_consolidated()).planned == 0
    assert without(await ada.all(), "consolidated") == without(before, "consolidated")
    assert all(each["consolidated"] for each in (await ada.all()).values())
    assert await ada.journal() == []


async def test_what_waits_for_a_yes_and_what_is_sensitive_is_merged_with_nothing(
    somebody: Callable[[], Someone],
) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0])
    await ada.remembers("b", SAME[1], status="proposed")
    await ada.remembers("c", SAME[2], sensitive=True)
    assert (await ada.is_consolidated()).planned == 0
    assert [(await ada.memory(name))["consolidated"] for name in "abc"] == [True, False, True]


async def test_what_one_user_says_is_merged_with_nothing_of_another(somebody: Callable[[], Someone]) -> None:
    ada, bob = somebody(), somebody()
    await ada.remembers("a", SAME[0])
    await bob.remembers("a", SAME[1])
    assert (await ada.is_consolidated()).planned == (await bob.is_consolidated()).planned == 0


async def test_messages_that_are_remembered_stay_bounded_and_its_own_are_the_last_to_go(
    somebody: Callable[[], Someone],
) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0], count=500)
    await ada.remembers("b", SAME[1])
    own = [f"own {number}" for number in range(memories.MOST_SEEN - 2)]
    others = [f"other {number}" for number in range(50)]
    for name, seen in (("a", own), ("b", others)):
        query = {"user_id": ada.user_id, "_id": ada.id_of(name)}
        await ada.house.memories.database[memories.COLLECTION].update_one(query, {"$set": {"seen": seen}})
    await ada.is_consolidated()
    seen = (await ada.memory("a"))["seen"]
    assert len(seen) == memories.MOST_SEEN
    assert seen[2:] == own
    await ada.takes_back()
    assert (await ada.memory("a"))["seen"] == own


async def test_the_journal_says_nothing_that_anybody_said(ada: Someone) -> None:
    await ada.is_consolidated()
    await ada.takes_back()
    [run] = await ada.journal()
    contents = {each["content"] for each in (await ada.all()).values()}
    assert not [content for content in contents if content in repr(run)]


# --- whatever happens meanwhile ---------------------------------------------------------------------------------------


def without_client(house: House) -> House:
    # The client gives a database for any name, also for "database".
    return replace(house, mongo=cast(Any, None))


async def until_killed(work: Callable[[House], Awaitable[object]], house: House, death: Death) -> None:
    with pytest.raises(Killed):
        await work(mortal(without_client(house), death))


async def writes_of(work: Callable[[House], Awaitable[object]], house: House) -> int:
    death = Death()
    await work(mortal(without_client(house), death))
    return death.writes


@pytest.mark.thorough
async def test_whatever_dies_the_next_delivery_ends_as_if_nothing_had(somebody: Callable[[], Someone]) -> None:
    unhurt = somebody()
    await unhurt.remembers_twice()
    writes = await writes_of(lambda house: unhurt.is_consolidated(house=house), unhurt.house)
    assert writes >= 7
    for death in deaths(writes):
        ada = somebody()
        await ada.remembers_twice()
        await until_killed(lambda house, ada=ada: ada.is_consolidated(house=house), ada.house, death)
        await ada.is_consolidated()
        assert await ada.all() == await unhurt.all(), death
        assert await ada.journal() == await unhurt.journal(), death


@pytest.mark.thorough
async def test_what_died_and_was_never_delivered_again_is_ended_the_next_night(somebody: Callable[[], Someone]) -> None:
    unhurt = somebody()
    await unhurt.remembers_twice()
    writes = await writes_of(lambda house: unhurt.is_consolidated(house=house), unhurt.house)
    await unhurt.is_consolidated("night2")
    await unhurt.is_consolidated("night3")
    for death in deaths(writes):
        ada = somebody()
        await ada.remembers_twice()
        await until_killed(lambda house, ada=ada: ada.is_consolidated(house=house), ada.house, death)
        for night in ("night2", "night3", "night4"):
            await ada.is_consolidated(night)
        told = ("took_in", "merged_in")  # the nights have other names
        assert without(await ada.all(), *told) == without(await unhurt.all(), *told), death


async def test_delivered_twice_it_does_nothing_twice(ada: Someone) -> None:
    planned = await consolidation.plan(ada.house, Step(user_id=ada.user_id, run_id="night1"))
    assert await consolidation.plan(ada.house, Step(user_id=ada.user_id, run_id="night1")) == planned
    applied = await consolidation.apply(ada.house, planned)
    before = await ada.all()
    assert await consolidation.apply(ada.house, planned) == applied
    assert await consolidation.plan(ada.house, Step(user_id=ada.user_id, run_id="night1")) == planned
    assert await ada.all() == before


@pytest.mark.parametrize("change", [Someone.forgets, Someone.corrects])
async def test_what_does_not_hold_any_more_takes_nothing_with_it(
    somebody: Callable[[], Someone], change: Callable[[Someone, str], Awaitable[None]]
) -> None:
    for name, expected in (("a", {"b"}), ("b", {"a"})):
        ada = somebody()
        await ada.remembers("a", SAME[0], count=3)
        await ada.remembers("b", SAME[1])
        planned = await consolidation.plan(ada.house, Step(user_id=ada.user_id, run_id="night1"))
        await change(ada, name)
        before = await ada.all()
        await consolidation.apply(ada.house, planned)
        assert await ada.holding() == expected
        assert without(await ada.all(), "consolidated") == without(before, "consolidated")


async def test_what_is_forgotten_or_corrected_while_it_takes_others_in_lets_them_go(
    somebody: Callable[[], Someone],
) -> None:
    for change in (Someone.forgets, Someone.corrects):
        ada = somebody()
        await ada.remembers("a", SAME[0], count=3)
        await ada.remembers("b", SAME[1])
        before = await ada.memory("b")
        # Planned, and "b" gone: then it died.
        await until_killed(lambda house, ada=ada: ada.is_consolidated(house=house), ada.house, Death(2, after=True))
        assert await ada.merged() == {"b": "a"}
        await change(ada, "a")
        await ada.is_consolidated()
        assert await ada.memory("b") == {**before, "consolidated": True}


async def test_what_is_said_again_at_the_same_moment_counts_as_well(
    ada: Someone, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, says = memories.Memories.take_in, iter("a")

    async def take_in(self: memories.Memories, *args: Any, **more: Any) -> bool:
        if name := next(says, None):
            await ada.says_again(name)
        return await own(self, *args, **more)

    monkeypatch.setattr(memories.Memories, "take_in", take_in)
    before = await ada.all()
    await ada.is_consolidated()
    after, holding = await ada.all(), await ada.holding()
    said = sum(each["count"] for each in before.values())
    assert sum(each["count"] for name, each in after.items() if name in holding) == said + 1


# --- taking it back ---------------------------------------------------------------------------------------------------


async def all_nights(someone: Someone) -> None:
    for night in ("night1", "night2", "night3"):
        someone.clock.advance(86_400)
        await someone.is_consolidated(night)


async def test_what_is_taken_back_is_exactly_as_it_was(ada: Someone) -> None:
    before = await ada.all()
    await ada.is_consolidated()
    told = await ada.takes_back()
    assert len(told.restored) == 2
    assert without(await ada.all(), "consolidated", "took_in") == without(before, "consolidated", "took_in")


async def test_runs_are_taken_back_in_whatever_order(somebody: Callable[[], Someone]) -> None:
    for order in (("night1", "night2"), ("night2", "night1")):
        ada = somebody()
        await ada.remembers("a", SAME[0], importance=0.3, count=5)
        ada.clock.advance(10)
        await ada.remembers("b", SAME[1], importance=0.9)
        ada.clock.advance(10)
        await ada.remembers("c", SAME[2], importance=0.6)
        before = await ada.all()
        await all_nights(ada)
        assert (await ada.memory("a"))["count"] == 7
        await ada.takes_back(order[0])
        left = next(iter(await ada.merged()))
        assert (await ada.memory("a"))["importance"] == before[left]["importance"]
        assert (await ada.memory("a"))["last_seen"] == before[left]["last_seen"]
        await ada.takes_back(order[1])
        assert without(await ada.all(), "consolidated", "took_in") == without(before, "consolidated", "took_in")


@pytest.mark.thorough
async def test_whatever_dies_while_it_is_taken_back_the_next_try_ends_it(somebody: Callable[[], Someone]) -> None:
    unhurt = somebody()
    await unhurt.remembers_twice()
    await unhurt.is_consolidated()
    writes = await writes_of(lambda house: unhurt.takes_back(house=house), unhurt.house)
    assert writes >= 4
    for death in deaths(writes):
        ada = somebody()
        await ada.remembers_twice()
        await ada.is_consolidated()
        await until_killed(lambda house, ada=ada: ada.takes_back(house=house), ada.house, death)
        await ada.takes_back()
        assert await ada.all() == await unhurt.all(), death
        assert await ada.journal() == await unhurt.journal(), death


async def test_taken_back_twice_changes_nothing(ada: Someone) -> None:
    await ada.is_consolidated()
    await ada.takes_back()
    before = await ada.all()
    assert (await ada.takes_back()).restored == ()
    assert await ada.all() == before


async def test_what_was_taken_back_is_not_merged_again(ada: Someone) -> None:
    await ada.is_consolidated()
    await ada.takes_back()
    again = await ada.is_consolidated("night2")
    assert again.planned <= 1, "the one that the cap had left over"
    query = {"user_id": ada.user_id}
    await ada.house.memories.database[memories.COLLECTION].update_many(query, {"$set": {"consolidated": False}})
    taken_back = {
        pair for run in await ada.house.journal.all(ada.user_id) for pair in run.apart if run.status == "undone"
    }
    assert len(taken_back) == 3
    assert (await ada.is_consolidated("night3")).planned == 0
    merged = {frozenset((ada.id_of(one), ada.id_of(other))) for one, other in (await ada.merged()).items()}
    assert not merged & taken_back


async def test_what_was_said_again_since_stays_so(somebody: Callable[[], Someone]) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0], count=3, importance=0.2)
    await ada.remembers("b", SAME[1], importance=0.7)
    before = await ada.memory("a")
    await ada.is_consolidated()
    await ada.says_again("a")
    await ada.takes_back()
    after = await ada.memory("a")
    assert (after["count"], after["last_seen"]) == (4, ada.clock())
    assert after["seen"][:1] == ["said a"]
    assert len(after["seen"]) == 2
    assert (after["importance"], after["salience"]) == (before["importance"], before["salience"])


async def test_what_was_forgotten_since_stays_forgotten(somebody: Callable[[], Someone]) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0], count=3)
    await ada.remembers("b", SAME[1])
    await ada.is_consolidated()
    await ada.forgets("b")
    assert (await ada.takes_back()).restored == ()
    assert (await ada.memory("a"))["count"] == 3
    assert (await ada.memory("b"))["status"] == "forgotten"


@pytest.mark.parametrize("change", [Someone.forgets, Someone.corrects])
async def test_what_stopped_being_true_since_does_not_come_back_in_other_words(
    somebody: Callable[[], Someone], change: Callable[[Someone, str], Awaitable[None]]
) -> None:
    ada = somebody()
    for name, content in zip("abc", SAME[:3], strict=True):
        await ada.remembers(name, content, count=ord("z") - ord(name))
    await ada.is_consolidated()
    [(gone, survivor)] = (await ada.merged()).items()
    await change(ada, survivor)
    assert (await ada.takes_back()).restored == ()
    assert gone not in await ada.holding()


async def test_what_went_on_into_another_one_comes_back_as_well(somebody: Callable[[], Someone]) -> None:
    ada = somebody()
    await ada.remembers("a", SAME[0], count=2)
    await ada.remembers("b", SAME[1])
    before = await ada.all()
    await ada.is_consolidated()
    await ada.remembers("c", SAME[2], count=9)
    newer = await ada.memory("c")
    await ada.is_consolidated("night2")
    assert await ada.merged() == {"b": "a", "a": "c"}
    assert len((await ada.takes_back("night1")).restored) == 1
    assert await ada.holding() == {"b", "c"}
    await ada.takes_back("night2")
    now = without(await ada.all(), "consolidated", "took_in")
    assert now == without({**before, "c": newer}, "consolidated", "took_in")
    await ada.corrects("a")


async def test_a_run_that_nobody_knows_cannot_be_taken_back(ada: Someone, somebody: Callable[[], Someone]) -> None:
    await ada.is_consolidated()
    for someone, run_id in ((ada, "another"), (somebody(), "night1")):
        with pytest.raises(NotFound):
            await someone.takes_back(run_id)


@pytest.mark.thorough
async def test_a_run_that_died_halfway_can_be_taken_back_and_is_not_gone_on_with(
    somebody: Callable[[], Someone],
) -> None:
    unhurt = somebody()
    await unhurt.remembers_twice()
    before = without(await unhurt.all(), "consolidated", "took_in")
    writes = await writes_of(lambda house: unhurt.is_consolidated(house=house), unhurt.house)
    for death in list(deaths(writes))[1:]:  # at the first one nothing was written down
        ada = somebody()
        await ada.remembers_twice()
        await until_killed(lambda house, ada=ada: ada.is_consolidated(house=house), ada.house, death)
        await ada.takes_back()
        assert without(await ada.all(), "consolidated", "took_in") == before, death
        assert (await ada.is_consolidated()).merged == 0


async def test_an_operator_lists_the_runs_of_a_user_and_takes_one_back(ada: Someone) -> None:
    await ada.is_consolidated()
    [listed] = await command("list", ada.user_id, "", ada.house.settings)
    assert (listed["run"], listed["status"], listed["left_by_the_cap"]) == ("night1", "applied", 1)
    assert sum(len(members) for members in listed["merged"].values()) == 2
    told = await command("undo", ada.user_id, "night1", ada.house.settings)
    assert len(told["restored"]) == 2
    assert await ada.merged() == {}
    [listed] = await command("list", ada.user_id, "", ada.house.settings)
    assert listed["status"] == "undone"


# --- the brake --------------------------------------------------------------------------------------------------------


async def test_a_braked_user_is_left_alone_and_due_the_next_night(ada: Someone) -> None:
    before = await ada.all()
    await ada.house.signals.brake_on(ada.user_id, ada.clock())
    with pytest.raises(Braked):
        await ada.is_consolidated()
    assert await ada.all() == before
    assert await ada.journal() == []
    await ada.house.signals.brake_off(ada.user_id)
    assert (await ada.is_consolidated("night2")).merged == 2


async def test_a_brake_between_plan_and_apply_leaves_the_plan_for_the_next_night(ada: Someone) -> None:
    planned = await consolidation.plan(ada.house, Step(user_id=ada.user_id, run_id="night1"))
    await ada.house.signals.brake_on(ada.user_id, ada.clock())
    with pytest.raises(Braked):
        await consolidation.apply(ada.house, planned)
    assert await ada.merged() == {}
    await ada.house.signals.brake_off(ada.user_id)
    assert (await ada.is_consolidated("night2")).run_id == "night1"
    [run] = [Run.model_validate(each) for each in await ada.journal()]
    assert (run.status, run.members) == ("applied", 2)
