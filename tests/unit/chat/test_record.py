"""A run's record is correct wherever the run breaks off."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from qwestly_agent.agents.base import Contract, Outcome
from qwestly_agent.chat.turn import AUDITED_CHARACTERS, Record

CALL = ToolCallPart("get_user_profile", {}, tool_call_id="c1")


def answered(
    model_name: str | None = "deepseek-flash", *, fresh: int = 0, cached: int = 0, said: int = 0
) -> ModelResponse:
    usage = RequestUsage(input_tokens=fresh + cached, cache_read_tokens=cached, output_tokens=said)
    return ModelResponse([TextPart("Hi.")], usage=usage, model_name=model_name, model_id=f"deepseek:{model_name}")


def record_of(*events: Any) -> Record:
    record = Record(started_at=100.0)
    for second, event in enumerate(events, 101):
        record.take(event, float(second))
    return record


def test_text_before_and_after_a_tool_call_is_two_paragraphs() -> None:
    record = record_of(
        PartStartEvent(index=0, part=TextPart("Let me ")),
        PartDeltaEvent(index=0, delta=TextPartDelta("look.")),
        PartStartEvent(index=0, part=TextPart("")),
        PartDeltaEvent(index=0, delta=TextPartDelta("Found it.")),
    )
    assert record.content == "Let me look.\n\nFound it."


def test_the_first_text_is_timed_and_silence_is_not() -> None:
    record = record_of(
        PartStartEvent(index=0, part=TextPart("")),
        PartDeltaEvent(index=0, delta=TextPartDelta("")),
        PartDeltaEvent(index=0, delta=TextPartDelta("Hi")),
    )
    receipt = record.receipt(design="default", prompt_version="v1", ended_at=103.5)
    assert (receipt["first_text_ms"], receipt["total_ms"]) == (3000, 3500)


def test_own_time_to_first_text_excludes_the_models_time() -> None:
    record = Record(started_at=100.0)
    waits = record.calls.waits
    waits.begin(100.2)
    waits.end(103.2)  # it called a tool, which took half a second
    waits.begin(103.7)
    record.take(PartStartEvent(index=0, part=TextPart("Hi")), 105.0)
    waits.end(109.0)
    receipt = record.receipt(design="default", prompt_version="v1", ended_at=110.0)
    assert (receipt["first_text_ms"], receipt["own_first_text_ms"]) == (5000, 700)


def test_own_time_to_first_text_excludes_the_failed_model_and_its_fallback() -> None:
    record = Record(started_at=100.0)
    record.calls.waits.begin(100.1)
    record.calls.waits.begin(102.1)
    record.take(PartStartEvent(index=0, part=TextPart("Hi")), 103.0)
    receipt = record.receipt(design="default", prompt_version="v1", ended_at=110.0)
    assert receipt["own_first_text_ms"] == 100


def test_a_run_without_text_has_no_time_to_first_text() -> None:
    receipt = record_of().receipt(design="default", prompt_version="v1", ended_at=100.25)
    assert (receipt["first_text_ms"], receipt["total_ms"], receipt["models"]) == (None, 250, [])


@pytest.mark.parametrize(
    ("outcome", "ok"), [("succeeded", True), ("failed", False), ("refused", False), ("running", None)]
)
def test_a_step_is_ok_if_its_call_was(outcome: Outcome, ok: bool | None) -> None:
    record = record_of()
    contract = Contract("read", "Looking up your profile…", 10, 1_000, is_untrusted=False)
    call = record.calls.begin("c1", "get_user_profile", contract, {"a": 1}, 100.0)
    call.outcome = outcome
    [step] = record.steps()
    assert (step.id, step.name, step.label, step.ok) == ("c1", "get_user_profile", "Looking up your profile…", ok)


def test_a_models_text_is_stored_in_a_form_that_the_database_accepts() -> None:
    record = record_of()
    record.calls.begin("c\ud800", "tool\ud800", None, '{"a": "\ud800' + "x" * 10_000, 100.0)
    [step], [entry] = record.steps(), record.audit()
    for text in (step.id, step.name, step.label, step.arguments, entry.arguments, entry.tool):
        text.encode()
        assert len(text) <= AUDITED_CHARACTERS + 1


def test_an_answer_without_reported_usage_is_estimated() -> None:
    record = record_of()
    record.keep([answered(fresh=10), ModelResponse([TextPart("word")], model_name="deepseek-flash")], lambda: 4_000)
    assert record.estimated
    assert record.tokens() == {"input_tokens": 1_010, "cached_tokens": 0, "output_tokens": 1}


def test_a_model_without_a_price_counts_as_the_most_expensive_toward_ceilings() -> None:
    record = record_of()
    record.messages = [answered("a-model-without-a-price", fresh=1_000_000)]
    assert record.ceiling_usd() == 1.32


def test_tokens_and_cost_of_all_model_calls_are_added_up() -> None:
    record = record_of()
    record.messages = [
        ModelRequest([UserPromptPart("Hello")]),
        answered(fresh=100, cached=900, said=10),
        answered(fresh=2_000, said=20),
    ]
    usage = record.usage()
    assert (usage["input_tokens"], usage["cached_tokens"], usage["output_tokens"]) == (3_000, 900, 30)
    cost = (Decimal(2_100) * Decimal("0.15") + 900 * Decimal("0.003") + 30 * Decimal("0.60")) / 1_000_000
    assert usage["cost_usd"] == float(cost)


@pytest.mark.parametrize("name", ["a-model-without-a-price", None])
def test_the_cost_is_unknown_if_one_model_has_no_price(name: str | None) -> None:
    record = record_of()
    record.messages = [answered(fresh=10), answered(name, fresh=10)]
    assert record.usage()["cost_usd"] is None
    assert record.usage()["input_tokens"] == 20


def test_a_run_without_model_calls_costs_nothing() -> None:
    assert record_of().usage()["cost_usd"] == 0


def test_user_text_and_instructions_are_not_stored_twice() -> None:
    record = record_of()
    record.messages = [
        ModelRequest([UserPromptPart("Hello")], instructions="You are …"),
        ModelResponse([CALL], model_name="m"),
        ModelRequest(
            [ToolReturnPart("get_user_profile", {"name": "Ada"}, tool_call_id="c1")], instructions="You are …"
        ),
        answered(),
    ]
    kept = ModelMessagesTypeAdapter.validate_json(record.model_messages())
    assert [type(message) for message in kept] == [ModelResponse, ModelRequest, ModelResponse]
    assert "You are" not in record.model_messages()
    assert "Hello" not in record.model_messages()
