"""The states of `consolidate`, each by the name that it has in the state machine, and `undo`. The one that asks a model
stands in `plan.py`, so that the others do without what takes longest to import.

Of memories that say the same one stays, and of those that contradict each other the newer: the others name it as what
holds in their place. Nothing is invented or averaged, and nothing is deleted. What passes from state to state are ids
and counts. What is to be done stands in the journal before it is begun, and a state that is delivered again goes on
where it ended.
"""

from typing import Any, Protocol

from aws_lambda_powertools import Logger
from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.approvals.actions import MOST_FORGOTTEN
from qwestly_agent.approvals.decide import Asker, DecideServices, ask
from qwestly_agent.approvals.memory_approval import outdated_of
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.ids import NewId
from qwestly_agent.base.observability import Event, measure_consolidation
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory
from qwestly_agent.services import HasAutonomy, HasJournal, HasLogger
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.journal import Journal, Replacement, Run
from qwestly_agent.stores.memories import Memories
from qwestly_agent.workflow_state import run_state, sanitize_errors


class ConsolidationServices(DecideServices, HasAutonomy, HasJournal, HasLogger, Protocol): ...


YEAR = 365 * 86_400.0
"""In seconds."""
USERS_AT_ONCE = 100
MOST_USERS = 1_500
"""In one execution, whose history has room for 25,000 events, some fifteen a user. Those who are left over are due the
next night."""
PASSING = (
    *("Braked", "Unavailable", "DataGone", "Lambda.TooManyRequestsException"),
    *("OverBudget", "ModelUnavailable", "DeadlineExceeded"),
)
"""What the next night makes up for. A provider that refuses us (`ModelRefused`) is not among them: somebody must mend
that."""


class Step(BaseModel):
    """What a state of one user is handed and hands on."""

    # An execution may have begun before the last deployment: it may say more, or less, than this.
    model_config = ConfigDict(frozen=True, extra="ignore")

    user_id: str
    run_id: str
    planned: int = 0
    """Memories that could be merged or superseded."""
    begun: int = 0
    """Those of them that the journal has, within the cap."""
    merged: int = 0
    """Merged or superseded."""
    questions: int = 0
    """To its user, about memories that may hold no more: one or none."""
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


async def find_users(sweeps: Sweeps, new_id: NewId, logger: Logger, page: Page) -> Page:
    """The next of those who have new memories."""
    return await sanitize_errors(logger, _find_users(sweeps, new_id, page), run_id=page.run_id)


async def _find_users(sweeps: Sweeps, new_id: NewId, page: Page) -> Page:
    users = await sweeps.users_to_consolidate(page.after, USERS_AT_ONCE)
    return page.model_copy(
        update={
            "run_id": page.run_id or new_id(),
            "users": tuple(users),
            "after": users[-1] if users else page.after,
            "more": len(users) == USERS_AT_ONCE and page.seen + len(users) < MOST_USERS,
        }
    )


async def sum_up(logger: Logger, page: Page) -> Page:
    """What became of a page, in the log and in metrics. `broken` rings the alarm once all users had their turn."""
    return await sanitize_errors(logger, _sum_up(logger, page), run_id=page.run_id)


async def _sum_up(logger: Logger, page: Page) -> Page:
    failed = [each for each in page.results if each.error and each.error != "Braked"]
    for each in failed:
        logger.warning(Event.CONSOLIDATION_FAILED, extra={"user_id": each.user_id, "cause": each.error})
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


async def apply(services: ConsolidationServices, step: Step) -> Step:
    """Replace what the journal has of this run."""
    return await run_state(services.signals, services.logger, step.user_id, _apply(services, step), run_id=step.run_id)


async def _apply(services: ConsolidationServices, step: Step) -> Step:
    run = await services.journal.get(step.user_id, step.run_id)
    if run.status == "planned":
        for each in run.replacements:
            await _replace(services.memories, services.clock, run, each)
        await _ask_about_outdated(services, run)
        await end(services.memories, services.journal, run)
    return step.model_copy(update={"merged": 0 if run.status == "undone" else len(run.replacements)})


async def _replace(memories: Memories, clock: Clock, run: Run, each: Replacement) -> None:
    await memories.replace(run.user_id, each.gone, each.by, each.status, run.run_id, clock())
    # Text and quote are its own still, and so is its trust, though it takes in what is less trusted.
    await memories.take_in(run.user_id, each.by, each.gone)
    # Its user forgot or corrected it since it was planned: it does not stand for the other one any more. Looked at
    # last, so that whoever forgets it later finds what it took the place of.
    if not await memories.holds(run.user_id, each.by, run.run_id):
        await memories.part(run.user_id, each.gone, each.by, run.run_id)


async def _ask_about_outdated(services: ConsolidationServices, run: Run) -> None:
    """One question, however often this is delivered; not about what has changed since."""
    now = services.clock()
    ids = [each.id for each in await services.memories.of_ids(run.user_id, run.outdated) if _is_outdated(each, now)]
    outdated = await services.memories.lineage(run.user_id, ids)
    while len(outdated) > MOST_FORGOTTEN:  # more than one question can hold
        ids.pop()
        outdated = await services.memories.lineage(run.user_id, ids)
    if not outdated:
        return
    level = await services.autonomy.level(run.user_id)
    asker = Asker(user_id=run.user_id, run_id=run.run_id, level=level)
    approval_id = f"ap_{sha256_hex('outdated', run.user_id, run.run_id)[:32]}"
    await ask(services, approval_id, outdated_of(run.user_id, outdated), asker, "queue")
    await services.memories.note_asked(run.user_id, run.outdated, services.clock())


def _is_outdated(memory: Memory, now: float) -> bool:
    """Still: it may have been corrected since, or said again by what was merged into it."""
    ended = memory.valid_until is not None and memory.valid_until.timestamp() <= now
    return memory.status == "active" and (ended or memory.last_seen <= now - YEAR)


async def end(memories: Memories, journal: Journal, run: Run) -> None:
    """Nothing is left to be done of this run."""
    await memories.compared(run.user_id, run.compared)
    await journal.end(run.user_id, run.run_id, "applied")


# --- taking it back ---------------------------------------------------------------------------------------------------


class Undone(BaseModel):
    model_config = ConfigDict(frozen=True)

    run_id: str
    restored: tuple[str, ...] = ()
    """The memories that hold again."""


async def undo(memories: Memories, journal: Journal, user_id: str, run_id: str) -> Undone:
    """Make active again what the run replaced, except what was forgotten or is said by another one since, and what was
    merged into one that stopped being true. Counts stay. Its pairs are never joined again. Raises `NotFound`."""
    run = await journal.get(user_id, run_id)
    if run.status == "undone":
        return Undone(run_id=run_id)
    # The last one first: what was merged once it had superseded another is taken apart before it.
    restored = [each.gone for each in reversed(run.replacements) if await _parted(memories, run, each)]
    await journal.end(user_id, run_id, "undone")
    return Undone(run_id=run_id, restored=tuple(restored))


async def _parted(memories: Memories, run: Run, each: Replacement) -> bool:
    if each.status == "merged" and not await memories.holds(run.user_id, each.by, run.run_id):
        return False  # whatever says the same was forgotten with it, or stopped being true
    return await memories.part(run.user_id, each.gone, each.by, run.run_id)
