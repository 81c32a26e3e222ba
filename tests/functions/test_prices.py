"""The recorded cost of an answer, compared with the provider's price list."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest
from pydantic import BaseModel

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.model_calls import structured_output
from tests.servers import ChatServer, Client, FakeClock, settings_for

RENAMED = {"deepseek-flash": "deepseek-v4.1-flash-1017", "deepseek-v4-pro": "another-name"}
FLASH = (0.15, 0.003, 0.60), (0.30, 0.006, 1.20)
PRO = (0.66, 0.022, 1.98), (1.32, 0.044, 3.96)
"""Off-peak and peak: US dollars per million tokens of input, cached input and output, from the provider's price list of
November 2026."""

MOMENTS = pytest.mark.parametrize(
    ("moment", "peak"),
    [
        ("2026-11-23 02:00", True),
        ("2026-11-23 05:00", False),
        ("2026-11-25 09:30", True),
        ("2026-11-29 02:00", False),  # a Sunday
    ],
)


def clock_at(moment: str) -> FakeClock:
    return FakeClock(datetime.fromisoformat(f"{moment}:00+00:00").timestamp())


def usd(prices: tuple[float, float, float], usage: Mapping[str, Any]) -> float:
    fresh = usage["input_tokens"] - usage["cached_tokens"]
    counts = fresh, usage["cached_tokens"], usage["output_tokens"]
    return sum(count * price for count, price in zip(counts, prices, strict=True)) / 1_000_000


@pytest.fixture(params=[False, True], ids=["as asked", "renamed"])
def names(request: pytest.FixtureRequest, model: ModelServer) -> None:
    if request.param:
        model.served_as = RENAMED


@pytest.mark.thorough
@MOMENTS
@pytest.mark.usefixtures("names")
def test_an_answer_costs_the_list_price_whatever_model_name_is_returned(
    chat: ChatServer, client: Client, moment: str, peak: bool
) -> None:
    clock = clock_at(moment)
    with (
        ChatServer(chat.settings, clock=clock) as server,
        Client(server.url, client.user_id, clock=clock) as user,
    ):
        answers = [user.say("What do we know about me?")]
        answers.append(user.say("What are my goals?", answers[0].conversation_id))
        receipts = [
            message["receipt"]
            for message in user.get(f"/api/conversations/{answers[0].conversation_id}")["messages"]
            if message["role"] == "assistant"
        ]
    assert receipts[1]["cached_tokens"] > 0
    for receipt in receipts:
        assert receipt["cost_usd"] == pytest.approx(usd(FLASH[peak], receipt), rel=0.01)


class Words(BaseModel):
    words: str


TYPED = Reply(
    tool_calls=[{"name": "final_result", "arguments": {"words": "Yes."}}],
    usage={
        "prompt_tokens": 100_000,
        "completion_tokens": 50_000,
        "total_tokens": 150_000,
        "prompt_tokens_details": {"cached_tokens": 90_000},
    },
)
COUNTED = {"input_tokens": 100_000, "cached_tokens": 90_000, "output_tokens": 50_000}


@MOMENTS
@pytest.mark.anyio
@pytest.mark.usefixtures("names")
async def test_a_structured_output_is_charged_to_the_day_at_the_list_price(
    model: ModelServer, mongodb_uri: str, database_name: str, moment: str, peak: bool
) -> None:
    model.script(TYPED)
    services = await bootstrap_models(settings_for(mongodb_uri, model.base_url, database_name), clock=clock_at(moment))
    try:
        await services.usage.begin_turn("u1", "run", services.clock())
        await structured_output(
            services, "u1", services.models["pro"], Words, "Well?", name="a", instructions="", seconds=20, retries=0
        )
        spent = await services.usage.spent_today("u1", services.clock())
    finally:
        await services.close()
    assert spent == pytest.approx(usd(PRO[peak], COUNTED), rel=0.01)
