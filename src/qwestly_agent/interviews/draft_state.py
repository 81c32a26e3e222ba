"""The input and output of the states of `write_draft`: ids only. Intermediate results are stored with the interview."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from qwestly_agent.domain.interview import Interview
from qwestly_agent.domain.memory import MEMORY, Memory, evidence_id
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.language import language_of
from qwestly_agent.text.user_text import trouble_in, typed_in
from qwestly_agent.workflow_state import UserState

MOST_MESSAGES = 40
LONGEST_MESSAGE = 20_000
MOST_REMEMBERED = 15


@dataclass(frozen=True)
class Spoken:
    """A message as the interview's agents read it."""

    id: str
    by: Literal["the person", "the interviewer"]
    text: str
    known_from: str = ""
    """The earlier source that the text comes from, for the person; empty if it is from this conversation."""


class DraftState(UserState):
    conversation_id: str
    seq: int
    """`seq` of the answer that started the run; the draft covers all messages up to it."""
    overtaken: bool = False
    """True if the draft of a newer answer exists or was begun."""

    @property
    def run_name(self) -> str:
        return f"interview-{self.conversation_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "conversation_id": self.conversation_id}


def transcript_of(messages: Sequence[Message]) -> list[Spoken]:
    """Return the messages, the person's without pasted text. Messages excluded from prompts are left out."""
    in_trouble = {each.run_id for each in messages if each.role == "user" and _in_trouble(each)}
    told = (each for each in messages if not each.withheld and each.run_id not in in_trouble)
    return [Spoken(each.id, _by(each), words) for each in told if (words := _words(each))]


def sources_of(said: Sequence[Spoken]) -> dict[str, QuotedSource]:
    """Return the person's messages as sources. An interviewer's question is not evidence."""
    return {
        each.id: QuotedSource(
            id=each.id, text=quoted(each.text), language=language_of(each.text), context=_asked_before(said, place)
        )
        for place, each in enumerate(said)
        if each.by == "the person"
    }


async def remembered_statements(memories: Memories, user_id: str, interview: Interview) -> list[Spoken]:
    """Return the person's own words from earlier conversations, which the first draft of an agenda also reads."""
    if not interview.has_agenda or interview.drafted_to:
        return []
    return await own_words(memories, user_id)


async def own_words(memories: Memories, user_id: str) -> list[Spoken]:
    """Return memories in the person's own words, without sensitive ones."""
    best = await memories.most_salient(user_id, MOST_REMEMBERED)
    plain = (each for each in best if each.trust == "user_said" and not each.sensitive and not each.question)
    return [_remembered(each) for each in plain if each.quote]


async def still_remembered(memories: Memories, user_id: str, message_ids: Collection[str]) -> set[str]:
    """Return the ids of memories that are still active."""
    ids = [each.removeprefix(MEMORY) for each in message_ids if each.startswith(MEMORY)]
    found = await memories.get_many(user_id, ids) if ids else []
    return {evidence_id(each.id) for each in found if each.status == "active"}


def _remembered(memory: Memory) -> Spoken:
    on = f" on {memory.created_at:%d %B %Y}".replace(" 0", " ") if memory.created_at else ""
    return Spoken(evidence_id(memory.id), "the person", memory.quote, f"what you told us{on}")


def by_number(said: Sequence[Spoken]) -> Mapping[str, str]:
    """Return message ids by their short names in a prompt."""
    return {f"m{number}": each.id for number, each in enumerate(said, 1)}


def renamed(said: Sequence[Spoken]) -> list[Spoken]:
    return [replace(each, id=name) for (name, _), each in zip(by_number(said).items(), said, strict=True)]


def _asked_before(said: Sequence[Spoken], place: int) -> str:
    return quoted(said[place - 1].text) if place and said[place - 1].by == "the interviewer" else ""


def _in_trouble(message: Message) -> bool:
    return message.in_trouble or trouble_in(message.content) is not None


def _words(message: Message) -> str:
    # An answer may be long, as dictated ones are. A paste is recognized by its form.
    words = typed_in(message.content) if message.role == "user" else message.content
    return words[:LONGEST_MESSAGE].strip()


def _by(message: Message) -> Literal["the person", "the interviewer"]:
    return "the person" if message.role == "user" else "the interviewer"


def is_behind(interview: Interview, state: DraftState) -> bool:
    return interview.drafted_to < state.seq
