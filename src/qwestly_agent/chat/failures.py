"""What a person is told of a failure, by its cause. The cause itself goes to the log and nowhere else."""

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    OutputTokenLimitExceeded,
    RunTimedOut,
    UnexpectedModelBehavior,
)
from pymongo.errors import PyMongoError

from qwestly_agent.errors import AgentError, DeadlineExceeded, Internal, ModelUnavailable, Unavailable


def failure_of(error: BaseException) -> AgentError:
    match error:
        case AgentError():
            return error
        case RunTimedOut():
            return DeadlineExceeded()
        case PyMongoError():
            return Unavailable("Your data cannot be reached right now. Please try again in a moment.")
        case ContentFilterError():
            return ModelUnavailable("The language model declined to answer that.")
        case OutputTokenLimitExceeded():
            return ModelUnavailable("The answer became too long and was cut off. Please ask for less at once.")
        case UnexpectedModelBehavior():
            return ModelUnavailable("The language model gave an answer that I could not use. Please try again.")
        case ModelAPIError():
            return ModelUnavailable()
        case ExceptionGroup() if error.exceptions:
            return failure_of(error.exceptions[0])
        case _:
            return Internal()
