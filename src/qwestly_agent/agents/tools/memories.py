"""Tier 2: keep, correct, forget and explain memories.

A new memory must quote the user's messages: `memory.service` checks it, whatever the model passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints
from pydantic_ai import RunContext
from pydantic_ai.messages import CustomEvent

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, list_result, proposal_tool, tool
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.memory import FoundMemory, Memory, MemoryType
from qwestly_agent.memory.actions import FORGET_MEMORIES, MOST_FORGOTTEN, forget_proposal
from qwestly_agent.memory.view import Quoted, Sentence, confidence_and_origin

if TYPE_CHECKING:
    from qwestly_agent.memory.changes import Explanation

MOST_SALIENT_INSTEAD = "No memory has one of these words: these are the most important ones, whatever they are about."

MemoryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
MemoryIds = Annotated[list[MemoryId], Field(min_length=1, max_length=20)]


@dataclass(kw_only=True)
class Remembered(CustomEvent):
    """A memory was added or corrected without an approval."""

    memory: Memory


async def remember(
    ctx: RunContext[AgentDeps],
    type: MemoryType,
    text: Sentence,
    quote: Quoted,
    sensitive: bool = False,
    about_writing: bool = False,
) -> Any:
    """Remember what the user tells, or asks you to remember, in this conversation: one thing a turn.

    Args:
        type: What it is.
        text: One short statement about them without a subject: "Lives in Lisbon."
        quote: Their words that say it, letter for letter.
        sensitive: Health, religion, origin, politics, sexuality, union, pay or convictions of theirs.
        about_writing: Only for how to write about them.
    """
    has_untrusted_content = ctx.deps.calls.has_untrusted_content
    written = await ctx.deps.memory_service.remember(
        type, text, quote, ask=has_untrusted_content, sensitive=sensitive, about_writing=about_writing
    )
    return written if isinstance(written, Proposal) else await _remembered(ctx, written)


async def correct_memory(
    ctx: RunContext[AgentDeps], memory_id: MemoryId, text: Sentence, quote: Quoted, sensitive: bool = False
) -> Any:
    """Put what the user tells in this conversation in the place of a memory that is wrong or no longer so.

    Args:
        memory_id: Of the memory, as query_user_knowledge lists it.
        text: What holds instead, as one short statement without a subject: "Lives in Porto."
        quote: Their words that say it, letter for letter.
        sensitive: As in remember.
    """
    written = await ctx.deps.memory_service.correct(
        memory_id, text, quote, ask=ctx.deps.calls.has_untrusted_content, sensitive=sensitive
    )
    return written if isinstance(written, Proposal) else await _remembered(ctx, written)


async def forget_memory(ctx: RunContext[AgentDeps], memory_ids: MemoryIds) -> Proposal:
    """Propose to forget memories for good. The user is shown exactly what would go, and is asked; nothing is forgotten
    before their yes.

    Args:
        memory_ids: Of all that the user wants forgotten, as query_user_knowledge lists them.
    """
    lineage = await ctx.deps.memories.find_lineage(ctx.deps.user_id, memory_ids)
    if unknown := set(memory_ids) - {each.id for each in lineage}:
        raise NotFound(f"There is no such memory: {', '.join(sorted(unknown))}.")
    if len(lineage) > MOST_FORGOTTEN:
        raise Invalid("That is too much at once. Propose fewer of them.")
    return forget_proposal(ctx.deps.user_id, lineage)


async def explain_memory(ctx: RunContext[AgentDeps], about: QueryText) -> dict[str, Any]:
    """Explain why something about the user is remembered: their words, their day, and
    what was remembered before.

    Args:
        about: What is asked about, in a few words, or a memory's id.
    """
    explained = await ctx.deps.memory_service.explain(about)
    note_origin(ctx, [memory for each in explained for memory in (each.memory, *each.before)])
    return list_result("memories", [_explained(each) for each in explained], "Nothing is remembered about that.")


def note_origin(ctx: RunContext[AgentDeps], memories: Sequence[Memory]) -> None:
    """Mark the result as the user's own if they typed all of its text."""
    if ctx.tool_call_id:
        own = all(each.trust in ("user_said", "inferred") for each in memories)
        ctx.deps.calls.made[ctx.tool_call_id].is_users_own = own


def remembered_id(result: Any) -> str | None:
    """Return the id of the memory that `remember` or `correct_memory` stored; None for any other result."""
    match result:
        case {"remembered": {"id": str(memory_id)}}:
            return memory_id
        case _:
            return None


async def _remembered(ctx: RunContext[AgentDeps], memory: Memory) -> dict[str, Any]:
    await ctx.emit(Remembered(memory=memory))
    if memory.status == "unchecked":
        note = "It is kept, and used once it could be checked. The user can undo it for a day."
    else:
        note = "It is remembered from now on. The user can undo it for a day."
    if memory.undo_until < ctx.deps.clock():
        note = "It was remembered already."
    return {"remembered": _told(memory), "status": memory.status, "note": note}


def found_memory(found: FoundMemory, before: Sequence[Memory]) -> dict[str, Any]:
    return {"kind": "memory", **_told(found.memory, before), "score": found.score.model_dump()}


def _explained(explanation: "Explanation") -> dict[str, Any]:
    # Leave out the conversation's title, which may contain forgotten text.
    said_on = {"said_on": _day(explanation.said_on)}
    return _without_nothing({**_told(explanation.memory, explanation.before), **said_on})


def _told(memory: Memory, before: Sequence[Memory] = ()) -> dict[str, Any]:
    return _without_nothing(
        {
            "id": memory.id,
            "type": memory.type,
            "content": memory.content,
            "since": _day(memory.valid_from),
            "told_on": _day(memory.created_at),
            "how_sure": confidence_and_origin(memory),
            "quote": memory.quote,
            "question": memory.question,
            "before": [_replaced(each) for each in before],
        }
    )


def _replaced(memory: Memory) -> dict[str, Any]:
    until = to_datetime(memory.superseded_at) if memory.superseded_at else None
    since = {"since": _day(memory.valid_from), "until": _day(until)}
    return _without_nothing({"id": memory.id, "content": memory.content, **since})


def _without_nothing(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _day(moment: date | None) -> str | None:
    return f"{moment:%Y-%m-%d}" if moment else None


TOOLS = [
    tool(remember, effect="memory", label="Remembering that…"),
    proposal_tool(forget_memory, FORGET_MEMORIES, label="Asking what shall be forgotten…"),
    tool(correct_memory, effect="memory", label="Correcting a memory…"),
    tool(explain_memory, effect="read", label="Looking up why I know that…", is_untrusted=True),
]
