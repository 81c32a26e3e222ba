"""Declare tools, and the tools shared by several roles: confirm in words, hand over, and report trouble."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from pydantic import StringConstraints
from pydantic_ai import RunContext, Tool
from pydantic_ai.exceptions import ToolFailed

from qwestly_agent.agents.base import AgentDeps, Contract
from qwestly_agent.agents.design import DesignEvent
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event
from qwestly_agent.domain.approval import Effect
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.learning.service import LearningService
from qwestly_agent.llm.embeddings import QueryVectors
from qwestly_agent.services import AnyAction
from qwestly_agent.text.clean import is_pasted
from qwestly_agent.text.trouble import Kind

# --- base -------------------------------------------------------------------------------------------------------------
# Declare tools: each is one function with a contract.
#
# The function's signature is the schema that a model sees, and its docstring the description. Its first argument is the
# run's context, the only way to the user's data. If nothing is found, it returns a value that says so. Errors become
# sentences for the model: `agents.guardrails` enforces the contract.


TIMEOUT_SECONDS = 10.0
RESULT_CHARACTERS = 16_000
"""Maximum length of a result in characters of JSON: about 4,000 tokens."""
NEEDS = "needs"
"""Key in a tool's metadata for the setting that the tool requires."""

BY_WORDS_ALONE = (
    "Search by meaning cannot be reached right now: this was searched by words alone, and what says it in other words "
    "was not found. Tell the user if it matters."
)


QueryText = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Wish = Annotated[str, StringConstraints(max_length=500, strip_whitespace=True)]


def tool(
    function: Callable[..., Awaitable[Any]],
    *,
    effect: Effect,
    label: str,
    timeout: float = TIMEOUT_SECONDS,
    result_characters: int = RESULT_CHARACTERS,
    is_untrusted: bool = False,
) -> Tool[AgentDeps]:
    declared = Tool(function, metadata={"contract": Contract(effect, label, timeout, result_characters, is_untrusted)})
    declared.function_schema.json_schema = slim_schema(declared.function_schema.json_schema)
    return declared


def slim_schema(schema: Any) -> Any:
    """Remove bounds, patterns, defaults and null from a schema, since every prompt begins with all schemas. Arguments
    are still validated against the whole schema; a violation is reported to the model in a sentence."""
    if isinstance(schema, list):
        return [slim_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) == 1:
        return slim_schema({**{name: value for name, value in schema.items() if name != "anyOf"}, **kinds[0]})
    kept = {name: value for name, value in schema.items() if name not in _FOR_VALIDATION}
    if isinstance(named := kept.get("properties"), dict):
        return {
            **slim_schema({**kept, "properties": None}),
            "properties": {name: slim_schema(each) for name, each in named.items()},
        }
    return {
        name: " ".join(value.split()) if name == "description" else slim_schema(value) for name, value in kept.items()
    }


_FOR_VALIDATION = frozenset(
    {"additionalProperties", "default", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum"}
    | {"pattern", "title"}
)


def proposal_tool(function: Callable[..., Awaitable[Proposal]], action: AnyAction, *, label: str) -> Tool[AgentDeps]:
    """Declare a tool that only makes a proposal, which the gate decides on."""
    return tool(function, effect=action.effect, label=label)


def list_result(name: str, found: Sequence[Any], nothing: str, *notes: str) -> dict[str, Any]:
    """Return the results under `name`, with notes. If there are none, `nothing` is added as a note, so that the model
    does not take an empty result for a failure."""
    said = " ".join([*([] if found else [nothing]), *notes])
    return {name: found, "note": said} if said else {name: found}


def vector_notes(vector: Sequence[float] | None) -> list[str]:
    """Return the note about a search without a vector; empty if there is a vector."""
    return [BY_WORDS_ALONE] if vector is None else []


async def embed_query(ctx: RunContext[AgentDeps], query: str) -> list[float] | None:
    """Embed the query. Returns None if that fails; the search then uses words only."""
    try:
        return await ctx.deps.feature(QueryVectors).get(query)
    except Unavailable:
        ctx.deps.turn.logger.warning(Event.SEARCH_WITHOUT_VECTORS)
        return None


def require_typed(wish: str, user_messages: Sequence[str]) -> str:
    """Return the wish if the user typed it, else raise `ToolFailed`: a model may invent a wish, and pasted text may be
    another person's."""
    if wish and not any(find_span(wish, text) for text in user_messages if not is_pasted(text)):
        raise ToolFailed("Copy the wish letter for letter from what the user typed, or leave it empty.")
    return wish


# --- confirm ----------------------------------------------------------------------------------------------------------
# Ask the user to confirm something in words, in every role: a yes to it is never an approval. Hand over between chat
# and learning.


About = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]
Question = Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]


async def confirm_with_user(ctx: RunContext[AgentDeps], about: About, question: Question) -> dict[str, Any]:
    """Ask which they mean, before something long. A yes to it approves nothing.

    Args:
        about: Its name alone.
    """
    await ctx.deps.feature(LearningService).offer(about, question)
    return {"asked": question, "note": "End your answer with this question, and wait for their next message."}


def hand_over_tool(to: Literal["learning", "chat"], when: str) -> Tool[AgentDeps]:
    """Return the tool that shows a button, which starts a conversation of this role with the user's wish."""

    async def hand_over(ctx: RunContext[AgentDeps], words: str) -> dict[str, str]:
        if not 0 < len(words) <= MOST_HANDED_OVER:
            raise ToolFailed("Give their wish in a sentence.")
        # A click sends the words as the user's own, so they must be the user's: words by a model could be an order.
        require_typed(words, ctx.deps.turn.user_messages)
        await ctx.emit(DesignEvent(kind="handover", values={"role": to, "words": words}))
        return {"offered": words, "note": "Say in one sentence that the button below your answer goes on with it."}

    hand_over.__doc__ = f"If they want {when}: show a button with their words to the {to} agent."
    return tool(hand_over, effect="read", label="Looking who can help…")


MOST_HANDED_OVER = 500
HAND_OVER_TO_LEARNING = hand_over_tool("learning", "to learn something")
HAND_OVER_TO_CHAT = hand_over_tool("chat", "something else")
CONFIRM = tool(confirm_with_user, effect="draft", label="Asking you…")


# --- trouble ----------------------------------------------------------------------------------------------------------
# Report a person in trouble, or abuse; `agents.help` then writes the answer.


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
