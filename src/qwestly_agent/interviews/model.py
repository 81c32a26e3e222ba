"""The input and output of the states of `write_draft`, the models' proposals, and how they become a draft."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.clock import format_day
from qwestly_agent.domain.interview import Aspect, DraftSentence, Ended, Interview, Said
from qwestly_agent.domain.memory import MEMORY, Memory, evidence_id
from qwestly_agent.grounding import model as grounding
from qwestly_agent.grounding.model import GroundingVerdict, Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote, quoted_words
from qwestly_agent.interviews.machine import (
    MOST_UNTOLD,
    MOST_UNTOLD_KEPT,
    activate,
    activate_next,
    add_topic,
    choose_aspect,
    count_answer,
    cover,
    end,
    end_if_due,
    go_on,
    nearer_to_its_end,
    talk_about,
)
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.clean import quoted, safe_text, visible, well_formed
from qwestly_agent.text.language import language_of
from qwestly_agent.text.user_text import trouble_in, typed_in
from qwestly_agent.workflow_state import UserState

# --- draft state ------------------------------------------------------------------------------------------------------
# The input and output of the states of `write_draft`, which contain only ids. Intermediate results are stored with the
# interview.


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
    """The earlier source of the text, as named to the person; empty if it is from this conversation."""


class DraftState(UserState):
    conversation_id: str
    seq: int
    """`seq` of the answer that started the run; the draft covers all messages up to this one."""
    overtaken: bool = False
    """True if a newer answer's draft exists or has been begun."""

    @property
    def run_name(self) -> str:
        return f"interview-{self.conversation_id}"

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "conversation_id": self.conversation_id}


def transcript_of(messages: Sequence[Message]) -> list[Spoken]:
    """Return the messages, without the text that the person pasted. Messages excluded from prompts are left out."""
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
    """Return the person's own words from earlier conversations, which only the first draft of an agenda also reads."""
    if not interview.has_agenda or interview.drafted_to:
        return []
    return await own_words(memories, user_id)


async def own_words(memories: Memories, user_id: str) -> list[Spoken]:
    """Return memories in the person's own words, without sensitive ones."""
    best = await memories.most_salient(user_id, MOST_REMEMBERED)
    plain = (each for each in best if each.trust == "user_said" and not each.sensitive and not each.question)
    return [_remembered(each) for each in plain if each.quote]


async def still_remembered(memories: Memories, user_id: str, message_ids: Collection[str]) -> set[str]:
    """Return the evidence ids of those memories that are still active."""
    ids = [each.removeprefix(MEMORY) for each in message_ids if each.startswith(MEMORY)]
    found = await memories.get_many(user_id, ids) if ids else []
    return {evidence_id(each.id) for each in found if each.status == "active"}


def _remembered(memory: Memory) -> Spoken:
    on = f" on {format_day(memory.created_at.timestamp())}" if memory.created_at else ""
    return Spoken(evidence_id(memory.id), "the person", memory.quote, f"what you told us{on}")


def by_number(said: Sequence[Spoken]) -> Mapping[str, str]:
    """Return the message ids, by their short names in a prompt."""
    return {f"m{number}": each.id for number, each in enumerate(said, 1)}


def renamed(said: Sequence[Spoken]) -> list[Spoken]:
    return [replace(each, id=name) for (name, _), each in zip(by_number(said).items(), said, strict=True)]


def _asked_before(said: Sequence[Spoken], place: int) -> str:
    return quoted(said[place - 1].text) if place and said[place - 1].by == "the interviewer" else ""


def _in_trouble(message: Message) -> bool:
    return message.in_trouble or trouble_in(message.content) is not None


def _words(message: Message) -> str:
    # An answer may be long, for example if dictated. A paste is recognized by its form.
    words = typed_in(message.content) if message.role == "user" else message.content
    return words[:LONGEST_MESSAGE].strip()


def _by(message: Message) -> Literal["the person", "the interviewer"]:
    return "the person" if message.role == "user" else "the interviewer"


def is_behind(interview: Interview, state: DraftState) -> bool:
    return interview.drafted_to < state.seq


# --- decision ---------------------------------------------------------------------------------------------------------
# A model's proposals for the newest message, and the code that applies them.


Name = Annotated[str, StringConstraints(min_length=1, max_length=80)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=600)]


class ProposedTopic(BaseModel):
    title: Name
    aspects: Annotated[list[Name], Field(max_length=8)] = []
    priority: Annotated[int, Field(ge=0, le=9)] = 0


class ClosedAspect(BaseModel):
    """An aspect about which the person has nothing to say ("I don't know", "skip")."""

    topic: Name
    aspect: Name
    message_id: str
    quote: Words


MessageKind = Literal["answer", "question", "refusal", "correction", "topic", "stop", "go_on", "small_talk"]
TELLING: frozenset[MessageKind] = frozenset({"answer", "correction"})
"""Kinds of messages on which the draft is based."""


class NextMove(BaseModel):
    """The kind of the person's newest message, and the next step of the interview."""

    reasoning: Annotated[str, StringConstraints(max_length=600)] = ""
    """Why the next question is asked, in a sentence to the person."""
    kind: MessageKind = "answer"
    quote: Annotated[str, StringConstraints(max_length=600)] = ""
    """The person's words that refuse, stop, go on or name another topic."""
    topic: str = ""
    """Title of the topic to ask about next; of the kind `topic` the one that they want."""
    aspect: str = ""
    """The aspect to ask about next."""
    topics: Annotated[list[ProposedTopic], Field(max_length=12)] = []
    """New topics, and new aspects of known ones."""
    closed: Annotated[list[ClosedAspect], Field(max_length=20)] = []
    terms: Annotated[list[Name], Field(max_length=12)] = []
    """The person's own terms, which the draft should keep."""
    avoided: Annotated[list[Name], Field(max_length=12)] = []
    """Words that the person does not want."""


MOST_WORDS_KEPT = 24


@dataclass(frozen=True)
class NewMessage:
    id: str
    seq: int
    words: int
    """Number of words."""


def newest_message(messages: Sequence[Message]) -> NewMessage | None:
    """Return the person's newest message, with the words that they typed."""
    theirs = [each for each in messages if each.role == "user"]
    return NewMessage(theirs[-1].id, theirs[-1].seq, len(typed_in(theirs[-1].content).split())) if theirs else None


def hear(
    interview: Interview,
    move: NextMove,
    message: NewMessage,
    said: Mapping[str, QuotedSource],
    now: float,
    *,
    asked: str | None = None,
) -> Interview:
    """Apply a model's reading of this message, once: count an answer, close what the person refuses to answer, end the
    interview if the person's own words ask for it, and choose the next aspect. If the next question was already asked,
    `asked` is the aspect that the message answers, and no aspect is chosen."""
    if message.seq <= interview.counted_to:
        return interview
    is_read = interview.drafted_to >= interview.counted_to and not interview.may_be_known
    heard = interview if asked is None else interview.model_copy(update={"asking": asked})
    words = _words_quoted(move.quote, message.id, said)
    if move.kind in ("go_on", "topic") and words:
        heard = go_on(heard)
    if not heard.ended:
        if move.kind == "stop" and words:
            heard = end(heard, Ended(reason="asked", quote=words[0].text, told_to=message.seq))
        else:
            heard = _heard(heard, move, message, words, said, now)
        if asked is None:
            keeps = "" if move.kind in ("answer", "refusal") else interview.asking
            heard = choose_aspect(heard, move.aspect or keeps)
        elif not heard.ended:
            heard = heard.model_copy(update={"asking": interview.asking})
    told: dict[str, object] = {"counted_to": message.seq, "reasoning": move.reasoning if asked is None else ""}
    if move.kind not in TELLING:
        told |= {"untold": (*heard.untold, message.id)[-MOST_UNTOLD_KEPT:]}
        told |= {"drafted_to": message.seq} if is_read else {}  # nothing to draft
    heard = heard.model_copy(update=told)
    tells_nothing = move.kind not in TELLING and len(heard.untold) >= max(MOST_UNTOLD, heard.turns + 1)
    return end(heard, Ended(reason="nothing_new")) if tells_nothing and not heard.ended else heard


def _heard(
    interview: Interview,
    move: NextMove,
    message: NewMessage,
    words: tuple[Said, ...],
    said: Mapping[str, QuotedSource],
    now: float,
) -> Interview:
    interview = _with_found(interview, move, said)
    if move.kind == "refusal" and interview.active:
        interview = cover(interview, interview.active.title, interview.asking, words, closed=True)
        interview = nearer_to_its_end(interview)
    elif move.kind == "refusal":  # no other effect
        interview = interview.model_copy(update={"idle_turns": interview.idle_turns + 1})
    if move.kind == "answer":
        interview = count_answer(interview, message.seq, message.words, now, message.id)
    if move.kind == "topic" and move.topic and words:
        interview = talk_about(interview, move.topic)
    return _moved_on(interview, move, now)


def _words_quoted(quote: str, message_id: str, said: Mapping[str, QuotedSource]) -> tuple[Said, ...]:
    found = find_quote(Quote(source=message_id, text=quote), said)
    return (Said(message_id=message_id, text=found.text),) if found else ()


def apply_decision(interview: Interview, decision: NextMove, said: Mapping[str, QuotedSource], now: float) -> Interview:
    """Apply the proposals that the transition tables allow. `said` contains the texts that the person typed, by message
    id.

    A model cannot end anything by itself. A topic that it proposes as the next one must exist, and does not displace a
    topic that the person put first.
    """
    return _moved_on(_with_found(interview, decision, said), decision, now)


def _with_found(interview: Interview, decision: NextMove, said: Mapping[str, QuotedSource]) -> Interview:
    for topic in () if interview.has_agenda else decision.topics:
        status = "backlog" if topic.aspects else "mentioned"
        interview = add_topic(interview, topic.title, topic.aspects, topic.priority, status)
    for each in decision.closed:
        words = _words_quoted(each.quote, each.message_id, said)
        interview = cover(interview, each.topic, each.aspect, words, closed=True)
    return interview.model_copy(
        update={
            "terms": _with_words(interview.terms, decision.terms, said),
            "avoided": _with_words(interview.avoided, decision.avoided, said),
        }
    )


def _moved_on(interview: Interview, decision: NextMove, now: float) -> Interview:
    interview = activate(interview, decision.topic)
    return interview if interview.ended else end_if_due(activate_next(interview), now)


def _with_words(known: Sequence[str], new: Sequence[str], said: Mapping[str, QuotedSource]) -> tuple[str, ...]:
    """Return the known words and those new ones that the person used."""
    texts = [source.text.casefold() for source in said.values()]
    theirs = (word for word in new if any(word.casefold() in text for text in texts))
    return tuple(dict.fromkeys((*known, *theirs)))[-MOST_WORDS_KEPT:]


def apply_draft(
    interview: Interview, added: Sequence[DraftSentence], dropped: Sequence[int], now: float, *, idle: bool = True
) -> Interview:
    """Add the new statements to the draft, except those that were struck, and replace those at the positions `dropped`.
    If nothing is new, count an idle turn, unless `idle` is False."""
    known = {each.text.casefold() for each in interview.draft}
    struck = [each for each in interview.statements if each.is_struck]
    new = [each for each in added if each.text.casefold() not in known and not any(map(each.repeats, struck))]
    version = interview.version + (1 if new else 0)
    kept = tuple(
        each.model_copy(update={"until": version, "is_struck": True})
        if new and place in dropped and each.until is None
        else each
        for place, each in enumerate(interview.statements)
    )
    changed = interview.model_copy(
        update={
            "statements": (*kept, *(each.model_copy(update={"since": version}) for each in new)),
            "version": version,
            "idle_turns": 0 if new or not idle else interview.idle_turns + 1,
        }
    )
    for each in new:
        for aspect in each.aspects:
            changed = cover(changed, each.topic, aspect, each.quotes)
    return end_if_due(changed, now)


def with_evaded(interview: Interview, heard: Set[str]) -> Interview:
    """Mark open aspects as evaded if the answer about them is among the `heard` messages and added nothing to the
    draft."""
    told = {quote.message_id for each in interview.statements for quote in each.quotes}
    evaded = heard - told

    def marked(aspect: Aspect) -> Aspect:
        return aspect.model_copy(update={"evaded": True}) if aspect.answer in evaded else aspect

    topics = (
        each.model_copy(update={"aspects": tuple(map(marked, each.aspects))}) if each.open_aspects else each
        for each in interview.topics
    )
    return interview.model_copy(update={"topics": tuple(topics)})


# --- written draft ----------------------------------------------------------------------------------------------------
# The writer's answer, and the selection of statements that the draft may contain.


MOST_NEW = 12


class MessageQuote(BaseModel):
    message_id: Annotated[str, StringConstraints(max_length=20)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=600)]


class WrittenStatement(BaseModel):
    topic: Annotated[str, StringConstraints(max_length=80)]
    aspects: Annotated[list[Annotated[str, StringConstraints(max_length=80)]], Field(max_length=8)] = []
    text: Annotated[str, StringConstraints(min_length=1, max_length=400)]
    quotes: Annotated[list[MessageQuote], Field(min_length=1, max_length=6)]
    replaces: Annotated[list[int], Field(max_length=6)] = []


class WrittenDraft(BaseModel):
    """The new statements."""

    statements: Annotated[list[WrittenStatement], Field(max_length=MOST_NEW * 2)]


class NewStatement(BaseModel):
    """A statement as written, with the ids of its messages."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    topic: str
    aspects: tuple[str, ...]
    grounded: grounding.Statement
    replaces: tuple[int, ...]


class DraftOnItsWay(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    statements: tuple[NewStatement, ...]
    verdicts: tuple[GroundingVerdict, ...] = ()
    """One verdict per statement, once checked."""
    rewritten: bool = False
    """True once the writer was asked to rewrite statements that the judge refused."""

    @property
    def refused_by_judge(self) -> list[tuple[NewStatement, GroundingVerdict]]:
        judged = zip(self.statements, self.verdicts, strict=True)
        return [(each, verdict) for each, verdict in judged if verdict.refused_by == "judge"]


def new_statement(written: WrittenStatement, message_ids: Mapping[str, str]) -> NewStatement:
    """Return the statement. `message_ids` are keyed by the short names in the writer's prompt."""
    quotes = tuple(Quote(source=message_ids.get(each.message_id, ""), text=each.text) for each in written.quotes)
    text = _cleaned(written.text)
    return NewStatement(
        topic=written.topic,
        aspects=tuple(written.aspects),
        grounded=grounding.Statement(text=text, quotes=quotes, language=language_of(text)),
        replaces=tuple(written.replaces),
    )


def to_statement(
    interview: Interview,
    new: NewStatement,
    verdict: GroundingVerdict,
    sources: Mapping[str, QuotedSource],
    known_from: Mapping[str, str],
) -> DraftSentence | None:
    """Return the statement if its quotes support it. If it was not judged, return the person's own words, which cover
    no aspect. Returns None if it is refused, or contains a word that the person does not want."""
    topic = interview.topic(new.topic) or interview.active
    found = [(quote, words) for quote in new.grounded.quotes if (words := find_quote(quote, sources))]
    if verdict.outcome == "refused" or topic is None or not found or not new.grounded.text:
        return None
    is_supported = verdict.outcome == "supported"
    quotes = tuple(
        Said(message_id=quote.source, text=words.text, known_from=known_from.get(quote.source, ""))
        for quote, words in found
    )
    text = new.grounded.text if is_supported else quoted_words(words for _, words in found)
    if unwanted_in(text, interview.avoided):
        return None
    return DraftSentence(
        topic=topic.title, aspects=new.aspects if is_supported else (), text=text, quotes=quotes, since=0
    )


def unwanted_in(text: str, avoided: Iterable[str]) -> list[str]:
    """Return the `avoided` words that occur in the text as whole words."""
    said = text.casefold()
    return [word for word in avoided if re.search(rf"(?<!\w){re.escape(word.casefold())}(?!\w)", said)]


def _cleaned(text: str) -> str:
    """Return the text as one line without invisible characters and links."""
    return safe_text(" ".join(visible(well_formed(text)).split()), ())
