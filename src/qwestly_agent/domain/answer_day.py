"""The answers of a day in numbers, without a word of them and without whose they are."""

from datetime import date

from pydantic import BaseModel, ConfigDict


class AnswerDay(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    day: date
    judge: str
    answers: int
    """Of the day, in all."""
    errors: int
    """Of them, failed or cut off."""
    thumbs_up: int
    thumbs_down: int
    judged: int = 0
    unjudged: int = 0
    """Sampled, and no judge answered."""
    answered: int = 0
    confused: int = 0
    satisfied: int = 0
    dissatisfied: int = 0
    intents: dict[str, int] = {}
    """How many of the judged ones wanted what."""
    cost_usd: float = 0.0
