"""Search all that is known of the user: memories, résumés, documents, interview drafts and earlier messages."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from pydantic_ai import RunContext

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, embed_query, list_result, tool, vector_notes
from qwestly_agent.agents.tools.memories import MOST_SALIENT_INSTEAD, found_memory, note_origin
from qwestly_agent.domain.conversation import SaidBefore
from qwestly_agent.domain.resume import UNDER_WAY
from qwestly_agent.memory.find import find_or_most_salient
from qwestly_agent.resumes.model import read_items, source_of
from qwestly_agent.text.language import content_stems

MOST_MEMORIES, MOST_PASSAGES, MOST_MESSAGES, MOST_BY_WORDS = 10, 6, 6, 5
MOST_RESUMES, MOST_INTERVIEWS = 3, 5
LONGEST_CHARACTERS = 600

Group: TypeAlias = Literal["memories", "resumes", "passages", "interviews", "messages"]
Found: TypeAlias = list[dict[str, Any]]
Vector: TypeAlias = Sequence[float] | None


async def query_user_knowledge(
    ctx: RunContext[AgentDeps],
    query: QueryText,
    only: Literal["", "memories", "documents", "messages", "first messages"] = "",
) -> dict[str, Any]:
    """Search all that is known of the user: memories of what they told, their résumés and documents, the drafts of
    their interviews, and what you both said before.

    Args:
        query: What to look for, in a few words.
        only: Empty for all. "documents" are résumés, documents and interviews; "first messages" how this conversation
            began.
    """
    if only == "first messages":
        begun = await ctx.deps.conversation_search.first_messages(
            ctx.deps.user_id, ctx.conversation_id or "", MOST_MESSAGES + 1
        )
        return list_result("messages", _shown(ctx, [(each, True) for each in begun]), "Nothing was said before.")
    vector, notes = await embed_query(ctx, query), list[str]()
    searches = {name: _SEARCHES[name](ctx, query, vector, notes) for name in _GROUPS[only]}
    found = dict(zip(searches, await asyncio.gather(*searches.values()), strict=True))
    if only != "memories" and ctx.tool_call_id and any(each for name, each in found.items() if name != "memories"):
        ctx.deps.calls.made[ctx.tool_call_id].is_users_own = False
    nothing = [] if any(found.values()) else ["Nothing is known about that."]
    if said := " ".join([*nothing, *vector_notes(vector), *notes]):
        return {**found, "note": said}
    return {**found}


async def _memories(ctx: RunContext[AgentDeps], query: str, vector: Vector, notes: list[str]) -> Found:
    store, user_id = ctx.deps.memories, ctx.deps.user_id
    findings = await find_or_most_salient(store, user_id, query, vector, MOST_MEMORIES, ctx.deps.clock())
    found = findings.found
    note_origin(ctx, [each.memory for each in found])
    replaced = await store.list_replaced_by(user_id, [each.memory.id for each in found])
    if found and findings.by == "salience":
        notes.append(MOST_SALIENT_INSTEAD)
    return [found_memory(each, [old for old in replaced if old.superseded_by == each.memory.id]) for each in found]


async def _resumes(ctx: RunContext[AgentDeps], query: str, _: Vector, __: list[str]) -> Found:
    kept = await ctx.deps.resumes.newest(ctx.deps.user_id, MOST_RESUMES)
    items = [
        {"kind": "résumé", "from": source_of(each), "text": text, "quote": quote, "id": f"{each.id}{path}"}
        for each in kept
        if each.status not in UNDER_WAY
        for path, text, quote in read_items(each)
    ]
    return _best(query, items)


async def _passages(ctx: RunContext[AgentDeps], query: str, vector: Vector, _: list[str]) -> Found:
    found = await ctx.deps.knowledge.search(ctx.deps.user_id, query, vector, MOST_PASSAGES)
    return [asdict(each) for each in found]


async def _interviews(ctx: RunContext[AgentDeps], query: str, _: Vector, __: list[str]) -> Found:
    kept = await ctx.deps.interviews.newest(ctx.deps.user_id, MOST_INTERVIEWS)
    sentences = [
        {"kind": "interview draft", "id": each.conversation_id, "title": each.title, "text": sentence.text}
        for each in kept
        for sentence in each.interview.draft
    ]
    return _best(query, sentences)


async def _messages(ctx: RunContext[AgentDeps], query: str, vector: Vector, _: list[str]) -> Found:
    search = ctx.deps.conversation_search
    return _shown(ctx, await search.find_messages(ctx.deps.user_id, query, vector, MOST_MESSAGES + 1))


_SEARCHES = {
    "memories": _memories,
    "resumes": _resumes,
    "passages": _passages,
    "interviews": _interviews,
    "messages": _messages,
}
_GROUPS: Mapping[str, tuple[Group, ...]] = {
    "": ("memories", "resumes", "passages", "interviews", "messages"),
    "memories": ("memories",),
    "documents": ("resumes", "passages", "interviews"),
    "messages": ("messages",),
}


def _best(query: str, items: Found) -> Found:
    """Return the items that have words of the query, those with most of them first. They are few, and have no
    vectors."""
    wanted = {*content_stems(query)}
    found = [(len(wanted & {*content_stems(each["text"])}), each) for each in items]
    ranked = sorted(found, key=lambda each: -each[0])
    return [each for count, each in ranked[:MOST_BY_WORDS] if count]


def _shown(ctx: RunContext[AgentDeps], found: Sequence[tuple[SaidBefore, bool]]) -> Found:
    # When an answer is regenerated, the question itself is already stored.
    earlier = [each for each in found if each[0].id != ctx.deps.memory_service.message_id][:MOST_MESSAGES]
    return [_message(*each, ctx.conversation_id or "") for each in earlier]


def _message(said: SaidBefore, has_words: bool, here: str) -> dict[str, Any]:
    text = said.content[:LONGEST_CHARACTERS]
    return {
        "kind": "message",
        "id": said.id,
        "by": "the user" if said.role == "user" else "you",
        "on": f"{said.created_at:%Y-%m-%d}",
        "in": "this conversation" if said.conversation_id == here else "an earlier conversation",
        "text": text + ("…" if len(text) < len(said.content) else ""),
        **({} if has_words else {"note": "None of these words: it is near in meaning, or of something else."}),
    }


# Untrusted: people paste text by others, and answers repeat it.
TOOLS = [tool(query_user_knowledge, effect="read", label="Looking at what I know of you…", is_untrusted=True)]
