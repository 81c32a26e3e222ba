"""Whether an approved action may be executed now: brake, level, time, and the arguments that were approved."""

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.actions import ACTIONS
from qwestly_agent.approvals.earned import level_of
from qwestly_agent.approvals.gate import gate
from qwestly_agent.base.errors import Braked
from qwestly_agent.domain.approval import Approval, sha256_hex
from qwestly_agent.services import Services

LATEST_SECONDS = 86_400.0
"""Time after the decision after which an action is no longer executed."""

STOPPED = "You had paused everything, so nothing was done."
NOT_ALLOWED = "You no longer let the agent do this, so nothing was done."
TOO_LATE = "It could not be done in time, so it was not done at all."
OTHER_RULES = "What can be changed here has changed since you were asked, so nothing was done. Please ask again."


async def denial_reason(services: Services, approval: Approval) -> str | None:
    """Return why the action may not be executed now, or None; checks all that may have changed except the subject."""
    action = ACTIONS.get(approval.tool)
    try:
        await pause.check(services.signals, approval.user_id)
    except Braked:
        return STOPPED
    standing = await services.autonomy.standing(approval.user_id)
    level = await level_of(services, approval.user_id, standing, approval.tool, approval.subject)
    allowed = gate(approval.effect, level, asked_for=approval.decided_by == "level").answer
    # What the user undoes is their own act: no level of the agent is needed for it.
    if not approval.undoes and (allowed == "refuse" or (approval.decided_by == "level" and allowed != "run")):
        return NOT_ALLOWED
    if services.clock() > (approval.decided_at or approval.created_at) + LATEST_SECONDS:
        return TOO_LATE
    whole = sha256_hex(approval.tool, approval.args) == approval.args_digest
    if action is None or not whole or action.effect != approval.effect:
        return OTHER_RULES
    return None if action.upgraded(approval.schema_digest, approval.arguments) else OTHER_RULES
