"""The states of `consolidate`, each by the name that it has in the state machine, and `undo`.

Memories that say the same are merged: one stays as it is, and the others name it as what says them now. No model is
called, nothing is invented or averaged, and nothing is deleted. What passes from state to state are ids and counts.
What is to be done stands in the journal before it is begun, and a state that is delivered again goes on where it ended.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.bootstrap import House
from qwestly_agent.errors import NotFound, Unavailable
from qwestly_agent.memory.ranking import salience
from qwestly_agent.observability import Event, measure_consolidation
from qwestly_agent.states import run_state, told_safely
from qwestly_agent.stores.journal import Change, Merged, Run, unfinished
from qwestly_agent.stores.memories import ACTIVE, MERGED, MOST_SEEN, Held, Standing

USERS_AT_ONCE = 100
MOST_USERS = 1_500
"""In one execution, whose history has room for 25,000 events, some fifteen a user. Those who are left over are due the
next night."""
ATTEMPTS = 5
"""To add to a memory that is reinforced at the same moment."""
PASSING = ("Braked", "Unavailable", "DataGone", "Lambda.TooManyRequestsException")
"""What the next night makes up for."""


class Step(BaseModel):
    """What a state of one user is handed and hands on."""

    # An execution may have begun before the last deployment: it may say more, or less, than this.
    model_config = ConfigDict(frozen=True, extra="ignore")

    user_id: str
    run_id: str
    planned: int = 0
    """Memories that could be merged."""
    begun: int = 0
    """Those of them that the journal has, within the cap."""
    merged: int = 0
    error: str = ""
    """The kind of what failed."""

    @property
    def out(self) -> dict[str, Any]:
        """Every field, for the state machine may ask for any."""
        return self.model_dump(mode="json")


class Page(BaseModel):
    """What the states that concern many users hand each other."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str = ""
    """The night. One that is started twice is one run; without an id it is one of its own."""
    after: str = ""
    """The last user of the page before."""
    users: tuple[str, ...] = ()
    more: bool = False
    """Whether there may be users behind these."""
    seen: int = 0
    """Users of all pages so far."""
    broken: int = 0
    """Those of them on whom the next night will fail as well."""
    results: tuple[Step, ...] = Field(default=(), exclude=True)

    @property
    def out(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


# --- of many users ----------------------------------------------------------------------------------------------------


async def find_users(house: House, page: Page) -> Page:
    """The next of those who have new memories."""
    return await told_safely(house, _find_users(house, page), run_id=page.run_id)


async def _find_users(house: House, page: Page) -> Page:
    users = await house.sweeps.users_to_consolidate(page.after, USERS_AT_ONCE)
    return page.model_copy(
        update={
            "run_id": page.run_id or house.new_id(),
            "users": tuple(users),
            "after": users[-1] if users else page.after,
            "more": len(users) == USERS_AT_ONCE and page.seen + len(users) < MOST_USERS,
        }
    )


async def sum_up(house: House, page: Page) -> Page:
    """What became of a page, in the log and in metrics. `broken` rings the alarm once all users had their turn."""
    return await told_safely(house, _sum_up(house, page), run_id=page.run_id)


async def _sum_up(house: House, page: Page) -> Page:
    failed = [each for each in page.results if each.error and each.error != "Braked"]
    for each in failed:
        house.logger.warning(Event.CONSOLIDATION_FAILED, extra={"user_id": each.user_id, "cause": each.error})
    done = [each for each in page.results if not each.error]
    measure_consolidation(
        users=len(done),
        planned=sum(each.planned for each in done),
        merged=sum(each.merged for each in done),
        left_over=sum(each.planned - each.begun for each in done),
        failed=len(failed),
    )
    # A database that was away for a moment mends itself: its users are due still. What fails for another reason would
    # fail every night, unseen, and one user in ten is no moment.
    broken = [each for each in failed if each.error not in PASSING or len(failed) * 10 > len(page.results)]
    return page.model_copy(
        update={"users": (), "seen": page.seen + len(page.results), "broken": page.broken + len(broken)}
    )


# --- of one user ------------------------------------------------------------------------------------------------------


async def plan(house: House, step: Step) -> Step:
    """What is to be merged, in the journal. A run that was begun and not ended comes first."""
    return await run_state(house, step.user_id, _plan(house, step), run_id=step.run_id)


async def _plan(house: House, step: Step) -> Step:
    runs = await house.journal.all(step.user_id)
    begun = unfinished(runs) or next((run for run in runs if run.run_id == step.run_id), None)
    if begun is None:
        begun = await _planned(house, step, runs)
        if not begun.merges:
            await house.memories.looked_at(step.user_id, begun.looked_at)
        elif not await house.journal.add(begun):
            begun = await house.journal.get(step.user_id, step.run_id)
    members = begun.members
    return step.model_copy(update={"run_id": begun.run_id, "planned": members + begun.left, "begun": members})


async def _planned(house: House, step: Step, runs: Iterable[Run]) -> Run:
    # With numpy, which the other doors do without.
    from qwestly_agent.memory.neighbours import cap_of, merges_of, vectors_of

    apart = frozenset[frozenset[str]]().union(*(run.apart for run in runs if run.status == "undone"))
    held, floats, rows = await _held(house, step.user_id)
    # In a thread: meanwhile the brake is looked at.
    merges = await asyncio.to_thread(merges_of, held, vectors_of(floats, rows), apart)
    cap = cap_of(len(held))
    left = {each for merge in merges[cap:] for each in (merge.survivor, merge.member)}
    members = defaultdict[str, list[str]](list)
    for merge in merges[:cap]:
        members[merge.survivor].append(merge.member)
    return Run(
        user_id=step.user_id,
        run_id=step.run_id,
        created=house.clock(),
        merges=tuple(Merged(survivor=survivor, members=tuple(each)) for survivor, each in members.items()),
        left=len(merges[cap:]),
        looked_at=tuple(each.id for each in held if each.new and each.id not in left),
    )


async def _held(house: House, user_id: str) -> tuple[list[Held], bytearray, int]:
    """All that holds; the vectors of the first of them, one behind the other; and how many these are. The others have
    none, or another model's."""
    with_vector, without, floats, size = list[Held](), list[Held](), bytearray(), 0
    async for each, vector in house.memories.each_held(user_id):
        size = size or len(vector)
        if vector and len(vector) == size:
            with_vector.append(each)
            floats += vector
        else:
            without.append(each)
    return [*with_vector, *without], floats, len(with_vector)


async def apply(house: House, step: Step) -> Step:
    """What the journal has of this run."""
    return await run_state(house, step.user_id, _apply(house, step), run_id=step.run_id)


async def _apply(house: House, step: Step) -> Step:
    run = await house.journal.get(step.user_id, step.run_id)
    if run.status == "planned":
        for place in range(len(run.merges)):
            await _merge(house, run, place)
        await house.memories.looked_at(run.user_id, run.looked_at)
        await house.journal.end(run.user_id, run.run_id, "applied")
    return step.model_copy(update={"merged": 0 if run.status == "undone" else run.members})


async def _merge(house: House, run: Run, place: int) -> None:
    """First the members go, each with its numbers, which nothing changes any more; then the survivor takes them in."""
    merged = run.merges[place]
    if await _status(house, run.user_id, merged.survivor) == ACTIVE:
        for member in merged.members:
            await house.memories.merge(run.user_id, member, merged.survivor, run.run_id, house.clock())
    for _ in range(ATTEMPTS):
        if await _taken_in(house, run, place):
            return
    raise Unavailable


async def _taken_in(house: House, run: Run, place: int) -> bool:
    """False where the survivor was reinforced meanwhile: then once more."""
    merged = run.merges[place]
    found = await house.memories.standing(run.user_id, (merged.survivor, *merged.members))
    gone = [each for each in merged.members if each in found and _is_merged(found[each], merged.survivor, run.run_id)]
    survivor = found.get(merged.survivor)
    if not gone or (survivor and run.run_id in survivor.took_in):
        return True
    if survivor is None or survivor.status != ACTIVE:
        # Its user forgot or corrected it this very moment: what it says does not say the others any more.
        for member in gone:
            await house.memories.part(run.user_id, member, merged.survivor, run.run_id)
        return True
    change = _change(survivor, [found[member] for member in gone])
    await house.journal.keep_change(run.user_id, run.run_id, place, change)
    importance = max(change.importance)
    return await house.memories.take_in(
        run.user_id,
        merged.survivor,
        run.run_id,
        survivor,
        count=survivor.count + change.count,
        last_seen=max(change.last_seen),
        seen=[*change.seen, *survivor.seen],
        importance=importance,
        salience=_salience(survivor, importance, survivor.importance, survivor.salience),
        # Text and quote are its own still, and so is its trust, though it takes in what is less trusted.
    )


def _is_merged(member: Standing, survivor_id: str, run_id: str) -> bool:
    return (member.status, member.superseded_by, member.merged_in) == (MERGED, survivor_id, run_id)


def _change(survivor: Standing, members: Sequence[Standing]) -> Change:
    brought = dict.fromkeys(said for each in members for said in each.seen if said not in survivor.seen)
    # Its own stay, as many as there may be: what it is given can be taken away again.
    room = max(0, MOST_SEEN - len(survivor.seen))
    return Change(
        count=sum(each.count for each in members),
        seen=tuple(brought)[:room],
        last_seen=(survivor.last_seen, max(each.last_seen for each in members)),
        importance=(survivor.importance, max(each.importance for each in members)),
        salience=survivor.salience,
    )


def _salience(memory: Standing, importance: float, known: float, salience_then: float) -> float:
    return salience_then if importance == known else salience(importance, memory.created)


async def _status(house: House, user_id: str, memory_id: str) -> str | None:
    found = await house.memories.standing(user_id, [memory_id])
    return found[memory_id].status if memory_id in found else None


# --- taking it back ---------------------------------------------------------------------------------------------------


class Undone(BaseModel):
    model_config = ConfigDict(frozen=True)

    run_id: str
    restored: tuple[str, ...] = ()
    """The memories that hold again."""


async def undo(house: House, user_id: str, run_id: str) -> Undone:
    """Restore what was before the run, except what was forgotten or superseded since, or is said by another one that
    came since; what was reinforced since stays so. Its pairs are never merged again. Raises `NotFound`."""
    runs = await house.journal.all(user_id)
    run = next((each for each in runs if each.run_id == run_id), None)
    if run is None:
        raise NotFound("There is no such run.")
    if run.status == "undone":
        return Undone(run_id=run_id)
    restored = [member for merged in run.merges for member in await _parted(house, runs, run, merged)]
    await house.journal.end(user_id, run_id, "undone")
    return Undone(run_id=run_id, restored=tuple(restored))


async def _parted(house: House, runs: Sequence[Run], run: Run, merged: Merged) -> list[str]:
    """The members that hold again."""
    if not await _is_said(house, run.user_id, merged.survivor):
        return []  # with it, whatever says the same was forgotten, or stopped being true
    parted = [
        member
        for member in merged.members
        if await house.memories.part(run.user_id, member, merged.survivor, run.run_id)
    ]
    for _ in range(ATTEMPTS):
        if await _given_back(house, runs, run, merged.survivor):
            return parted
    raise Unavailable


async def _is_said(house: House, user_id: str, memory_id: str) -> bool:
    """Whether it holds, or what it was merged into since."""
    passed = set[str]()
    while memory_id not in passed:
        passed.add(memory_id)
        found = (await house.memories.standing(user_id, [memory_id])).get(memory_id)
        if found is None or found.status != MERGED or found.superseded_by is None:
            return found is not None and found.status == ACTIVE
        memory_id = found.superseded_by
    return False


async def _given_back(house: House, runs: Sequence[Run], run: Run, survivor_id: str) -> bool:
    """False where it was reinforced meanwhile: then once more."""
    survivor = (await house.memories.standing(run.user_id, [survivor_id]))[survivor_id]
    changes = {each.run_id: change for each in runs if (change := each.change_of(survivor_id))}
    if run.run_id not in survivor.took_in:
        return True
    others = [change for other, change in changes.items() if other in survivor.took_in and other != run.run_id]
    own_importance = _own([change.importance for change in changes.values()], survivor.importance)
    own_last_seen = _own([change.last_seen for change in changes.values()], survivor.last_seen)
    importance = max(own_importance, *(change.importance[1] for change in others), 0.0)
    first, taken = next(iter(changes.values())), changes[run.run_id]
    return await house.memories.give_back(
        run.user_id,
        survivor_id,
        run.run_id,
        survivor,
        count=survivor.count - taken.count,
        last_seen=max(own_last_seen, *(change.last_seen[1] for change in others), 0.0),
        seen=[said for said in survivor.seen if said not in taken.seen],
        importance=importance,
        salience=_salience(survivor, importance, own_importance, first.salience),
    )


def _own(changes: Sequence[tuple[float, float]], now: float) -> float:
    """What a memory would have, had no run ever brought it anything: what it had before the first, or what it was given
    since by more than any run had left it with."""
    own, left_with = changes[0][0], max(changes[0])
    for had, brought in changes[1:]:
        own, left_with = had if had > left_with else own, max(had, brought)
    return now if now > left_with else own
