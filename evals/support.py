"""One page about a user, for support: turns, approvals and events. Opening it is recorded in the user's own
activity."""

from collections.abc import Iterator, Sequence
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import Clock, NewId, to_datetime
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.domain.approval import Approval
from qwestly_agent.stores.activity import Activity
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.messages import COLLECTION as MESSAGES
from qwestly_agent.stores.messages import VECTOR, Message, messages_of
from qwestly_agent.stores.user_data import UserData

WITHHELD = "(holds something that the user had forgotten)"


async def look_at_user(
    database: AsyncDatabase[dict[str, Any]], user_id: str, reason: str, most: int, clock: Clock, new_id: NewId
) -> str | None:
    """Return the page after recording the access in the user's activity; None if nothing is stored about them."""
    if not any((await UserData(database).count_documents(user_id)).values()):
        return None
    activity = Activity(database)
    await activity.add(
        ActivityEvent(
            id=f"support:{new_id()}",
            user_id=user_id,
            at=clock(),
            type="support.looked",
            role="operators",
            title=f"Qwestly support looked at your conversations, approvals and activity: {reason}",
        )
    )
    newest = database[MESSAGES].find({"user_id": user_id}, {VECTOR: 0}).sort([("created_at", -1), ("seq", -1)])
    turns = messages_of(reversed(await newest.limit(2 * most).to_list()))
    approvals = await Approvals(database).list_all(user_id, most)
    events = await activity.newest(user_id, most)
    page = "\n".join([f"{user_id}: {reason}", *_turns(turns), *_approvals(approvals), *_events(events)])
    # Escape control characters that a user may have pasted, because a terminal would execute them.
    return "".join(each for each in page if each.isprintable() or each == "\n")


def _turns(messages: Sequence[Message]) -> Iterator[str]:
    """Yield questions and answers, oldest first."""
    yield "\nTurns"
    for each in messages:
        by = "user" if each.role == "user" else f"agent, {each.status}"
        yield f"\n{each.created_at:%Y-%m-%d %H:%M} {by}: {WITHHELD if each.withheld else each.content}"
        if each.role == "user":
            continue
        for step in each.steps:
            yield f"  tool {step.name}: {step.problem or {True: 'ok', False: 'failed', None: 'no result'}[step.ok]}"
        if each.error:
            yield f"  error {each.error.code}: {each.error.message}"
        if each.feedback and not each.withheld:
            yield f"  thumb {each.feedback.thumb}: {each.feedback.words or 'no words'}"
        yield f"  run {each.run_id}, {each.receipt.get('cost_usd') or 0:.5f} USD"


def _approvals(approvals: Sequence[Approval]) -> Iterator[str]:
    yield "\nApprovals"
    for each in reversed(approvals):
        yield f"{_moment(each.created_at)} {each.status}: {each.about} ({each.tool}, {each.id})"
        if each.outcome:
            yield f"  {each.outcome}"


def _events(events: Sequence[ActivityEvent]) -> Iterator[str]:
    yield "\nActivity"
    for each in reversed(events):
        yield f"{_moment(each.at)} {each.type}: {each.title}"


def _moment(seconds: float) -> str:
    return f"{to_datetime(seconds):%Y-%m-%d %H:%M}"
