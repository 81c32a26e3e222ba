"""The parts that states of all workflows share: the brake, safe errors, log fields, and the way from event to state.

A state may run twice with the same input: whatever it writes has a name made of that input, or is a compare-and-set, so
that the second run finds it done.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from inspect import CORO_CREATED, getcoroutinestate
from typing import Any, Generic, TypeVar

from aws_lambda_powertools import Logger
from pydantic import BaseModel, ConfigDict, Field
from pymongo.errors import PyMongoError

from qwestly_agent.approvals.end import expire
from qwestly_agent.approvals.pause import abort_if_paused, named_run
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError, Internal, OverBudget, StageOverBudget, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.traces import span_below
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.stage_day import WORKFLOWS_UP_TO

OVER_BUDGET = (OverBudget.__name__, StageOverBudget.__name__)
"""Kinds of errors after which an execution does not end as failed: the money of the day is spent, nothing is broken."""


class UnknownState(Exception):
    """The function has no state of this name: state machine and function are of different deployments."""


class OutcomeUnknown(AgentError):
    code, http_status = "outcome_unknown", 503
    sentence = "We’re checking whether this went through."


class WorkflowState(BaseModel):
    """The input of a state, and its output."""

    # An execution may have begun before the last deployment: it may say more, or less, than this.
    model_config = ConfigDict(frozen=True, extra="ignore")

    run_id: str = ""

    @property
    def out(self) -> dict[str, Any]:
        """Every field, for the state machine may ask for any."""
        return self.model_dump(mode="json")

    @property
    def labels(self) -> dict[str, str]:
        """The fields of each line of the log."""
        return {"run_id": self.run_id}


class UserState(WorkflowState):
    """The state of a workflow that concerns one user, whose brake stops it."""

    user_id: str

    @property
    def run_name(self) -> str:
        """The name of this user's part of the execution in the brake's receipt."""
        return self.run_id


class TokenAnswer(BaseModel):
    """The answer that a task token was given."""

    approval_id: str | None = None


class CaughtError(BaseModel):
    """The error that a Catch puts beside the input of the state that failed."""

    kind: str = Field(default="", alias="Error")


S = TypeVar("S", bound=Services)
M = TypeVar("M", bound=WorkflowState)
T = TypeVar("T")


@dataclass(frozen=True)
class StateFunction(Generic[S, M]):
    """A state of a workflow, named as in the state machine."""

    work: Callable[[S, M], Coroutine[Any, Any, M]]
    model: type[M]
    under_brake: bool

    @property
    def name(self) -> str:
        return self.work.__name__

    async def __call__(self, services: S, given: M) -> M:
        """Raises `AgentError`s only: others may quote what people wrote, and the execution's history keeps what a state
        raised."""
        work = self.work(services, given)
        if not self.under_brake:
            assert isinstance(given, UserState)
            work = _stoppable(services, given, work)
        return await _sanitize_errors(services.logger, work, given.labels)


def state(
    model: type[M], *, under_brake: bool = False
) -> Callable[[Callable[[S, M], Coroutine[Any, Any, M]]], StateFunction[S, M]]:
    """Make a state of a function. The brake stops it, unless it runs `under_brake` as well."""
    return lambda work: StateFunction(work, model, under_brake)


class Invocation(BaseModel):
    """The event that a state machine sends a function."""

    state: str
    given: dict[str, Any]


def by_name(*states: StateFunction[Any, Any]) -> dict[str, StateFunction[Any, Any]]:
    return {each.name: each for each in states}


def dispatch(
    states: Mapping[str, StateFunction[Any, Any]], event: dict[str, Any], context: object
) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """The work that an event asks for; it takes the services. Raises `UnknownState`."""
    invocation = Invocation.model_validate(event)
    if invocation.state not in states:
        raise UnknownState(f"There is no state {invocation.state!r} here, only {', '.join(states)}.")
    function = states[invocation.state]
    given = function.model.model_validate(invocation.given)

    async def work(services: Any) -> dict[str, Any]:
        services.logger.thread_safe_append_keys(request_id=getattr(context, "aws_request_id", None))
        with span_below(services.traces, function.name, given.run_id):
            return (await function(services, given)).out

    return work


def dispatch_within_day(
    states: Mapping[str, StateFunction[Any, Any]], event: dict[str, Any], context: object
) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """As `dispatch`, for states that ask models: once most of the stage's day is spent they raise `StageOverBudget`,
    and the state machine waits as for a slot."""
    dispatched = dispatch(states, event, context)

    async def work(services: Any) -> dict[str, Any]:
        await _sanitize_errors(services.logger, services.stage_day.check(services.clock(), WORKFLOWS_UP_TO), {})
        return await dispatched(services)

    return work


async def expire_if_pending(approvals: Approvals, clock: Clock, user_id: str, approval_id: str) -> Approval:
    """The record, once nobody waits for its person any more. Raises `NotFound`."""
    approval = await approvals.get(user_id, approval_id)
    return await expire(approvals, approval, clock()) or await approvals.get(user_id, approval_id)


async def _stoppable(services: Services, given: UserState, work: Coroutine[Any, Any, T]) -> T:
    try:
        async with named_run(services.runs, given.user_id, given.run_name, services.clock):
            return await abort_if_paused(services.signals, given.user_id, work)
    finally:
        if getcoroutinestate(work) == CORO_CREATED:  # it could not be recorded that it runs
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
