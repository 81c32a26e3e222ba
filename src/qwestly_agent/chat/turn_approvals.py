"""Approvals and drafts in a turn: decisions posted or typed with it, and outcomes reported to the model once each."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_ai.framing import wrap

from qwestly_agent.agents.tools.confirm import confirm_with_user
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.gate import UNASKED
from qwestly_agent.approvals.messages import draft_line, outcome_line
from qwestly_agent.base.errors import ChangedMeanwhile, NotFound
from qwestly_agent.chat.outcomes import approvals_shown_with
from qwestly_agent.chat.turn_request import PostedDecision, TurnRequest
from qwestly_agent.domain.approval import Approval, Verb
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.messages import Message
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import APPROVAL_NEWS


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
    """Ended drafts that were not reported to the model yet."""
    referred_approval: Approval | None = None
    """The approval that a typed yes or no referred to but could not decide."""

    @property
    def unreported_drafts(self) -> Sequence[Draft]:
        """Ended drafts, without those whose approval is reported."""
        return [each for each in self.ended if each.approval_id not in {approval.id for approval in self.unreported}]


async def decide_all(
    services: Services,
    user_id: str,
    conversation_id: str,
    decisions: Sequence[PostedDecision],
    *,
    ours_alone: bool,
    where: str,
) -> tuple[AppliedDecision, ...]:
    """Apply the decisions on records of this conversation.

    With `ours_alone`, a decision on any other record is an error; otherwise it is skipped, as a client may repeat it
    from an old message. Raises `NotFound`, `Braked`, `ChangedMeanwhile` and `Invalid`; earlier decisions stay
    decided.
    """
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
            if ours_alone:
                raise
            continue
        decision = Decision(
            decision=decided.verb,
            args_digest=before.args_digest if decided.args_digest is None else decided.args_digest,
            args=decided.args,
            reason=decided.reason,
        )
        approval = await decide_and_follow_up(services, user_id, decided.approval_id, decision, by="chat", where=where)
        settled.append(AppliedDecision(decided, approval))
    return tuple(settled)


def note_of(approvals: TurnApprovals, under_way: Sequence[str]) -> str:
    """Return the note before the user's text; `under_way` are lines on pending and running work."""
    lines = [outcome_line(each) for each in approvals.unreported]
    lines += [draft_line(each) for each in approvals.unreported_drafts]
    lines += under_way
    return wrap(APPROVAL_NEWS, "\n".join(f"- {quoted(line)}" for line in lines)) if lines else ""


def nothing_new_error(settled: Sequence[AppliedDecision]) -> ChangedMeanwhile:
    """Return the error for decisions that were all made, and reported to the model, before."""
    outcomes = " ".join(filter(None, (each.approval.outcome for each in settled)))
    return ChangedMeanwhile(f"That was answered already. {outcomes}".strip())


# --- a typed yes or no ------------------------------------------------------------------------------------------------
#
# A message that is only a yes or a no, right after an answer that ended with one card, is the decision on that card, if
# its effect can be undone and is private. Code alone reads it, from a closed list.


USE_THE_CARD = "Please decide on the card above: words alone settle only what you can undo and nobody else sees."
MOST_RECENT = 50
"""Number of the conversation's approvals that are read."""

_WORDS: dict[Verb, str] = {
    "approve": "yes y yep yeah yup sure ok okay yes_please please_do do_it yes_do_it go_ahead yes_go_ahead 👍 ✅ "
    "ja jep jo ja_bitte ja_gerne gerne klar ja_klar mach_das ja_mach_das einverstanden "
    "sí si sí_por_favor si_por_favor claro sí_claro vale hazlo adelante de_acuerdo "
    "oui ouais oui_s_il_te_plaît oui_s_il_vous_plaît oui_merci d_accord vas_y "
    "sim sim_por_favor claro_que_sim podes pode pode_fazer",
    "reject": "no n nope nah no_thanks no_thank_you no_please_don_t please_don_t don_t don_t_do_it 👎 ❌ "
    "nein nee nö nein_danke nein_bitte_nicht lieber_nicht bitte_nicht mach_das_nicht "
    "no_gracias mejor_no no_por_favor no_lo_hagas non non_merci surtout_pas ne_le_fais_pas "
    "não nao não_obrigado não_obrigada melhor_não não_faças não_faça",
}
_VERBS: Mapping[str, Verb] = {words: verb for verb, listed in _WORDS.items() for words in listed.split()}
_BETWEEN = re.compile(r"[\s,.!¡;:…'’*_-]+|[\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]")


@dataclass(frozen=True)
class TypedAnswer:
    """The result of a typed yes or no."""

    decisions: tuple[PostedDecision, ...] = ()
    referred_approval: Approval | None = None
    """The approval that must be decided on its card instead."""


async def apply_typed_answer(
    services: Services, user_id: str, conversation_id: str, request: TurnRequest, said: Sequence[Message]
) -> TypedAnswer:
    """Return the result of a typed yes or no; an empty one for all other messages. Raises errors of the database."""
    verb = verb_of(request.text or "")
    if verb is None or request.decisions or request.regenerate:
        return TypedAnswer()
    answers = (each for each in reversed(said) if each.role == "assistant" and each.content != USE_THE_CARD)
    last = next(answers, None)
    if last is None or any(step.name == confirm_with_user.__name__ for step in last.steps):
        return TypedAnswer()
    approvals = await services.approvals.list_of_conversation(user_id, conversation_id, MOST_RECENT)
    cards = approvals_shown_with(last, approvals)
    waiting = [each for each in approvals if each.waits(services.clock())]
    # An approval that a workflow requested after that answer is shown below its card.
    if len(cards) != 1 or cards[0].answer != "ask" or cards != waiting[:1]:
        return TypedAnswer()
    [card] = cards
    if card.effect in UNASKED and services.actions[card.tool].inverse:
        return TypedAnswer(decisions=(PostedDecision(card.id, verb),))
    return TypedAnswer(referred_approval=card)


def verb_of(text: str) -> Verb | None:
    """Return the decision if the message contains nothing else; None for any other text."""
    words = _BETWEEN.sub("_", unicodedata.normalize("NFC", text).casefold()).strip("_")
    return _VERBS.get(words)
