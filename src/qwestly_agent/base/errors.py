"""Errors, each named after its cause; clients get `http_status` and `code`."""

from typing import ClassVar


class InvalidSettings(Exception):
    """The process cannot start because a setting is missing or invalid. The message names the setting."""


class AgentError(Exception):
    """An error with a sentence that may be shown to users. It never contains a provider's text, a key or a stack
    trace."""

    code: str = "internal"
    http_status: ClassVar[int] = 500
    sentence: ClassVar[str] = "Something went wrong on our side. Please try again."

    def __init__(self, sentence: str = "", *, retry_after: int | None = None) -> None:
        self.message = sentence or self.sentence
        self.retry_after = retry_after
        """Seconds after which the same request may succeed."""
        super().__init__(self.message)


class Unauthorized(AgentError):
    code, http_status, sentence = "unauthorized", 401, "Please sign in again."


class NotFound(AgentError):
    """Also raised for another user's data, so that its existence is not revealed."""

    code, http_status, sentence = "not_found", 404, "There is nothing here."


class Invalid(AgentError):
    code, http_status, sentence = "invalid", 422, "That request is not valid."


class WrongMethod(Invalid):
    http_status, sentence = 405, "This address does not take that method."


class TooLong(AgentError):
    code, http_status, sentence = "too_long", 413, "That is too long."


class AttachmentsUnsupported(AgentError):
    code, http_status, sentence = (
        "attachments_unsupported",
        422,
        "Files cannot be read here yet. Please paste the text.",
    )


class ConversationBusy(AgentError):
    code, http_status = "conversation_busy", 409
    sentence = "The last message of this conversation is still being answered."


class ChangedMeanwhile(AgentError):
    code, http_status, sentence = "changed", 409, "The conversation has moved on. Please reload it."


class TooManyTurns(AgentError):
    code, http_status = "too_many_turns", 429
    sentence = "That is more messages than I can answer at once. Please wait a moment."


class OverBudget(AgentError):
    code, http_status = "over_budget", 429
    sentence = "You’ve hit today’s limit. Come back tomorrow."


class StageOverBudget(OverBudget):
    """All users together have spent the stage's daily budget, or nearly all of it."""

    sentence = "Our AI has reached its limit for today. Please come back tomorrow."


class Braked(AgentError):
    code, http_status = "braked", 423
    sentence = "Everything is paused. Nothing runs until you resume."


class ModelUnavailable(AgentError):
    code, http_status = "model_unavailable", 503
    sentence = "Our AI can’t be reached right now. Your message is saved; please try again in a moment."


class TooManySteps(AgentError):
    """A model keeps calling tools although it has no calls left."""

    code, http_status = "too_many_steps", 503
    sentence = "I looked things up too often without coming to an answer. Please ask differently."


class DeadlineExceeded(AgentError):
    code, http_status = "deadline", 504
    sentence = "This took too long, so I stopped. What I had so far is kept."


class Unavailable(AgentError):
    code, http_status, sentence = "unavailable", 503, "We can’t reach this right now. Please try again in a moment."


class NotReady(Unavailable):
    """No turn can be answered."""

    code = "not_ready"


class DataGone(Unavailable):
    """The database is unreachable; nothing of the turn could be stored."""

    sentence = "We can’t reach your data right now. Please try again in a moment."


class ModelRefused(Unavailable):
    """A provider rejects every request because of our key, billing, a model's name or the request format. Retrying is
    useless until that is fixed."""

    code = "model_unavailable"
    sentence = "We’re fixing a problem on our side. Please try again later."


class Internal(AgentError):
    """An unexpected error, with the base class's code, message and status."""
