"""Read a conversation again if it changed while a new turn was reading it."""

from dataclasses import replace

from qwestly_agent.base.observability import Event
from qwestly_agent.chat.read_turn import History, read_said
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.services import Services
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.tombstones import Tombstones
from qwestly_agent.stores.turns import ClaimedConversation


async def reread_if_changed(
    services: Services, claim: ClaimedConversation, request: TurnRequest, said: History
) -> tuple[ClaimedConversation, History]:
    """Read again if the reads, which ran in parallel to the claim, saw an older state, or if a killed turn was
    recovered."""
    last_seq = claim.last_seq
    if claim.abandoned:
        services.logger.warning(
            Event.TURN_RECOVERED,
            extra={"run_id": claim.turn.run_id, "killed": [turn.run_id for turn in claim.abandoned]},
        )
        last_seq = await services.conversations.recover(claim)
        await _exclude_forgotten(services.tombstones, services.messages, claim)
    elif (said.recent[-1].seq if said.recent else 0) == last_seq:
        return claim, said
    said = await read_said(services.messages, claim.user_id, claim.conversation_id, request)
    return replace(claim, last_seq=max(last_seq, said.recent[-1].seq if said.recent else 0)), said


async def _exclude_forgotten(tombstones: Tombstones, messages: Messages, claim: ClaimedConversation) -> None:
    """Exclude recovered answers from prompts if something was forgotten since they began, as they may contain it."""
    for turn in claim.abandoned:
        if turn.partial and await tombstones.forgotten_since(claim.user_id, turn.started_at):
            await messages.exclude_run_from_prompts(claim.user_id, turn.run_id)
