"""The models' proposals after an answer, and the code that applies them."""

from collections.abc import Mapping, Sequence, Set
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from qwestly_agent.domain.interview import Aspect, DraftSentence, Interview, Said
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.interviews.machine import activate, activate_next, end_if_due, offer_to_sum_up
from qwestly_agent.interviews.topics import add_topic, cover

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


class NextMove(BaseModel):
    """The next step of the interview."""

    move: Literal["continue", "switch", "converge", "end"] = "continue"
    switch_to: str = ""
    """Title of the topic."""
    topics: Annotated[list[ProposedTopic], Field(max_length=12)] = []
    """New topics, and new aspects of known ones."""
    closed: Annotated[list[ClosedAspect], Field(max_length=20)] = []
    terms: Annotated[list[Name], Field(max_length=12)] = []
    """The person's own terms, which the draft should keep."""
    avoided: Annotated[list[Name], Field(max_length=12)] = []
    """Words that the person does not want."""
    directive: Annotated[str, StringConstraints(max_length=300)] = ""
    """What to ask about next, and how."""
    reasoning: Annotated[str, StringConstraints(max_length=600)] = ""


MOST_WORDS_KEPT = 24


def apply_decision(interview: Interview, decision: NextMove, said: Mapping[str, QuotedSource], now: float) -> Interview:
    """Apply the proposals that the transition tables allow. `said` is the text that the person typed, by message id.

    A model cannot end anything: `converge` and `end` only offer to sum up the topic; `switch` must name an existing
    topic, and does not displace one that the person put first.
    """
    for topic in () if interview.has_agenda else decision.topics:
        status = "backlog" if topic.aspects else "mentioned"
        interview = add_topic(interview, topic.title, topic.aspects, topic.priority, status)
    for each in decision.closed:
        if found := find_quote(Quote(source=each.message_id, text=each.quote), said):
            words = Said(message_id=each.message_id, text=found.text)
            interview = cover(interview, each.topic, each.aspect, (words,), closed=True)
    interview = interview.model_copy(
        update={
            "terms": _with_words(interview.terms, decision.terms, said),
            "avoided": _with_words(interview.avoided, decision.avoided, said),
            "directive": decision.directive,
        }
    )
    match decision.move:
        case "switch":
            interview = activate(interview, decision.switch_to)
        case "converge" | "end":
            interview = offer_to_sum_up(interview)
        case "continue":
            pass
    return interview if interview.ended else end_if_due(activate_next(interview), now)


def _with_words(known: Sequence[str], new: Sequence[str], said: Mapping[str, QuotedSource]) -> tuple[str, ...]:
    """Return the known words and the new ones that the person used."""
    texts = [source.text.casefold() for source in said.values()]
    theirs = (word for word in new if any(word.casefold() in text for text in texts))
    return tuple(dict.fromkeys((*known, *theirs)))[-MOST_WORDS_KEPT:]


def apply_draft(
    interview: Interview, added: Sequence[DraftSentence], dropped: Sequence[int], now: float, *, closed: bool = False
) -> Interview:
    """Add the new statements to the draft, and drop those at the positions `dropped`. Count an idle turn if nothing is
    new and no aspect was `closed`."""
    known = {each.text.casefold() for each in interview.draft}
    new = [each for each in added if each.text.casefold() not in known]
    version = interview.version + (1 if new else 0)
    kept = tuple(
        each.model_copy(update={"until": version}) if new and place in dropped and each.until is None else each
        for place, each in enumerate(interview.statements)
    )
    changed = interview.model_copy(
        update={
            "statements": (*kept, *(each.model_copy(update={"since": version}) for each in new)),
            "version": version,
            "idle_turns": 0 if new or closed else interview.idle_turns + 1,
        }
    )
    for each in new:
        for aspect in each.aspects:
            changed = cover(changed, each.topic, aspect, each.quotes)
    return end_if_due(changed, now)


def with_evaded(interview: Interview, heard: Set[str]) -> Interview:
    """Mark open aspects as evaded if their answer is among the `heard` messages and added nothing to the draft."""
    told = {quote.message_id for each in interview.statements for quote in each.quotes}
    evaded = heard - told

    def marked(aspect: Aspect) -> Aspect:
        return aspect.model_copy(update={"evaded": True}) if aspect.answer in evaded else aspect

    topics = (
        each.model_copy(update={"aspects": tuple(map(marked, each.aspects))}) if each.open_aspects else each
        for each in interview.topics
    )
    return interview.model_copy(update={"topics": tuple(topics)})
