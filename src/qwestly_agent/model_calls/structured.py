"""Request one typed answer from a model, for a workflow state. Its cost counts towards the user's daily limit."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic_ai import Agent, RunContext
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    FallbackExceptionGroup,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
)
from pymongo.errors import PyMongoError

from qwestly_agent.base.errors import AgentError, ModelRefused, OverBudget
from qwestly_agent.base.observability import Event, cause_of, measure_answer
from qwestly_agent.llm.models import TierModel, capabilities_of, refuses_all_requests
from qwestly_agent.model_calls.budget import BoundedCost, Budget, BudgetOnly
from qwestly_agent.model_calls.failures import failure_of
from qwestly_agent.services import Services

T = TypeVar("T")


class ContentRefused(AgentError):
    """The model refuses the content; a retry is useless."""

    code, http_status, sentence = "model_unavailable", 503, "Our AI couldn’t work with this."


async def structured_output(
    services: Services,
    user_id: str,
    model: TierModel,
    output_type: type[T],
    prompt: str,
    *,
    name: str,
    instructions: str,
    seconds: float,
    retries: int,
    validate: Callable[[RunContext[Any], T], T] | None = None,
) -> T:
    """Request one typed answer from the model, checked by `validate`. Its cost counts even if it fails.

    `retries` apply to an answer of the wrong shape, and to one that `validate` rejects with `ModelRetry`. Raises
    `OverBudget`, `ModelUnavailable` and `DeadlineExceeded` if a retry may help, `ModelRefused` if a provider refuses
    all our requests, and `ContentRefused` if it refuses this content.
    """
    now = services.clock()
    await services.stage_day.check(now)
    left = services.settings.day_ceiling_usd - await services.usage.spent_today(user_id, now)
    budget = Budget(max(0.0, left), OverBudget(), now)
    agent = make_typed_agent(model, output_type, name=name, instructions=instructions, retries=retries)
    if validate:
        agent.output_validator(validate)
    try:
        result = await agent.run(prompt, deps=BudgetOnly(budget), timeout=seconds)
    except ExceptionGroup as error:
        raise _failure(error) from None
    except AgentRunError as error:
        raise _failure(error) from None
    finally:
        await record_cost(services, user_id, budget.spent_usd)
    return result.output


def make_typed_agent(
    model: TierModel, output_type: type[T], *, name: str, instructions: str, retries: int
) -> Agent[BudgetOnly, T]:
    return Agent(
        model.model,
        name=name,
        deps_type=BudgetOnly,
        output_type=output_type,
        instructions=instructions,
        retries={"output": retries},
        capabilities=[BoundedCost(), *capabilities_of(model)],
    )


_FOR_GOOD = (ModelRequestRejectedError, ModelQuotaExceededError, ContentFilterError)


def _failure(error: Exception) -> AgentError:
    causes = error.exceptions if isinstance(error, FallbackExceptionGroup) else (error,)
    if not all(isinstance(each, _FOR_GOOD) for each in causes):
        return failure_of(error)
    return ModelRefused() if any(map(refuses_all_requests, causes)) else ContentRefused()


async def record_cost(services: Services, user_id: str, cost_usd: float) -> None:
    """Add the cost of an answer to the user's day. A failure to do so is logged."""
    measure_answer(cost_usd)
    try:
        await services.usage.add_spending(user_id, {"cost_usd": cost_usd}, services.clock())
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
