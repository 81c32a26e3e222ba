"""The story of accounts: levels, what is earned, and erasure."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from qwestly_agent.approvals.act import ActRequest, ChosenLevel, ask
from qwestly_agent.approvals.autonomy import RAISE_AUTONOMY
from qwestly_agent.approvals.pause import PATIENCE_SECONDS
from qwestly_agent.chat.routers.settings import erase_everything
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.stores import user_settings
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.user_data import user_collections
from tests.simulation.approvals import ApprovalStory
from tests.simulation.database import Document
from tests.simulation.scheduler import Process
from tests.simulation.settings import CHAT_SETTINGS
from tests.simulation.story import CHAT_SECONDS, REQUEST_SECONDS, SKEW, Story, were, written
from tests.simulation.world import BEGINS, PEOPLE, Person, Version

LEVELS: tuple[Level, ...] = ("L0", "L0", "L1", "L3")
DAY, MINUTE = 86_400.0, 61.0
DAYS_NEEDED = 2
"""Fewer days than the real ten, so that a schedule earns something."""
ROLES, TOOL = 3, "update_preference"
"""A kind of proposal, and its tool."""


@dataclass
class AccountStory(Story):
    approvals: ApprovalStory
    erasures: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Start and end of each erasure, by user."""
    choosing: list[tuple[Process[None], str, ChosenLevel]] = field(default_factory=list[Any])
    """Each request of somebody who chooses a level or what may be earned, with their id."""

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((1, self.change_level),)

    @property
    def rare_acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((1, self.erase),)

    @property
    def acts_of_years(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((4, self.approve_for_days), (3, self.decide_offer), (1, self.take_back), (1, self.raise_ceiling))

    # --- what happens ---

    def change_level(self) -> None:
        person, level, ceiling = self.stage.someone(), self.choices.one(LEVELS), self.choices.one((None, "L3"))
        chosen = ChosenLevel(level=level, ceiling=ceiling)
        self._choose(person.id, f"set {person.name}'s level to {level}{f', up to {ceiling}' * bool(ceiling)}", chosen)

    def raise_ceiling(self) -> None:
        person = self.stage.someone()
        self._choose(person.id, f"let {person.name}'s agent earn its way", ChosenLevel(ceiling="L3"))

    def take_back(self) -> None:
        person = self.stage.someone()
        self._choose(person.id, f"take back what {person.name} granted", ChosenLevel(takes_back=TOOL))

    def _choose(self, user_id: str, name: str, chosen: ChosenLevel) -> None:
        token = self.world.token(user_id)

        async def work(services: Any) -> None:
            await ask(services, ActRequest(token=token, act=chosen))

        [process] = self.stage.start(name, work, REQUEST_SECONDS, settings=CHAT_SETTINGS)
        self.choosing.append((process, user_id, chosen))

    def approve_for_days(self) -> None:
        """Day after day the same is asked for, opened and approved, or now and then declined; then something ends it
        or not, and it is asked for once more."""
        people = self.choices.one(((self.stage.someone(),), (self.stage.someone(),), PEOPLE))
        where = self.stage.somewhere()
        verbs = (*("approve",) * 6, "reject", "edit")
        days = [self.choices.one(verbs) for _ in range(DAYS_NEEDED + 1 - self.choices.number(2))]
        accepts, ends, again = self.choices.number(4) != 1, self.choices.number(7), self.choices.number(3) != 1

        async def run(person: Person) -> None:
            for verb in days:
                record = await self._asked(person, where)
                if record:
                    self.approvals.decide_on(record, verb, "queue", record, opened=True)  # type: ignore[arg-type]
                await asyncio.sleep(DAY)
                self.approvals.sweep()
            for offer in [each for each in self._offers() if each.user_id == person.id and accepts]:
                self.approvals.decide_on(offer, "approve", "queue", offer)
            await asyncio.sleep(MINUTE)
            taken_back = ChosenLevel(takes_back=TOOL)
            chosen = (taken_back, None, ChosenLevel(level="L1"), ChosenLevel(ceiling="L1"), taken_back)
            if ends < len(chosen) and chosen[ends]:
                self._choose(person.id, f"end what {person.name} granted", chosen[ends])  # type: ignore[arg-type]
            elif ends >= len(chosen) and (record := await self._asked(person, where)):
                self.approvals.decide_on(record, "reject", "queue", record, opened=True)
            await asyncio.sleep(DAY if again else MINUTE)
            if (record := await self._asked(person, where)) and again:
                self.approvals.decide_on(record, "approve", "queue", record, opened=True)

        for person in people:
            self.stage.go_on(run(person))

    async def _asked(self, person: Person, where: str) -> Approval | None:
        """Ask for the same again a minute later; returns the pending approvals."""
        before = {each.id for each in self.world.approvals}
        self.approvals.propose_to(person, where, ROLES)
        await asyncio.sleep(MINUTE)
        new = [each for each in self.world.approvals if each.id not in before and each.user_id == person.id]
        return next((each for each in new if each.status == "pending" and each.tool == TOOL), None)

    def _offers(self) -> list[Approval]:
        return [each for each in self.world.approvals if each.tool == RAISE_AUTONOMY.tool and each.status == "pending"]

    def decide_offer(self) -> bool | None:
        offers = self._offers()
        if not offers:
            return False
        record = self.choices.one(offers)
        self.approvals.decide_on(record, self.choices.one(("approve", "approve", "reject")), "queue", record)  # type: ignore[arg-type]
        return None

    def erase(self) -> bool | None:
        person = self.stage.someone()
        if self.stage.leaving:  # one of the two stays
            return False
        self.stage.leaving.add(person.id)
        token, begun = self.world.token(person.id), self.stage.now

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, token, services.clock)
            await erase_everything(services, user_id, token)
            self.erasures[person.id] = begun, self.stage.now

        self.stage.start(f"erase {person.name}", work, CHAT_SECONDS, settings=CHAT_SETTINGS)
        return None

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self._erased()
        yield from self._chosen()
        for key, versions in self.world.records.items():
            first = written(versions)[0]
            if first[1]["tool"] == RAISE_AUTONOMY.tool:
                yield from (f"{key[:9]} {each}" for each in self._offered(*first))
        for person in PEOPLE:
            yield from (f"{person.name}'s agent {each}" for each in self._earned(person.id))

    def _erased(self) -> Iterator[str]:
        for user_id, (begun, ended) in self.erasures.items():
            name = next(each.name for each in PEOPLE if each.id == user_id)
            erasing = [each for each in self.world.scheduler.processes if each.name.endswith(f"erase {name}")]
            # What arrived late of these may be written again afterwards.
            for collection in () if any(each.faults for each in erasing) else user_collections():
                for key, document in self.world.table(collection).items():
                    version = self.world.written_by[collection, key]
                    if user_id in repr(document) and not _is_late(version, begun):
                        yield f"{key} of {collection} is left of {name}"
            for sent in self.world.sent:
                if sent.user_id == user_id and sent.at > ended and not (sent.process and sent.process.faults):
                    yield f"{sent.act[:9]} was sent after {name} was told that everything is erased"
            for mail in self.world.aws.mails:
                if mail.at > ended and mail.to.startswith(name.lower()) and not (mail.process and mail.process.faults):
                    yield f"{name} got a mail after everything was erased"
        for collection, version in self.world.removed_by:
            process, document = version.process, version.document or {}
            if process and process.name.startswith(("erase ", "act for erase ")):
                name = process.name.removeprefix("act for ").removeprefix("erase ")
                if document.get("user_id") not in (None, f"auth0|{name.lower()}") and collection in user_collections():
                    yield f"{document['_id']} of {collection} was deleted when {name} was erased"

    def _chosen(self) -> Iterator[str]:
        """A level that was set is in force, and up to where the agent may earn more, until another choice."""
        for process, user_id, chosen in self.choosing:
            others = [each for each, whose, _ in self.choosing if whose == user_id and each is not process]
            rivals = [each for each in others if each.begun <= process.ended and not 0 <= each.ended < process.begun]
            if process.ended < 0 or process.faults or process.error or rivals or user_id in self.stage.leaving:
                continue
            [standing] = were(self._standings(user_id), process.ended, process.ended)
            for name, wanted in (("level", chosen.level), ("ceiling", chosen.ceiling or chosen.level)):
                if wanted and standing.get(name) != wanted:
                    yield f"{process.name}: its {name} is {standing.get(name)}"

    def _decisions(self, user_id: str, tool: str, at: float) -> list[Approval]:
        """Each approval of this tool as it was then, in the order of decisions."""
        found = list[Approval]()
        for versions in self.world.records.values():
            history = [document for when, document in written(versions) if when <= at]
            if history and (history[-1]["user_id"], history[-1]["tool"]) == (user_id, tool):
                found.append(Approvals.from_document(history[-1]))
        return sorted((each for each in found if each.decided_at), key=lambda each: each.decided_at or 0.0)

    def _offered(self, at: float, offer: Document) -> Iterator[str]:
        args = Approvals.from_document(offer).arguments
        [process, *_] = [each.process for each in self.world.records[offer["_id"]]]
        [before] = were(self._standings(offer["user_id"]), *[process.begun if process else at] * 2)
        ended_at = before.get("earned", {}).get(args["tool"], {}).get("ended_at") or 0.0
        days = set[int]()
        for each in self._decisions(offer["user_id"], args["tool"], at):
            is_yes = each.status in ("approved", "executing", "accepted", "done") and each.decided_by in (
                "chat",
                "queue",
            )
            if each.status in ("rejected", "revised") or each.edited or (each.undoes and each.status == "done"):
                days.clear()
            elif is_yes and each.opened and not each.undone_by and (each.decided_at or 0.0) > ended_at:
                days.add(int((each.decided_at or 0.0) // DAY))
        if len(days) < DAYS_NEEDED:
            yield f"was offered after {len(days)} days of a yes"
        ceilings = were(self._standings(offer["user_id"]), at - REQUEST_SECONDS, at)
        if all(args["level"] != each.get("ceiling", "L3") for each in ceilings):
            yield f"was offered {args['level']}, which is not the ceiling"

    def _standings(self, user_id: str) -> list[tuple[float, Document]]:
        return self.stage.states(user_settings.AUTONOMY, user_id, lambda each: each, {})

    def _earned(self, user_id: str) -> Iterator[str]:
        standings = self._standings(user_id)
        for at, standing in standings:
            for tool, grant in standing.get("earned", {}).items():
                offers = [
                    each
                    for each in self._decisions(user_id, RAISE_AUTONOMY.tool, at)
                    if each.arguments["tool"] == tool
                    and each.decided_by in ("chat", "queue")
                    and each.status in ("approved", "executing", "done")
                    and each.arguments["since"] == grant["since"]
                ]
                if not offers:
                    yield f"has earned {tool}, and nobody granted it"
        for sent in self.world.sent:
            versions = written(self.world.records[sent.act])
            now = [document for at, document in versions if at <= sent.at][-1]
            if sent.user_id != user_id or now["decided_by"] != "level":
                continue
            since = sent.process.begun if sent.process else 0.0
            if not any(self._may(each, now["tool"], since) for each in were(standings, since, sent.at)):
                yield f"did {sent.act[:9]} without asking, and has not earned it"

    def _may(self, standing: Document, tool: str, at: float) -> bool:
        """True if what this tool does may run unasked: at the person's level, or by a grant that stands."""
        if standing.get("level", "L1") == "L3":
            return True
        grant = standing.get("earned", {}).get(tool)
        if not grant or grant["ended_at"] or standing.get("ceiling", "L3") != "L3" or standing.get("level") == "L0":
            return False
        user_id = standing["user_id"]
        return not any(
            (each.status in ("rejected", "revised") or each.edited or each.undoes)
            and grant["since"] + SKEW < (each.decided_at or 0.0) < BEGINS + at - SKEW
            for each in self._decisions(user_id, tool, at)
        )


def _is_late(version: Version, begun: float) -> bool:
    """True if the writing process failed, or had begun before the erasure and ran for longer than an erasure waits; or
    if it is a slow request to stop a turn, which stores the turn's id alone."""
    process = version.process
    if process is None or process.faults or process.is_dead or process.name.startswith("stop "):
        return True
    caller = process.caller or process
    return caller.begun <= begun and not 0 <= caller.ended < begun + PATIENCE_SECONDS
