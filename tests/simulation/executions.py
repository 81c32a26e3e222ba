"""The story of executions that wait for a person by a task token: a card is published, or memories are kept."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from qwestly_agent.approvals.end import DRAFT_ENDS
from qwestly_agent.approvals.sweep import NOTIFY_SECONDS
from qwestly_agent.base.errors import AgentError, Unavailable
from qwestly_agent.container import states_of
from qwestly_agent.domain.approval import FINAL, LEFT_BEHIND_SECONDS
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, Section
from qwestly_agent.grounding.model import Quote
from qwestly_agent.stores import drafts
from qwestly_agent.stores.drafts import Draft, pipeline_id_of
from qwestly_agent.workflow_state import States, dispatch
from tests.simulation.approvals import ApprovalStory
from tests.simulation.aws import TokenAnswer, new_task_token
from tests.simulation.story import SKEW, Story, written
from tests.simulation.world import BEGINS

STATE_SECONDS, WAITS_SECONDS = 130.0, 605_700.0
"""The limits of statemachines/common.yaml."""
TRIES, LATER_SECONDS = 6, 900.0
MOST_ROUNDS = 4
GENERATE: States = states_of("generate", "writer")
Given = dict[str, Any]


@dataclass(eq=False)
class Execution:
    """One of `generate_card` from its question on, or of `extract_memories` from what was found on, as the machine runs
    it."""

    number: int
    user_id: str
    given: Given
    """The input of its states, besides the user."""
    workflow: str = "generate_card"
    states: States = field(default_factory=lambda: GENERATE, repr=False)
    tokens: list[str] = field(default_factory=list[str])
    """Task tokens, one for each attempt to ask."""
    is_waiting: bool = False
    is_stopped: bool = False
    end: str = ""
    task: "asyncio.Task[None] | None" = None

    @property
    def draft_id(self) -> str | None:
        return self.given.get("draft_id")


@dataclass
class ExecutionStory(Story):
    approvals: ApprovalStory
    executions: list[Execution] = field(default_factory=list[Execution])
    token_of: dict[str, Execution] = field(default_factory=dict[str, Execution])
    """Executions, by task token."""
    crashes: list[str] = field(default_factory=list[str])

    @property
    def acts(self) -> tuple[tuple[int, Callable[[], bool | None]], ...]:
        return ((3, self.draft_card), (1, self.draft_and_decide), (1, self.ask_again), (1, self.stop))

    # --- what happens ---

    def draft_card(self) -> None:
        """A card was drafted: its execution asks to publish it."""
        person, where, number = self.stage.someone(), self.stage.somewhere(), len(self.executions) + 1
        draft_id = f"draft-{number}"
        execution = Execution(number, person.id, {"draft_id": draft_id, "run_id": pipeline_id_of(draft_id)})
        self.begin(execution, partial(self._run, execution, where))

    def draft_and_decide(self) -> None:
        """A card was drafted, and its person, who looks at the queue, decides as soon as it is there."""
        self.draft_card()
        verb = self.choices.one(("approve", "approve", "reject"))
        gap = self.choices.one((0.005, 0.02, 0.1))
        draft_id = self.executions[-1].draft_id

        async def run() -> None:
            for _ in range(50):
                await asyncio.sleep(gap)
                asked = [each for each in self.world.approvals if each.draft_id == draft_id]
                if asked:
                    self.approvals.decide_on(asked[0], verb, "queue", asked[0])
                    return

        self.stage.go_on(run())

    def begin(self, execution: Execution, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def run() -> None:
            try:
                await work()
            except Exception as error:
                self.crashes.append(f"execution {execution.number} raised {error!r}")

        self.executions.append(execution)
        execution.task = asyncio.get_running_loop().create_task(run())

    def ask_again(self) -> None:
        """A waiting state is delivered once more, with the same token."""
        waiting = [each for each in self.executions if each.is_waiting]
        if waiting:
            execution = self.choices.one(waiting)
            given = {**execution.given, "revises": None, "task_token": execution.tokens[-1]}
            self._state("ask_approval", execution, given)

    def stop(self) -> bool | None:
        """An operator stops an execution that waits, so that nobody waits for its answer."""
        if not (waiting := [each for each in self.executions if each.is_waiting and each.task]):
            return False
        execution = self.choices.one(waiting)
        execution.is_waiting, execution.is_stopped = False, True
        for each in execution.tokens:
            self.world.aws.waiting.pop(each, None)
        self.world.scheduler.note(f"execution {execution.number} is stopped")
        assert execution.task
        execution.task.cancel()
        return None

    async def _run(self, execution: Execution, where: str) -> None:
        await self._finished(
            "draft", execution, partial(_draft, execution=execution, where=where, name=self._name(execution))
        )
        revises: str | None = None
        for _ in range(MOST_ROUNDS):
            answered = await self.ask(execution, revises)
            if isinstance(answered, str):
                return await self._note_end(execution, answered)
            given = {**execution.given, **answered, "round": 1, "revises": revises}
            read = await self.until_done("read_decision", execution, given)
            if isinstance(read, str):
                return await self._note_end(execution, read)
            execution.end = read["decision"]
            revises = read["revises"]
            if read["decision"] == "revised":
                await self._finished(
                    "draft",
                    execution,
                    partial(_redraft, execution=execution, round=read["round"], name=self._name(execution)),
                )
                continue
            if read["decision"] != "approved":
                return None
            published = await self.until_done("publish", execution, read, tries=20)
            if isinstance(published, str):
                return await self._note_end(execution, published)
            execution.end = published["outcome"]
            if published["outcome"] != "changed":
                return None
            revises = published["revises"]
        return None

    async def _note_end(self, execution: Execution, error: str) -> None:
        execution.end = error
        given = {**execution.given, "error": {"Error": error}}
        await self.until_done("note_end", execution, given, tries=20)

    async def ask(self, execution: Execution, revises: str | None) -> Given | str:
        """Wait for the answer; empty at the time limit, or the error that ends the execution."""
        answered: asyncio.Future[Given] = asyncio.get_running_loop().create_future()

        def attempt() -> Given:
            token = new_task_token(len(self.token_of) + 1)
            self.token_of[token] = execution
            self.world.aws.waiting[token] = lambda given: None if answered.done() else answered.set_result(given)
            execution.tokens.append(token)
            return {**execution.given, "revises": revises, "task_token": token}

        while True:
            execution.is_waiting = True
            asked = await self.until_done("ask_approval", execution, attempt, or_until=answered)
            if isinstance(asked, str):
                execution.is_waiting = False
                if asked != Unavailable.__name__:
                    return asked
                await asyncio.sleep(LATER_SECONDS)
                continue
            try:
                return {"decided": await asyncio.wait_for(answered, WAITS_SECONDS)}
            except TimeoutError:
                self.world.aws.waiting.pop(execution.tokens[-1], None)
                return {}
            finally:
                execution.is_waiting = self.world.scheduler.is_over  # else it goes on

    async def until_done(
        self,
        state: str,
        execution: Execution,
        given: Given | Callable[[], Given],
        tries: int = TRIES,
        or_until: "asyncio.Future[Given] | None" = None,
        note: Callable[[Any], None] = lambda _: None,
    ) -> Given | str:
        """What the state returned, or the name of its error; repeated while it could not be reached or died. `given`
        makes the input of each attempt that has a token of its own, as the token of a failed attempt is void. `note`
        is called with each process."""
        error = ""
        for number in range(tries):
            process = self._state(state, execution, given() if callable(given) else given)
            note(process)
            both = [process.over, *([or_until] if or_until else [])]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if process.result is not None or (or_until and or_until.done()):
                return process.result or {}
            if callable(given):
                self.world.aws.waiting.pop(execution.tokens[-1], None)
            error = type(process.error).__name__ if process.error else Unavailable.__name__
            if isinstance(process.error, AgentError) and error not in (Unavailable.__name__, "OutcomeUnknown"):
                return error
            await asyncio.sleep(min(2.0 * 2**number, 300.0))
        return error

    def _state(self, state: str, execution: Execution, given: Given) -> Any:
        event = {"workflow": execution.workflow, "state": state, "given": {"user_id": execution.user_id, **given}}

        async def run(services: Any) -> Given:
            return await dispatch(execution.states, event, None)(services)

        return self.found(state, execution, run)

    def found(self, name: str, execution: Execution, work: Callable[[Any], Any]) -> Any:
        [process] = self.stage.start(f"{name} of execution {execution.number}", work, STATE_SECONDS)
        return process

    async def _finished(self, name: str, execution: Execution, work: Callable[[Any], Any]) -> None:
        for _ in range(TRIES):
            if execution.user_id in self.stage.leaving:  # the brake of the erasure stops what drafts
                return
            process = self.found(name, execution, work)
            await process.over
            if not (process.is_dead or process.error):
                return
            await asyncio.sleep(5.0)

    def _name(self, execution: Execution) -> str:
        return next(each.name for each in self.world.people if each.id == execution.user_id)

    # --- what must hold ---

    def check(self) -> Iterator[str]:
        yield from self.crashes
        answers = self.world.aws.answers
        for token in {each.token for each in answers}:
            yield from self._answered(token, [each for each in answers if each.token == token])
        for execution in self.executions:
            yield from (f"execution {execution.number} {each}" for each in self._ended(execution))

    def _answered(self, token: str, answers: list[TokenAnswer]) -> Iterator[str]:
        if token not in self.token_of:
            yield "a token was answered that no execution has"
            return
        execution = self.token_of[token]
        for each in (each for each in answers if each.is_accepted):
            versions = written(self.world.records.get(each.output["approval_id"], []))
            if not versions:
                yield f"execution {execution.number} was told of an approval that never was"
                continue
            now = [document for at, document in versions if at <= each.at][-1]
            if now["user_id"] != execution.user_id or now["draft_id"] != execution.draft_id:
                yield f"execution {execution.number} was told of another's approval"
            if now["status"] == "pending":
                yield f"execution {execution.number} was told although nobody had decided"
            if each.output["status"] not in {document["status"] for _, document in versions}:
                yield f"execution {execution.number} was told {each.output['status']}, which it never was"
        accepted = [each.output["approval_id"] for each in answers if each.is_accepted]
        if len(accepted) > 1:
            yield f"the token of execution {execution.number} was accepted {len(accepted)} times"
        for each in answers:
            begun = each.process.begun if each.process else 0.0
            versions = written(self.world.records.get(each.output["approval_id"], []))
            then = [document for at, document in versions if at < begun][-1:]
            if then and then[0]["told_execution"] and not self._is_asked_again(execution, begun):
                yield f"execution {execution.number} was told again after that was noted"

    def _is_asked_again(self, execution: Execution, at: float) -> bool:
        """True if a state that asks was delivered anew since, which makes its record wait again."""
        name = f"ask_approval of execution {execution.number}"
        return any((each.name == name and each.ended < 0) or each.ended > at for each in self.world.scheduler.processes)

    def _ended(self, execution: Execution) -> Iterator[str]:
        records = [each for each in self.world.approvals if each.run_id == execution.given["run_id"]]
        if execution.is_waiting and records and all(each.status in FINAL for each in records):
            newest = max(records, key=lambda each: each.created_at)
            ended = newest.updated_at - BEGINS
            # Later ones give up, and the execution reads the record at its own time limit.
            is_swept = self.stage.has_swept(ended + LEFT_BEHIND_SECONDS + SKEW, ended + NOTIFY_SECONDS - SKEW)
            if is_swept and not any(each.process and each.process.faults for each in self.world.aws.answers):
                yield f"still waits, and its approval is {newest.status} since {ended:.0f}"
        if execution.draft_id is None:
            return
        effects = [each for each in self.world.effects if each.after["cards"].get(execution.draft_id)]
        mine = [each for each in effects if not each.before["cards"].get(execution.draft_id)]
        draft = self.world.table(drafts.COLLECTION).get(execution.draft_id)
        said_yes = [
            key
            for key, versions in self.world.records.items()
            for at, document in written(versions)
            if document["draft_id"] == execution.draft_id and document["status"] == "approved"
        ]
        if mine and not said_yes:
            yield "published what nobody approved"
        if draft is None:
            return
        newest = max(records, key=lambda each: each.created_at, default=None)
        left = DRAFT_ENDS.get(newest.status) if newest and newest.status == execution.end else None
        if left and draft["status"] != left[0] and not self.tasks_are_left:
            yield f"was {execution.end}, and its draft is {draft['status']}"
        left = DRAFT_ENDS.get(newest.status) if newest and newest.told_execution and execution.is_stopped else None
        is_told = any(each.is_accepted and each.token in execution.tokens for each in self.world.aws.answers)
        if left and draft["status"] != left[0] and not is_told:
            yield f"was stopped, and its draft is {draft['status']} although its question has ended"
        if draft["status"] == "published" and not mine:
            yield "says that it is published, and it is not"
        if mine and draft["status"] not in ("published", "running", "failed") and not self.tasks_are_left:
            yield f"published it, and its draft is {draft['status']}"

    @property
    def tasks_are_left(self) -> bool:
        return not all(each.task and each.task.done() for each in self.executions)


TEXTS = ("Led a team of five at Acme", "Built the payments of Acme", "Taught at Acme")


async def _draft(services: Any, execution: Execution, where: str, name: str) -> None:
    now = services.clock()
    draft = Draft(
        id=execution.given["draft_id"],
        user_id=execution.user_id,
        run_id=execution.given["run_id"],
        conversation_id=where,
        style="standard",
        label="Checking",
        created_at=now,
        updated_at=now,
        parts={"plan": ["experience"], **_parts(execution.number, 1, name)},
    )
    await services.drafts.add(draft)


def _parts(number: int, round: int, name: str) -> dict[str, Any]:
    text = f"{TEXTS[round % len(TEXTS)]}, says card {number} of {name} in round {round}."
    source = Evidence(id="document:1", kind="document", trust="user_document", text=text, source="résumé.pdf")
    claim = Claim(text=text, quotes=(Quote(source="document:1", text=text),))
    section = Section(kind="experience", heading="Experience", claims=(claim,))
    checked = CheckedCard(card=Card(style="standard", headline=None, sections=(section,)), left_out=())
    card = {"round": round, "checked": checked.model_dump(mode="json")}
    return {"card": card, "evidence": [source.model_dump(mode="json")]}


async def _redraft(services: Any, execution: Execution, round: int, name: str) -> None:
    parts = _parts(execution.number, round, name)
    await services.drafts.save_parts(execution.user_id, execution.given["draft_id"], **parts)
