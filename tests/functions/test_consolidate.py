"""Equal memories are merged and contradicted ones superseded: by the model's word, within limits, despite any crash,
and exactly reversible."""

import math
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infra.local import model_server
from infra.local.model_embedding import embedding
from infra.local.model_server import ModelServer, Reply
from infra.memories import run as command
from infra.mongo.indexes import INDEXES
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.sweep import copy_left_events
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked, DeadlineExceeded, ModelRefused, ModelUnavailable, NotFound, OverBudget
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.domain.memory import Memory, MemorySource, salience
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.memory import reconcile
from qwestly_agent.memory.consolidate_writer import PASSING, Undone, apply, undo
from qwestly_agent.memory.extract_writer import ConversationsToRead, sweep
from qwestly_agent.memory.model import ConsolidationState
from qwestly_agent.memory.notes import Note, hash_of
from qwestly_agent.memory.reconcile import MOST_OUTDATED, decide_on_notes, plan
from qwestly_agent.platform.collection import Document
from qwestly_agent.services import ModelServices
from qwestly_agent.stores import memories, memory_work
from qwestly_agent.stores.memory_work import YEAR, ConsolidationRun
from qwestly_agent.workflow_state import OVER_BUDGET
from tests.comparing import Judge
from tests.counts import everyday, sample
from tests.killing import Death, Killed, deaths, mortal
from tests.servers import FakeClock, settings_for

pytestmark = pytest.mark.anyio

SAME = tuple(f"Knows {one}, {other} and {third}" for one, other, third in permutations(("Python", "Go", "Rust")))
"""Memories that mean the same, each with its own hash."""
SPEAKS = ("Speaks Spanish and English", "Speaks English and Spanish")
PORTO, LISBON, PORTO_AGAIN = "Lives in Porto", "Lives in Lisbon", "Lives in Porto again"
EVALS = Path(__file__).parents[2] / "evals" / "memories"
OTHERS = (
    "Plays the cello",
    "Speaks Portuguese",
    "Wants to lead a team",
    "Has two children",
    "Worked at Acme until 2019",
)
UNLIKE = tuple(letter * 9 for letter in "abcdefghijklmnopqrst")
"""Twenty memories similar to nothing: with so many, a night may replace two."""
NIGHTLY = ("consolidated",)
"""Fields that remain after an undo: the memories were compared."""


@dataclass
class Someone:
    """A user and their memories, which are named by letters here."""

    services: ModelServices
    clock: FakeClock
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")

    async def remembers(self, name: str, content: str, *, hash: str = "", **more: Any) -> None:
        fields: dict[str, Any] = {"type": "fact", "last_seen": self.clock(), **more}
        memory = Memory(id=self.id_of(name), content=content, **fields)
        vector, seen = embedding(content, DIMENSIONS), [f"said {name}"]
        own = hash or hash_of(content)
        assert await self.services.memories.add(self.user_id, memory, own, vector, self.clock(), seen)

    async def remembers_in_turn(self, **contents: str) -> None:
        for name, content in contents.items():
            await self.remembers(name, content)
            self.clock.advance(10)

    async def remembers_twice(self) -> None:
        """Three memories with one meaning, two with another, and some unrelated ones; "a" was repeated most."""
        await self.remembers("a", SAME[0], importance=0.5, count=3)
        self.clock.advance(10)
        await self.remembers("b", SAME[1], importance=0.9, count=2)
        await self.remembers("c", SAME[2], importance=0.2)
        await self.remembers("d", SPEAKS[0], type="skill")
        await self.remembers("e", SPEAKS[1], type="skill")
        for content in UNLIKE:
            await self.remembers(content, content)

    async def remembers_a_change(self) -> None:
        """A home that changed twice, a duplicate, and some unrelated memories: two of them may be removed."""
        await self.remembers_in_turn(porto=PORTO, lisbon=LISBON, again=PORTO_AGAIN, a=SAME[0], b=SAME[1])
        for content in UNLIKE:
            await self.remembers(content, content)

    async def is_consolidated(
        self, run_id: str = "night1", services: ModelServices | None = None
    ) -> ConsolidationState:
        """Plan and apply, one after the other, as in the state machine."""
        step = await plan(services or self.services, ConsolidationState(user_id=self.user_id, run_id=run_id))
        return await apply(services or self.services, step) if step.begun or step.questions else step

    async def is_new_again(self) -> None:
        query = {"user_id": self.user_id}
        await self.services.memories.database[memories.COLLECTION].update_many(query, {"$set": {"consolidated": False}})

    async def takes_back(self, run_id: str = "night1", services: ModelServices | None = None) -> Undone:
        services = services or self.services
        return await undo(services.merges, services.journal, self.user_id, run_id, self.clock())

    async def has_begun_to_take_back(self) -> bool:
        return [each["status"] for each in await self.journal()] != ["applied"]

    async def event_types(self) -> list[str]:
        """Return the types of the events in the feed."""
        return [each.type for each in await self.services.activity.newest(self.user_id, 100)]

    async def forgets(self, name: str) -> None:
        await self.services.tombstones.forget(self.user_id, [self.id_of(name)], self.clock())

    async def says_again(self, name: str) -> None:
        self.clock.advance(100)
        again = [f"again {uuid.uuid4().hex}"]
        assert await self.services.memories.reinforce(self.user_id, self.id_of(name), again, self.clock())

    async def corrects(self, name: str) -> None:
        assert await self.services.memories.supersede(self.user_id, self.id_of(name), self.id_of("newer"), self.clock())

    def id_of(self, name: str) -> str:
        return f"{self.user_id}:{name}"

    async def memory(self, name: str) -> Document:
        return (await self.all())[name]

    async def all(self) -> dict[str, Document]:
        """Return every field of every memory, the same for all users with the same memories."""
        found = self.services.memories.database[memories.COLLECTION].find({"user_id": self.user_id})
        return {each["_id"]: each for each in [self._nobodys(document) async for document in found]}

    async def journal(self) -> list[Document]:
        found = self.services.journal.database[memory_work.JOURNAL].find({"user_id": self.user_id})
        return [self._nobodys(document) async for document in found]

    def _nobodys(self, value: Any) -> Any:
        match value:
            case str():
                return value.removeprefix(f"{self.user_id}:").replace(self.user_id, "somebody")
            case dict():
                return {self._nobodys(key): self._nobodys(item) for key, item in value.items()}
            case list():
                return [self._nobodys(item) for item in value]
            case float():
                return round(value, 6)  # an update in the local database keeps fifteen digits
            case _:
                return value

    async def holding(self) -> set[str]:
        return {name for name, each in (await self.all()).items() if each["status"] == "active"}

    async def merged(self) -> dict[str, str]:
        """Return merged memories, each with the one it was merged into."""
        return await self.replaced("merged")

    async def superseded(self) -> dict[str, str]:
        """Return superseded memories, with their successors."""
        return await self.replaced("superseded")

    async def replaced(self, status: str) -> dict[str, str]:
        found = (await self.all()).items()
        return {name: each["superseded_by"] for name, each in found if each["status"] == status}


@pytest.fixture
def judge(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Judge:
    judge = Judge(same=[{*SAME}, {*SPEAKS}], contradicts=[{PORTO, LISBON}, {LISBON, PORTO_AGAIN}])
    monkeypatch.setattr(model_server, "think", judge)
    return judge


@pytest.fixture
async def services(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[ModelServices]:
    services = await bootstrap_models(settings_for(mongodb_uri, model.base_url, database_name), clock=FakeClock())
    for name in (memories.COLLECTION, memory_work.JOURNAL):
        await services.mongo[database_name][name].create_indexes(INDEXES[name])
    yield services
    await services.close()


@pytest.fixture
def new_user(services: ModelServices, judge: Judge) -> Callable[[], Someone]:
    """Return another user at each call, all at the same time."""

    def one() -> Someone:
        clock = FakeClock()
        return Someone(replace(services, clock=clock), clock)

    return one


@pytest.fixture
async def ada(new_user: Callable[[], Someone]) -> Someone:
    ada = new_user()
    await ada.remembers_twice()
    return ada


def note(content: str, at: float) -> Note:
    said = {"content": content, "quote": content, "context": content, "said_at": at, "source": MemorySource()}
    return Note(
        type="fact", trust="user_said", importance=0.5, confidence=0.9, sensitive=False, is_checked=True, **said
    )


def without(documents: dict[str, Document], *names: str) -> dict[str, Document]:
    return {key: {name: value for name, value in each.items() if name not in names} for key, each in documents.items()}


# --- merges -----------------------------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.thorough
async def test_consolidation_merges_only_the_labelled_paraphrases(
    new_user: Callable[[], Someone], judge: Judge
) -> None:
    """Extracted as usual, with a judge that answers by the labels, each among forty others in its language. The local
    embedding compares only words: it puts 41 of 45 before the judge and misses four that share none."""
    pairs = [each for each in yaml.safe_load((EVALS / "pairs.yaml").read_text()) if each["relation"] != "contradicts"]
    people = yaml.safe_load((EVALS / "queries.yaml").read_text())
    others = {each["language"]: [one["text"] for one in each["memories"]] for each in people}
    judge.same, judge.contradicts = [{each["a"], each["b"]} for each in pairs if each["relation"] == "same"], []
    joined: dict[str, list[bool]] = {"same": [], "other": []}
    for each in pairs:
        one = new_user()
        await one.remembers("a", each["a"])
        for text in {*others.get(each["language"], others["mixed"])} - {each["a"], each["b"]}:
            await one.remembers(text, text)
        [decided], _ = await decide_on_notes(one.services, one.user_id, [note(each["b"], one.clock())])
        assert (decided.verb, decided.target) in (("reinforce", one.id_of("a")), ("add", None))
        joined[each["relation"]].append(decided.verb == "reinforce")
    assert not any(joined["other"])
    assert sum(joined["same"]) >= 41


async def test_equal_memories_are_merged_into_the_best_one(ada: Someone) -> None:
    ada.clock.advance(10)
    step = await ada.is_consolidated()
    # Of 25 memories, two may be removed.
    assert (step.planned, step.begun, step.merged) == (3, 2, 2)
    merged = await ada.merged()
    assert set(merged.items()) < {("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")}
    assert len(merged) == 2
    gone = await ada.memory(next(iter(merged)))
    assert (gone["superseded_at"], gone["withdrawn_at"], gone["key"]) == (ada.clock(), ada.clock(), gone["_id"])
    assert gone["content"]


async def test_the_surviving_memory_keeps_its_text_and_adds_up_the_counts(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0], importance=0.5, count=3, quote="I know Python", trust="user_said")
    before = await ada.memory("a")
    ada.clock.advance(10)
    await ada.remembers("b", SAME[1], importance=0.9, count=2, trust="inferred")
    await ada.is_consolidated()
    after = await ada.memory("a")
    changed = {name for name in after if after[name] != before.get(name)}
    noted = {"took_in", "took", "own", "consolidated"}
    assert changed == {"count", "last_seen", "seen", "importance", "salience", *noted}
    assert (after["count"], after["last_seen"], after["importance"]) == (5, ada.clock(), 0.9)
    assert set(after["seen"]) == {"said a", "said b"}
    assert after["salience"] == pytest.approx(salience(0.9, before["created"]))


async def test_memories_over_the_cap_are_merged_only_the_next_night(ada: Someone) -> None:
    first = await ada.is_consolidated()
    assert await ada.services.merges.list_due_users("", 10**6)
    second = await ada.is_consolidated("night2")
    assert [(each.planned, each.merged) for each in (first, second)] == [(3, 2), (1, 1)]
    assert len(await ada.merged()) == 3
    assert ada.user_id not in await ada.services.merges.list_due_users("", 10**6)
    assert (await ada.is_consolidated("night3")).planned == 0


async def test_consolidation_removes_at_most_one_of_a_few_memories(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    for name, content in zip("abcdef", SAME, strict=True):
        await ada.remembers(name, content)
    merged = [(await ada.is_consolidated(f"night{number}")).merged for number in range(6)]
    assert merged == [1, 1, 1, 1, 1, 0]
    assert len(await ada.holding()) == 1
    survivor = await ada.memory((await ada.holding()).pop())
    assert (survivor["count"], len(survivor["seen"])) == (6, 6)


async def test_unrelated_memories_are_compared_once_and_left_unchanged(
    new_user: Callable[[], Someone], judge: Judge
) -> None:
    ada = new_user()
    for name, content in zip("abcde", OTHERS, strict=True):
        await ada.remembers(name, content)
    before = await ada.all()
    assert (await ada.is_consolidated()).planned == 0
    assert without(await ada.all(), "consolidated") == without(before, "consolidated")
    assert all(each["consolidated"] for each in (await ada.all()).values())
    [run] = [ConsolidationRun.model_validate(each) for each in await ada.journal()]
    assert (run.status, run.replacements) == ("applied", ())
    judge.asked.clear()
    await ada.is_consolidated("night2")
    assert not judge.asked


async def test_pending_and_sensitive_memories_are_never_merged(
    new_user: Callable[[], Someone],
) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0])
    await ada.remembers("b", SAME[1], status="proposed")
    await ada.remembers("c", SAME[2], sensitive=True)
    assert (await ada.is_consolidated()).planned == 0
    assert [(await ada.memory(name))["consolidated"] for name in "abc"] == [True, False, True]


async def test_memories_of_two_users_are_never_merged(new_user: Callable[[], Someone]) -> None:
    ada, bob = new_user(), new_user()
    await ada.remembers("a", SAME[0])
    await bob.remembers("a", SAME[1])
    assert (await ada.is_consolidated()).planned == (await bob.is_consolidated()).planned == 0


async def test_a_merged_memory_keeps_a_limited_number_of_message_ids_its_own_first(
    new_user: Callable[[], Someone],
) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0], count=500)
    await ada.remembers("b", SAME[1])
    own = [f"own {number}" for number in range(memories.MOST_MESSAGE_IDS - 2)]
    others = [f"other {number}" for number in range(50)]
    for name, seen in (("a", own), ("b", others)):
        query = {"user_id": ada.user_id, "_id": ada.id_of(name)}
        await ada.services.memories.database[memories.COLLECTION].update_one(query, {"$set": {"seen": seen}})
    await ada.is_consolidated()
    seen = (await ada.memory("a"))["seen"]
    assert len(seen) == memories.MOST_MESSAGE_IDS
    assert seen[2:] == own


async def test_the_consolidation_journal_contains_no_user_content(ada: Someone) -> None:
    await ada.is_consolidated()
    await ada.takes_back()
    [run] = await ada.journal()
    contents = {each["content"] for each in (await ada.all()).values()}
    assert not [content for content in contents if content in repr(run)]


async def test_equal_memories_are_merged_without_a_model(new_user: Callable[[], Someone], model: ModelServer) -> None:
    ada = new_user()
    await ada.remembers_in_turn(a="Leads “Team Blue”!")
    await ada.remembers("b", "leads Team Blue", hash="of an older version")
    await ada.is_consolidated()
    assert await ada.merged() == {"a": "b"}
    assert not model.requests


async def test_memories_are_merged_only_into_an_equal_one_and_not_transitively(
    new_user: Callable[[], Someone], judge: Judge
) -> None:
    judge.same = [{SAME[0], SAME[1]}, {SAME[1], SAME[2]}]
    for best, expected in (("a", {"b": "a"}), ("b", {"a": "b", "c": "b"})):
        ada = new_user()
        for content in UNLIKE:
            await ada.remembers(content, content)
        for name, content in zip("abc", SAME[:3], strict=True):
            await ada.remembers(name, content, count=9 if name == best else 2 if name == "b" else 1)
        await ada.is_consolidated()
        assert await ada.merged() == expected


@pytest.mark.parametrize("more", [{"valid_from": "2019-01-01"}, {"valid_until": "2030-01-01"}], ids=str)
async def test_validity_dates_survive_a_merge(new_user: Callable[[], Someone], more: dict[str, Any]) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0], count=2)
    await ada.remembers("b", SAME[1], **{name: f"{day}T00:00:00Z" for name, day in more.items()})
    assert (await ada.is_consolidated()).planned == 0


# --- superseded memories ----------------------------------------------------------------------------------------------


async def test_a_contradicted_memory_is_superseded_by_the_newer_one(
    new_user: Callable[[], Someone], judge: Judge
) -> None:
    ada = new_user()
    await ada.remembers_in_turn(old=PORTO, new=LISBON)
    before = await ada.all()
    step = await ada.is_consolidated()
    assert (step.planned, step.merged) == (1, 1)
    assert judge.asked == [(PORTO, LISBON)], "the known one comes first"
    gone = await ada.memory("old")
    assert (gone["status"], gone["superseded_by"], gone["content"]) == ("superseded", "new", PORTO)
    assert (gone["superseded_at"], gone["withdrawn_at"], gone["key"]) == (ada.clock(), ada.clock(), gone["_id"])
    assert await ada.memory("new") == {**before["new"], "consolidated": True}


async def test_after_two_moves_the_latest_home_is_kept(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    for content in UNLIKE:
        await ada.remembers(content, content)
    await ada.remembers_in_turn(first=PORTO, second=LISBON, third=PORTO_AGAIN)
    await ada.is_consolidated()
    assert await ada.superseded() == {"first": "second", "second": "third"}


async def test_the_oldest_of_three_homes_is_removed_first(
    new_user: Callable[[], Someone],
) -> None:
    ada = new_user()
    await ada.remembers_in_turn(first=PORTO, second=LISBON, third=PORTO_AGAIN)
    await ada.is_consolidated()
    assert await ada.superseded() == {"first": "second"}
    await ada.is_consolidated("night2")
    assert await ada.holding() == {"third"}


async def test_the_memory_repeated_last_counts_as_the_newer_one(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers_in_turn(porto=PORTO, lisbon=LISBON)
    await ada.says_again("porto")
    await ada.is_consolidated()
    assert await ada.superseded() == {"lisbon": "porto"}


async def test_memories_stored_at_the_same_time_are_ordered_by_their_messages(
    new_user: Callable[[], Someone], judge: Judge
) -> None:
    ada = new_user()
    await ada.remembers("lisbon", LISBON, last_seen=ada.clock() - 60)
    await ada.remembers("porto", PORTO, last_seen=ada.clock() - 90)
    await ada.is_consolidated()
    assert judge.asked == [(PORTO, LISBON)]
    assert await ada.superseded() == {"porto": "lisbon"}


async def test_a_less_trusted_or_simultaneous_memory_does_not_supersede_another(
    new_user: Callable[[], Someone],
) -> None:
    for seconds, trust in ((10, "inferred"), (0, "user_said")):
        ada = new_user()
        await ada.remembers("old", PORTO)
        ada.clock.advance(seconds)
        await ada.remembers("new", LISBON, trust=trust)
        assert (await ada.is_consolidated()).planned == 0
        assert await ada.holding() == {"old", "new"}


async def test_contradictions_are_resolved_before_duplicates_are_merged(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers_in_turn(a=SAME[0], b=SAME[1], porto=PORTO, lisbon=LISBON)
    assert (await ada.is_consolidated()).planned == 2
    assert (await ada.superseded(), await ada.merged()) == ({"porto": "lisbon"}, {})
    await ada.is_consolidated("night2")
    assert await ada.merged() == {"a": "b"}


# --- the model --------------------------------------------------------------------------------------------------------

PLACES = st.permutations(["Porto", "Acme", "Globex", "Lyon"])
NUMBERS = st.sets(st.integers(1, 99), min_size=2, max_size=2).map(sorted)
DIFFERING = st.one_of(
    PLACES.map(lambda at: (f"Lives in {at[0]}", f"Lived in {at[0]}")),
    PLACES.map(lambda at: (f"Wohnt in {at[0]}", f"Wohnte in {at[0]}")),
    PLACES.map(lambda at: (f"Left {at[0]} for {at[1]}", f"Left {at[1]} for {at[0]}")),
    PLACES.map(lambda at: (f"Moved from {at[0]} to {at[1]}", f"Moved to {at[0]} from {at[1]}")),
    PLACES.map(lambda at: (f"Works for {at[0]}", f"Works against {at[0]}")),
    NUMBERS.map(lambda of: (f"Manages {of[0]} people", f"Manages {of[1]} people")),
    NUMBERS.map(lambda of: (f"Led {of[0]} people for {of[1]} years", f"Led {of[1]} people for {of[0]} years")),
    PLACES.map(lambda at: (f"Wants to stay at {at[0]}", f"Does not want to stay at {at[0]}")),
    PLACES.map(lambda at: (f"Quer ficar em {at[0]}", f"Não quer ficar em {at[0]}")),
)
"""Pairs that differ in tense, order, preposition, number or negation."""


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DIFFERING, st.sampled_from(["other", "nothing", "same", "contradicts"]), st.text(max_size=20))
async def test_memories_with_different_wording_are_merged_only_if_the_model_agrees(
    new_user: Callable[[], Someone], judge: Judge, differing: tuple[str, str], says: str, nonsense: str
) -> None:
    one, other = differing
    judge.same = [{one, other}] if says == "same" else []
    judge.contradicts = [{one, other}] if says == "contradicts" else []
    judge.quote = lambda known: f"{nonsense} which nobody wrote"
    judge.is_silent = says == "nothing"
    judge.asked.clear()
    ada = new_user()
    await ada.remembers_in_turn(a=one, b=other)
    await ada.is_consolidated()
    assert judge.asked == [(one, other)]
    assert await ada.holding() == {"a", "b"}


@pytest.mark.parametrize(
    ("status", "error"),
    [(503, ModelUnavailable), (429, ModelUnavailable), (401, ModelRefused), (402, ModelRefused)],
)
@pytest.mark.thorough
async def test_without_a_model_nothing_changes_and_the_user_stays_due(
    ada: Someone, model: ModelServer, status: Any, error: type[Exception]
) -> None:
    before = await ada.all()
    model.fault = Reply(fault=status)
    with pytest.raises(error):
        await ada.is_consolidated()
    assert (await ada.all(), await ada.journal()) == (before, [])
    model.fault = None
    assert (await ada.is_consolidated("night2")).merged == 2


async def test_work_skipped_for_a_slow_model_or_a_spent_budget_is_done_the_next_night(
    ada: Someone, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.fault = Reply(fault="slow")
    with monkeypatch.context() as patch:
        patch.setattr("qwestly_agent.memory.reconcile.COMPARE_SECONDS", 0.05)
        with pytest.raises(DeadlineExceeded):
            await ada.is_consolidated()
    model.fault = None
    model.release()
    poor = replace(ada.services, settings=replace(ada.services.settings, day_ceiling_usd=0.0))
    with pytest.raises(OverBudget):
        await ada.is_consolidated(services=poor)
    assert {"ModelUnavailable", "DeadlineExceeded", "OverBudget"} <= {*PASSING, *OVER_BUDGET}
    assert "ModelRefused" not in PASSING
    assert (await ada.is_consolidated()).merged == 2


async def test_a_memory_that_the_model_refuses_is_not_retried_every_night(ada: Someone, model: ModelServer) -> None:
    model.fault = Reply(fault="content_risk")
    assert (await ada.is_consolidated()).planned == 0
    assert ada.user_id not in await ada.services.merges.list_due_users("", 10**6)


@pytest.mark.parametrize(("bound", "nights", "most"), [("MOST_NEW", 3, 9), ("MOST_PAIRS", 6, 5)])
async def test_a_nights_work_is_limited_and_later_nights_do_the_rest(
    new_user: Callable[[], Someone], judge: Judge, monkeypatch: pytest.MonkeyPatch, bound: str, nights: int, most: int
) -> None:
    monkeypatch.setattr(reconcile, bound, {"MOST_NEW": 2, "MOST_PAIRS": 5}[bound])
    ada, judge.same, before = new_user(), [], 0
    for name, content in zip("abcdef", SAME, strict=True):
        await ada.remembers(name, content)
    for night in range(nights):
        assert await ada.services.merges.list_due_users("", 10**6) == [ada.user_id]
        await ada.is_consolidated(f"night{night}")
        assert len(judge.asked) - before <= most
        before = len(judge.asked)
    assert await ada.services.merges.list_due_users("", 10**6) == []
    assert len({frozenset(pair) for pair in judge.asked}) == 15, "each of six with each"


# --- outdated memories ------------------------------------------------------------------------------------------------


async def test_expired_and_long_unmentioned_minor_memories_may_be_outdated(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    now = to_datetime(ada.clock() + YEAR)
    await ada.remembers("little", OTHERS[0], importance=0.3)
    await ada.remembers("important", OTHERS[1], importance=0.4)
    await ada.remembers("said again", OTHERS[2], importance=0.1)
    await ada.remembers("waits", OTHERS[3], importance=0.1, status="proposed")
    await ada.remembers("goes", SAME[0], importance=0.1)
    await ada.remembers("asked", "Has a dog", importance=0.1)
    await ada.remembers("asked long ago", "Has a cat", importance=0.1)
    await ada.services.merges.mark_asked(ada.user_id, [ada.id_of("asked long ago")], ada.clock())
    ada.clock.advance(1)
    await ada.services.merges.mark_asked(ada.user_id, [ada.id_of("asked")], ada.clock())
    await ada.says_again("said again")
    ada.clock.now = now.timestamp()
    await ada.remembers("ended", OTHERS[4], importance=0.9, valid_until=now)
    await ada.remembers("ends", PORTO, importance=0.1, valid_until=now + timedelta(seconds=1))
    await ada.remembers("stays", SAME[1], importance=0.9)
    step = await ada.is_consolidated()
    assert step.merged == 1
    [question] = await ada.services.approvals.list_open(ada.user_id, 9)
    assert set(question.arguments["memories"]) == set(map(ada.id_of, ("ended", "asked long ago", "little")))
    assert (question.status, question.mail_at, question.expires_at) == ("pending", None, ada.clock() + 7 * 86_400)
    assert [change.before for change in question.preview.changes]


async def test_a_yes_forgets_the_listed_memories_and_a_no_keeps_them_for_a_year(
    new_user: Callable[[], Someone],
) -> None:
    for verb, left in (("approve", set[str]()), ("reject", {"Has a cat", "Has a dog"})):
        ada = new_user()
        for content in ("Has a cat", "Has a dog"):
            await ada.remembers(content, content, importance=0.1)
        ada.clock.advance(2 * YEAR)
        await ada.is_consolidated()
        await ada.is_consolidated()
        [question] = await ada.services.approvals.list_open(ada.user_id, 9)
        decision = Decision.model_validate({"decision": verb, "args_digest": question.args_digest})
        await decide_and_follow_up(ada.services, ada.user_id, question.id, decision, by="queue", where="")
        held = [each async for each in ada.services.memories.iterate(ada.user_id)]
        assert {each.content for each in held} == left
        await ada.is_new_again()
        await ada.is_consolidated("night2")
        assert await ada.services.approvals.list_open(ada.user_id, 9) == []


async def test_at_most_ten_outdated_memories_are_asked_about_in_one_night(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    for content in UNLIKE:
        await ada.remembers(content, content, importance=0.1)
    ada.clock.advance(2 * YEAR)
    await ada.is_consolidated()
    await ada.is_new_again()
    await ada.is_consolidated("night2")
    one, other = [set(each.arguments["memories"]) for each in await ada.services.approvals.list_open(ada.user_id, 9)]
    assert (len(one), len(other), one & other) == (MOST_OUTDATED, MOST_OUTDATED, set())


# --- crashes and concurrent changes -----------------------------------------------------------------------------------


def without_client(services: ModelServices) -> ModelServices:
    # The client returns a database for any name, even for "database".
    return replace(services, mongo=cast(Any, None))


async def until_killed(
    work: Callable[[ModelServices], Awaitable[object]], services: ModelServices, death: Death
) -> None:
    with pytest.raises(Killed):
        await work(mortal(without_client(services), death))


async def writes_of(work: Callable[[ModelServices], Awaitable[object]], services: ModelServices) -> int:
    death = Death()
    await work(mortal(without_client(services), death))
    return death.writes


TOLD = [Someone.remembers_twice, Someone.remembers_a_change]
AnswerStream = Callable[[Someone], Awaitable[None]]


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("tell", TOLD)
async def test_a_redelivery_completes_a_killed_run_with_the_same_result(
    new_user: Callable[[], Someone], tell: AnswerStream
) -> None:
    unhurt = new_user()
    await tell(unhurt)
    writes = await writes_of(lambda services: unhurt.is_consolidated(services=services), unhurt.services)
    assert writes >= 6
    for death in deaths(writes):
        ada = new_user()
        await tell(ada)
        await until_killed(lambda services, ada=ada: ada.is_consolidated(services=services), ada.services, death)
        await ada.is_consolidated()
        await copy_left_events(ada.services, lambda: math.inf)
        assert await ada.event_types() == ["memory.merged"], death
        assert await ada.all() == await unhurt.all(), death
        assert await ada.journal() == await unhurt.journal(), death


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("tell", sample(TOLD[::-1], 1))
async def test_a_killed_run_is_completed_by_the_next_nights_run(
    new_user: Callable[[], Someone], tell: AnswerStream
) -> None:
    unhurt = new_user()
    await tell(unhurt)
    writes = await writes_of(lambda services: unhurt.is_consolidated(services=services), unhurt.services)
    await unhurt.is_consolidated("night2")
    await unhurt.is_consolidated("night3")
    for death in deaths(writes):
        ada = new_user()
        await tell(ada)
        await until_killed(lambda services, ada=ada: ada.is_consolidated(services=services), ada.services, death)
        for night in ("night2", "night3", "night4"):
            await ada.is_consolidated(night)
        # The runs have other ids.
        assert without(await ada.all(), "replaced_in") == without(await unhurt.all(), "replaced_in"), death


async def test_a_duplicate_delivery_repeats_no_merge_and_no_model_call(ada: Someone, judge: Judge) -> None:
    planned = await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1"))
    judge.asked.clear()
    assert await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1")) == planned
    applied = await apply(ada.services, planned)
    before = await ada.all()
    assert await apply(ada.services, planned) == applied
    assert await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1")) == planned
    assert await ada.all() == before
    assert not judge.asked


@pytest.mark.parametrize("change", [Someone.forgets, Someone.corrects])
async def test_a_memory_made_inactive_before_the_merge_leaves_the_other_unchanged(
    new_user: Callable[[], Someone], change: Callable[[Someone, str], Awaitable[None]]
) -> None:
    for name, expected in (("a", {"b"}), ("b", {"a"})):
        ada = new_user()
        await ada.remembers("a", SAME[0], count=3)
        await ada.remembers("b", SAME[1])
        planned = await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1"))
        await change(ada, name)
        before = await ada.all()
        await apply(ada.services, planned)
        assert await ada.holding() == expected
        assert without(await ada.all(), "consolidated") == without(before, "consolidated")


async def test_forgetting_a_memory_during_a_merge_restores_the_merged_one(
    new_user: Callable[[], Someone],
) -> None:
    for change in (Someone.forgets, Someone.corrects):
        ada = new_user()
        await ada.remembers("a", SAME[0], count=3)
        await ada.remembers("b", SAME[1])
        before = await ada.memory("b")
        # The run was planned and "b" merged before the crash. Its first write says that it is running.
        step = await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1"))
        await until_killed(lambda services, step=step: apply(services, step), ada.services, Death(2, after=True))
        assert await ada.merged() == {"b": "a"}
        await change(ada, "a")
        await ada.is_consolidated()
        assert await ada.memory("b") == {**before, "consolidated": True}


# --- undo a run -------------------------------------------------------------------------------------------------------


async def all_nights(someone: Someone) -> None:
    for night in ("night1", "night2", "night3"):
        someone.clock.advance(86_400)
        await someone.is_consolidated(night)


@pytest.mark.parametrize("tell", TOLD)
async def test_undoing_a_run_restores_everything_but_the_counters(
    new_user: Callable[[], Someone], tell: AnswerStream
) -> None:
    ada = new_user()
    await tell(ada)
    before = await ada.all()
    await ada.is_consolidated()
    told = await ada.takes_back()
    assert len(told.restored) == 2
    assert without(await ada.all(), *NIGHTLY) == without(before, *NIGHTLY)


@pytest.mark.thorough
async def test_runs_can_be_undone_in_any_order(new_user: Callable[[], Someone]) -> None:
    for order in permutations(("night1", "night2", "night3")):
        ada = new_user()
        await ada.remembers("a", SAME[0], importance=0.3, count=5)
        ada.clock.advance(10)
        await ada.remembers("b", SAME[1], importance=0.9)
        await ada.remembers("porto", PORTO)
        ada.clock.advance(10)
        await ada.remembers("c", SAME[2], importance=0.6)
        await ada.remembers("lisbon", LISBON)
        before = await ada.all()
        await all_nights(ada)
        assert await ada.holding() == {"a", "lisbon"}
        assert (await ada.memory("a"))["count"] == 7
        for run_id in order:
            assert len((await ada.takes_back(run_id)).restored) == 1
        assert without(await ada.all(), *NIGHTLY) == without(before, *NIGHTLY)


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize(("tell", "by_sweep"), [*zip(TOLD, (True, False), strict=True)])
async def test_a_killed_undo_is_completed_by_the_next_sweep_or_attempt(
    new_user: Callable[[], Someone], tell: AnswerStream, by_sweep: bool
) -> None:
    unhurt = new_user()
    await tell(unhurt)
    await unhurt.is_consolidated()
    writes = await writes_of(lambda services: unhurt.takes_back(services=services), unhurt.services)
    assert writes >= 3
    for death in deaths(writes):
        ada = new_user()
        await tell(ada)
        await ada.is_consolidated()
        await until_killed(lambda services, ada=ada: ada.takes_back(services=services), ada.services, death)
        if by_sweep and await ada.has_begun_to_take_back():
            await sweep(ada.services, ConversationsToRead())
        else:
            await ada.takes_back()
        await copy_left_events(ada.services, lambda: math.inf)
        assert sorted(await ada.event_types()) == ["memory.merge_undone", "memory.merged"], death
        assert await ada.all() == await unhurt.all(), death
        assert await ada.journal() == await unhurt.journal(), death


@pytest.mark.parametrize("says", everyday(1, ["same", "contradicts"]))
async def test_runs_with_a_model_that_always_gives_one_answer_are_undone_exactly(
    new_user: Callable[[], Someone], judge: Judge, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setattr(Judge, "relation", lambda *_: says)
    ada = new_user()
    await ada.remembers_a_change()
    for content in OTHERS:
        await ada.remembers(content, content, importance=0.9, about_writing=True)
    before, nights = await ada.all(), ("night1", "night2", "night3")
    assert sum([(await ada.is_consolidated(night)).merged for night in nights]) > 2
    for night in nights[::-1]:
        await ada.takes_back(night)
    assert without(await ada.all(), *NIGHTLY) == without(before, *NIGHTLY)


async def test_undoing_a_run_leaves_no_new_fields(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0], count=3)
    await ada.remembers("b", SAME[1], importance=0.9, about_writing=True)
    own = {"$unset": dict.fromkeys(("importance", "about_writing"), ""), "$set": {"salience": 12.5}}
    query = {"_id": ada.id_of("a")}
    await ada.services.memories.database[memories.COLLECTION].update_one(query, own)
    before = await ada.all()
    await ada.is_consolidated()
    assert (await ada.memory("a"))["importance"] == 0.9
    await ada.takes_back()
    assert without(await ada.all(), *NIGHTLY) == without(before, *NIGHTLY)


async def test_undoing_a_run_twice_changes_nothing(ada: Someone) -> None:
    await ada.is_consolidated()
    await ada.takes_back()
    before = await ada.all()
    assert (await ada.takes_back()).restored == ()
    assert await ada.all() == before


@pytest.mark.thorough
async def test_an_undone_merge_is_neither_repeated_nor_proposed(ada: Someone, judge: Judge) -> None:
    await ada.remembers_in_turn(porto=PORTO, lisbon=LISBON)
    taken_back = 0
    for night in ("night1", "night2", "night3"):
        await ada.is_new_again()
        taken_back += (await ada.is_consolidated(night)).merged
        await ada.takes_back(night)
    assert taken_back == 5, "each pair that is one"
    await ada.is_new_again()
    judge.asked.clear()
    assert (await ada.is_consolidated("night4")).planned == 0
    assert {judge.relation(*pair) for pair in judge.asked} <= {"other"}


async def test_undoing_a_run_does_not_restore_a_memory_forgotten_since(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers("a", SAME[0], count=3)
    await ada.remembers("b", SAME[1])
    await ada.is_consolidated()
    await ada.forgets("b")
    assert (await ada.takes_back()).restored == ()
    assert (await ada.memory("b"))["status"] == "forgotten"


async def test_undo_restores_a_superseded_memory_even_if_its_successor_was_corrected(
    new_user: Callable[[], Someone],
) -> None:
    ada = new_user()
    await ada.remembers_in_turn(porto=PORTO, lisbon=LISBON)
    await ada.is_consolidated()
    await ada.corrects("lisbon")
    await ada.takes_back()
    assert await ada.holding() == {"porto"}


async def test_undo_does_not_duplicate_a_memory_repeated_since_the_run(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
    await ada.remembers_in_turn(porto=PORTO, lisbon=LISBON)
    await ada.is_consolidated()
    await ada.remembers("again", PORTO)
    assert (await ada.takes_back()).restored == ()
    assert await ada.merged() == {"porto": "again"}


@pytest.mark.parametrize("change", [Someone.forgets, Someone.corrects])
async def test_undo_does_not_restore_a_paraphrase_of_a_memory_ended_since_the_run(
    new_user: Callable[[], Someone], change: Callable[[Someone, str], Awaitable[None]]
) -> None:
    ada = new_user()
    for name, content in zip("abc", SAME[:3], strict=True):
        await ada.remembers(name, content, count=ord("z") - ord(name))
    await ada.is_consolidated()
    [(gone, survivor)] = (await ada.merged()).items()
    await change(ada, survivor)
    assert (await ada.takes_back()).restored == ()
    assert gone not in await ada.holding()


async def test_a_chain_of_merges_can_be_undone(new_user: Callable[[], Someone]) -> None:
    ada = new_user()
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
    assert without(await ada.all(), *NIGHTLY) == without({**before, "c": newer}, *NIGHTLY)
    await ada.corrects("a")


async def test_an_unknown_run_cannot_be_undone(ada: Someone, new_user: Callable[[], Someone]) -> None:
    await ada.is_consolidated()
    for someone, run_id in ((ada, "another"), (new_user(), "night1")):
        with pytest.raises(NotFound):
            await someone.takes_back(run_id)


@pytest.mark.sentinel
@pytest.mark.thorough
async def test_a_run_killed_halfway_can_be_undone_and_is_not_resumed(
    new_user: Callable[[], Someone],
) -> None:
    unhurt = new_user()
    await unhurt.remembers_twice()
    before = without(await unhurt.all(), *NIGHTLY)
    writes = await writes_of(lambda services: unhurt.is_consolidated(services=services), unhurt.services)
    for death in deaths(writes):
        ada = new_user()
        await ada.remembers_twice()
        await until_killed(lambda services, ada=ada: ada.is_consolidated(services=services), ada.services, death)
        if not await ada.journal():
            continue  # killed before the first write
        await ada.takes_back()
        assert without(await ada.all(), *NIGHTLY) == before, death
        assert (await ada.is_consolidated()).merged == 0


async def test_an_operator_lists_a_users_runs_and_undoes_one(ada: Someone) -> None:
    await ada.is_consolidated()
    [listed] = await command("list", ada.user_id, "", ada.services.settings)
    assert (listed["run"], listed["status"], listed["left_by_the_cap"]) == ("night1", "applied", 1)
    assert [each["status"] for each in listed["replaced"]] == ["merged", "merged"]
    documents = ada.services.memories.database[memories.COLLECTION]
    await documents.update_many({"user_id": ada.user_id}, {"$unset": {"words": ""}})
    assert (await command("stems", "", "", ada.services.settings))["stored"] >= len(await ada.all())
    assert all(each["words"] for each in (await ada.all()).values())
    told = await command("undo", ada.user_id, "night1", ada.services.settings)
    assert len(told["restored"]) == 2
    assert await ada.merged() == {}
    [listed] = await command("list", ada.user_id, "", ada.services.settings)
    assert listed["status"] == "undone"


# --- the brake --------------------------------------------------------------------------------------------------------


async def test_a_user_with_the_brake_on_is_skipped_and_due_the_next_night(ada: Someone) -> None:
    before = await ada.all()
    await ada.services.signals.turn_brake_on(ada.user_id, ada.clock())
    with pytest.raises(Braked):
        await ada.is_consolidated()
    assert await ada.all() == before
    assert await ada.journal() == []
    await ada.services.signals.turn_brake_off(ada.user_id, ada.clock())
    assert (await ada.is_consolidated("night2")).merged == 2


async def test_a_brake_between_plan_and_apply_leaves_the_plan_for_the_next_night(ada: Someone) -> None:
    planned = await plan(ada.services, ConsolidationState(user_id=ada.user_id, run_id="night1"))
    await ada.services.signals.turn_brake_on(ada.user_id, ada.clock())
    with pytest.raises(Braked):
        await apply(ada.services, planned)
    assert await ada.merged() == {}
    await ada.services.signals.turn_brake_off(ada.user_id, ada.clock())
    assert (await ada.is_consolidated("night2")).run_id == "night1"
    [run] = [ConsolidationRun.model_validate(each) for each in await ada.journal()]
    assert (run.status, len(run.replacements)) == ("applied", 2)
