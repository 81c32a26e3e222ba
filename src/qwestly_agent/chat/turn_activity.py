"""The events in the activity feed that a turn caused, for its stream."""

from dataclasses import dataclass

from pydantic_ai.messages import CapabilityEvent
from pymongo.errors import PyMongoError

from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.chat.activity_view import EventView, views_of
from qwestly_agent.chat.earlier_turn import replaced_runs
from qwestly_agent.chat.finish_turn import briefly
from qwestly_agent.chat.turn import Turn
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.services import Services

MOST_TOLD = 50


@dataclass(kw_only=True)
class Happened(CapabilityEvent, namespace="qwestly"):
    activity: EventView


async def happened(services: Services, turn: Turn) -> list[Happened]:
    """The oldest first; empty if the feed cannot be read, as polls report them later."""
    if not _may_have_changed_anything(turn):
        return []
    user_id = turn.claim.user_id
    try:
        with briefly():
            newest = await services.activity.newest(user_id, MOST_TOLD, since=turn.claim.turn.started_at)
            events = [each for each in reversed(newest) if _is_of(turn, each)]
            views = await views_of(services.approvals, services.memories, user_id, events, services.clock())
    except PyMongoError as error:
        services.logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))
        return []
    return [Happened(activity=each) for each in views]


def _may_have_changed_anything(turn: Turn) -> bool:
    """True if the turn may have caused events; saves most turns the read."""
    calls = turn.record.calls.made.values()
    has_effect = any(call.contract is not None and call.contract.effect != "read" for call in calls)
    return has_effect or bool(turn.approvals.settled or turn.replaced) or turn.claim.role != "chat"


def _is_of(turn: Turn, event: ActivityEvent) -> bool:
    """True for an event of the turn's own run, of what it decided or replaced, and of its memories and interview, which
    know their conversation alone."""
    if event.run_id is None:
        return event.data.get("conversation_id") == turn.claim.conversation_id
    decided = {each.approval.id for each in turn.approvals.settled}
    return event.run_id in (turn.run_id, *replaced_runs(turn.replaced)) or event.data.get("approval_id") in decided
