"""Explain to the model why its tool call failed."""

from pydantic import ValidationError
from pydantic_ai.exceptions import ModelRetry, ToolFailed, ToolFailedError, ToolRetryError

from qwestly_agent.agents.calls import Contract
from qwestly_agent.base.errors import AgentError
from qwestly_agent.text.clean import well_formed


def error_of_tool(error: Exception) -> Exception:
    """Return the error that the tool raised: pydantic-ai wraps a tool's `ToolFailed` or `ModelRetry` in another
    error."""
    cause = error.__cause__
    wrapped = isinstance(error, ToolFailedError | ToolRetryError)
    return cause if wrapped and isinstance(cause, ToolFailed | ModelRetry) else error


def arguments_problem(error: ValidationError | ModelRetry) -> str:
    if isinstance(error, ModelRetry):
        return error.message
    # Without the input, which the model knows and which may be a megabyte long.
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = well_formed(".".join(str(part) for part in first["loc"])[:80])  # the model's own text
    return f"The arguments are not valid: {where + ': ' if where else ''}{first['msg']}."


def tool_problem(error: Exception, failure: AgentError, contract: Contract, too_slow: bool) -> str:
    match error:
        case _ if too_slow:
            kept = " What was written is kept, and asked for again it goes on." if contract.effect == "draft" else ""
            return f"It took longer than {contract.timeout:g} seconds and was given up. Go on without it.{kept}"
        case ToolFailed() | ModelRetry():  # a tool's own words for the model
            return error.message
        case AgentError():
            return failure.message
        case _:
            return "It failed on our side. Go on without it, and say that it could not be looked up."
