"""Change an interview. The end of an onboarding turns the user's briefings on."""

from collections.abc import Callable

from qwestly_agent.domain.interview import Interview
from qwestly_agent.services import Services


async def change(
    services: Services,
    user_id: str,
    conversation_id: str,
    changed: Callable[[Interview], Interview],
    known: Interview | None = None,
) -> Interview:
    """Like `Interviews.change`. Briefings are turned on before the end is stored, so that after a crash in between both
    are repeated."""

    async def turn_briefings_on() -> None:
        await services.briefing_plans.turn_on(user_id, services.clock())

    return await services.interviews.change(
        user_id, conversation_id, changed, known, now=services.clock(), before_end=turn_briefings_on
    )
