"""What a run has cost so far, against what it may."""

from dataclasses import dataclass

from pydantic_ai.messages import ModelResponse

from qwestly_agent.errors import OverBudget
from qwestly_agent.llm import ceiling_price_of


@dataclass
class Spending:
    ceiling_usd: float
    over: OverBudget
    """What the user is told at the ceiling."""
    spent_usd: float = 0.0
    prompt_characters: int = 0
    """Of the last request: what it cost where the provider did not come to say so is estimated by them."""

    @property
    def exhausted(self) -> bool:
        return self.spent_usd >= self.ceiling_usd

    def add(self, response: ModelResponse) -> None:
        self.spent_usd += float(ceiling_price_of(response.model_name, response.usage))
