"""Report a person in trouble, or abuse; `agents.help` then writes the answer."""

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import tool
from qwestly_agent.text.trouble import Kind


async def report_trouble(ctx: RunContext[AgentDeps], kind: Kind, language: str) -> dict[str, str]:  # noqa: ARG001
    """Report that the user, in their newest message, says of themselves that they are in acute trouble, or only insults
    you. Call this before and instead of anything else: they are then answered in fixed words, with people who help.
    Not for what they tell of others, of the past or of their work.

    Args:
        kind: self_harm (suicide, self-harm, an overdose, seeing no way out), violence (somebody hurts or threatens
            them) or abuse (they insult or harass you, and ask for nothing).
        language: ISO 639-1 code of the language they write in.
    """
    return {"status": "answered"}


REPORT_TROUBLE = tool(report_trouble, effect="read", label="Reading carefully…")
