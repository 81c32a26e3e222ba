"""Tools that read what is known: memories, documents, the profile, and how Qwestly works."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field, StringConstraints
from pydantic_ai import RunContext
from pydantic_ai.messages import CustomEvent

from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.base import QueryText, embed_query, list_result, proposal_tool, tool, vector_notes
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.clock import format_date, to_datetime
from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.domain.conversation import SaidBefore
from qwestly_agent.domain.memory import FoundMemory, Memory, MemoryType
from qwestly_agent.domain.resume import UNDER_WAY
from qwestly_agent.memory.actions import FORGET_MEMORIES, MOST_FORGOTTEN, forget_proposal
from qwestly_agent.memory.find import find_or_most_salient
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.memory.view import Quoted, Sentence, confidence_and_origin
from qwestly_agent.resumes.model import additions, read_items, source_of
from qwestly_agent.stores.candidate_data import Docs, Knowledge, Profiles
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.resumes import Resumes
from qwestly_agent.text.language import content_stems

if TYPE_CHECKING:
    from qwestly_agent.memory.changes import Provenance


# --- memories ---------------------------------------------------------------------------------------------------------
# Tier 2: store, correct, forget and explain memories.
#
# A new memory must quote the user's messages: `memory.service` checks this, whatever the model passes.


MOST_SALIENT_INSTEAD = "No memory has one of these words: these are the most important ones, whatever they are about."

MemoryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
FORGET_THESE_TOO = "This was remembered before they asked: propose forget_memory for it."
Quotes = Annotated[list[Quoted], Field(min_length=1, max_length=20)]
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
    has_untrusted_content = ctx.deps.turn.calls.has_untrusted_content
    written = await ctx.deps.feature(MemoryService).remember(
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
    written = await ctx.deps.feature(MemoryService).correct(
        memory_id, text, quote, ask=ctx.deps.turn.calls.has_untrusted_content, sensitive=sensitive
    )
    return written if isinstance(written, Proposal) else await _remembered(ctx, written)


async def do_not_remember(ctx: RunContext[AgentDeps], quotes: Quotes) -> dict[str, Any]:
    """Leave out of what is remembered what the user asks you not to remember, note or keep.

    Args:
        quotes: For each message of theirs that is meant, words of it, letter for letter.
    """
    left_out = await ctx.deps.feature(MemoryService).leave_out(quotes, ask=ctx.deps.turn.calls.has_untrusted_content)
    note = "Nothing of these messages will be remembered. They stay in this conversation until the user deletes it."
    if not left_out.remembered:
        return {"left_out": left_out.messages, "note": note}
    known = list(map(_memory_fields, left_out.remembered))
    return {"left_out": left_out.messages, "remembered_before": known, "note": f"{note} {FORGET_THESE_TOO}"}


async def forget_memory(ctx: RunContext[AgentDeps], memory_ids: MemoryIds) -> Proposal:
    """Propose to forget memories for good. The user is shown exactly what would go, and is asked; nothing is forgotten
    before their yes.

    Args:
        memory_ids: Of all that the user wants forgotten, as query_user_knowledge lists them.
    """
    lineage = await ctx.deps.feature(Memories).find_lineage(ctx.deps.user_id, memory_ids)
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
    explained = await ctx.deps.feature(MemoryService).explain(about)
    note_origin(ctx, [memory for each in explained for memory in (each.memory, *each.before)])
    return list_result("memories", [_explained(each) for each in explained], "Nothing is remembered about that.")


def note_origin(ctx: RunContext[AgentDeps], memories: Sequence[Memory]) -> None:
    """Mark the result as the user's own if they typed all of its text."""
    if ctx.tool_call_id:
        own = all(each.trust in ("user_said", "inferred") for each in memories)
        ctx.deps.turn.calls.made[ctx.tool_call_id].is_users_own = own


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
    if memory.undo_until < ctx.deps.turn.clock():
        note = "It was remembered already."
    return {"remembered": _memory_fields(memory), "status": memory.status, "note": note}


def found_memory(found: FoundMemory, before: Sequence[Memory]) -> dict[str, Any]:
    return {"kind": "memory", **_memory_fields(found.memory, before), "score": found.score.model_dump()}


def _explained(provenance: "Provenance") -> dict[str, Any]:
    # Leave out the conversation's title, which may contain forgotten text.
    said_on = {"said_on": _day(provenance.said_on)}
    return _without_nothing({**_memory_fields(provenance.memory, provenance.before), **said_on})


def _memory_fields(memory: Memory, before: Sequence[Memory] = ()) -> dict[str, Any]:
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
    return format_date(moment) if moment else None


MEMORY_TOOLS = [
    tool(remember, effect="memory", label="Remembering that…"),
    proposal_tool(forget_memory, FORGET_MEMORIES, label="Asking what shall be forgotten…"),
    tool(correct_memory, effect="memory", label="Correcting a memory…"),
    tool(do_not_remember, effect="memory", label="Leaving that out…"),
    tool(explain_memory, effect="read", label="Looking up why I know that…", is_untrusted=True),
]


# --- documents --------------------------------------------------------------------------------------------------------
# Search everything known about the user: memories, résumés, documents, interview drafts and earlier messages.


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
        begun = await ctx.deps.feature(ConversationSearch).first_messages(
            ctx.deps.user_id, ctx.conversation_id or "", MOST_MESSAGES + 1
        )
        return list_result(
            "messages", _earlier_messages(ctx, [(each, True) for each in begun]), "Nothing was said before."
        )
    vector, notes = await embed_query(ctx, query), list[str]()
    searches = {name: _SEARCHES[name](ctx, query, vector, notes) for name in _GROUPS[only]}
    found = dict(zip(searches, await asyncio.gather(*searches.values()), strict=True))
    if only != "memories" and ctx.tool_call_id and any(each for name, each in found.items() if name != "memories"):
        ctx.deps.turn.calls.made[ctx.tool_call_id].is_users_own = False
    nothing = [] if any(found.values()) else ["Nothing is known about that."]
    if said := " ".join([*nothing, *vector_notes(vector), *notes]):
        return {**found, "note": said}
    return {**found}


async def _memories(ctx: RunContext[AgentDeps], query: str, vector: Vector, notes: list[str]) -> Found:
    store, user_id = ctx.deps.feature(Memories), ctx.deps.user_id
    findings = await find_or_most_salient(store, user_id, query, vector, MOST_MEMORIES, ctx.deps.turn.clock())
    found = findings.found
    note_origin(ctx, [each.memory for each in found])
    replaced = await store.list_replaced_by(user_id, [each.memory.id for each in found])
    if found and findings.by == "salience":
        notes.append(MOST_SALIENT_INSTEAD)
    return [found_memory(each, [old for old in replaced if old.superseded_by == each.memory.id]) for each in found]


async def _resumes(ctx: RunContext[AgentDeps], query: str, _: Vector, __: list[str]) -> Found:
    kept = await ctx.deps.feature(Resumes).newest(ctx.deps.user_id, MOST_RESUMES)
    items = [
        {"kind": "résumé", "from": source_of(each), "text": text, "quote": quote, "id": f"{each.id}{path}"}
        for each in kept
        if each.status not in UNDER_WAY
        for path, text, quote in read_items(each)
    ]
    return _best(query, items)


async def _passages(ctx: RunContext[AgentDeps], query: str, vector: Vector, _: list[str]) -> Found:
    found = await ctx.deps.feature(Knowledge).search(ctx.deps.user_id, query, vector, MOST_PASSAGES)
    return [asdict(each) for each in found]


async def _interviews(ctx: RunContext[AgentDeps], query: str, _: Vector, __: list[str]) -> Found:
    kept = await ctx.deps.feature(Interviews).newest(ctx.deps.user_id, MOST_INTERVIEWS)
    sentences = [
        {"kind": "interview draft", "id": each.conversation_id, "title": each.title, "text": sentence.text}
        for each in kept
        for sentence in each.interview.draft
    ]
    return _best(query, sentences)


async def _messages(ctx: RunContext[AgentDeps], query: str, vector: Vector, _: list[str]) -> Found:
    search = ctx.deps.feature(ConversationSearch)
    return _earlier_messages(ctx, await search.find_messages(ctx.deps.user_id, query, vector, MOST_MESSAGES + 1))


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
    """Return the items that contain words of the query, those with the most of them first. There are only a few items,
    and they have no vectors."""
    wanted = {*content_stems(query)}
    found = [(len(wanted & {*content_stems(each["text"])}), each) for each in items]
    ranked = sorted(found, key=lambda each: -each[0])
    return [each for count, each in ranked[:MOST_BY_WORDS] if count]


def _earlier_messages(ctx: RunContext[AgentDeps], found: Sequence[tuple[SaidBefore, bool]]) -> Found:
    # When an answer is regenerated, the question itself is already stored.
    earlier = [each for each in found if each[0].id != ctx.deps.feature(MemoryService).message_id][:MOST_MESSAGES]
    return [_message(*each, ctx.conversation_id or "") for each in earlier]


def _message(said: SaidBefore, has_words: bool, here: str) -> dict[str, Any]:
    text = said.content[:LONGEST_CHARACTERS]
    return {
        "kind": "message",
        "id": said.id,
        "by": "the user" if said.role == "user" else "you",
        "on": format_date(said.created_at),
        "in": "this conversation" if said.conversation_id == here else "an earlier conversation",
        "text": text + ("…" if len(text) < len(said.content) else ""),
        **({} if has_words else {"note": "None of these words: it is near in meaning, or of something else."}),
    }


# Untrusted, because people paste text by others, and answers repeat it.
DOCUMENT_TOOLS = [tool(query_user_knowledge, effect="read", label="Looking at what I know of you…", is_untrusted=True)]


# --- profile ----------------------------------------------------------------------------------------------------------
# Tier 1: the profile.


async def get_user_profile(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """Read the user's profile: name, headline, location, summary, skills, education, employment, preferences, LinkedIn,
    and their published cards with their ids and texts; and what their newest résumé adds to it."""
    deps = ctx.deps
    career = None if deps.turn.calls.may_have_changed_data else deps.turn.career
    profile, resumes = await asyncio.gather(
        deps.feature(Profiles).get_full(deps.user_id, career), deps.feature(Resumes).newest(deps.user_id, 1)
    )
    added = next((added for each in resumes if (added := additions(each, profile))), None)
    if profile:
        return {"profile": profile, **({"resume_adds": added} if added else {})}
    note = "This user has no profile yet."
    return {"profile": None, **({"resume_adds": added} if added else {}), "note": note}


PROFILE_TOOLS = [tool(get_user_profile, effect="read", label="Looking up your profile…", is_untrusted=True)]


# --- qwestly ----------------------------------------------------------------------------------------------------------
# How Qwestly works.


LIMIT = 5


async def query_qwestly_docs(ctx: RunContext[AgentDeps], query: QueryText) -> dict[str, Any]:
    """Search Qwestly's own documentation: features, cards, prices, privacy, how things work.

    Args:
        query: What to look for, in a few words.
    """
    vector = await embed_query(ctx, query)
    found = await ctx.deps.feature(Docs).search(query, vector, LIMIT)
    sections = [{"title": section.title, "page": section.path, "text": section.text} for section in found]
    return list_result("sections", sections, "Qwestly's documentation says nothing about that.", *vector_notes(vector))


QWESTLY_TOOLS = [tool(query_qwestly_docs, effect="read", label="Reading about Qwestly…")]
