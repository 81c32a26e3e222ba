"""Remove what is forgotten from interviews: statements that quote it, and the coverage based on them."""

from collections.abc import Callable, Collection
from typing import Any

from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.stores.interviews import Interviews

MOST = 1_000
"""Maximum number of a user's interviews."""
INTERVIEW = "interview:"
"""Prefix of the ids of evidence that was said in an interview."""


def evidence_id_of_topic(conversation_id: str, place: int) -> str:
    return f"{INTERVIEW}{conversation_id}:{place}"


async def words_of_topics(interviews: Interviews, user_id: str, limit: int = MOST) -> dict[str, str]:
    """Return what the user said about each topic, by the evidence's id."""
    return {
        evidence_id_of_topic(kept.conversation_id, place): words
        for kept in await interviews.newest(user_id, limit)
        for place, topic in enumerate(kept.interview.topics)
        if (words := kept.interview.words_of(topic))
    }


async def forget_in_interviews(
    interviews: Interviews, user_id: str, message_ids: Collection[str], tells: Callable[[str], bool]
) -> list[str]:
    """Return the ids of evidence that has changed or is gone."""
    before = await words_of_topics(interviews, user_id)
    for kept in await interviews.newest(user_id, MOST):
        await interviews.drop_work(user_id, kept.conversation_id)
        await interviews.change(user_id, kept.conversation_id, lambda interview: without(interview, message_ids, tells))
    after = await words_of_topics(interviews, user_id)
    return [each for each, words in before.items() if after.get(each) != words]


def without(interview: Interview, message_ids: Collection[str], tells: Callable[[str], bool]) -> Interview:
    """Return the interview without statements from these messages, and without text that `tells`."""

    def stays(quote: Said) -> bool:
        return quote.message_id not in message_ids and not tells(quote.text)

    def left(aspect: Aspect) -> Aspect:
        quotes = tuple(filter(stays, aspect.quotes))
        gone = aspect.quotes and not quotes
        return aspect.model_copy(update={"quotes": quotes, **({"status": "open"} if gone else {})})

    def of(topic: Topic) -> Topic:
        aspects = tuple(left(each) for each in topic.aspects if not tells(each.name))
        title = "…" if tells(topic.title) else topic.title
        return topic.model_copy(update={"title": title, "aspects": aspects})

    changes: dict[str, Any] = {
        "topics": tuple(map(of, interview.topics)),
        "statements": tuple(
            each
            for each in interview.statements
            if all(map(stays, each.quotes)) and not tells(each.text) and not tells(each.topic)
        ),
        "terms": tuple(each for each in interview.terms if not tells(each)),
        "avoided": tuple(each for each in interview.avoided if not tells(each)),
        "directive": "",
    }
    if interview.ended and tells(interview.ended.quote):
        changes["ended"] = interview.ended.model_copy(update={"quote": ""})
    return interview.model_copy(update=changes)
