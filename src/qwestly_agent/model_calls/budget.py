"""The cost of a run so far, and its limit."""

from dataclasses import dataclass
from typing import Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import ModelRequestContext

from qwestly_agent.base.errors import OverBudget
from qwestly_agent.llm.models import ceiling_price_of, estimate_usage, has_plausible_counts


@dataclass
class Budget:
    ceiling_usd: float
    over: OverBudget
    """The error to raise at the ceiling."""
    at: float
    """When the run began; its requests are priced as of this time."""
    spent_usd: float = 0.0
    last_request: ModelRequestContext | None = None

    @property
    def is_exhausted(self) -> bool:
        return self.spent_usd >= self.ceiling_usd

    def prompt_characters(self) -> int:
        """Return the number of characters in the last request, to estimate a cost that the provider did not report."""
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
    """The deps of a run whose cost is limited."""

    @property
    def budget(self) -> Budget: ...


@dataclass(frozen=True)
class BudgetOnly:
    """The deps of an agent without tools."""

    budget: Budget


class BoundedCost(AbstractCapability[HasBudget]):
    """Refuses model requests once the run's cost ceiling is reached."""

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
