"""Remove forgotten content from interviews, learning decisions, job matches and applications."""

from collections.abc import Callable, Collection
from typing import Any

from qwestly_agent.cards.forget import MOST_INTERVIEWS, words_of_topics
from qwestly_agent.domain.interview import Aspect, Interview, Said, Topic
from qwestly_agent.domain.learning import LearningPlan
from qwestly_agent.services import Services
from qwestly_agent.stores.interviews import Interviews


async def forget_in_interviews(
    interviews: Interviews, user_id: str, message_ids: Collection[str], contains_forgotten: Callable[[str], bool]
) -> list[str]:
    """Remove forgotten content from interviews; return the ids of evidence that changed or is gone."""
    before = await words_of_topics(interviews, user_id)
    for kept in await interviews.newest(user_id, MOST_INTERVIEWS):
        await interviews.drop_work(user_id, kept.conversation_id)
        await interviews.change(
            user_id,
            kept.conversation_id,
            lambda interview: without_in_interview(interview, message_ids, contains_forgotten),
        )
    after = await words_of_topics(interviews, user_id)
    return [each for each, words in before.items() if after.get(each) != words]


def without_in_interview(
    interview: Interview, message_ids: Collection[str], contains_forgotten: Callable[[str], bool]
) -> Interview:
    """Return the interview without statements from these messages, and without text that `contains_forgotten`
    matches."""

    def stays(quote: Said) -> bool:
        return quote.message_id not in message_ids and not contains_forgotten(quote.text)

    def left(aspect: Aspect) -> Aspect:
        quotes = tuple(filter(stays, aspect.quotes))
        gone = aspect.quotes and not quotes
        return aspect.model_copy(update={"quotes": quotes, **({"status": "open"} if gone else {})})

    def of(topic: Topic) -> Topic:
        aspects = tuple(left(each) for each in topic.aspects if not contains_forgotten(each.name))
        title = "…" if contains_forgotten(topic.title) else topic.title
        return topic.model_copy(update={"title": title, "aspects": aspects})

    changes: dict[str, Any] = {
        "topics": tuple(map(of, interview.topics)),
        "statements": tuple(
            each
            for each in interview.statements
            if all(map(stays, each.quotes)) and not contains_forgotten(each.text) and not contains_forgotten(each.topic)
        ),
        "terms": tuple(each for each in interview.terms if not contains_forgotten(each)),
        "avoided": tuple(each for each in interview.avoided if not contains_forgotten(each)),
        "directive": "",
    }
    if interview.ended and contains_forgotten(interview.ended.quote):
        changes["ended"] = interview.ended.model_copy(update={"quote": ""})
    return interview.model_copy(update=changes)


async def forget_in_jobs(
    services: Services, user_id: str, evidence: Collection[str], contains_forgotten: Callable[[str], bool]
) -> None:
    """Remove forgotten content from jobs. `evidence` are the ids that reasons may quote. A running search drops
    everything written before."""
    # The search first: results that it stores until then are found among the matches.
    await services.job_searches.forget(user_id)
    await services.job_matches.forget(user_id, evidence, contains_forgotten)
    await services.applications.forget(user_id, contains_forgotten)


async def forget_in_learning(
    services: Services,
    user_id: str,
    evidence: Collection[str],
    message_ids: Collection[str],
    contains_forgotten: Callable[[str], bool],
) -> None:
    """Remove forgotten content from learning. `evidence` are the ids that gaps may quote."""
    await services.learning.change(
        user_id, lambda plan: without_in_plan(plan, evidence, message_ids, contains_forgotten), services.clock()
    )
    await services.learning.drop_wishes(user_id, contains_forgotten)
    await services.learning.drop_talks(user_id)


def without_in_plan(
    plan: LearningPlan,
    evidence: Collection[str],
    message_ids: Collection[str],
    contains_forgotten: Callable[[str], bool],
) -> LearningPlan:
    decisions = tuple(
        each
        for each in plan.decisions
        if each.message_id not in message_ids
        and not contains_forgotten(each.quote)
        and not contains_forgotten(each.text)
    )
    chosen = any(each.kind == "goal" and each.text == plan.goal for each in decisions)
    gaps = tuple(
        each
        for each in plan.gaps
        if not any(quote.source in evidence or contains_forgotten(quote.text) for quote in each.have_quotes)
        and not contains_forgotten(each.title)
        and not contains_forgotten(each.have)
    )
    goal = plan.goal if chosen or not (contains_forgotten(plan.goal) or len(decisions) < len(plan.decisions)) else ""
    return plan.model_copy(
        update={
            "forgettings": plan.forgettings + 1 if plan.revision else 0,  # without a plan there are no gaps
            "decisions": decisions,
            "goal": goal,
            "gaps": gaps if goal else (),
            "gaps_of": goal and plan.gaps_of,
        }
    )
