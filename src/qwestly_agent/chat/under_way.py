"""Pending approvals and running drafts of all conversations: a prompt lists them when they changed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from qwestly_agent.approvals.messages import outcome_line, running_line
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft

MOST_READ, MOST_NAMED = 30, 10
NOTHING = "Nothing waits for the user's decision any more, and nothing is being drafted."
MORE = "There is more: get_my_work lists it."


@dataclass(frozen=True)
class UnderWay:
    """The newest first."""

    approvals: Sequence[Approval] = ()
    drafts: Sequence[Draft] = ()

    def elsewhere(self, conversation_id: str) -> tuple[str, ...]:
        """Ids of those that no tool call of this conversation named, sorted."""
        # A workflow's question is asked beside its conversation.
        asked = [each for each in self.approvals if each.task_token or each.conversation_id != conversation_id]
        begun = [each for each in self.drafts if each.conversation_id != conversation_id]
        return tuple(sorted(each.id for each in (*asked, *begun)))

    @property
    def lines(self) -> list[str]:
        lines = [*map(outcome_line, self.approvals), *map(running_line, self.drafts)]
        return [*lines[:MOST_NAMED], *([MORE] if len(lines) > MOST_NAMED else [])] or [NOTHING]


async def read_under_way(services: Services, user_id: str) -> UnderWay:
    approvals, drafts = await asyncio.gather(
        services.approvals.list_open(user_id, MOST_READ), services.drafts.list_active(user_id, MOST_READ)
    )
    now = services.clock()
    return UnderWay(
        [each for each in approvals if each.waits(now)], [each for each in drafts if each.status == "running"]
    )
