"""Remove what is forgotten from a person's decisions about learning, and from the gaps to their goal."""

from collections.abc import Callable, Collection

from qwestly_agent.domain.learning import LearningPlan
from qwestly_agent.services import Services


async def forget_in_learning(
    services: Services,
    user_id: str,
    evidence: Collection[str],
    message_ids: Collection[str],
    tells: Callable[[str], bool],
) -> None:
    """`evidence` are the ids that gaps may quote."""
    await services.learning.change(user_id, lambda plan: without(plan, evidence, message_ids, tells), services.clock())
    await services.learning.drop_wishes(user_id, tells)
    await services.learning.drop_talks(user_id)


def without(
    plan: LearningPlan, evidence: Collection[str], message_ids: Collection[str], tells: Callable[[str], bool]
) -> LearningPlan:
    decisions = tuple(
        each
        for each in plan.decisions
        if each.message_id not in message_ids and not tells(each.quote) and not tells(each.text)
    )
    chosen = any(each.kind == "goal" and each.text == plan.goal for each in decisions)
    gaps = tuple(
        each
        for each in plan.gaps
        if not any(quote.source in evidence or tells(quote.text) for quote in each.have_quotes)
        and not tells(each.title)
        and not tells(each.have)
    )
    goal = plan.goal if chosen or not (tells(plan.goal) or len(decisions) < len(plan.decisions)) else ""
    return plan.model_copy(
        update={
            "forgettings": plan.forgettings + 1 if plan.revision else 0,  # without a plan there are no gaps
            "decisions": decisions,
            "goal": goal,
            "gaps": gaps if goal else (),
            "gaps_of": goal and plan.gaps_of,
        }
    )
