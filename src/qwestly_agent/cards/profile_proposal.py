"""Propose a redrafted profile text, with its evidence, and check that it is still wanted."""

from typing import Any

from qwestly_agent.action import has_same_subject, to_json_types
from qwestly_agent.approvals.ask import Proposal
from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.card_state import Overtaken
from qwestly_agent.cards.draft_parts import evidence_of
from qwestly_agent.cards.outline import ABOUT
from qwestly_agent.cards.publication import drafted_proposal, supported_in
from qwestly_agent.cards.text import text_of
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import CheckedCard
from qwestly_agent.profile import LISTS, SUGGEST_LINKEDIN_ABOUT, UPDATE_PROFILE_FIELD
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Messages

MOST_READ = 50


def profile_proposal(draft: Draft, earlier: Approval) -> Proposal:
    """Propose to replace the text of `earlier` with the stored text. Raises `Invalid` if it is not accepted, and
    `NotFound` if there is none."""
    if "card" not in draft.parts:
        raise NotFound("There is no text in this draft.")
    checked, evidence = supported_in(draft), evidence_of(draft)
    action, args = _action(draft, checked)
    unchanged = all(earlier.arguments.get(name) == args[name] for name in action.editable)
    return drafted_proposal(action, to_json_types(action.parse(args)), checked, evidence, unchanged=unchanged)


def _action(draft: Draft, checked: CheckedCard) -> tuple[AnyAction, dict[str, Any]]:
    section = draft.parts["section"]
    if section == ABOUT:
        return SUGGEST_LINKEDIN_ABOUT, {"draft_id": draft.id, "text": text_of(checked)}
    field, claims = section.removeprefix("profile_"), [claim.text for claim in checked.card.claims]
    return UPDATE_PROFILE_FIELD, {"field": field, "value": claims if field in LISTS else " ".join(claims)}


async def check_still_wanted(services: Services, earlier: Approval, proposal: Proposal, asks_as: str) -> None:
    """Raises `Overtaken` if, since `earlier` was decided, another approval for the same was requested, or the user
    changed it, or deleted or replaced the message that led to it. `asks_as` is the id of the approval that would ask
    again."""
    if earlier.status != "revised" or earlier.revised_by == asks_as:
        return
    newest = await services.approvals.list_all(earlier.user_id, MOST_READ)
    newer = [each for each in newest if each.created_at >= (earlier.decided_at or 0)]
    others = [each for each in newer if each.id not in (earlier.id, asks_as)]
    is_asked = earlier.revised_by or any(has_same_subject(each, earlier.tool, proposal.args) for each in others)
    if (
        is_asked
        or not await _still_stands(services.conversations, services.messages, earlier)
        or await _is_changed(services, earlier)
    ):
        raise Overtaken


async def _still_stands(conversations: Conversations, messages: Messages, earlier: Approval) -> bool:
    """True if the message that led to the approval still exists."""
    user_id, conversation_id = earlier.user_id, earlier.conversation_id
    if conversation_id is None or not await conversations.exists(user_id, conversation_id):
        return False
    return not await messages.is_replaced(user_id, conversation_id, earlier.run_id)


async def _is_changed(services: Services, earlier: Approval) -> bool:
    if earlier.args == "{}":  # its text was forgotten, with the preview
        return False
    action = services.actions[earlier.tool]
    shown = await action.read_current(services, earlier.user_id, action.arguments_of(earlier))
    return shown != dict(earlier.shown)
