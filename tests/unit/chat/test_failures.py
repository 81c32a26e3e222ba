"""A person is told the cause in our words, never in a provider's."""

import pytest
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelHTTPError,
    RunTimedOut,
    UnexpectedModelBehavior,
)
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

from qwestly_agent.chat.failures import failure_of
from qwestly_agent.errors import AgentError, ConversationBusy

KEY = "sk-12345"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConversationBusy(), "conversation_busy"),
        (RunTimedOut(KEY), "deadline"),
        (ServerSelectionTimeoutError(KEY), "unavailable"),
        (OperationFailure(KEY), "unavailable"),
        (ContentFilterError(KEY), "model_unavailable"),
        (UnexpectedModelBehavior(KEY, KEY), "model_unavailable"),
        (ModelAPIError("m", KEY), "model_unavailable"),
        (ModelHTTPError(401, "m", {"error": KEY}), "model_unavailable"),
        (FallbackExceptionGroup(KEY, [ModelHTTPError(503, "m", KEY), ModelAPIError("n", KEY)]), "model_unavailable"),
        (ExceptionGroup(KEY, [ExceptionGroup(KEY, [ServerSelectionTimeoutError(KEY)])]), "unavailable"),
        (KeyError(KEY), "internal"),
        (ValueError(KEY), "internal"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_failure_has_a_cause_and_a_sentence_without_internals(error: Exception, code: str) -> None:
    failure = failure_of(error)
    assert failure.code == code
    assert KEY not in failure.message


def test_each_error_has_a_code_of_its_own_cause_a_status_and_a_sentence() -> None:
    for kind in AgentError.__subclasses__():
        assert 400 <= kind.http_status < 600, kind
        assert kind().message.endswith("."), kind
        assert kind("Something else.").message == "Something else."
