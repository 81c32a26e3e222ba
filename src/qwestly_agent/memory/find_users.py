"""Find the next users who have new memories."""

from typing import Protocol

from qwestly_agent.memory.consolidation_state import ConsolidationPage
from qwestly_agent.services import HasLogger, HasNewId, HasSignals, HasSweeps
from qwestly_agent.workflow_state import state


class FindUsersServices(HasLogger, HasNewId, HasSignals, HasSweeps, Protocol): ...


USERS_AT_ONCE = 100
MOST_USERS = 1_500
"""In one execution, whose history has room for 25,000 events, some fifteen a user. Those who are left over are due the
next night."""


@state(ConsolidationPage, under_brake=True)
async def find_users(services: FindUsersServices, page: ConsolidationPage) -> ConsolidationPage:
    users = await services.sweeps.users_to_consolidate(page.after, USERS_AT_ONCE)
    return page.model_copy(
        update={
            "run_id": page.run_id or services.new_id(),
            "users": tuple(users),
            "after": users[-1] if users else page.after,
            "more": len(users) == USERS_AT_ONCE and page.seen + len(users) < MOST_USERS,
        }
    )
