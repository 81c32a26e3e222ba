"""Changes that run without approval: at L3, those that can be undone and that the user's newest message plainly orders.

The chat checks this before it proposes, and asks a judge as well; `act.py` checks it again with the stored message.
"""

from collections.abc import Sequence
from typing import Any

from qwestly_agent.action import FieldValues
from qwestly_agent.approvals.autonomy import UNASKED
from qwestly_agent.domain.approval import Change
from qwestly_agent.domain.candidate import WORK_MODE_LABELS
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.text.plain_words import names_exactly, orders_in
from qwestly_agent.text.user_text import holds_others_words

MOST_CHARACTERS, MOST_LINES = 300, 2
"""Maximum length of a typed message in characters and in lines: longer ones may be pasted."""
DAY_SECONDS = 86_400.0
REMEMBERED = 50


async def may_run(
    services: Services,
    owner: tuple[str, str],
    action: AnyAction,
    args: str,
    earlier_runs: Sequence[str] = (),
    approval_id: str = "",
) -> bool:
    """Return False if the daily limit is reached, if the user undid exactly this change in this conversation, or if a
    change already ran for this message in one of its `earlier_runs`: regenerating an answer does not repeat it.

    `owner` is the user's id and the conversation's; `approval_id` is the record to execute, if it is already stored.
    Records stored at the same moment are all counted, so that together they cannot exceed the limit.
    """
    (user_id, conversation_id), since = owner, services.clock() - DAY_SECONDS
    asked = await services.approvals.list_of_conversation(user_id, conversation_id, REMEMBERED)
    undone = [each.args for each in asked if each.undone_by and each.tool == action.tool]
    if args in undone or any(each.decided_by == "level" and each.run_id in earlier_runs for each in asked):
        return False
    most = action.most_unasked_a_day
    counted = await services.approvals.count_without_approval(user_id, action.tool, since, most, besides=approval_id)
    return counted < most


async def requested_changes(
    services: Services, user_id: str, message: str, action: AnyAction, arguments: Any
) -> list[Change]:
    """Return the changes that `action` makes if it can run without approval and the user's newest `message` was typed
    and either plainly orders it or contains the name that the action's `told_of` returns; otherwise an empty list.
    Raises `NotFound`, `Unavailable` and database errors."""
    inverse = action.inverse
    if inverse is None or action.effect not in UNASKED or not is_short_and_typed(message):
        return []
    if inverse.requested_values is not None:
        before = await inverse.arguments(services, user_id, arguments)
        is_asked = is_plain_order(message, inverse.requested_values(arguments, before))
    else:
        name = await inverse.told_of(services, user_id, arguments) if inverse.told_of else ""
        is_asked = bool(name) and find_span(name, message) is not None
    if not is_asked:
        return []
    return list(action.preview(arguments, await action.read_current(services, user_id, arguments)).changes)


def is_plain_order(message: str, changes: Sequence[FieldValues]) -> bool:
    """True if `message` is nothing but an order to make these changes: to one field, naming each new value, or each
    value to remove, and no others."""
    if len(changes) != 1:
        return False
    [change] = changes
    for order in orders_in(message):
        match order.change:
            case "set":
                values = (*change.kept, *change.new)
            case "add":
                values = () if change.removed else change.new
            case "remove":
                values = () if change.new else change.removed
        if order.field == change.field and values and names_exactly(order, [*map(_spellings, values)]):
            return True
    return False


def _spellings(value: str) -> Sequence[str]:
    return next((group for group in WORK_MODE_LABELS if value.casefold() in map(str.casefold, group)), (value,))


def is_short_and_typed(message: str) -> bool:
    text = message.strip()
    lines = [line for line in text.splitlines() if line.strip()]
    return 0 < len(text) <= MOST_CHARACTERS and len(lines) <= MOST_LINES and not holds_others_words(text)
