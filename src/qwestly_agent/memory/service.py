"""Remember, correct and explain: the service behind the memory tools of one turn.

A model passes on text that the user typed in this conversation: code finds the quote, a judge checks it, and the memory
is stored immediately and can be undone. A memory needs approval if it is sensitive, near a tombstone, not certainly
typed by the user, or if the window has untrusted content and the message is not a plain order to remember it. In a turn
with untrusted content nothing is proposed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError, Invalid, NotFound
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.memory import Memory, MemoryType, hashes_of
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.memory.actions import remember_proposal
from qwestly_agent.memory.changes import (
    HOLDS_NO_MORE,
    IMPORTANCE,
    Provenance,
    count_repetition,
    explain,
    keep,
    undo,
    write_memory,
)
from qwestly_agent.memory.find import find, vectors_or_none
from qwestly_agent.memory.forget import find_retold
from qwestly_agent.memory.judges import (
    WRITER,
    Pair,
    RefusedNote,
    UserMessage,
    compare,
    find_note,
    ground_notes,
    make_note_judge,
    user_messages_in,
)
from qwestly_agent.memory.notes import DropReason, Note, is_plain_order, is_plain_refusal
from qwestly_agent.model_calls import structured_output
from qwestly_agent.services import ModelServices
from qwestly_agent.text.user_text import holds_others_words

JUDGE_SECONDS = 3.0
UNDO_SECONDS = DAY_SECONDS = 86_400.0
MOST_PROPOSED = 2
"""Maximum memories proposed by tools within a day that still wait for approval."""
MOST_EXPLAINED = 5
MOST_MESSAGES = 200
"""Number of the conversation's newest messages that are searched for a quote."""

_WHY: dict[DropReason, str] = {
    DropReason.DOCUMENT: "What is pasted or quoted is not the user's own word. Ask them to say it themselves.",
    DropReason.CREDENTIAL: "Passwords, keys and addresses are not remembered.",
    DropReason.TOO_LONG: "That is too long to be remembered. Say it in one short sentence.",
    DropReason.NOTHING: "There is nothing in that to remember.",
}
_NOT_SAID = "These words do not stand in the user's messages. Quote what they typed there, letter for letter."
_ONCE = (
    "One thing is remembered or corrected a turn, and it was. The rest of what the user wrote is read after the "
    "conversation: say so."
)
_KNOWN_BESIDE = "That is remembered already, beside the other one. If the other one is wrong, have it forgotten."
_ASKED_BEFORE = "The user had something like that forgotten, and was asked about it in this conversation. Let it be."
_ASKED_ENOUGH = "Two such things wait for the user's decision since yesterday. What they wrote is read later: say so."
_AFTER_OTHERS = "Others' text was read in this turn. What the user wrote is read after the conversation: say so."
_NOT_PLAIN = "Others' text is in this conversation: nothing is left out unless the user's message asks for that alone."
_WAITS = "That waits for the user's decision already."
_LATER = "It could not be checked just now. What the user wrote is read again after the conversation: say so."


@dataclass(frozen=True)
class WithheldMessages:
    messages: int
    remembered: tuple[Memory, ...]
    """Earlier memories from these messages, which only forgetting removes."""


@dataclass
class MemoryService:
    """Memory changes made by the tools of one turn."""

    services: ModelServices
    user_id: str
    conversation_id: str
    message_id: str
    text: str
    """The user's message of this turn."""
    has_untrusted_content: Callable[[], bool] = bool
    """Returns True if the window has untrusted content, not counting the first-turn context."""
    is_done: bool = False
    """True once a memory was stored in this turn."""

    async def remember(
        self,
        kind: MemoryType,
        content: str,
        quote: str,
        *,
        ask: bool,
        sensitive: bool = False,
        about_writing: bool = False,
    ) -> Memory | Proposal:
        """Store the memory (unchecked if the judge does not answer in time), or return a proposal. `ask`: a tool of
        this turn returned untrusted content. Raises `Unavailable`, and `Invalid` with a sentence for the model."""
        return await self._once(partial(self._note, kind, content, quote, sensitive, about_writing), None, ask=ask)

    async def correct(
        self, memory_id: str, content: str, quote: str, *, ask: bool, sensitive: bool = False
    ) -> Memory | Proposal:
        """Like `remember`, but replace a memory. Also raises `NotFound`."""
        known = await self.services.memories.get(self.user_id, memory_id)
        if known.status != "active":
            raise Invalid(HOLDS_NO_MORE if known.status in ("superseded", "merged") else _WAITS)

        async def note() -> Note:
            kind = cast(MemoryType, known.type)
            found = await self._note(kind, content, quote, sensitive, known.about_writing)
            return found.model_copy(update={"corrects": known.content})

        return await self._once(note, known, ask=ask)

    async def leave_out(self, quotes: Sequence[str], *, ask: bool = False) -> WithheldMessages:
        """Exclude the messages with these quotes, and this turn's message, from extraction, and undo what a tool stored
        from them. `ask` as in `remember`. If text by others is present, even from earlier turns, only a plain request
        by the user counts, since the wish may come from that text. Raises `Invalid` with a sentence for the model, also
        if a quote is not found."""
        is_beside_others = ask or holds_others_words(self.text) or self.has_untrusted_content()
        if is_beside_others and not is_plain_refusal(self.text):
            raise Invalid(_NOT_PLAIN)
        now, said = self.services.clock(), await self._said()
        found = {self.message_id}
        for quote in quotes:
            having = [each.id for each in said if find_span(quote, each.text)]
            if not having:
                raise Invalid(_NOT_SAID)
            found.add(having[-1])
        await self.services.watermarks.leave_out(self.user_id, self.conversation_id, sorted(found))
        waiting = await self.services.unchecked.list_of_conversation(self.user_id, self.conversation_id)
        held = [*waiting, *await self.services.memories.newest(self.user_id, MOST_MESSAGES)]
        told = [each for each in held if not found.isdisjoint(each.source.message_ids)]
        for each in told:
            if each.undo_until >= now:
                await undo(self.services, self.user_id, each.id)
        await self.services.unchecked.delete(self.user_id, [each.id for each in told])
        remembered = tuple(each for each in told if each.status == "active" and each.undo_until < now)
        return WithheldMessages(len(found), remembered)

    async def explain(self, about: str) -> list[Provenance]:
        """Explain the memory with this id, or the memories found by these words."""
        try:
            found = [await self.services.memories.get(self.user_id, about)]
            if found[0].status in ("proposed", "unchecked"):  # memories with these statuses are in no prompt
                raise NotFound
        except NotFound:
            found = [each.memory for each in await find(self.services, self.user_id, about, MOST_EXPLAINED)]
        return [
            await explain(self.services.conversations, self.services.memories, self.user_id, each.id) for each in found
        ]

    async def _note(self, kind: MemoryType, content: str, quote: str, sensitive: bool, about_writing: bool) -> Note:
        """Find the quote in the latest message that contains it."""
        find_in = partial(
            find_note,
            kind=kind,
            content=content,
            quote=quote,
            conversation_id=self.conversation_id,
            importance=IMPORTANCE,
            sensitive=sensitive,
            about_writing=about_writing,
            is_asked_for=True,
        )
        found = list(map(find_in, reversed(await self._said())))
        if note := next((each for each in found if isinstance(each, Note)), None):
            return note
        raise Invalid(next((why for each in found if (why := _WHY.get(cast(DropReason, each)))), _NOT_SAID))

    async def _said(self) -> list[UserMessage]:
        """Return what the user wrote in this conversation, up to this turn's message."""
        messages = await self.services.messages.list_recent(self.user_id, self.conversation_id, MOST_MESSAGES)
        before = "".join(each.content for each in messages[-1:] if each.role == "assistant" and not each.withheld)
        this = UserMessage(self.message_id, self.text, to_datetime(self.services.clock()), before)
        return [*user_messages_in(messages, 0), this]

    async def _once(self, find: Callable[[], Awaitable[Note]], known: Memory | None, *, ask: bool) -> Memory | Proposal:
        if self.is_done:
            raise Invalid(_ONCE)
        self.is_done = True  # before the first await, because the calls of one step run concurrently
        try:
            return await self._write(await find(), known, ask=ask)
        except BaseException:
            self.is_done = False
            raise

    async def _write(self, note: Note, known: Memory | None, *, ask: bool) -> Memory | Proposal:
        services, user_id = self.services, self.user_id
        await pause.check(services.signals, user_id)
        note, is_about_it = await asyncio.gather(self._judged(note), self._is_about(known, note))
        equal = (await services.memories.find_by_hashes(user_id, [note.hash])).get(note.hash)
        if equal and equal.status == "proposed":  # its approval may never have been created
            return remember_proposal([equal], [equal.id], self.conversation_id)
        if equal and equal.status == "active":
            return await self._reinforce(note, equal, known)
        [vector] = await vectors_or_none(services.embeddings, services.logger, [note.content])
        # With this turn's message the user may ask again for something they had undone; earlier messages do not count
        # as such a request.
        before = await find_retold(services, user_id, note, vector, set(note.source.message_ids) - {self.message_id})
        retells = before.tombstones if before else ()
        if retells and not await services.watermarks.may_ask_again(user_id, self.conversation_id, self.message_id):
            raise Invalid(_ASKED_BEFORE)
        # If the whole message is an order to remember, only the user can have given it, whatever else the window
        # contains. A line that the message adopts, however, is the agent's.
        is_ordered = not (known or note.question) and is_plain_order(self.text)
        is_ordered = is_ordered and self.message_id in note.source.message_ids
        is_after_others = not is_ordered and (ask or holds_others_words(self.text))
        ask = (
            is_after_others
            or (not is_ordered and self.has_untrusted_content())
            or note.sensitive
            or note.is_doubtful
            or before is not None
            or not is_about_it
        )
        if ask and not note.is_checked:
            raise Invalid(_LATER)
        if is_after_others:
            raise Invalid(_AFTER_OTHERS)
        if ask and await self._has_asked_enough():
            raise Invalid(_ASKED_ENOUGH)
        now, new_id = services.clock(), f"mem_{sha256_hex(user_id, services.new_id(), note.hash)[:32]}"
        if not ask:
            status = "active" if note.is_checked else "unchecked"
            new = note.memory(new_id, status, last_seen=now, undo_until=now + UNDO_SECONDS)
            memory = await keep(services, user_id, new, vector, known, self._is_forgotten)
            if not await services.conversations.exists(user_id, self.conversation_id):
                await services.unchecked.delete(user_id, [memory.id])
            return memory
        if retells:
            await services.watermarks.mark_asked_again(user_id, self.conversation_id, self.message_id)
        # The equal memory was unchecked, and has been judged now.
        new = note.memory(equal.id if equal else new_id, "proposed", last_seen=now, retells=retells)
        replaces = [known.id] if known else []
        await write_memory(services, user_id, new, vector, replaces, was_unchecked=equal is not None)
        return remember_proposal([new], [new.id], self.conversation_id)

    async def _has_asked_enough(self) -> bool:
        waiting = await self.services.memories.newest(self.user_id, MOST_PROPOSED, status="proposed")
        since = to_datetime(self.services.clock() - DAY_SECONDS)
        return len([each for each in waiting if each.created_at and each.created_at > since]) >= MOST_PROPOSED

    async def _is_forgotten(self, memory: Memory) -> bool:
        own = hashes_of(self.user_id, memory.content, memory.quote)
        return any(own & each.hashes for each in await self.services.tombstones.list_all(self.user_id))

    async def _reinforce(self, note: Note, equal: Memory, known: Memory | None) -> Memory:
        """Reinforce an equal memory without adding or replacing any."""
        if known and known.id != equal.id:
            raise Invalid(_KNOWN_BESIDE)
        said = note.memory(equal.id, "active", last_seen=self.services.clock())
        await count_repetition(self.services.memories, self.services.clock, self.user_id, equal.id, said)
        return await self.services.memories.get(self.user_id, equal.id)

    async def _judged(self, note: Note) -> Note:
        ask = partial(structured_output, self.services, self.user_id, self.services.judges[WRITER])
        judge = make_note_judge(ask, JUDGE_SECONDS, [note.context, self.text])
        [read] = await ground_notes([note], judge)
        if isinstance(read, RefusedNote):
            raise Invalid(" ".join(("It is not remembered.", *read.reasons)))
        return read

    async def _is_about(self, known: Memory | None, note: Note) -> bool:
        """True if a correction is about the memory that it would replace. When in doubt it returns False, which
        requires approval."""
        if known is None:
            return True
        try:
            [relation] = await compare(
                self.services, self.user_id, [Pair(known.content, note.content)], seconds=JUDGE_SECONDS
            )
        except AgentError:
            return False
        return relation != "other"
