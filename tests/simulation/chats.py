"""The story of chats: turns in two tabs, typed answers, posted decisions, limits, and deleted conversations."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pydantic_ai.exceptions import RunCancelled

from qwestly_agent.approvals.act import USE_THE_CARD, VERBS
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.end import outcome_line
from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.conversations import delete_conversation, stop_turn
from qwestly_agent.chat.run_turn import run_turn
from qwestly_agent.chat.turn_approvals import Caller
from qwestly_agent.chat.turn_request import PostedDecision, TurnRequest
from qwestly_agent.chat.turn_store import TurnStore
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.domain.approval import FINAL, Approval, DecidedBy
from qwestly_agent.stores import messages
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.plain_words import answer_in
from tests.simulation.agent import AnyPlan, Fails, PromptSeen, Slow
from tests.simulation.approvals import ApprovalStory
from tests.simulation.database import Document
from tests.simulation.scheduler import Process
from tests.simulation.story import CHAT_SECONDS, REQUEST_SECONDS, SKEW, Decided, Story, written
from tests.simulation.world import CONVERSATIONS, Person

TYPED = ("yes", "yes", "yes", "no", "Yes, please", "Tell me more", "no")
DAY = 86_400.0
STOPS_WITHIN = 15.0
"""Seconds: the signals are read twice a second, and the database may be slow."""


@dataclass
class Tab:
    """A page that shows a conversation."""

    person: Person
    where: str
    shown: str | None = None
    """The id of the last answer that it showed to its end."""


@dataclass(frozen=True)
class Typed:
    """A message that was sent from a tab, and the answer that the tab showed last."""

    at: float
    tab: Tab
    text: str
    named: str | None
    asked_about: str | None
    """The one approval that the answer asked about, if nothing came after it."""
    process: Any


@dataclass
class ChatStory(Story):
    approvals: ApprovalStory
    tabs: dict[tuple[str, str, int], Tab] = field(default_factory=dict[tuple[str, str, int], Tab])
    typed: list[Typed] = field(default_factory=list[Typed])
    deleted: dict[tuple[str, str], tuple[float, float]] = field(
        default_factory=dict[tuple[str, str], tuple[float, float]]
    )
    """Start and end of each deletion, by user and conversation."""
    stops: list[tuple[Tab, float]] = field(default_factory=list[tuple[Tab, float]])
    """Where a turn was to be stopped, and when."""
    stopped: list[tuple[Process[bool], float]] = field(default_factory=list[tuple[Process[bool], float]])
    """Which turn ran there, and when the person was told that it is being stopped."""
    said: int = 0

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return (
            (3, self.ask_for_change),
            (6, self.answer),
            (2, self.post_decision),
            (2, self.talk),
            (1, self.regenerate),
            (1, self.delete),
            (2, self.ask_and_delete),
            (1, self.order_at_once),
            (1, self.stop),
            (1, self.fail),
        )

    # --- what happens ---

    def tab(self, person: Person | None = None) -> Tab:
        person, where, number = person or self.stage.someone(), self.stage.somewhere(), self.choices.number(2)
        return self.tabs.setdefault((person.id, where, number), Tab(person, where))

    def say(
        self,
        tab: Tab,
        text: str,
        plan: AnyPlan = None,
        *,
        decisions: tuple[PostedDecision, ...] = (),
        regenerate: bool = False,
        is_noted: bool = True,
        times: int = 1,
    ) -> list[Process[bool]]:
        """A turn, as the route of the chat plays it."""
        self.said += 1
        token = self.world.token(tab.person.id)
        request = TurnRequest(
            protocol="ai_sdk",
            conversation_id=tab.where,
            text=None if regenerate else text,
            message_id=None if regenerate else f"m-{self.said}",
            likely_new=False,
            regenerate=regenerate,
            decisions=decisions,
            answers=tab.shown,
        )
        asked_about = self._asked_about(tab)

        async def work(services: Any) -> bool:
            user_id = await user_of_token(services.secrets, token, services.clock)
            process = self.world.scheduler.running
            self.typed.append(Typed(self.stage.now, tab, text, request.answers, asked_about, process))
            for each in decisions if is_noted else ():
                record = next(record for record in self.world.approvals if record.id == each.approval_id)
                self._note(record, "chat", each)
            caller = Caller(token, "192.0.2.1")
            turn = await TurnStore(services).open(user_id, request, services.clock() + 240, caller)
            with suppress(RunCancelled):
                async for _ in run_turn(services, turn):
                    pass
            tab.shown = turn.answer_id
            return True

        name = f"turn of {tab.person.name} in the {tab.where}: {text}"
        return self.stage.start(name, work, CHAT_SECONDS, times, self.world.chat_settings, plan)

    def _note(self, record: Approval, by: DecidedBy, posted: PostedDecision) -> None:
        digest = posted.args_digest or record.args_digest
        decision = Decision(decision=posted.verb, args_digest=digest, args=posted.args)
        self.stage.decided.setdefault(record.id, []).append(Decided(self.stage.now, by, decision))

    def talk(self) -> None:
        tab = self.tab()
        self.say(tab, f"Hello from {tab.person.name} {self.said}", times=self.stage.times())

    def ask_for_change(self, tab: Tab | None = None, kind: int | None = None) -> None:
        tab = tab or self.tab()
        kind = self.choices.number(4) if kind is None else kind
        proposal, message = self.approvals.new_proposal(tab.person, kind)

        proposals, words, many = [proposal], message, self.choices.number(8)
        if many == 1:  # two at once
            also, more = self.approvals.new_proposal(tab.person, self.choices.number(2))
            proposals, words = [proposal, also], f"{message}. {more}."
        elif many == 2:  # one, twice
            proposals = [proposal, proposal]

        async def propose(_: Any) -> Any:
            return proposals

        self.say(tab, words, propose, times=self.stage.times())

    def answer(self) -> bool | None:
        tabs = [each for each in self.tabs.values() if each.shown and each.person.id not in self.stage.leaving]
        if not tabs:
            return False
        tab = self.choices.one([each for each in tabs if self._asked_about(each)] or tabs)
        if self.choices.number(3) == 1:  # in the other tab, which may have shown something else last, or nothing
            others = [each for each in self.tabs.values() if (each.person, each.where) == (tab.person, tab.where)]
            tab = next((each for each in others if each is not tab), Tab(tab.person, tab.where))
        self.say(tab, self.choices.one(TYPED))
        return None

    def post_decision(self) -> bool | None:
        """Decide with a card's buttons and the next message, sometimes of another conversation."""
        pending = [
            each
            for each in self.world.approvals
            if each.status == "pending" and each.conversation_id and each.user_id not in self.stage.leaving
        ]
        if not pending:
            return False
        record = self.choices.one(pending)
        tab = self.tab()
        verb = self.choices.one(("approve", "approve", "reject"))
        posted = PostedDecision(record.id, verb, record.args_digest)
        if (tab.person.id, tab.where) != (record.user_id, record.conversation_id) and self.choices.number(4):
            tab = self.tabs.setdefault((record.user_id, record.conversation_id or "", 0), self._tab_of(record))
        if (tab.person.id, tab.where) == (record.user_id, record.conversation_id):
            self.say(tab, f"I decide {self.said}", decisions=(posted,))
        else:
            self._post_elsewhere(tab, posted)
        return None

    def _tab_of(self, record: Approval) -> Tab:
        person = next(each for each in self.world.people if each.id == record.user_id)
        return Tab(person, record.conversation_id or "")

    def _post_elsewhere(self, tab: Tab, posted: PostedDecision) -> None:
        """Decide in another conversation, where it may not count and is not recorded."""
        self.say(tab, f"I decide {self.said}", decisions=(posted,), is_noted=False)

    def regenerate(self) -> bool | None:
        tabs = [each for each in self.tabs.values() if each.shown and each.person.id not in self.stage.leaving]
        if not tabs:
            return False
        self.say(self.choices.one(tabs), "(again)", regenerate=True)
        return None

    def stop(self) -> None:
        """Somebody stops an answer that takes its time, or perhaps one that has ended by then."""
        tab, seconds = self.tab(), self.choices.one((30.0, 30.0, 1.0))
        gap = self.choices.one((0.1, 0.5, 2.0, 12.0))
        [turn] = self.say(tab, f"Tell {tab.person.name} a long story {self.said}", Slow(seconds))

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, self.world.token(tab.person.id), services.clock)
            self.stops.append((tab, self.stage.now))
            if (await stop_turn(tab.where, services, user_id)).stopping:
                self.stopped.append((turn, self.stage.now))

        async def run() -> None:
            await asyncio.sleep(gap)
            name = f"stop {tab.person.name}'s turn in the {tab.where}"
            self.stage.start(name, work, REQUEST_SECONDS, settings=self.world.chat_settings)

        self.stage.go_on(run())

    def fail(self) -> None:
        """The model breaks off an answer."""
        self.say(self.tab(), f"Tell me what fails {self.said}", Fails())

    def order_at_once(self) -> None:
        """Somebody orders changes of the same in several tabs at nearly the same moment."""
        tab = self.tab()
        tabs = [Tab(tab.person, where) for where in (*CONVERSATIONS, f"noon {self.said}")]
        for each in tabs[: 2 + self.choices.number(2)]:
            self.ask_for_change(each, self.choices.number(2))

    def ask_and_delete(self) -> None:
        """Propose something, and delete the conversation at that moment."""
        tab = self.tab()
        self.stage.rivals(lambda: self.ask_for_change(tab), lambda: self.delete(tab))

    def delete(self, tab: Tab | None = None) -> bool | None:
        if not (tabs := [*self.tabs.values()]):
            return False
        tab = tab or self.choices.one(tabs)

        async def work(services: Any) -> None:
            user_id = await user_of_token(services.secrets, self.world.token(tab.person.id), services.clock)
            begun = self.stage.now
            with suppress(NotFound):  # an earlier request may have deleted it, and died before the rest
                await delete_conversation(tab.where, services, user_id)
            self.deleted[user_id, tab.where] = begun, self.stage.now

        name = deletion_of(tab.person.name, tab.where)

        async def run() -> None:
            for _ in range(2):  # whoever sees it fail asks again
                [process] = self.stage.start(name, work, REQUEST_SECONDS, settings=self.world.chat_settings)
                await process.over
                if not (process.is_dead or process.error):
                    return
                await asyncio.sleep(3.0)

        self.stage.go_on(run())
        return None

    def farewell(self) -> list[tuple[Person, Any]]:
        """Let each user talk once more at the end."""
        said = []
        for person in self.world.people:
            tab = Tab(person, "farewell")
            said.append((person, self.say(tab, f"Farewell {self.said}")[0]))
        return said

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        for key, versions in self.world.records.items():
            history = written(versions)
            decided = next((each for each in history if each[1]["decided_by"] == "words"), None)
            if decided and not self._was_typed(history[0][1], *decided):
                yield f"{key[:9]} was decided by words that nobody typed there"
        yield from self._answered()
        yield from self._reported()
        yield from self._unasked()
        yield from self._stopped()
        for prompt in self.world.prompts:
            for each in self.world.people:
                if each.id != prompt.user_id and each.name in prompt.text:
                    yield f"{each.name} is named in a prompt of somebody else"

    def _was_typed(self, first: Document, at: float, document: Document) -> bool:
        verb = {"approved": "approve", "rejected": "reject"}.get(document["status"])
        for typed in self.typed:
            here = typed.tab.person.id == first["user_id"] and typed.tab.where == first["conversation_id"]
            said = answer_in(typed.text)
            if here and typed.at <= at and said and VERBS[said] == verb and first["effect"] == "write":
                for when in (at, typed.at):  # it may be deleted meanwhile
                    last = self._last_answer(first["user_id"], first["conversation_id"], when)
                    asks_more = last is not None and last["content"].count("?") > 1
                    if last and last["id"] == typed.named and last["asks_about"] == first["_id"] and not asks_more:
                        return True
        return False

    def _last_answer(self, user_id: str, where: str, at: float) -> Document | None:
        found = list[Document]()
        for versions in self.world.versions[messages.COLLECTION].values():
            now = [each for each in versions if each.at <= at]
            if now and (document := now[-1].document) and document["role"] == "assistant":
                is_here = (document["user_id"], document["conversation_id"]) == (user_id, where)
                found += [document] if is_here and document["content"] != USE_THE_CARD else []
        return max(found, key=lambda each: each["seq"], default=None)

    def _asked_about(self, tab: Tab) -> str | None:
        """The approval that a yes in this tab decides: it is the only one that waits, and the last answer asks it."""
        last = self._last_answer(tab.person.id, tab.where, self.stage.now)
        waiting = [
            each.id
            for each in self.world.approvals
            if each.conversation_id == tab.where and each.user_id == tab.person.id and each.waits(self.world.time)
        ]
        is_asked = last and last["id"] == tab.shown and [last["asks_about"]] == waiting
        return waiting[0] if is_asked else None

    def _answered(self) -> Iterator[str]:
        for each in self.typed:
            said = answer_in(each.text)
            if not (said and each.asked_about and each.process.result and not each.process.faults):
                continue
            begun, ended = each.process.begun, each.process.ended
            versions = written(self.world.records[each.asked_about])
            others = [
                other
                for other in self.world.scheduler.processes
                if other is not each.process
                and other.begun < ended
                and not (0 <= other.ended < begun)
                and not other.name.startswith("act for turn")
                and any(named in other.name for named in (each.tab.person.name, each.asked_about[:9], "everybody"))
            ]
            then = [document["status"] for at, document in versions if at <= ended]
            if not others and then[-1:] == ["pending"]:
                yield f"{each.asked_about[:9]} was answered with {said}, and still waits"

    def _reported(self) -> Iterator[str]:
        """Each outcome is reported to the model exactly once."""
        lines: dict[str, str] = {}
        for key, versions in self.world.records.items():
            if not any(each.document and each.document["news"] for each in versions):
                continue
            of_status: dict[str, set[str]] = {}
            for _, document in written(versions):
                line = quoted(outcome_line(Approvals.from_document(document)))
                of_status.setdefault(document["status"], set()).add(line)
            lines |= {line: key for status, each in of_status.items() for line in each if status in FINAL}
            for (_, before, _), (_, after, process) in pairwise(versions):
                if not (before and after and before["news"] and not after["news"]):
                    continue
                if before["status"] == after["status"] and before["decided_by"] != "level":
                    asked = "".join(each.asked for each in self.world.prompts if each.process is process)
                    if not any(line in asked for line in of_status[before["status"]]):
                        yield f"{key[:9]} counts as reported as {before['status']}, and no prompt named it"
        for line, key in lines.items():
            told = [each for each in self.world.prompts if line in each.asked and "(again)" not in each.process.name]
            for earlier, later in pairwise(told):
                if is_whole(earlier) and earlier.process.result and later.process.begun > earlier.process.ended:
                    yield f"{key[:9]} was reported twice: {line}"

        yield from self._reported_again(lines)

    def _reported_again(self, lines: Mapping[str, str]) -> Iterator[str]:
        """An answer that is made again is told what the first one was told."""
        of_place: dict[str, PromptSeen] = {}
        for each in self.world.prompts:
            place, _, said = each.process.name.partition(": ")
            before = of_place.get(place)
            is_same = before and before.asked.rpartition("\n\n")[2] == each.asked.rpartition("\n\n")[2]
            if said == "(again)" and before and is_same and is_whole(before) and before.process.result:
                for line in lines:
                    if line in before.asked and line not in each.asked:
                        yield f"{lines[line][:9]} was reported, and the answer made again was not told: {line}"
            of_place[place] = each

    def _stopped(self) -> Iterator[str]:
        """A turn is stopped only by its user, and soon."""
        for key, versions in self.world.versions[messages.COLLECTION].items():
            for at, document in written(versions):
                here = document["user_id"], document["conversation_id"]
                stops = [when for tab, when in self.stops if (tab.person.id, tab.where) == here]
                if document.get("status") == "stopped" and not any(when <= at for when in stops):
                    yield f"{key} was stopped by nobody"
        for turn, at in self.stopped:
            is_own = turn.begun < at and not (turn.is_dead or turn.faults or turn.error)
            if is_own and turn.ended > at + STOPS_WITHIN:
                yield f"a turn went on for {turn.ended - at:.0f} s after it was stopped"

    def _unasked(self) -> Iterator[str]:
        """A turn changes one thing without asking, and no tool more in a day than its limit."""
        done = [each for each in self.world.approvals if each.decided_by == "level"]
        for run_id, number in Counter((each.user_id, each.run_id) for each in done).items():
            if number > 1:
                yield f"{run_id[1]} changed {number} things without asking"
        for last in done:
            until = last.decided_at or 0.0
            same = [each for each in done if (each.user_id, each.tool) == (last.user_id, last.tool)]
            today = [each for each in same if until - DAY + SKEW < (each.decided_at or 0.0) <= until]
            if len(today) > self.world.actions[last.tool].most_unasked_a_day:
                yield f"{last.tool} ran {len(today)} times in a day without asking"


def deletion_of(name: str, where: str) -> str:
    """The name of the process that deletes somebody's conversation."""
    return f"delete {name}'s conversation of the {where}"


def is_whole(turn: PromptSeen) -> bool:
    """True if the turn ended by itself, and nothing of it went wrong."""
    return turn.process.ended >= 0 and not turn.process.faults
