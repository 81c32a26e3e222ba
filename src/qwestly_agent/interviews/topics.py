"""The topics of an interview and their aspects: added, edited, and covered by the person's words. Pure functions."""

from collections.abc import Callable, Iterable
from typing import Literal

from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import find_quote
from qwestly_agent.text.clean import quoted

MOST_TOPICS, MOST_ASPECTS = 12, 8


def add_topic(
    interview: Interview,
    title: str,
    aspects: Iterable[str] = (),
    priority: int = 0,
    status: Literal["mentioned", "backlog"] = "backlog",
) -> Interview:
    """Add a topic to the backlog, or as mentioned. A mentioned topic moves to the backlog with its first aspects.
    Unchanged if it exists, or if there are too many."""
    title = " ".join(title.split())[:80]
    if known := interview.topic(title):
        interview = add_aspects(interview, title, aspects)
        known = interview.topic(title) or known
        is_promoted = known.status == "mentioned" and (known.aspects or status == "backlog")
        return with_topic(interview, known, status="backlog", priority=priority) if is_promoted else interview
    if not title or len(interview.topics) >= MOST_TOPICS:
        return interview
    topic = Topic(title=title, status=status, priority=priority)
    return add_aspects(interview.model_copy(update={"topics": (*interview.topics, topic)}), title, aspects)


def add_aspects(interview: Interview, title: str, names: Iterable[str]) -> Interview:
    """Add aspects to a topic, leaving out those that are similar to an existing one."""
    topic = interview.topic(title)
    if topic is None:
        return interview
    aspects = list(topic.aspects)
    for name in (" ".join(each.split())[:80] for each in names):
        if name and len(aspects) < MOST_ASPECTS and not any(_near(name, each.name) for each in aspects):
            aspects.append(Aspect(name=name))
    return with_topic(interview, topic, aspects=tuple(aspects))


def _near(one: str, other: str) -> bool:
    """True if the names have at least half of their words in common."""
    words, others = (set(each.casefold().split()) for each in (one, other))
    return len(words & others) * 2 >= len(words | others)


def edit_aspect(interview: Interview, title: str, name: str, to: str) -> Interview:
    """Rename an aspect for the person, or remove it if `to` is empty."""
    topic = interview.topic(title)
    if topic is None:
        return interview
    to = " ".join(to.split())[:80]
    aspects = (
        (each.model_copy(update={"name": to}) if each.name.casefold() == name.strip().casefold() else each)
        for each in topic.aspects
    )
    return with_topic(interview, topic, aspects=tuple(each for each in aspects if each.name))


def cover(interview: Interview, title: str, name: str, quotes: tuple[Said, ...], *, closed: bool = False) -> Interview:
    """Mark an aspect as covered by the person's quotes, or as `closed` if they have nothing to say. Unchanged without a
    quote."""
    topic = interview.topic(title)
    if topic is None or not quotes:
        return interview

    def changed(aspect: Aspect) -> Aspect:
        if aspect.name.casefold() != name.strip().casefold() or (closed and aspect.status == "covered"):
            return aspect
        return aspect.model_copy(update={"status": "closed" if closed else "covered", "quotes": quotes})

    return with_topic(interview, topic, aspects=tuple(map(changed, topic.aspects)))


def drop_removed_words(interview: Interview, message_id: str, text: str) -> Interview:
    """Remove everything that rests on words no longer in this message."""
    source = {message_id: QuotedSource(id=message_id, text=quoted(text))}

    def stands(said: Said) -> bool:
        return said.message_id != message_id or find_quote(Quote(source=message_id, text=said.text), source) is not None

    def left(aspect: Aspect) -> Aspect:
        quotes = tuple(filter(stands, aspect.quotes))
        gone = {"status": "open"} if aspect.quotes and not quotes else {}
        return aspect.model_copy(update={"quotes": quotes, **gone})

    falls = [each for each in interview.draft if not all(map(stands, each.quotes))]
    version = interview.version + bool(falls)
    statements = (
        each.model_copy(update={"until": version}) if each in falls else each for each in interview.statements
    )
    topics = (
        each.model_copy(update={"aspects": tuple(left(aspect) for aspect in each.aspects)}) for each in interview.topics
    )
    changes = {"statements": tuple(statements), "version": version, "topics": tuple(topics)}
    return interview.model_copy(update=changes)


def with_topic(interview: Interview, topic: Topic, **changes: object) -> Interview:
    changed: Callable[[Topic], Topic] = lambda each: each.model_copy(update=changes) if each is topic else each  # noqa: E731
    return interview.model_copy(update={"topics": tuple(map(changed, interview.topics))})
