"""Open and close a turn: all reads before its first byte, and all writes at its end.

`open` claims the conversation and reads everything for the prompt in one round trip. `close` records the messages, cost
and tool calls, then releases the conversation. If the database fails at that point, the turn registry retries while the
process lives; after that, the next turn continues from the stored part of the answer.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pymongo
from pydantic import ValidationError
from pymongo.errors import PyMongoError

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
    Unavailable,
)
from qwestly_agent.base.observability import Event, cause_of, measure_turn
from qwestly_agent.chat.prompt import (
    READ_LIMIT,
    SETTLED_SECONDS,
    FirstTurnContext,
    UnderWay,
    day_in,
    make_context,
)
from qwestly_agent.chat.services import WENT_ON_ELSEWHERE, ChatServices
from qwestly_agent.chat.turn import Record, Turn, is_ours, replaced_runs
from qwestly_agent.chat.turn_approvals import Caller, TurnApprovals, decide_all, nothing_new_error, read_typed_answer
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.clients.aws import Start
from qwestly_agent.domain.approval import Approval, Level
from qwestly_agent.domain.memory import FoundMemory, Memory
from qwestly_agent.domain.rollout import Assignment, Rollout
from qwestly_agent.memory.find import MOST_SALIENT, best_by_words, first_memories
from qwestly_agent.rollout.look import OWN_FIRST_TEXT_MS
from qwestly_agent.rollout.variants import assign, read_rollout
from qwestly_agent.stores.approvals import OPEN_STATUSES
from qwestly_agent.stores.conversations import LEASE_SECONDS, last_answer_fields, make_title
from qwestly_agent.stores.drafts import ACTIVE_STATUSES, Draft
from qwestly_agent.stores.messages import ClaimedConversation, Message, NewTurn, PartialAnswer
from qwestly_agent.stores.usage import DAY_SECONDS, MINUTE_SECONDS, Load
from qwestly_agent.text.user_text import typed_in

MOST_UNDER_WAY, MOST_DRAFTS_TOLD = 30, 5
LAST_TRY_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True)
class History:
    """The newest messages, and the earlier turn with the posted message id, if any."""

    recent: Sequence[Message]
    exchange: Sequence[Message]

    def earlier_turn(self, request: TurnRequest) -> Sequence[Message]:
        """Return the earlier turn with this message, answered or not, if the message is posted again, reworded or to be
        regenerated; empty for a new message.

        Raises `ChangedMeanwhile` if the turn is not the last one or contains forgotten content, and `Invalid` if there
        is nothing to regenerate.
        """
        last = [message for message in self.recent if message.run_id == self.recent[-1].run_id]
        if request.text is None and not request.regenerate:
            return []
        if not request.regenerate:
            if request.replaces and not self.exchange:
                raise ChangedMeanwhile("Only the last message can be rewritten.")
            if self.exchange and self.exchange[0].content != request.text and self.exchange != last:
                raise ChangedMeanwhile("Only the last message can be rewritten.")
            return self.exchange
        if request.text is not None and not self.exchange:
            return []  # the message never reached us
        if not last:
            raise Invalid("There is no answer to make again.")
        if any(message.withheld for message in last if message.role == "user"):
            raise ChangedMeanwhile("This tells something that you had forgotten. Please rewrite it.")
        named = {name for message in last for name in (message.id, message.continues)}
        # To the client, an answer continued after a decision is one message, identified by the id of the user's
        # message.
        asked = self.exchange == last or any(message.id in named for message in self.exchange)
        if (self.exchange and not asked) or (request.regenerates or last[0].id) not in named:
            raise ChangedMeanwhile("Only the last answer can be made again.")
        return last


def complete_answer(request: TurnRequest, earlier: Sequence[Message]) -> Message | None:
    """Return the complete answer to this message, if it was already answered."""
    if not earlier or request.regenerate or request.text != earlier[0].content:
        return None
    return next((message for message in earlier if message.role == "assistant" and message.status == "complete"), None)


@dataclass(frozen=True)
class ContextData:
    """Data for building the context."""

    profile: dict[str, Any]
    """The profile with employment and preferences."""
    zone: str
    """The user's time zone."""
    memories: list[Memory]
    """The most salient ones, plus one if there are more."""
    by_words: list[FoundMemory] | None
    """The memories that best match the first message; None if the conversation is probably not new."""
    last_withdrawn: float | None
    level: Level
    unreported: list[Approval]
    """Approvals whose outcome was not yet reported to the model."""
    ended: list[Draft]
    """Ended drafts that were not yet reported to the model."""
    under_way: UnderWay
    """Pending and running work in all conversations."""
    rollout: Rollout | None
    variant: str | None
    """The variant that an operator pinned the user to."""


@dataclass(frozen=True)
class TurnStore:
    services: ChatServices

    # --- open ---------------------------------------------------------------------------------------------------------

    async def open(self, user_id: str, request: TurnRequest, deadline: float, caller: Caller) -> Turn:
        """Claim the conversation, and read everything that the turn needs. The `caller`'s token authorizes executing
        decisions.

        Raises all errors that need an HTTP status: `ConversationBusy`, `NotFound`, `ChangedMeanwhile`, `Invalid`,
        `TooManyTurns`, `OverBudget`, `Braked`.
        """
        services = self.services
        await services.running.finish_unfinished()
        new = NewTurn(
            run_id=services.new_id(),
            message_id=request.message_id or f"msg_{services.new_id()}",
            text=request.text,
            started_at=services.clock(),
        )
        conversation_id = request.conversation_id or services.new_id()
        moderated = services.moderation.start_check(typed_in(request.text or ""))
        entering = asyncio.ensure_future(services.usage.begin_turn(user_id, new.run_id, new.started_at))
        reading = asyncio.gather(
            self._history(user_id, conversation_id, request),
            self._context_data(user_id, conversation_id, request),
            entering,
        )
        try:
            claim = await self._claim(user_id, conversation_id, new, request)
        except BaseException:
            # Wait instead of cancelling: a cancelled read could leave the driver's lock held, or lose its connection.
            # The driver's own timeout limits the reads.
            await asyncio.gather(reading, return_exceptions=True)
            with limit_last_try():
                await self._tried(self._leave(user_id, new, entering))
            raise
        try:
            # Check after the claim: either this check sees the brake, or the brake (or an erasure) sees this turn.
            (said, known, load), _ = await asyncio.gather(reading, services.signals.check_brake(user_id))
            _check_choice(request, claim)
            await self._admit(user_id, load, new.started_at)
            read_at = new.started_at
            waits = any(each.conversation_id == conversation_id for each in known.under_way.approvals)
            is_answer = waits and not said.exchange
            answer = await read_typed_answer(
                services, user_id, conversation_id, request, said.recent if is_answer else []
            )
            request = replace(request, decisions=request.decisions or answer.decisions)
            approvals = await self._approvals(claim, request, known.unreported, caller)
            approvals = replace(approvals, ended=known.ended, referred_approval=answer.referred_approval)
            if approvals.settled:  # the decisions may have changed the data read in parallel
                read_at = services.clock()
                said, known = await asyncio.gather(
                    self._history(user_id, conversation_id, request),
                    self._context_data(user_id, conversation_id, request),
                )
            turn = await self._turn(claim, request, said, known, load, approvals, read_at, deadline)
            return replace(turn, moderated=moderated, token=caller.token)
        except (Invalid, ChangedMeanwhile, NotFound, TooManyTurns, OverBudget, Braked):
            await asyncio.gather(services.conversations.withdraw(claim), self._leave(user_id, new, entering))
            raise
        except BaseException:
            # The user's message stays in the conversation, and the next turn recovers it.
            with limit_last_try():
                await self._tried(services.conversations.abandon(claim), self._leave(user_id, new, entering))
            raise

    async def _history(self, user_id: str, conversation_id: str, request: TurnRequest) -> History:
        messages = self.services.messages
        recent = messages.list_recent(user_id, conversation_id, READ_LIMIT)
        if request.message_id is None:
            return History(await recent, [])
        return History(
            *await asyncio.gather(recent, messages.get_exchange(user_id, conversation_id, request.message_id))
        )

    async def _context_data(self, user_id: str, conversation_id: str, request: TurnRequest) -> ContextData:
        services = self.services
        (
            (profile, settings, rollout),
            (memories, by_words, last_withdrawn),
            level,
            (waiting, unreported),
            (drafts, ended),
        ) = await asyncio.gather(
            asyncio.gather(
                services.profiles.get_career(user_id),
                services.user_settings.get(user_id),
                read_rollout(services.rollouts, services.logger),
            ),
            asyncio.gather(
                services.memories.most_salient(user_id, MOST_SALIENT + 1),
                self._by_words(user_id, request),
                services.tombstones.last_withdrawn_at(user_id),
            ),
            services.autonomy.level(user_id),
            services.approvals.list_for_turn(user_id, conversation_id, OPEN_STATUSES),
            services.drafts.list_for_turn(user_id, conversation_id, ACTIVE_STATUSES),
        )
        now = services.clock()
        return ContextData(
            profile=profile,
            zone=settings.zone,
            memories=memories,
            by_words=by_words,
            last_withdrawn=last_withdrawn,
            level=level,
            unreported=unreported,
            ended=ended[:MOST_DRAFTS_TOLD],
            under_way=UnderWay(
                [each for each in waiting[:MOST_UNDER_WAY] if each.waits(now)],
                [each for each in drafts[:MOST_UNDER_WAY] if each.status == "running"],
            ),
            rollout=rollout,
            variant=settings.variant,
        )

    async def _by_words(self, user_id: str, request: TurnRequest) -> list[FoundMemory] | None:
        if not request.likely_new or not request.text:
            return None
        return await best_by_words(self.services.memories, self.services.clock, user_id, request.text)

    async def _claim(
        self, user_id: str, conversation_id: str, turn: NewTurn, request: TurnRequest
    ) -> ClaimedConversation:
        """Claim the conversation, or create it. Design and role can be chosen only for a new one; an existing one may
        have others."""
        conversations, designs = self.services.conversations, self.services.designs
        if request.likely_new:
            chosen = designs.choose(request.design, request.role)
            created = await conversations.create(user_id, conversation_id, turn, *chosen)
            return created or await conversations.claim(user_id, conversation_id, turn)
        try:
            return await conversations.claim(user_id, conversation_id, turn)
        except NotFound:
            # The AI SDK creates conversation ids itself; a plain client knows only ids that we created.
            if request.protocol == "plain" or request.text is None or request.must_exist:
                raise
            chosen = designs.choose(request.design, request.role)
            created = await conversations.create(user_id, conversation_id, turn, *chosen)
            if created is None:  # another turn just created it
                raise ConversationBusy(retry_after=1) from None
            return created

    async def _admit(self, user_id: str, load: Load, now: float) -> None:
        """Check rate and budget before any cost is incurred; `model_calls.py` limits the cost afterwards. Raises
        `OverBudget` and `TooManyTurns`."""
        settings = self.services.settings
        await self.services.stage_day.check(now)
        if load.spent_today_usd >= settings.day_ceiling_usd:
            raise OverBudget(retry_after=math.ceil(DAY_SECONDS - now % DAY_SECONDS))
        if len(load.last_minute) >= settings.messages_a_minute:
            oldest = [*load.last_minute, now][-max(1, settings.messages_a_minute) - 1 :][0]
            raise TooManyTurns(
                f"That is more than {settings.messages_a_minute} messages in a minute. Please wait a moment.",
                retry_after=math.ceil(max(1.0, oldest + MINUTE_SECONDS - now)),
            )
        await admit_stream(self.services, user_id, load, now)

    async def _approvals(
        self, claim: ClaimedConversation, request: TurnRequest, unreported: list[Approval], caller: Caller
    ) -> TurnApprovals:
        """Apply the decisions posted with this turn, and collect the outcomes to report to the model."""
        if not request.decisions:
            return TurnApprovals((), unreported)
        settled = await decide_all(
            self.services,
            claim,
            request,
            caller,
        )
        says_more = request.text is not None or request.regenerate
        if not settled and says_more:
            return TurnApprovals((), unreported)
        unreported = await self.services.approvals.list_unreported(claim.user_id, claim.conversation_id)
        if not says_more and not unreported:
            raise nothing_new_error(settled)
        return TurnApprovals(settled, unreported)

    async def _turn(
        self,
        claim: ClaimedConversation,
        request: TurnRequest,
        said: History,
        known: ContextData,
        load: Load,
        approvals: TurnApprovals,
        read_at: float,
        deadline: float,
    ) -> Turn:
        assignment = self._assigned(claim, request, known)
        claim, said = await self._reread_if_changed(replace(claim, assignment=assignment), request, said)
        if assignment and claim.abandoned:
            claim = replace(claim, assignment=assignment.after_deaths(len(claim.abandoned)))
        agent = self._agent_of(claim)
        earlier = said.earlier_turn(request)
        asked = earlier[0] if earlier else None
        answered = complete_answer(request, earlier)
        if asked and not answered:
            stands = await end_replaced(self.services, claim.user_id, claim.conversation_id, replaced_runs(earlier))
            told = [*approvals.unreported, *(each for each in stands if not each.news)]
            approvals = replace(approvals, unreported=told)
        text = asked.content if asked and request.regenerate else request.text or ""
        return Turn(
            claim=claim,
            agent=agent,
            text=text,
            message_id=asked.id if asked else claim.turn.message_id,
            history=[message for message in said.recent if asked is None or message.run_id != asked.run_id],
            context=await self._context(claim, agent, known, text),
            career=known.profile,
            load=load,
            level=known.level,
            deadline=deadline,
            approvals=approvals,
            under_way=known.under_way,
            # Times come from several processes' clocks. A withdrawal later than the last one that was read is not
            # reflected in the prompt.
            prompt_as_of=min(read_at, math.nextafter(known.last_withdrawn or 0.0, math.inf)),
            record=Record(claim.turn.started_at),
            has_returned_to_base=claim.assignment != assignment
            and bool(claim.assignment and claim.assignment.given_up),
            continues=request.continues or next((each.continues for each in earlier if each.continues), None),
            replaced=earlier,
            answered=answered,
        )

    def _assigned(self, claim: ClaimedConversation, request: TurnRequest, known: ContextData) -> Assignment | None:
        """Return the conversation's variant for this turn. It is chosen if the conversation is new and the user did not
        choose a design; otherwise it is kept."""
        designs = self.services.designs
        is_new = not claim.last_seq and request.design is None
        pinned = known.variant if known.variant in designs.variants and request.design is None else None
        found = assign(known.rollout, claim.assignment, pinned, claim.user_id, claim.role, is_new=is_new)
        # Another release may have started the trial; variants unknown to this release are not counted.
        is_known = found is None or found.agents is None or designs.find_variant(found.agents, claim.role)
        return found if is_known else None

    def _agent_of(self, claim: ClaimedConversation) -> TurnAgent:
        """Return the agent of the conversation's variant, or else of its design. Raises `Unavailable` if neither
        exists."""
        designs = self.services.designs
        of_variant = designs.find_variant(claim.assignment.agents, claim.role) if claim.assignment else None
        agent = of_variant or designs.find(claim.design, claim.role)
        if agent is None:
            raise Unavailable("This conversation cannot go on as it began. Please start a new one.")
        return agent

    async def _reread_if_changed(
        self, claim: ClaimedConversation, request: TurnRequest, said: History
    ) -> tuple[ClaimedConversation, History]:
        """Read again if the reads, which ran in parallel with the claim, saw an older state, or if a killed turn was
        recovered."""
        services, last_seq = self.services, claim.last_seq
        if claim.abandoned:
            services.logger.warning(
                Event.TURN_RECOVERED,
                extra={"run_id": claim.turn.run_id, "killed": [turn.run_id for turn in claim.abandoned]},
            )
            last_seq = await services.conversations.recover(claim)
            for turn in claim.abandoned:  # its answer may contain something forgotten since it started
                if turn.partial and await services.tombstones.forgotten_since(
                    claim.user_id, turn.started_at - SETTLED_SECONDS
                ):
                    await services.messages.exclude_run_from_prompts(claim.user_id, turn.run_id)
        elif (said.recent[-1].seq if said.recent else 0) == last_seq:
            return claim, said
        said = await self._history(claim.user_id, claim.conversation_id, request)
        return replace(claim, last_seq=max(last_seq, said.recent[-1].seq if said.recent else 0)), said

    async def _context(
        self, claim: ClaimedConversation, agent: TurnAgent, known: ContextData, message: str
    ) -> FirstTurnContext:
        now = claim.turn.started_at
        today = day_in(known.zone, now)
        fresh = make_context(known.profile, known.memories, known.level, today, agent.prompt_version, now)
        # Validation fails if there is no context yet, or if it is from an earlier version.
        with suppress(ValidationError):
            kept = FirstTurnContext.model_validate(claim.context)
            if kept.is_still_valid(fresh, known.last_withdrawn):
                return kept
        memories = await first_memories(self.services, claim.user_id, message, known.memories, known.by_words)
        return make_context(known.profile, memories, known.level, today, agent.prompt_version, now)

    async def _tried(self, *what: Coroutine[Any, Any, None]) -> None:
        for error in await asyncio.gather(*what, return_exceptions=True):
            if error:
                self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))

    async def _leave(self, user_id: str, turn: NewTurn, entering: asyncio.Future[Load]) -> None:
        await asyncio.wait([entering])  # otherwise its entry could be written after the removal and stay
        await self.services.usage.end_turn(user_id, turn.run_id, turn.started_at)

    # --- close --------------------------------------------------------------------------------------------------------

    async def close(self, turn: Turn) -> None:
        """Record the turn, and release the conversation last, because erasure waits for the release. If another turn
        has taken over, the record's error says so."""
        services, now, record = self.services, self.services.clock(), turn.record
        receipt = record.receipt(
            design=turn.design,
            prompt_version=turn.agent.prompt_version,
            variant=turn.variant,
            counted_as=turn.counted_as,
            ended_at=now,
        )
        services.logger.info(Event.TURN_ENDED, extra={"status": record.status, **receipt})
        measure_turn(record.status, receipt, Counter(call.outcome for call in record.calls.made.values()))
        # After a database error, retry once, but briefly, because the user is waiting for the error.
        with limit_last_try(isinstance(record.error, Unavailable)):
            written = await asyncio.gather(self._account(turn, now), self._audit(turn), self._count(turn, receipt, now))
            try:
                with limit_last_try(not all(written)):
                    if record.is_erased:  # an erasure that did not see this turn, as it had not claimed yet
                        await services.conversations.withdraw(turn.claim)
                    kept = not record.is_erased and await self._record(turn, now, receipt)
            except PyMongoError:
                services.running.finish_later(turn.run_id, partial(self._close_late, turn, receipt))
                raise
        if kept:
            starts = (*record.starts, *([_summary(turn)] if turn.needs_summary else []))
            await asyncio.gather(*(self._start(each) for each in starts))
        else:
            await self._forget_audit(turn)
            services.logger.warning(Event.LEASE_LOST)
            record.error = record.error or ConversationBusy(WENT_ON_ELSEWHERE)

    async def _close_late(self, turn: Turn, receipt: dict[str, Any]) -> None:
        """Record a turn that could not be stored when it ended, unless another turn came after it."""
        claim, now = turn.claim, self.services.clock()
        if await self.services.conversations.renew(claim.user_id, claim.conversation_id, turn.run_id, now):
            # The messages may have been inserted without an answer.
            await self.services.messages.delete_run(claim, turn.run_id)
            await self._record(turn, now, receipt)

    async def _account(self, turn: Turn, now: float) -> bool:
        """Record the cost; return False if that fails, which does not affect the answer."""
        spent = {**turn.record.tokens(), "cost_usd": turn.record.ceiling_usd()}
        try:
            turn.record.is_erased = not await self.services.usage.settle(
                turn.claim.user_id, turn.run_id, spent, turn.load, now
            )
        except PyMongoError as error:
            self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
            return False
        return True

    async def _count(self, turn: Turn, receipt: Mapping[str, Any], now: float) -> bool:
        """Count the turn for its conversation's trial, if any; return False if that fails."""
        if turn.counted_as is None:
            return True
        record, own_ms = turn.record, receipt["own_first_text_ms"]
        amounts = {
            "turns": 1,
            "failed": int(record.status == "failed" and is_ours(record.error)),
            "spoken": int(own_ms is not None),
            "slow": int(own_ms is not None and own_ms > OWN_FIRST_TEXT_MS),
            "conversations": int(not turn.claim.last_seq and not turn.claim.abandoned),
            "cost_usd": record.ceiling_usd(),
        }
        try:
            await self.services.variant_counts.add(turn.claim.user_id, turn.counted_as, turn.run_id, amounts, now)
        except PyMongoError as error:
            self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
            return False
        return True

    async def _audit(self, turn: Turn) -> bool:
        """Record the tool calls; return False if that fails."""
        claim = turn.claim
        try:
            audit = turn.record.audit()
            await self.services.tool_calls.add(claim.user_id, claim.conversation_id, turn.run_id, audit)
        except PyMongoError as error:
            self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))
            return False
        return True

    async def _start(self, start: Start) -> None:
        """Start a workflow. If that fails, a later turn's start does its work as well."""
        try:
            await self.services.workflows.start(start.workflow, start.name, start.given)
        except Unavailable as error:
            self.services.logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))

    async def _forget_audit(self, turn: Turn) -> None:
        """Delete the turn's audit if its conversation was deleted meanwhile."""
        claim = turn.claim
        try:
            if not await self.services.conversations.is_there(claim):
                await self.services.tool_calls.forget(claim.user_id, claim.conversation_id, run_id=turn.run_id)
        except PyMongoError as error:
            self.services.logger.error(Event.ACCOUNT_FAILED, extra=cause_of(error))

    async def _record(self, turn: Turn, now: float, receipt: dict[str, Any]) -> bool:
        try:
            messages = turn.messages(now, turn.record.model_messages(), receipt)
            return await self._store(turn, messages, now, receipt)
        except PyMongoError:
            raise
        except Exception as error:  # the provider's messages cannot be serialized: store only the text
            self.services.logger.error(Event.RECORD_FAILED, extra=cause_of(error))
            return await self._store(turn, turn.messages(now, turn.record.text_only_messages_json(), {}), now, receipt)

    async def _store(self, turn: Turn, messages: list[Message], now: float, receipt: dict[str, Any]) -> bool:
        """Store the messages; return False if the conversation no longer belongs to this turn."""
        services = self.services
        # A retry without content keeps the earlier answer.
        has_nothing_new = turn.replaced and not turn.record.content and turn.record.status != "complete"
        if isinstance(turn.record.error, Braked):
            # Record this before the lease ends, so that a brake that has not seen this turn yet still finds it.
            await services.runs.record_stopped(turn.claim.user_id, turn.run_id, now)
        turn.record.stored = messages[-1]
        kept = await services.conversations.finish(
            turn.claim,
            [] if has_nothing_new else messages,
            replaced_run=None if has_nothing_new else turn.replaced_run,
            changes=_changes(turn, messages, receipt) | ({} if has_nothing_new else _reported_work(turn)),
            cost_usd=turn.record.ceiling_usd(),
            now=now,
        )
        if kept and not has_nothing_new and not turn.history:
            await self._retitle(turn)
        if kept and messages:
            await self._exclude_forgotten(turn)
        if kept and not has_nothing_new:
            # The note is now stored in the conversation, and is therefore part of every later prompt.
            await asyncio.gather(
                *(services.approvals.mark_reported(each) for each in turn.approvals.unreported),
                *(services.drafts.mark_reported(turn.claim.user_id, each.id) for each in turn.approvals.ended),
            )
        return kept

    async def _retitle(self, turn: Turn) -> None:
        """Set the title of a new conversation: the one made from its first message, or, if that message was replaced,
        the beginning of its replacement."""
        title = turn.record.title or (make_title(turn.text) if turn.replaced else "")
        if title and not turn.record.calls.trouble:
            await self.services.conversation_search.retitle(
                turn.claim.user_id, turn.claim.conversation_id, title, turn.message_id
            )

    async def _exclude_forgotten(self, turn: Turn) -> None:
        """Exclude this turn from prompts if something was forgotten while it ran, because the forgetting could not find
        it in this turn."""
        services, user_id = self.services, turn.claim.user_id
        if await services.tombstones.forgotten_since(user_id, turn.prompt_as_of):
            await asyncio.gather(
                services.messages.exclude_run_from_prompts(user_id, turn.run_id),
                services.conversations.drop_contexts(user_id),
                services.tool_calls.clear_texts(user_id, (), lambda _: False, turn.run_id),
            )
            await services.conversation_search.forget_titles(user_id, lambda _: False)


def limit_last_try(it_failed: bool = True) -> AbstractContextManager[object]:
    """Within the context, shorten the database timeout for the last attempt, if an earlier one failed."""
    return pymongo.timeout(LAST_TRY_TIMEOUT_SECONDS) if it_failed else nullcontext()


def _check_choice(request: TurnRequest, claim: ClaimedConversation) -> None:
    """Check that the request keeps the conversation's design and role. Raises `Invalid`."""
    if request.design not in (None, claim.design) or request.role not in (None, claim.role):
        kept = f"its design {claim.design!r} and its role {claim.role!r}"
        raise Invalid(f"A conversation keeps {kept}. Start a new one for another.")


async def admit_stream(services: ChatServices, user_id: str, load: Load, now: float) -> None:
    """Raise `TooManyTurns` if the user has the maximum number of running streams, after releasing those whose process
    died."""
    most = services.settings.running_turns
    if len(load.running) < most:
        return
    holding = await services.conversations.list_running_runs(user_id, now)
    dead = [run for run, began in load.running.items() if run not in holding and now - began > LEASE_SECONDS]
    if dead:
        await services.usage.release(user_id, dead)
    if len(load.running) - len(dead) >= most:
        raise TooManyTurns(
            f"{most} of your messages are being answered already. Please wait for one of them.",
            retry_after=math.ceil(LEASE_SECONDS),
        )


def _summary(turn: Turn) -> Start:
    """Return the start of the workflow that summarizes the messages that are no longer in the window."""
    claim, run_id = turn.claim, f"summary-{turn.run_id}"
    whose = {"user_id": claim.user_id, "conversation_id": claim.conversation_id}
    given = {**whose, "run_id": run_id, "window_from": turn.window_from}
    return Start("extract_memories", run_id, given)


def _changes(turn: Turn, messages: Sequence[Message], receipt: dict[str, Any]) -> dict[str, Any]:
    """Return the conversation fields for later turns, and for readers who follow this one."""
    asked, answer = messages
    answer = answer.model_copy(update={"model_messages": "[]", "receipt": receipt})
    told = PartialAnswer(asked, answer, turn.record.events.dump())
    context = turn.context.model_dump(mode="json")
    assignment = turn.assignment
    return {
        **({"context": context} if context != turn.claim.context else {}),
        **({"summary_due": turn.window_from} if turn.needs_summary else {}),
        "window_from": turn.window_from,
        **last_answer_fields(turn.run_id, told),
        **({"assignment": assignment.model_dump()} if assignment and assignment.trial else {}),
    }


def _reported_work(turn: Turn) -> dict[str, Any]:
    told = turn.told_under_way
    return {"told_under_way": list(told)} if told != turn.claim.reported_work else {}
