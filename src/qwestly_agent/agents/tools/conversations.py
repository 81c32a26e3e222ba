"""Search earlier messages, including those outside the window."""

from typing import Any, Literal

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, list_result, tool
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.domain.said_before import SaidBefore

LIMIT = 6
LONGEST_CHARACTERS = 600


async def search_conversation(
    ctx: RunContext[AgentDeps], query: QueryText, which: Literal["best", "first"] = "best"
) -> dict[str, Any]:
    """Search what you and the user said before, in this conversation and earlier ones.

    Args:
        query: Words that were said, or what they were about.
        which: "best" is what has most of the words or is nearest in meaning; "first" is how this conversation began.
    """
    search, user_id, here = ctx.deps.conversation_search, ctx.deps.user_id, ctx.conversation_id or ""
    if which == "first":
        found = [(each, True) for each in await search.first_messages(user_id, here, LIMIT + 1)]
    else:
        try:
            vector = await ctx.deps.query_vectors.get(query)
        except Unavailable:  # by words alone
            vector = None
        found = await search.find_messages(user_id, query, vector, LIMIT + 1)
    # When an answer is regenerated, the question itself is already stored.
    found = [each for each in found if each[0].id != ctx.deps.memory_service.message_id][:LIMIT]
    return list_result("messages", [_shown(*each, here) for each in found], "Nothing with these words was said.")


def _shown(said: SaidBefore, has_words: bool, here: str) -> dict[str, Any]:
    text = said.content[:LONGEST_CHARACTERS]
    return {
        "id": said.id,
        "by": "the user" if said.role == "user" else "you",
        "on": f"{said.created_at:%Y-%m-%d}",
        "in": "this conversation" if said.conversation_id == here else "an earlier conversation",
        "text": text + ("…" if len(text) < len(said.content) else ""),
        **({} if has_words else {"note": "None of these words: it is near in meaning, or of something else."}),
    }


# Untrusted: people paste text by others, and answers repeat it.
TOOLS = [tool(search_conversation, effect="read", label="Looking at what we said…", is_untrusted=True)]
