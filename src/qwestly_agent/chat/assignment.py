"""The variant of a conversation, and its agent."""

from qwestly_agent.agents.design import TurnAgent
from qwestly_agent.agents.registry import Designs
from qwestly_agent.base.errors import AgentError, Unavailable
from qwestly_agent.chat.read_turn import ContextData
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.rollout.choose import assign
from qwestly_agent.stores.turns import ClaimedConversation

WENT_BACK = "I have gone back to my usual way of working in this conversation: please try again."
WENT_BACK_BEFORE = "My last answers broke off, so I have gone back to my usual way of working in this conversation."


def assigned(
    designs: Designs, claim: ClaimedConversation, request: TurnRequest, known: ContextData
) -> Assignment | None:
    """The variant of a conversation for this turn: chosen where the conversation is new and its user chose no design,
    kept otherwise."""
    is_new = not claim.last_seq and request.design is None
    pinned = known.variant if known.variant in designs.variants and request.design is None else None
    found = assign(known.rollout, claim.assignment, pinned, claim.user_id, claim.role, is_new=is_new)
    # Another release may have begun the trial: what this one does not know, it does not count either.
    is_known = found is None or found.agents is None or designs.find_variant(found.agents, claim.role)
    return found if is_known else None


def agent_of(designs: Designs, claim: ClaimedConversation) -> TurnAgent:
    """That of the conversation's variant, else that of its design. Raises `Unavailable` if both are gone."""
    of_variant = designs.find_variant(claim.assignment.agents, claim.role) if claim.assignment else None
    agent = of_variant or designs.find(claim.design, claim.role)
    if agent is None:
        raise Unavailable("This conversation cannot go on as it began. Please start a new one.")
    return agent


def is_ours(error: AgentError | None) -> bool:
    """True if a turn failed on our side: not by a limit, the brake or another turn."""
    return error is not None and error.http_status >= 500
