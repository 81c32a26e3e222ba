"""Code shared by all workflow states: the brake, safe errors, log fields, and dispatch.

A state may run twice with the same input, so its writes are idempotent: either their ids are derived from the input, or
they are a compare-and-set.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from inspect import CORO_CREATED, getcoroutinestate
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

from aws_lambda_powertools import Logger
from pydantic import BaseModel, ConfigDict, Field
from pymongo.errors import PyMongoError

from qwestly_agent.approvals.end import expire
from qwestly_agent.approvals.pause import named_run, run_unless_paused
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError, Internal, NotFound, OverBudget, StageOverBudget, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.traces import child_span
from qwestly_agent.domain.approval import Approval
from qwestly_agent.platform.work import Work
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.usage import WORKFLOWS_UP_TO

if TYPE_CHECKING:
    from qwestly_agent.approvals.ask_for_workflow import MakeRequest

OVER_BUDGET = (OverBudget.__name__, StageOverBudget.__name__)
"""Errors that do not fail the execution, because nothing is broken: only the daily budget is spent."""


def messages_by_error(later: str) -> dict[str, str]:
    """Return the messages for a user whose execution failed, by the type of the error. `later` tells the user what to
    do: "Please ask for it again later."."""
    return {
        "Braked": "Stopped when you paused",
        OverBudget.__name__: OverBudget.sentence,
        StageOverBudget.__name__: StageOverBudget.sentence,
        "ModelUnavailable": f"Our AI couldn’t be reached. {later}",
        "DeadlineExceeded": f"Our AI took too long. {later}",
        "ModelRefused": "We’re fixing a problem on our side.",
    }


class UnknownState(Exception):
    """The function has no state with this name, because the state machine and the function are from different
    deployments."""


class OutcomeUnknown(AgentError):
    code, http_status = "outcome_unknown", 503
    sentence = "We’re checking whether this went through."


class WorkflowState(BaseModel):
    """The input and output of a state."""

    # An execution may have started before the last deployment, so its input may have more or fewer fields.
    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str = ""

    @property
    def out(self) -> dict[str, Any]:
        """All fields as JSON types. The state machine may refer to any of them."""
        return self.model_dump(mode="json")

    @property
    def labels(self) -> dict[str, str]:
        """Fields added to each log line."""
        return {"run_id": self.run_id}


class UserState(WorkflowState):
    """The input and output of a state that runs for one user. It does not run while the user's brake is on."""

    user_id: str

    @property
    def run_name(self) -> str:
        """The name of the run in the brake's receipt."""
        return self.run_id


class TokenAnswer(BaseModel):
    """The output that is sent with a task token."""

    approval_id: str | None = None


class CaughtError(BaseModel):
    """The error that a Catch adds to the input of the failed state."""

    kind: str = Field(default="", alias="Error")


End: TypeAlias = Literal["failed", "stopped", "drafted", "unreadable", "over_budget"]


class EndingState(UserState):
    """Input and output of the workflow state that records how the workflow ended."""

    end: End | None = None
    """The state machine branches on this; an execution that ends as `failed` raises an alarm."""
    error: CaughtError | None = Field(default=None, exclude=True)

    @property
    def error_kind(self) -> str:
        return self.error.kind if self.error else ""

    def ended(self, end: End) -> Self:
        """Return this state's output with the given end."""
        return self.model_copy(update={"end": "over_budget" if self.error_kind in OVER_BUDGET else end})


class WorkState(EndingState):
    """Input and output of a state that processes a record of work. The record's id is in the field `<subject>_id`."""

    subject: ClassVar[str]
    later: ClassVar[str]
    """What the user can do after a transient error: "Please ask for it again later."."""
    messages: ClassVar[Mapping[str, str]] = {}
    """Messages to the user for other errors, by type."""

    @property
    def record_id(self) -> str:
        return getattr(self, f"{self.subject}_id")

    @property
    def run_name(self) -> str:
        return f"{self.subject}-{self.record_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, f"{self.subject}_id": self.record_id}

    def message(self, otherwise: str) -> str:
        """Return the message to the user about the error."""
        return {**messages_by_error(self.later), **self.messages}.get(self.error_kind, otherwise)

    def known_end(self) -> tuple[End, str] | None:
        """Return the end and its message to the user if more is known than the error's type."""
        return None


S = TypeVar("S", bound=Services)
M = TypeVar("M", bound=WorkflowState)
T = TypeVar("T")


@dataclass(frozen=True)
class StateFunction(Generic[S, M]):
    """A workflow state, with the same name as in the state machine."""

    work: Callable[[S, M], Coroutine[Any, Any, M]]
    model: type[M]
    ignores_brake: bool

    @property
    def name(self) -> str:
        return self.work.__name__

    async def __call__(self, services: S, given: M) -> M:
        """Run the state. Errors other than `AgentError`s are converted to them, because they may quote user text, and
        Step Functions stores errors in the execution's history."""
        work = self.work(services, given)
        if not self.ignores_brake:
            assert isinstance(given, UserState)
            work = _stoppable(services, given, work)
        return await _sanitize_errors(services.logger, work, given.labels)


def state(
    model: type[M], *, ignores_brake: bool = False
) -> Callable[[Callable[[S, M], Coroutine[Any, Any, M]]], StateFunction[S, M]]:
    """Return a decorator that turns a function into a state. With `ignores_brake`, the state runs even if the brake is
    on."""
    return lambda work: StateFunction(work, model, ignores_brake)


W = TypeVar("W", bound=WorkState)


def note_end_of(work: str, model: type[W]) -> StateFunction[Services, W]:
    """Return the state that records why the work failed or was stopped. `work` is the name of its store in
    `Services`."""

    async def note_end(services: Services, given: W) -> W:
        """Record the end. Also runs under the brake, since nothing else would record that the work was stopped."""
        store: Work[Any] = getattr(services, work)
        end: End = "stopped" if given.error_kind in ("Braked", "NotFound") else "failed"
        end, label = given.known_end() or (end, given.message(store.try_again))
        with suppress(NotFound):  # the user deleted it meanwhile
            status = "stopped" if end == "stopped" else "failed"
            await store.move(given.user_id, given.record_id, services.clock(), status, label)
        return given.ended(end)

    return state(model, ignores_brake=True)(note_end)


class AskingState(WorkflowState):
    """Input and output of the state in which an execution waits for an approval. The input contains whatever the
    workflow's request needs; Step Functions ignores the output, because the task token ends the wait."""

    model_config = ConfigDict(extra="allow")

    user_id: str
    task_token: str = Field(exclude=True)
    approval_id: str = ""
    status: str = ""


def ask_approval_by(make_request: "MakeRequest") -> StateFunction[Services, AskingState]:
    """Return the state that requests an approval for the waiting execution."""

    async def ask_approval(services: Services, given: AskingState) -> AskingState:
        """Request the approval. It checks the brake itself, because the request is repeated for days."""
        from qwestly_agent.approvals.ask_for_workflow import request_approval

        asked = {**given.model_dump(), "task_token": given.task_token}
        approval = await request_approval(services, asked, make_request)
        return given.model_copy(update={"approval_id": approval.id, "status": approval.status})

    return state(AskingState, ignores_brake=True)(ask_approval)


class Invocation(BaseModel):
    """The event that a state machine or a schedule sends to a function."""

    workflow: str = ""
    """Empty for executions that began before version 0.8, whose function has the states of one workflow."""
    state: str
    given: dict[str, Any]


States: TypeAlias = Mapping[tuple[str, str], StateFunction[Any, Any]]
"""A function's states, by workflow and name."""


def dispatch(states: States, event: dict[str, Any], context: object) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """Return a function that takes the services and runs the state named in the event. Raises `UnknownState`."""
    invocation = Invocation.model_validate(event)
    function = _find(states, invocation)
    given = function.model.model_validate(invocation.given)

    async def work(services: Any) -> dict[str, Any]:
        services.logger.thread_safe_append_keys(request_id=getattr(context, "aws_request_id", None))
        with child_span(services.traces, function.name, given.run_id):
            return (await function(services, given)).out

    return work


def _find(states: States, invocation: Invocation) -> StateFunction[Any, Any]:
    found = [
        each
        for (workflow, name), each in states.items()
        if name == invocation.state and invocation.workflow in ("", workflow)
    ]
    if len(found) != 1:
        there = ", ".join(map(".".join, states))
        raise UnknownState(f"There is no state {invocation.state!r} of {invocation.workflow!r} here, only {there}.")
    return found[0]


def dispatch_within_day(
    states: States, event: dict[str, Any], context: object
) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """Like `dispatch`, for states that call models. The returned function raises `StageOverBudget` once most of the
    stage's daily budget is spent; the state machine then waits and retries."""
    dispatched = dispatch(states, event, context)

    async def work(services: Any) -> dict[str, Any]:
        await _sanitize_errors(services.logger, services.stage_day.check(services.clock(), WORKFLOWS_UP_TO), {})
        return await dispatched(services)

    return work


async def expire_if_pending(approvals: Approvals, clock: Clock, user_id: str, approval_id: str) -> Approval:
    """Expire the approval if it is still pending, and return the current record. Raises `NotFound`."""
    approval = await approvals.get(user_id, approval_id)
    return await expire(approvals, approval, clock()) or await approvals.get(user_id, approval_id)


async def _stoppable(services: Services, given: UserState, work: Coroutine[Any, Any, T]) -> T:
    try:
        async with named_run(services.runs, given.user_id, given.run_name, services.clock):
            return await run_unless_paused(services.signals, given.user_id, work)
    finally:
        if getcoroutinestate(work) == CORO_CREATED:  # the run could not be recorded
            work.close()


async def _sanitize_errors(logger: Logger, work: Coroutine[Any, Any, T], labels: Mapping[str, str]) -> T:
    logger.thread_safe_append_keys(**labels)
    try:
        return await work
    except AgentError:
        raise
    except PyMongoError as error:
        logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Unavailable from None
    except Exception as error:
        logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Internal from None
