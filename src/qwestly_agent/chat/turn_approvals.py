"""Approvals and drafts in a turn: decisions posted or typed with it, and outcomes, each reported to the model once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_ai.framing import wrap
from pydantic_ai.messages import CapabilityEvent

from qwestly_agent.agents.base import Calls
from qwestly_agent.agents.guardrails import ApprovalRequested
from qwestly_agent.agents.tools.base import confirm_with_user
from qwestly_agent.agents.tools.work import ApprovalShown
from qwestly_agent.approvals.act import USE_THE_CARD, VERBS, ActRequest, StoredAnswer, ask_act
from qwestly_agent.approvals.autonomy import UNASKED
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.end import draft_line, outcome_line
from qwestly_agent.approvals.view import ApprovalView
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.chat.outcomes import approvals_shown_with
from qwestly_agent.chat.turn_request import PostedDecision, TurnRequest
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import AnyAction, Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import ClaimedConversation, Message
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.plain_words import answer_in
from qwestly_agent.text.prompt_tags import APPROVAL_NEWS


@dataclass(frozen=True)
class Caller:
    """The person who posted a turn."""

    token: str = field(repr=False)
    """The caller's own token, which authorizes executing decisions."""
    where: str
    """The caller's address, for the audit."""


@dataclass(frozen=True)
class AppliedDecision:
    """A decision posted with this turn, and the approval after it."""

    decided: PostedDecision
    approval: Approval


@dataclass(frozen=True)
class TurnApprovals:
    """Approvals and ended drafts that concern a turn."""

    settled: tuple[AppliedDecision, ...]
    unreported: Sequence[Approval]
    """Outcomes to report to the model."""
    ended: Sequence[Draft] = ()
    """Ended drafts that were not yet reported to the model."""
    referred_approval: Approval | None = None
    """The approval that a typed yes or no referred to but could not decide."""

    @property
    def unreported_drafts(self) -> Sequence[Draft]:
        """Ended drafts, without those whose approval is reported."""
        return [each for each in self.ended if each.approval_id not in {approval.id for approval in self.unreported}]


async def decide_all(
    services: Services, claim: ClaimedConversation, request: TurnRequest, caller: Caller
) -> tuple[AppliedDecision, ...]:
    """Apply the turn's decisions on records of this conversation.

    A decision on any other record is an error in the plain protocol, and is skipped in the others, because a client may
    repeat it from an old message. Raises `NotFound`, `Braked`, `ChangedMeanwhile` and `Invalid`; decisions already
    applied remain.
    """
    user_id, conversation_id, decisions = claim.user_id, claim.conversation_id, request.decisions
    settled: list[AppliedDecision] = []
    repeated = await services.approvals.get_many(user_id, {each.approval_id for each in decisions if each.earlier})
    pending = {each.id for each in repeated if each.status == "pending"}
    for decided in decisions:
        if decided.earlier and decided.approval_id not in pending:
            continue
        try:
            before = await services.approvals.get(user_id, decided.approval_id)
            if before.conversation_id != conversation_id:
                raise NotFound("There is no such approval.")
        except NotFound:
            if request.protocol == "plain":
                raise
            continue
        decision = Decision(
            decision=decided.verb,
            args_digest=before.args_digest if decided.args_digest is None else decided.args_digest,
            args=decided.args,
            reason=decided.reason,
            opened=decided.opened,
        )
        typed = StoredAnswer(run_id=claim.turn.run_id, answers=request.answers or "")
        asked = ActRequest(
            token=caller.token,
            approval_id=decided.approval_id,
            conversation_id=conversation_id,
            act=typed if decided.in_words else decision,
            where=caller.where,
        )
        approval = await ask_act(services, asked)
        settled.append(AppliedDecision(decided, approval))
    return tuple(settled)


def note_of(approvals: TurnApprovals, under_way: Sequence[str]) -> str:
    """Return the note that precedes the user's text; `under_way` are lines on pending and running work."""
    lines = [outcome_line(each) for each in approvals.unreported]
    lines += [draft_line(each) for each in approvals.unreported_drafts]
    lines += under_way
    return wrap(APPROVAL_NEWS, "\n".join(f"- {quoted(line)}" for line in lines)) if lines else ""


def nothing_new_error(settled: Sequence[AppliedDecision]) -> ChangedMeanwhile:
    """Return the error for decisions that were all made and reported to the model before."""
    outcomes = " ".join(filter(None, (each.approval.outcome for each in settled)))
    return ChangedMeanwhile(f"That was answered already. {outcomes}".strip())


# --- a typed yes or no ------------------------------------------------------------------------------------------------
# If an answer shows exactly one card, whose effect is private and can be undone, code asks about it below the card. A
# message that is only a yes or a no then decides that card, if the client names that answer as the last one that it
# showed.


MOST_RECENT = 50
"""Number of the conversation's approvals that are read."""
_QUESTION_MARK = re.compile("[?¿？؟⁇⁈]")


def card_to_ask_about(
    actions: Mapping[str, AnyAction], cards: Sequence[ApprovalRequested | ApprovalShown], calls: Calls, text: str
) -> ApprovalView | None:
    """Return the answer's only card, if a typed yes or no may decide it; None if the word could refer to anything else
    in the answer."""
    match cards:
        case [ApprovalRequested(ends_the_turn=True, approval=card)]:
            asks_more = _QUESTION_MARK.search(text) or confirm_with_user.__name__ in {
                each.tool for each in calls.made.values()
            }
            is_allowed = card.effect in UNASKED and actions[card.tool].inverse
            return card if is_allowed and not asks_more else None
        case _:
            return None


@dataclass(kw_only=True)
class QuestionAsked(CapabilityEvent, namespace="qwestly"):
    """The code's question under a card, sent as text. A text part would begin another step, and `useChat` continues
    automatically only after the calls of the last step."""

    approval_id: str
    text: str


def question_about(card: ApprovalView) -> QuestionAsked:
    return QuestionAsked(approval_id=card.approval_id, text=f"{card.preview.about}? You can answer yes or no.")


@dataclass(frozen=True)
class TypedAnswer:
    """The decisions made by a typed yes or no."""

    decisions: tuple[PostedDecision, ...] = ()
    referred_approval: Approval | None = None
    """The approval that must be decided on its card instead."""


async def read_typed_answer(
    services: Services, user_id: str, conversation_id: str, request: TurnRequest, messages: Sequence[Message]
) -> TypedAnswer:
    """Return the decisions made by a typed yes or no; none for any other message. Raises database errors.

    `messages` are the conversation's, oldest first. An approval that the client did not show is never decided this way:
    its card is shown instead.
    """
    answers = [each for each in messages if each.role == "assistant" and each.content != USE_THE_CARD]
    if not answers or request.decisions or request.regenerate or (said := answer_in(request.text or "")) is None:
        return TypedAnswer()
    named = [each for each in answers[:-1] if each.id == request.answers]
    approvals = await services.approvals.list_of_conversation(user_id, conversation_id, MOST_RECENT)
    waiting = [each for each in approvals if each.waits(services.clock())]
    for answer in (*answers[-1:], *named):
        cards = [each for each in approvals_shown_with(answer, approvals) if each in waiting and each.answer == "ask"]
        # An approval that a workflow requested after that answer is shown below the answer's card.
        if len(cards) != 1 or (answer is answers[-1] and cards != waiting[:1]):
            continue
        [card] = cards
        if answer.id == answers[-1].id == request.answers and answer.asks_about == card.id:
            return TypedAnswer(decisions=(PostedDecision(card.id, VERBS[said], in_words=True),))
        return TypedAnswer(referred_approval=card)
    return TypedAnswer()
