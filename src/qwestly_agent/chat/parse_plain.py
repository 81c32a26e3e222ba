"""A posted turn in the plain protocol."""

from typing import Any

from pydantic import Field

from qwestly_agent.approvals.decide import Decision
from qwestly_agent.base.errors import Invalid
from qwestly_agent.chat.turn_request import (
    MOST_DECISIONS,
    Chosen,
    ClientId,
    PostedDecision,
    TurnRequest,
    checked,
)


class DecisionInTurn(Decision):
    approval_id: ClientId


class PlainTurn(Chosen):
    """`curl -N` and the reference widget: answered with named SSE events. A message, decisions, or both."""

    message: str | None = None
    conversation_id: ClientId | None = None
    message_id: ClientId | None = None
    replaces: ClientId | None = None
    """Id of the user's last message, in whose place this one comes; without a message, of the last answer, to be
    made again."""
    decisions: list[DecisionInTurn] = Field(default=[], max_length=MOST_DECISIONS)


def parse_plain(posted: dict[str, Any]) -> TurnRequest:
    plain = PlainTurn.model_validate(posted)
    if plain.decisions and plain.conversation_id is None:
        raise Invalid("Decisions need the conversation in which they were asked for.")
    if plain.replaces and (plain.conversation_id is None or plain.message_id or plain.decisions):
        raise Invalid("replaces: It needs its conversation_id, and takes neither a message_id nor decisions.")
    if plain.message is None and not plain.decisions and not plain.replaces:
        raise Invalid("message: Field required.")
    regenerate = plain.message is None and plain.replaces is not None
    return TurnRequest(
        protocol="plain",
        conversation_id=plain.conversation_id,
        text=None if plain.message is None else checked(plain.message),
        message_id=plain.message_id if regenerate else plain.replaces or plain.message_id,
        likely_new=plain.conversation_id is None,
        regenerate=regenerate,
        regenerates=plain.replaces if regenerate else None,
        replaces=plain.replaces is not None and not regenerate,
        decisions=tuple(
            PostedDecision(each.approval_id, each.decision, each.args_digest, each.args, each.reason)
            for each in plain.decisions
        ),
        design=plain.design,
        role=plain.role,
    )
