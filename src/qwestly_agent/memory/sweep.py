"""Choose the conversations to read."""

import asyncio

from qwestly_agent.base.observability import measure_left
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.services import Services
from qwestly_agent.stores.stage_day import WORKFLOWS_UP_TO
from qwestly_agent.workflow_state import WorkflowState, state

PICKED_SECONDS = 3_600.0
"""Time during which no other run claims the conversation: longer than all attempts of its states, including waits for a
Lambda slot. Reading it twice adds nothing."""


class Picked(WorkflowState):
    """The conversations of one run, each as the state machine passes it to `extract`."""

    conversations: tuple[dict[str, str], ...] = ()


@state(Picked, ignores_brake=True)
async def sweep(services: Services, _: Picked) -> Picked:
    """Claim due conversations. Those of users whose brake is on stay due until it is released, as do all once most of
    the stage's daily budget is spent."""
    now, run_id = services.clock(), services.new_id()
    braked = await services.sweeps.braked_users()
    limit = services.settings.conversations_a_sweep
    waits = EVERYBODY in braked or await services.stage_day.is_spent(now, WORKFLOWS_UP_TO)
    due = [] if waits else await services.sweeps.silent_conversations(now, limit, braked)
    picked = await asyncio.gather(
        *(
            services.watermarks.reserve(user_id, conversation_id, now, now + PICKED_SECONDS)
            for user_id, conversation_id in due
        )
    )
    mine = [each for each, was_picked in zip(due, picked, strict=True) if was_picked]
    left = await services.sweeps.conversations_left(now)
    measure_left("Conversations", left.count, now - (left.due_since or now))
    return Picked(
        run_id=run_id,
        conversations=tuple(
            {"user_id": user_id, "conversation_id": conversation_id, "run_id": run_id}
            for user_id, conversation_id in mine
        ),
    )
