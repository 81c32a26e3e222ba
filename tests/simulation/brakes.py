"""The story of brakes: people and operators pause and resume, and each receipt names all that ran or was sent."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from qwestly_agent.approvals import pause
from qwestly_agent.domain.approval import EVERYBODY, SENT
from qwestly_agent.stores import conversations, user_settings
from tests.simulation.database import Document
from tests.simulation.settings import CHAT_SETTINGS
from tests.simulation.story import REQUEST_SECONDS, SKEW, Story, were, written
from tests.simulation.world import BEGINS

IN_EFFECT = ("executing", *SENT)


@dataclass
class BrakeStory(Story):
    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((2, self.pause), (2, self.resume), (1, self.pause_again))

    @property
    def rare_acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((1, self.pause_everybody),)

    # --- what happens ---

    def pause(self) -> None:
        self._pause(self.stage.someone().id)

    def pause_again(self) -> None:
        """Somebody presses the brake twice."""
        person = self.stage.someone()
        self.stage.rivals(lambda: self._pause(person.id), lambda: self._pause(person.id))

    def _pause(self, user_id: str) -> None:
        name = next(each.name for each in self.world.people if each.id == user_id)

        async def work(services: Any) -> None:
            status = await pause.engage(services.signals, services.sweeps, user_id, services.clock)
            if status.state == "paused":
                self.stage.paused.append((self.stage.now, user_id))

        self.stage.start(f"pause {name}", work, REQUEST_SECONDS, settings=CHAT_SETTINGS)

    def pause_everybody(self) -> None:
        """Turn everybody's brake on as operators do, and off an hour later."""

        async def engage(services: Any) -> None:
            await pause.engage(services.signals, services.sweeps, EVERYBODY, services.clock)

        async def release(services: Any) -> None:
            await pause.release(services.signals, services.sweeps, EVERYBODY, services.clock)

        async def run() -> None:
            self.stage.start("pause everybody", engage, REQUEST_SECONDS)
            for _ in range(3):  # until one of them comes through
                await asyncio.sleep(1200.0)
                self.stage.start("resume everybody", release, REQUEST_SECONDS)

        self.stage.go_on(run())

    def resume(self) -> None:
        person = self.stage.someone()

        async def work(services: Any) -> None:
            await pause.release(services.signals, services.sweeps, person.id, services.clock)

        self.stage.start(f"resume {person.name}", work, REQUEST_SECONDS, settings=CHAT_SETTINGS)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        for whose, versions in self.world.versions[user_settings.SIGNALS].items():
            if whose not in self.stage.leaving:
                history = written(versions)
                yield from (f"the brake of {whose} {each}" for each in self._one_brake(history))
                yield from (f"the receipt of {whose} {each}" for each in self._complete(whose, history))
        yield from self._resumed()

    def _one_brake(self, history: list[tuple[float, Document]]) -> Iterator[str]:
        """A brake that is on is not turned on anew, and its receipt loses no name."""
        for (_, before), (_, after) in pairwise(history):
            since = before.get("brake_since"), after.get("brake_since")
            if all(since) and since[0] != since[1]:
                yield "was turned on although it was on"
            is_same = before.get("receipt_since") and before["receipt_since"] == after.get("receipt_since")
            if is_same and (lost := _named(before) - _named(after)):
                yield f"had {', '.join(sorted(lost))} in its receipt, and has lost it"

    def _complete(self, whose: str, history: list[tuple[float, Document]]) -> Iterator[str]:
        """A first receipt names what ran and what was sent from the brake on until then."""
        first: dict[float, tuple[float, Document]] = {}
        begun: dict[float, float] = {}
        for at, document in history:
            if since := document.get("brake_since"):
                begun.setdefault(since, at)
            if since := document.get("receipt_since"):
                first.setdefault(since, (at, document))
        for since, (at, document) in first.items():
            named = _named(document)
            for key, versions in self.world.records.items():
                states = were([(each.at, each.document or {}) for each in versions], begun.get(since, at), at)
                is_theirs = all(states) and states and whose in (EVERYBODY, states[0]["user_id"])
                if is_theirs and {each["status"] for each in states} <= {*IN_EFFECT} and key not in named:
                    yield f"lacks {key[:9]}, which was {states[-1]['status']}"
            for run_id in self._running(whose, begun.get(since, at), at) - named:
                yield f"lacks the turn {run_id}"

    def _running(self, whose: str, begin: float, end: float) -> set[str]:
        """The turns that held their conversations all this time."""
        found = set[str]()
        for versions in self.world.versions[conversations.COLLECTION].values():
            states = were([(each.at, each.document) for each in versions], begin, end)
            if not states or states[0] is None or whose not in (EVERYBODY, states[0]["user_id"]):
                continue
            holders = {each.get("holder") if each else None for each in states}
            is_held = all(each and each["lease_until"] > BEGINS + end + SKEW for each in states)
            found |= {each for each in holders if each and is_held and len(holders) == 1}
        return found

    def _resumed(self) -> Iterator[str]:
        """Who has resumed is not paused, unless they paused again."""
        processes = self.world.scheduler.processes
        for each in processes:
            if not each.name.startswith("resume ") or each.ended < 0 or each.faults or each.error:
                continue
            name = each.name.removeprefix("resume ")
            whose = next((person.id for person in self.world.people if person.name == name), EVERYBODY)
            pauses = [other for other in processes if other.name in (f"pause {name}", f"erase {name}")]
            rivals = [other for other in pauses if other.begun <= each.ended and not 0 <= other.ended < each.begun]
            is_on = self.stage.states(user_settings.SIGNALS, whose, lambda each: bool(each.get("brake_since")), False)
            if not rivals and were(is_on, each.ended, each.ended) == [True]:
                yield f"{name} resumed, and is paused"


def _named(document: Document) -> set[str]:
    """All names in a receipt, besides what waits."""
    receipt = document.get("receipt") or {}
    return {name for kind in ("stopped", "finished", "unknown", "running") for name in receipt.get(kind, ())}
