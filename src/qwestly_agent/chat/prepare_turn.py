"""Prepare a turn: in one round trip, claim the conversation and read all that the prompt needs."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import Any

from aws_lambda_powertools import Logger
from pydantic import ValidationError

from qwestly_agent.agents.design import TurnAgent
from qwestly_agent.approvals.end import end_replaced
from qwestly_agent.base.errors import (
    Braked,
    ChangedMeanwhile,
    ConversationBusy,
    Invalid,
    NotFound,
    OverBudget,
    TooManyTurns,
)
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.chat.admission import admit
from qwestly_agent.chat.approval_updates import TurnApprovals, nothing_new, settle_all
from qwestly_agent.chat.assignment import agent_of, assigned
from qwestly_agent.chat.context import FirstTurnContext, day_in, make_context
from qwestly_agent.chat.earlier_turn import complete_answer, earlier_turn, replaced_runs
from qwestly_agent.chat.finish_turn import briefly
from qwestly_agent.chat.read_turn import ContextData, History, read_known, read_said
from qwestly_agent.chat.reread import reread_if_changed
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn import Turn
from qwestly_agent.chat.turn_record import Record
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.chat.typed_answer import typed_answer
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.memory import Memory
from qwestly_agent.memory.find import first_memories
from qwestly_agent.stores.turns import ClaimedConversation, NewTurn
from qwestly_agent.stores.usage import Load, Usage
from qwestly_agent.text.user_text import typed_in


async def prepare_turn(services: ChatServices, user_id: str, request: TurnRequest, deadline: float, where: str) -> Turn:
    """Raises errors that need an HTTP status, before the first byte: `ConversationBusy`, `NotFound`, `Changed`,
    `Invalid`, `TooManyTurns`, `OverBudget`, `Braked`. `where` is the origin of decisions, for their audit."""
    await services.running.finish_unfinished()
    turn = NewTurn(
        run_id=services.new_id(),
        message_id=request.message_id or f"msg_{services.new_id()}",
        text=request.text,
        started_at=services.clock(),
    )
    conversation_id = request.conversation_id or services.new_id()
    moderated = services.moderation.start_check(typed_in(request.text or ""))
    entering = asyncio.ensure_future(services.usage.enter(user_id, turn.run_id, turn.started_at))
    reading = asyncio.gather(
        read_said(services.messages, user_id, conversation_id, request),
        read_known(services, user_id, conversation_id, request),
        entering,
    )
    try:
        claim = await _claim(services, user_id, conversation_id, turn, request)
    except BaseException:
        # Not cancelled: a cancelled read could leave the driver's lock held, or lose its connection. The driver's own
        # timeout bounds the reads.
        await asyncio.gather(reading, return_exceptions=True)
        with briefly():
            await _tried(services.logger, _leave(services.usage, user_id, turn, entering))
        raise
    try:
        said, known, load = await reading
        _check_choice(request, claim)
        await admit(
            services.conversations,
            services.usage,
            services.stage_day,
            services.settings,
            user_id,
            load,
            turn.started_at,
        )
        read_at = turn.started_at
        answer = await typed_answer(services, user_id, conversation_id, request, said)
        request = replace(request, decisions=request.decisions or answer.decisions)
        approvals = await _approvals(services, claim, request, known.unreported, where)
        approvals = replace(approvals, ended=known.ended, pointed_at=answer.pointed_at)
        if approvals.settled:  # the decisions may have changed what was read in parallel
            read_at = services.clock()
            said, known = await asyncio.gather(
                read_said(services.messages, user_id, conversation_id, request),
                read_known(services, user_id, conversation_id, request),
            )
        prepared = await _prepare(services, claim, request, said, known, load, approvals, read_at, deadline)
        return replace(prepared, moderated=moderated)
    except (Invalid, ChangedMeanwhile, NotFound, TooManyTurns, OverBudget, Braked):
        await asyncio.gather(services.conversations.withdraw(claim), _leave(services.usage, user_id, turn, entering))
        raise
    except BaseException:
        # The user's message stays in the conversation, and the next turn recovers it.
        with briefly():
            abandoning = services.conversations.abandon(claim)
            await _tried(services.logger, abandoning, _leave(services.usage, user_id, turn, entering))
        raise


async def _tried(logger: Logger, *what: Coroutine[Any, Any, None]) -> None:
    for error in await asyncio.gather(*what, return_exceptions=True):
        if error:
            logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))


async def _leave(usage: Usage, user_id: str, turn: NewTurn, entering: asyncio.Future[Load]) -> None:
    await asyncio.wait([entering])  # otherwise it could be written after the removal, and stay
    await usage.leave(user_id, turn.run_id, turn.started_at)


async def _claim(
    services: ChatServices, user_id: str, conversation_id: str, turn: NewTurn, request: TurnRequest
) -> ClaimedConversation:
    """Design and role are chosen where the conversation is new: another's may be those of another design."""
    conversations = services.conversations
    if request.likely_new:
        chosen = services.designs.choose(request.design, request.role)
        created = await conversations.create(user_id, conversation_id, turn, *chosen)
        return created or await conversations.claim(user_id, conversation_id, turn)
    try:
        return await conversations.claim(user_id, conversation_id, turn)
    except NotFound:
        # The AI SDK creates conversation ids itself; a plain client only knows ids that we gave it.
        if request.protocol == "plain" or request.text is None or request.goes_on:
            raise
        chosen = services.designs.choose(request.design, request.role)
        created = await conversations.create(user_id, conversation_id, turn, *chosen)
        if created is None:  # another turn created it at the same moment
            raise ConversationBusy(retry_after=1) from None
        return created


def _check_choice(request: TurnRequest, claim: ClaimedConversation) -> None:
    """A conversation keeps its design and its role. Raises `Invalid`."""
    if request.design not in (None, claim.design) or request.role not in (None, claim.role):
        kept = f"its design {claim.design!r} and its role {claim.role!r}"
        raise Invalid(f"A conversation keeps {kept}. Start a new one for another.")


async def _approvals(
    services: ChatServices, claim: ClaimedConversation, request: TurnRequest, unreported: list[Approval], where: str
) -> TurnApprovals:
    """Settle the decisions posted with this turn, and collect the outcomes that the model is told."""
    if not request.decisions:
        return TurnApprovals((), unreported)
    settled = await settle_all(
        services,
        claim.user_id,
        claim.conversation_id,
        request.decisions,
        ours_alone=request.protocol == "plain",
        where=where,
    )
    says_more = request.text is not None or request.regenerate
    if not settled and says_more:
        return TurnApprovals((), unreported)
    unreported = await services.approvals.list_unreported(claim.user_id, claim.conversation_id)
    if not says_more and not unreported:
        raise nothing_new(settled)
    return TurnApprovals(settled, unreported)


async def _prepare(
    services: ChatServices,
    claim: ClaimedConversation,
    request: TurnRequest,
    said: History,
    known: ContextData,
    load: Load,
    approvals: TurnApprovals,
    read_at: float,
    deadline: float,
) -> Turn:
    assignment = assigned(services.designs, claim, request, known)
    claim, said = await reread_if_changed(services, replace(claim, assignment=assignment), request, said)
    if assignment and claim.abandoned:
        claim = replace(claim, assignment=assignment.after_deaths(len(claim.abandoned)))
    agent = agent_of(services.designs, claim)
    earlier = earlier_turn(request, said)
    asked = earlier[0] if earlier else None
    answered = complete_answer(request, earlier)
    if asked and not answered:
        stands = await end_replaced(services, claim.user_id, claim.conversation_id, replaced_runs(earlier))
        approvals = replace(approvals, unreported=[*approvals.unreported, *(each for each in stands if not each.news)])
    text = asked.content if asked and request.regenerate else request.text or ""
    return Turn(
        claim=claim,
        agent=agent,
        text=text,
        message_id=asked.id if asked else claim.turn.message_id,
        history=[message for message in said.recent if asked is None or message.run_id != asked.run_id],
        context=await _context(services, claim, agent, known, text),
        load=load,
        level=known.level,
        deadline=deadline,
        approvals=approvals,
        under_way=known.under_way,
        read_at=read_at,
        record=Record(claim.turn.started_at),
        went_back=claim.assignment != assignment and bool(claim.assignment and claim.assignment.given_up),
        continues=request.continues or next((each.continues for each in earlier if each.continues), None),
        replaced=earlier,
        answered=answered,
    )


async def _context(
    services: ChatServices, claim: ClaimedConversation, agent: TurnAgent, known: ContextData, message: str
) -> FirstTurnContext:
    def made(memories: list[Memory]) -> FirstTurnContext:
        today = day_in(known.zone, claim.turn.started_at)
        return make_context(known.profile, memories, known.level, today, agent.prompt_version, claim.turn.started_at)

    # Invalid if there is none yet, or if it is from an earlier version.
    with suppress(ValidationError):
        kept = FirstTurnContext.model_validate(claim.context)
        if kept.still_holds(made(known.memories), known.last_withdrawn):
            return kept
    return made(await first_memories(services, claim.user_id, message, known.memories, known.by_words))
