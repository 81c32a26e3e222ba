"""Set a goal chosen on the page, and find the gaps to it."""

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.learning import LearningDecision
from qwestly_agent.learning.gaps import find_gaps
from qwestly_agent.learning.tree import Tree
from qwestly_agent.services import ModelServices


async def choose_goal(services: ModelServices, user_id: str, goal: str) -> None:
    """Set the goal, or remove it if it is empty. If no model is available, the goal is stored without gaps. Raises
    `Braked`."""
    await pause.check(services.signals, user_id)
    now = services.clock()
    made = (LearningDecision(kind="goal", text=goal, quote=goal, at=now),) if goal else ()
    before = await services.learning.change(
        user_id,
        lambda plan: plan.model_copy(
            update={
                "goal": goal,
                "decisions": (*(each for each in plan.decisions if each.kind != "goal"), *made),
                "gaps": (),
                "gaps_of": "",
            }
        ),
        now,
    )
    if goal:
        try:
            gaps = await find_gaps(services, user_id, Tree(await services.topics.list_modules()), goal)
        except AgentError:
            return
        await services.learning.change(user_id, lambda plan: plan.with_gaps(gaps, goal, now, before), now)
