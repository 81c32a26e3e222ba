"""The judge that the environment configures, for use without a running stack."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai import RunContext

from qwestly_agent.base.errors import OverBudget, Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_http_client
from qwestly_agent.grounding.judge import Judge, Judgement, make_judge
from qwestly_agent.llm.models import make_judges
from qwestly_agent.model_calls import Budget, BudgetOnly, make_typed_agent

CONFIGURES = ("MODEL_BASE_URL", "DEEPSEEK_API_KEY", "OPENAI_API_KEY")
WRITER = "pro"
"""The labelled claims resemble those of cards, which the pro model writes."""
MOST_USD = 5.0


def settings_of_models() -> Settings:
    """Return the environment's settings, without a database. Raises `InvalidSettings`."""
    return Settings.from_env({"MONGODB_URI": "mongodb://none", "MONGODB_DATABASE": "none", **os.environ})


@asynccontextmanager
async def configured_judge() -> AsyncIterator[tuple[str, Judge] | None]:
    """Yield the judge and its name; None if the environment configures no model. Raises `InvalidSettings`."""
    if not any(os.environ.get(name) for name in CONFIGURES):
        yield None
        return
    settings = settings_of_models()
    async with make_http_client(settings) as http:
        model = make_judges(settings, http)[WRITER]
        budget = Budget(MOST_USD, OverBudget(), time.time())

        async def ask(
            output_type: type[Judgement],
            prompt: str,
            *,
            name: str,
            instructions: str,
            seconds: float,
            retries: int,
            validate: Callable[[RunContext[Any], Judgement], Judgement],
        ) -> Judgement:
            agent = make_typed_agent(model, output_type, name=name, instructions=instructions, retries=retries)
            agent.output_validator(validate)
            try:
                return (await agent.run(prompt, deps=BudgetOnly(budget), timeout=seconds)).output
            except Exception as error:
                raise Unavailable(f"The judge did not answer: {type(error).__name__}.") from error

        yield model.model.model_id or "?", make_judge(ask)
