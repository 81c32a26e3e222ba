"""One day's answers as counts, without texts or users."""

from datetime import date

from pydantic import BaseModel, ConfigDict


class AnswerDay(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    day: date
    judge: str
    answers: int
    """Number of answers of the day."""
    errors: int
    """Number of answers that failed or were cut off."""
    thumbs_up: int
    thumbs_down: int
    judged: int = 0
    unjudged: int = 0
    """Number of sampled answers for which no judge was available."""
    answered: int = 0
    confused: int = 0
    satisfied: int = 0
    dissatisfied: int = 0
    intents: dict[str, int] = {}
    """Number of judged answers by intent."""
    cost_usd: float = 0.0
