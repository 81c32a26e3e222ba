"""Find the next users with new memories."""

from qwestly_agent.memory.consolidation_state import ConsolidationPage
from qwestly_agent.services import Services
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.workflow_state import state

USERS_AT_ONCE = 100


@state(ConsolidationPage, ignores_brake=True)
async def find_users(services: Services, page: ConsolidationPage) -> ConsolidationPage:
    """Continue where the last night ended, and after the last id with the first, up to where this night began."""
    room = min(USERS_AT_ONCE, services.settings.users_a_night - page.seen)
    if page.began_after is None:
        began = await services.sweeps.position("consolidate") or ""
        page = page.model_copy(update={"began_after": began, "after": began})
    users, again = await _next_users(services.sweeps, page, room)
    after = users[-1] if users else page.after
    await services.sweeps.save_position("consolidate", after)
    return page.model_copy(
        update={
            "run_id": page.run_id or services.new_id(),
            "users": tuple(users),
            "after": after,
            "again": again,
            "more": len(users) == room and page.seen + room < services.settings.users_a_night,
        }
    )


async def _next_users(sweeps: Sweeps, page: ConsolidationPage, limit: int) -> tuple[list[str], bool]:
    """Return the users, and whether the night has passed the last id and continued with the first."""
    if page.again:
        return await sweeps.users_to_consolidate(page.after, limit, page.began_after), True
    users = await sweeps.users_to_consolidate(page.after, limit)
    if len(users) == limit or not page.began_after:
        return users, False
    return [*users, *await sweeps.users_to_consolidate("", limit - len(users), page.began_after)], True
