"""Map failures to sentences for users. The cause itself is only logged.

`llm/client.py` retries; `Fallback` in `llm/models.py` chooses the next model.
"""

import math
from collections.abc import Sequence

import httpx2
from openai import OpenAIError
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    OutputTokenLimitExceeded,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pymongo.errors import ConnectionFailure, NetworkTimeout, PyMongoError

from qwestly_agent.base.clock import format_duration
from qwestly_agent.base.errors import (
    AgentError,
    DataGone,
    DeadlineExceeded,
    Internal,
    ModelUnavailable,
    TooManySteps,
    Unavailable,
)
from qwestly_agent.llm.models import refuses_all_requests

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
    """Return the error with its sentence for the user. `spoke` is True if part of the answer was already shown."""
    match error:
        case AgentError():
            return error
        case RunTimedOut():
            return DeadlineExceeded()
        case ConnectionFailure() if not isinstance(error, NetworkTimeout):  # which means one slow answer
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
            # If all models failed, choose one that may recover soon.
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
            return ModelUnavailable(UNUSABLE)  # no JSON, or no end
        case _:
            return _later(DOWN, wait)


def truncation_error(messages: Sequence[ModelMessage]) -> AgentError | None:
    """Return the error of a truncated answer, which the library accepts because it has text; None if it is complete."""
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
