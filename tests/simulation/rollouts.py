"""The story of a trial: the clock looks at it while operators begin and end it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from qwestly_agent.domain.rollout import JournalEntry, Rollout, Trial, begin_trial, end_trial
from qwestly_agent.rollout.look import Finding
from qwestly_agent.rollout.writer import Advanced, advance
from qwestly_agent.stores.measures import ROLLOUT
from tests.simulation.scheduler import Process
from tests.simulation.story import REQUEST_SECONDS, Story, written

MOVES = ("on", "back", "held", "kept", "ended")


@dataclass
class RolloutStory(Story):
    seen: dict[int, Trial] = field(default_factory=dict[int, Trial])
    """By the number of each process that looked: the trial that it judged."""
    trials: int = 0

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((2, self.begin), (4, self.advance), (1, self.end), (3, self.contend))

    # --- what happens ---

    def contend(self) -> None:
        acts = (self.advance, self.advance, self.begin, self.end)
        self.stage.rivals(self.choices.one(acts), self.choices.one(acts))

    def begin(self) -> None:
        self.trials += 1
        trial_id, share = f"trial-{self.trials}", self.choices.one((1, 5, 25))

        async def work(services: Any) -> None:
            def begun(before: Rollout) -> Rollout | None:
                if before.trial:
                    return None
                return begin_trial(before, "variant", ("chat",), share, services.clock(), trial_id, "")

            await services.rollouts.change(begun)

        self.stage.start(f"begin {trial_id}", work, REQUEST_SECONDS)

    def end(self) -> None:
        async def work(services: Any) -> None:
            def ended(before: Rollout) -> Rollout | None:
                if before.trial is None:
                    return None
                variant = before.trial.variant
                return end_trial(
                    before, JournalEntry(at=services.clock(), by="operator", move="ended", variant=variant, share=0)
                )

            await services.rollouts.change(ended)

        self.stage.start("end the trial", work, REQUEST_SECONDS)

    def advance(self) -> None:
        """As the clock does, with a finding in place of counts."""
        move = self.choices.one(MOVES)

        async def work(services: Any) -> None:
            services.finding = Finding(move, ())  # type: ignore[arg-type]
            await advance(services, Advanced())

        self.stage.start(f"look at the trial, which goes {move}", work, REQUEST_SECONDS)

    async def summed(self, *_: Any) -> None:
        """In place of the sums of the counts, which nobody reads here."""

    async def found(self, services: Any, trial: Trial, *_: Any) -> Finding | None:
        """In place of what the counts say."""
        process: Process[Any] | None = self.world.scheduler.running
        assert process is not None
        self.seen[process.number] = trial
        await services.rollouts.get()  # it takes the time of a reading
        return services.finding

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        for versions in self.world.versions[ROLLOUT].values():
            for before, after in pairwise(versions):
                if not (before.document and after.document):
                    continue
                entry = after.document["journal"][-1]
                if after.document["journal"][:-1] != before.document["journal"]:
                    yield "the journal of the trial lost an entry"
                if entry["by"] != "code" or after.process is None:
                    continue
                then = before.document["trial"]
                if then is None or Trial.model_validate(then) != self.seen.get(after.process.number):
                    yield f"a trial went {entry['move']} by a look at another one"
            for _, document in written(versions):
                if bool(document["trial"]) != bool(document["flags"]):
                    yield "a trial has ended, and its variant is still chosen"
