"""One schedule: stories that happen in one world, in the order and with the faults that its numbers choose."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partialmethod
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.links import Limits
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import Level
from qwestly_agent.memory.service import MemoryService
from tests.simulation.accounts import DAYS_NEEDED, AccountStory
from tests.simulation.approvals import ApprovalStory
from tests.simulation.brakes import BrakeStory
from tests.simulation.chats import ChatStory
from tests.simulation.conversations import ConversationStory
from tests.simulation.executions import ExecutionStory
from tests.simulation.limits import LimitStory
from tests.simulation.mails import Container, MailStory
from tests.simulation.memories import MemoryStory
from tests.simulation.nights import NightStory
from tests.simulation.owners import OwnerStory
from tests.simulation.pages import PageStory
from tests.simulation.readings import MOST_QUESTIONS, ReadingStory
from tests.simulation.restores import RestoreStory
from tests.simulation.rollouts import RolloutStory
from tests.simulation.scheduler import Choices
from tests.simulation.story import Stage, Story
from tests.simulation.world import PEOPLE, World

GAPS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2, 0.2, 3.0, 12.0, 57.0, 61.0, 700.0, 90_000.0, 180_000.0)
SWEPT_WITHIN = 500.0
MOST_ACTS, MOST_TRIES = 12, 4
LEVELS: tuple[Level | None, ...] = ("L1", "L3", "L2", None, "L3")
"""None as of new users, who chose none."""
LONGEST_WAIT = 1_000_000.0
EXPECTED_ERRORS = {
    *("AutoReconnect", "NetworkTimeout", "Unavailable", "Braked", "ConversationBusy", "SignalsUnread"),
    "ModelHTTPError",
}
Act = Callable[[], bool | None]


@dataclass
class Schedule:
    choices: Choices
    world: World = field(init=False)
    broken: list[str] = field(default_factory=list[str])
    """Sentences about what did not hold in the end."""

    def __post_init__(self) -> None:
        self.world = World(self.choices)
        self.stage = Stage(self.world)
        self.approvals = ApprovalStory(self.stage)
        self.accounts, self.brakes = AccountStory(self.stage, self.approvals), BrakeStory(self.stage)
        self.mails, self.executions = MailStory(self.stage), ExecutionStory(self.stage, self.approvals)
        self.chats = ChatStory(self.stage, self.approvals)
        self.memories = MemoryStory(self.stage, self.approvals, self.chats)
        self.readings = ReadingStory(self.stage, self.memories, self.executions)
        self.nights = NightStory(self.stage, self.memories, self.executions)
        self.pages, self.rollouts, self.owners = PageStory(self.stage), RolloutStory(self.stage), OwnerStory(self.stage)
        self.stories: tuple[Story, ...] = (
            self.approvals,
            self.mails,
            self.executions,
            self.chats,
            self.memories,
            self.readings,
            self.nights,
            self.accounts,
            self.brakes,
            self.pages,
            self.rollouts,
            self.owners,
            ConversationStory(self.stage, self.chats),
            LimitStory(self.stage, self.chats),
        )
        self.restores = RestoreStory(self.stage, self.approvals, self.accounts, self.chats, self.memories)
        if level := self.choices.one(LEVELS):
            for each in PEOPLE:
                self.world.set_level(each.id, level, level)

    @property
    def script(self) -> list[str]:
        return self.world.scheduler.script

    async def tell(self) -> None:
        acts = [act for weight, act in self._acts() for _ in range(weight)]
        self.approvals.propose()
        for _ in range(1 + self.choices.number(MOST_ACTS)):
            gap = self.choices.one(GAPS)
            if gap > SWEPT_WITHIN:
                await self._pass()
            await asyncio.sleep(gap)
            for _ in range(MOST_TRIES):
                if self.choices.one(acts)() is not False:
                    break
        await self.world.scheduler.settled()
        while not all(each.done() for each in self.stage.tasks):
            await asyncio.wait(self.stage.tasks)
            await self.world.scheduler.settled()
        if self.restores.backup is not None:
            await self.restores.go_back()
        await self.end_quietly()

    def _acts(self) -> list[tuple[int, Act]]:
        """Return the acts of this schedule: many of some stories, or some of all."""
        approvals, accounts = self.approvals.acts, [*self.brakes.acts, *self.accounts.acts]
        trials, erasures = [(2, self.rollouts.begin)], [(12, self._erase_beside)]
        match self.choices.number(11):
            case 0:
                return [*approvals, (12, self.approvals.undo), *accounts, *self.pages.acts, *self.pages.acts]
            case 1:
                return [*approvals, *self.mails.acts, *self.mails.acts, *accounts]
            case 2:
                return [*approvals, *self.executions.acts, *self.mails.acts, *self.rollouts.acts]
            case 3:
                return [*self.chats.acts, *self.chats.acts, *accounts, *self.pages.acts, *self.owners.acts, *trials]
            case 4:
                readings = [(2 * weight, act) for weight, act in self.readings.acts]
                return [*self.memories.acts, *self.memories.acts, *readings, *self.chats.acts]
            case 5:
                return [*self.accounts.acts_of_years, *self.accounts.acts_of_years, *approvals]
            case 6:
                erasing = [(2 * weight, act) for weight, act in (*self.accounts.rare_acts, *self.brakes.rare_acts)]
                others = [*self.executions.acts, *self.readings.acts, *self.chats.acts, *self.mails.acts]
                return [*erasing, *erasures, *self.memories.acts, *others]
            case 7:
                asked = [*approvals, *[(4 * weight, act) for weight, act in self.executions.acts]]
                undone = [(8, self.memories.undo)]
                gone = [*self.memories.acts, *self.memories.acts, *undone, *self.chats.acts, *self.accounts.rare_acts]
                return [*asked, *gone, *self.restores.acts]
            case 8:
                otherwise = [(10, self.readings.read_otherwise), (4, self.readings.forget_and_read)]
                return [*self.memories.acts, *otherwise, (8, self.memories.undo), (8, self.memories.decide)]
            case 9:
                nights = [(4 * weight, act) for weight, act in self.nights.acts]
                return [*self.memories.acts, *nights, *self.accounts.rare_acts]
            case _:
                every = [act for story in self.stories for act in story.acts]
                return [*every, *self.accounts.rare_acts, *self.brakes.rare_acts]

    def _erase_beside(self) -> None:
        """Somebody has everything erased while something of theirs runs."""
        acts = (
            self.memories.correct,
            self.memories.remember,
            self.chats.talk,
            self.chats.delete,
            self.approvals.propose,
        )
        self.stage.rivals(self.choices.one((*acts, self.executions.draft_card)), self.accounts.erase)

    async def _pass(self) -> None:
        """Time in which sweeps come every minute, of which the first ones matter."""
        for _ in range(2):
            await asyncio.sleep(61.0)
            self.approvals.sweep()

    async def end_quietly(self) -> None:
        """Run sweeps without faults until nothing is due."""
        scheduler, wait = self.world.scheduler, 20.0
        scheduler.is_quiet = True
        ends = scheduler.now + 100.0  # what is late has come by then
        while (due := self._next_due) or scheduler.now < ends:
            await asyncio.sleep(max(wait, min(due - self.world.time, 700_000.0)))
            self.approvals.sweep()
            await scheduler.settled()
            wait *= 2
            if wait > LONGEST_WAIT:
                break

    @property
    def _next_due(self) -> float:
        """0 if nothing is due any more."""
        return min((each.due_at for each in self.world.approvals if each.due_at), default=0.0)

    def check(self) -> Iterator[str]:
        """Return sentences about what does not hold."""
        for each in self.stage.tasks:
            if each.done() and not each.cancelled() and (error := each.exception()):
                yield f"a task raised {error!r}"
        for each in self.world.scheduler.processes:
            if each.error and not isinstance(each.error, AgentError | PyMongoError):
                yield f"{each.name} raised {each.error!r}"
        erased = {"NotFound"} if self.stage.leaving else set[str]()  # in the middle of what was done with it
        if unexpected := set(self.world.logged) - EXPECTED_ERRORS - erased:
            yield f"{', '.join(sorted(unexpected))} was logged"
        # The others compare what is with what was, which a restore has lost.
        for story in (self.restores,) if self.restores.backup is not None else self.stories:
            yield from story.check()


@contextmanager
def stood_in(schedule: "Schedule") -> Iterator[None]:
    """Replace models, AWS, chance and metrics."""
    chance, world = Random(0), schedule.world
    tokens = SimpleNamespace(
        token_bytes=chance.randbytes,
        token_urlsafe=lambda count: urlsafe_b64encode(chance.randbytes(count)).decode().rstrip("="),
    )
    with ExitStack() as stack:
        for place, stand_in in (
            ("qwestly_agent.approvals.seal.secrets", tokens),
            ("qwestly_agent.approvals.mail.secrets", tokens),
            ("qwestly_agent.stores.runs.uuid4", lambda: SimpleNamespace(hex=chance.randbytes(16).hex())),
            ("qwestly_agent.approvals.propose.is_requested", world.judged),
            ("qwestly_agent.chat.run_turn.generate_title", world.titled),
            ("qwestly_agent.memory.service.compare", world.compared),
            ("qwestly_agent.memory.reconcile.compare", world.related),
            ("qwestly_agent.memory.extract_reader.structured_output", schedule.readings.written),
            ("qwestly_agent.memory.extract_reader.make_judge", lambda *_, **__: None),
            ("qwestly_agent.chat.prompt.SMALLEST", 3),
            ("qwestly_agent.chat.prompt.LARGEST", 5),
            ("qwestly_agent.memory.extract_reader.ground_notes", schedule.readings.judged),
            ("qwestly_agent.memory.extract_writer.MOST_QUESTIONS", MOST_QUESTIONS),
            ("qwestly_agent.approvals.sweep.measure_waiting", lambda *_: None),
            ("qwestly_agent.approvals.mail.measure_refused_mail", lambda: None),
            ("qwestly_agent.approvals.autonomy.DAYS_NEEDED", DAYS_NEEDED),
            ("qwestly_agent.chat.turn_store.measure_turn", lambda *_: None),
            ("qwestly_agent.memory.extract_writer.measure_extraction", lambda *_: None),
            ("qwestly_agent.rollout.writer.measure_rollout", lambda **_: None),
            ("qwestly_agent.rollout.writer.sums_of", schedule.rollouts.summed),
            ("qwestly_agent.rollout.writer._find", schedule.rollouts.found),
            ("qwestly_agent.model_calls.measure_answer", lambda *_: None),
            ("functions.approve.pages.limits", Limits()),
            ("functions.approve.pages.container", SimpleNamespace(services=Container(world))),
            ("qwestly_agent.clients.aws.asyncio", SimpleNamespace(to_thread=world.aws.to_thread)),
        ):
            stack.enter_context(patch(place, stand_in))
        judged = partialmethod(lambda service, note: world.judged_note(service, note))
        stack.enter_context(patch.object(MemoryService, "_judged", judged))
        yield


def play(choices: Choices, tell: Callable[[Schedule], Coroutine[Any, Any, None]] = Schedule.tell) -> Schedule:
    schedule = Schedule(choices)
    with stood_in(schedule):
        schedule.world.scheduler.run(tell(schedule))
    schedule.broken = list(schedule.check())
    return schedule
