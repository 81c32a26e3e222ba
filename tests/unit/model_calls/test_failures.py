"""Users see the cause in our words, never in a provider's."""

from typing import Any

import httpx2
import openai
import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    IncompleteToolCall,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
    OutputTokenLimitExceeded,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import FinishReason, ModelRequest, ModelResponse, TextPart
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

from qwestly_agent import model_calls
from qwestly_agent.base.errors import AgentError, ConversationBusy
from qwestly_agent.model_calls import failure_of, truncation_error

KEY = "sk-12345"
REQUEST = httpx2.Request("POST", f"http://{KEY}/")
BUSY, DOWN = model_calls.BUSY.format(when="in a moment"), model_calls.DOWN.format(when="in a moment")


def http(category: type[Any] | None, status: int, **headers: str) -> ModelHTTPError:
    dashed = {name.replace("_", "-"): value for name, value in headers.items()}
    return ModelHTTPError.for_category(
        category, status_code=status, model_name="m", body={"error": KEY}, headers=dashed
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConversationBusy(), "conversation_busy"),
        (RunTimedOut(KEY), "deadline"),
        (ServerSelectionTimeoutError(KEY), "unavailable"),
        (OperationFailure(KEY), "unavailable"),
        (ContentFilterError(KEY), "model_unavailable"),
        (UnexpectedModelBehavior(KEY, KEY), "model_unavailable"),
        (UsageLimitExceeded(KEY), "too_many_steps"),
        (ModelAPIError("m", KEY), "model_unavailable"),
        (http(ModelAuthenticationError, 401), "model_unavailable"),
        (openai.APIConnectionError(message=KEY, request=REQUEST), "model_unavailable"),
        (httpx2.ReadTimeout(KEY, request=REQUEST), "model_unavailable"),
        (FallbackExceptionGroup(KEY, [ModelHTTPError(503, "m", KEY), ModelAPIError("n", KEY)]), "model_unavailable"),
        (ExceptionGroup(KEY, [ExceptionGroup(KEY, [ServerSelectionTimeoutError(KEY)])]), "unavailable"),
        (KeyError(KEY), "internal"),
        (ValueError(KEY), "internal"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_failure_has_a_cause_and_a_sentence_without_internals(error: Exception, code: str) -> None:
    for failure in (failure_of(error), failure_of(error, has_shown_text=True)):
        assert failure.code == code
        assert KEY not in failure.message


CONTENT_RISK = ModelHTTPError.for_category(
    ModelRequestRejectedError, status_code=400, model_name="m", body={"message": "Content Exists Risk"}
)

BEFORE_AND_AFTER: list[tuple[Exception, str, str]] = [
    (http(ModelRateLimitError, 429), BUSY, BUSY),
    (http(ModelQuotaExceededError, 402), model_calls.NOT_FOR_US, model_calls.NOT_FOR_US),
    (http(ModelAuthenticationError, 401), model_calls.NOT_FOR_US, model_calls.NOT_FOR_US),
    (http(ModelNotFoundError, 404), model_calls.NOT_FOR_US, model_calls.NOT_FOR_US),
    (http(ModelRequestRejectedError, 400), model_calls.NOT_FOR_US, model_calls.NOT_FOR_US),
    (CONTENT_RISK, model_calls.REFUSED, model_calls.REFUSED),
    (
        http(ModelContextWindowExceededError, 400),
        model_calls.TOO_LONG_A_CONVERSATION,
        model_calls.TOO_LONG_A_CONVERSATION,
    ),
    (http(ModelServerError, 500), DOWN, model_calls.BROKE_OFF),
    (http(ModelUnavailableError, 503), DOWN, model_calls.BROKE_OFF),
    (http(ModelOverloadedError, 529), DOWN, model_calls.BROKE_OFF),
    (http(None, 408), DOWN, model_calls.BROKE_OFF),
    (ModelAPIError("m", KEY, in_stream=True), DOWN, model_calls.BROKE_OFF),
    (ModelAPIError("m", KEY), model_calls.UNUSABLE, model_calls.BROKE_OFF),
    (UnexpectedModelBehavior(KEY), model_calls.UNUSABLE, model_calls.BROKE_OFF),
    (ModelConnectionError("m", KEY, phase="connect"), DOWN, model_calls.BROKE_OFF),
    (ModelConnectionError("m", KEY, phase="read"), DOWN, model_calls.BROKE_OFF),
    (ModelTimeoutError("m", KEY, phase="connect"), DOWN, model_calls.BROKE_OFF),
    (ModelTimeoutError("m", KEY, phase="read"), model_calls.TOO_SLOW, model_calls.BROKE_OFF),
    (ModelRequestTimeout("m", 30, setting="first_event_timeout"), model_calls.TOO_SLOW, model_calls.BROKE_OFF),
    (ContentFilterError(KEY), model_calls.DECLINED, model_calls.DECLINED_THE_REST),
    (OutputTokenLimitExceeded(KEY), model_calls.TOO_LONG, model_calls.TOO_LONG),
    (IncompleteToolCall(KEY), model_calls.TOO_LONG, model_calls.TOO_LONG),
    (UsageLimitExceeded(KEY), model_calls.TOO_MANY_STEPS, model_calls.TOO_MANY_STEPS),
]


@pytest.mark.parametrize(
    ("error", "before", "after"), BEFORE_AND_AFTER, ids=[type(row[0]).__name__ for row in BEFORE_AND_AFTER]
)
def test_each_failure_has_a_sentence_before_and_after_the_first_word(error: Exception, before: str, after: str) -> None:
    assert failure_of(error).message == before
    assert failure_of(error, has_shown_text=True).message == after


@pytest.mark.parametrize(
    ("headers", "when", "retry_after"),
    [
        ({"retry_after": "1"}, "in 1 second", 1),
        ({"retry_after": "45"}, "in 45 seconds", 45),
        ({"retry_after": "120"}, "in 2 minutes", 120),
        ({"retry_after": "3600"}, "in 60 minutes", 3600),
        ({"retry_after": "7200"}, "in 2 hours", 7200),
        ({"retry_after": "129601"}, "in 2 days", 129_601),
        ({"retry_after": "1000000"}, "in 12 days", 1_000_000),
        ({"retry_after_ms": "61500"}, "in 62 seconds", 62),
        ({"retry_after": "0"}, "in a moment", None),
        ({"retry_after": "soon"}, "in a moment", None),
        ({}, "in a moment", None),
    ],
    ids=str,
)
def test_a_rate_limit_reports_the_wait(headers: dict[str, str], when: str, retry_after: int | None) -> None:
    for category, status, sentence in (
        (ModelRateLimitError, 429, model_calls.BUSY),
        (ModelUnavailableError, 503, model_calls.DOWN),
    ):
        failure = failure_of(http(category, status, **headers))
        assert (failure.message, failure.retry_after) == (sentence.format(when=when), retry_after)


def test_several_failed_models_report_the_shortest_wait() -> None:
    key_refused, busy = http(ModelAuthenticationError, 401), http(ModelRateLimitError, 429, retry_after="120")
    in_two_minutes = model_calls.BUSY.format(when="in 2 minutes")
    assert failure_of(FallbackExceptionGroup(KEY, [key_refused, busy])).message == in_two_minutes
    assert failure_of(FallbackExceptionGroup(KEY, [busy, key_refused])).message == in_two_minutes
    assert failure_of(FallbackExceptionGroup(KEY, [key_refused, key_refused])).message == model_calls.NOT_FOR_US


@pytest.mark.parametrize(
    ("finish_reason", "sentence"),
    [
        ("length", model_calls.TOO_LONG),
        ("content_filter", model_calls.DECLINED_THE_REST),
        ("error", model_calls.BROKE_OFF),
        ("stop", None),
        ("tool_call", None),
        (None, None),
    ],
)
def test_an_answer_with_text_is_complete_only_if_it_ended_by_itself(
    finish_reason: FinishReason | None, sentence: str | None
) -> None:
    problem = truncation_error([ModelResponse([TextPart("Half of ")], finish_reason=finish_reason)])
    assert (problem.message if problem else None) == sentence


def test_an_unanswered_request_is_not_called_truncated() -> None:
    assert truncation_error([]) is None
    assert truncation_error([ModelResponse([], finish_reason="length"), ModelRequest([])]) is None


def test_each_error_has_its_own_code_cause_status_and_sentence() -> None:
    for kind in AgentError.__subclasses__():
        assert 400 <= kind.http_status < 600, kind
        assert kind().message.endswith("."), kind
        assert kind("Something else.").message == "Something else."
