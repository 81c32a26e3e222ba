"""Request one typed answer from a model, for a workflow state. Translate failures into sentences for users."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import httpx2
from openai import OpenAIError
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    OutputTokenLimitExceeded,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pymongo.errors import ConnectionFailure, NetworkTimeout, PyMongoError

from qwestly_agent.base.clock import format_duration
from qwestly_agent.base.errors import (
    AgentError,
    DataGone,
    DeadlineExceeded,
    Internal,
    ModelRefused,
    ModelUnavailable,
    OverBudget,
    TooManySteps,
    Unavailable,
)
from qwestly_agent.base.observability import Event, cause_of, measure_answer, measure_planted_lie
from qwestly_agent.grounding.model import JudgedPlant
from qwestly_agent.grounding.plants import RecordPlant
from qwestly_agent.llm.embeddings import cost_usd
from qwestly_agent.llm.models import (
    TierModel,
    capabilities_of,
    ceiling_price_of,
    estimate_usage,
    has_plausible_counts,
    refuses_all_requests,
)
from qwestly_agent.services import ModelServices, Services

# --- budget -----------------------------------------------------------------------------------------------------------
# The cost of a run so far, and its ceiling.


@dataclass
class Budget:
    ceiling_usd: float
    over: OverBudget
    """The error to raise once the ceiling is reached."""
    at: float
    """When the run began; requests are priced as of this time."""
    spent_usd: float = 0.0
    last_request: ModelRequestContext | None = None

    @property
    def is_exhausted(self) -> bool:
        return self.spent_usd >= self.ceiling_usd

    def prompt_characters(self) -> int:
        """Return the number of characters in the last request, to estimate its cost if the provider did not report
        token counts."""
        if self.last_request is None:
            return 0
        instructions = self.last_request.model_request_parameters.instruction_parts or ()
        said = ModelMessagesTypeAdapter.dump_json(self.last_request.messages)
        return len(said) + sum(len(part.content) for part in instructions)

    def add(self, model_id: str, response: ModelResponse) -> None:
        """Add the cost of a response. `model_id` is `provider:name` of the requested model."""
        usage = response.usage
        if not has_plausible_counts(usage):
            usage = estimate_usage(self.prompt_characters(), len(response.text or ""))
        self.spent_usd += float(ceiling_price_of(model_id, response.model_name, usage, self.at))


class HasBudget(Protocol):
    """The deps of a run with a cost limit."""

    @property
    def budget(self) -> Budget: ...


@dataclass(frozen=True)
class BudgetOnly:
    """The deps of an agent without tools."""

    budget: Budget


class BoundedCost(AbstractCapability[HasBudget]):
    """Rejects model requests once the run's cost ceiling is reached."""

    async def before_model_request(
        self, ctx: RunContext[HasBudget], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if ctx.deps.budget.is_exhausted:
            raise ctx.deps.budget.over
        ctx.deps.budget.last_request = request_context
        return request_context

    async def after_model_request(
        self,
        ctx: RunContext[HasBudget],
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        ctx.deps.budget.add(request_context.model.model_id, response)
        return response


# --- failures ---------------------------------------------------------------------------------------------------------
# Translate failures into sentences for users. The cause itself is only logged.
#
# `llm/client.py` retries requests; `Fallback` in `llm/models.py` switches to the next model.


KEPT = "Your message is saved"
DOWN = f"Our AI can’t be reached right now. {KEPT}; please try again {{when}}."
BUSY = f"Our AI is very busy right now. {KEPT}; please try again {{when}}."
NOT_FOR_US = "We’re fixing a problem on our side. Your message is saved."
REFUSED = f"Our AI couldn’t work with this message. {KEPT}; please try it in other words."
TOO_LONG_A_CONVERSATION = "This conversation has become too long for our AI. Please start a new one."
TOO_SLOW = f"Our AI didn’t start to answer in time. {KEPT}; please try again in a moment."
BROKE_OFF = "The answer broke off. What I had so far is saved; please try again."
UNUSABLE = "Our AI gave an answer I couldn’t use. Please try again."
DECLINED = "Our AI declined to answer that."
DECLINED_THE_REST = "Our AI declined to go on. What I had so far is saved."
TOO_LONG = "The answer became too long and was cut off. Please ask for less at once."
TOO_MANY_STEPS = "This took more steps than one answer may take. Please ask for less at once."


def failure_of(error: BaseException, *, has_shown_text: bool = False) -> AgentError:
    """Return the error with its sentence for the user. `has_shown_text` is True if part of the answer was already
    shown."""
    match error:
        case AgentError():
            return error
        case RunTimedOut():
            return DeadlineExceeded()
        case ConnectionFailure() if not isinstance(error, NetworkTimeout):  # a timeout only means one slow response
            return DataGone()
        case PyMongoError():
            return Unavailable(DataGone.sentence)
        case ContentFilterError():
            return ModelUnavailable(DECLINED_THE_REST if has_shown_text else DECLINED)
        case OutputTokenLimitExceeded():
            return ModelUnavailable(TOO_LONG)
        case UsageLimitExceeded():
            return TooManySteps(TOO_MANY_STEPS)
        case ModelAPIError() | UnexpectedModelBehavior() | OpenAIError() | httpx2.RequestError():
            return _of_the_model(error, has_shown_text)
        case ExceptionGroup() if error.exceptions:
            # If all models failed, choose an error that may be resolved soon.
            failures = [failure_of(each, has_shown_text=has_shown_text) for each in error.exceptions]
            return next((each for each in failures if each.message != NOT_FOR_US), failures[0])
        case _:
            return Internal()


def _of_the_model(error: Exception, spoke: bool) -> ModelUnavailable:
    if refuses_all_requests(error):
        return ModelUnavailable(NOT_FOR_US)
    wait = error.retry_after if isinstance(error, ModelAPIError) else None
    match error:
        case ModelRateLimitError():
            return _later(BUSY, wait)
        case ModelContextWindowExceededError():
            return ModelUnavailable(TOO_LONG_A_CONVERSATION)
        case ModelRequestRejectedError():
            return ModelUnavailable(REFUSED)
        case _ if spoke:
            return ModelUnavailable(BROKE_OFF)
        case ModelRequestTimeout() | ModelTimeoutError(phase="read"):
            return ModelUnavailable(TOO_SLOW)
        case UnexpectedModelBehavior():
            return ModelUnavailable(UNUSABLE)
        case ModelAPIError() if type(error) is ModelAPIError and not error.in_stream:
            return ModelUnavailable(UNUSABLE)  # not JSON, or not terminated
        case _:
            return _later(DOWN, wait)


def truncation_error(messages: Sequence[ModelMessage]) -> AgentError | None:
    """Return the error for a truncated answer, which the library accepts because it contains text; None if the answer
    is complete."""
    last = messages[-1] if messages else None
    match last.finish_reason if isinstance(last, ModelResponse) else None:
        case "length":
            return ModelUnavailable(TOO_LONG)
        case "content_filter":
            return ModelUnavailable(DECLINED_THE_REST)
        case "error":
            return ModelUnavailable(BROKE_OFF)
        case _:
            return None


def _later(sentence: str, seconds: float | None) -> ModelUnavailable:
    if not seconds:
        return ModelUnavailable(sentence.format(when="in a moment"))
    return ModelUnavailable(sentence.format(when=f"in {format_duration(seconds)}"), retry_after=math.ceil(seconds))


# --- structured -------------------------------------------------------------------------------------------------------
# Request one typed answer from a model, for a workflow state. The cost counts towards the user's daily limit.


T = TypeVar("T")


class ContentRefused(AgentError):
    """The model refuses the content, so a retry is useless."""

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
    """Request one typed answer from the model, checked by `validate`. The cost counts even if the request fails.

    `retries` apply to answers with an invalid structure and to answers that `validate` rejects with `ModelRetry`.
    Raises `OverBudget`; `ModelUnavailable` and `DeadlineExceeded` if a retry may help; `ModelRefused` if a provider
    rejects all our requests; and `ContentRefused` if it rejects this content.
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
    """Add the cost of an answer to the user's day. If this fails, only log it."""
    measure_answer(cost_usd)
    try:
        await services.usage.add_spending(user_id, {"cost_usd": cost_usd}, services.clock())
    except PyMongoError as error:
        services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))


# --- vectors ----------------------------------------------------------------------------------------------------------
# Embed texts for a workflow state. The cost counts towards the user's daily limit.


async def embed_and_record(services: ModelServices, user_id: str, texts: Sequence[str]) -> list[list[float]]:
    """Embed the texts, and add the cost to the user's day. Raises `Unavailable`."""
    vectors = await services.embeddings.embed(texts)
    await record_cost(services, user_id, cost_usd(texts))
    return vectors


# --- planted ----------------------------------------------------------------------------------------------------------
# Record how a judge answered a planted lie.


def record_plants_of(services: Services, judge: TierModel) -> RecordPlant:
    """Return a function that records an outcome for this judge, and returns True if the judge has passed too many of
    the newest lies."""
    model = judge.model.model_id or "?"

    async def record(plant: JudgedPlant) -> bool:
        newest = await services.planted_lies.add(model, plant)
        measure_planted_lie(model, plant.kind, plant.language, passed=plant.passed, judge_errs=newest.errs)
        return newest.errs

    return record
