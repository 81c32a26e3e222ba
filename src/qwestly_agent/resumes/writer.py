"""Accept, store, propose and delete a résumé: the steps that have effects and call no model."""

from collections.abc import Sequence
from contextlib import suppress

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.autonomy import gate
from qwestly_agent.approvals.end import close_work, end_forgotten, expire
from qwestly_agent.base.errors import AgentError, Braked, Invalid, NotFound, TooLong
from qwestly_agent.cards.evidence import pieces_of
from qwestly_agent.cards.forget import forget_in_drafts
from qwestly_agent.clients.candidate_app import Changed, Done, Effect, NeverArrived, Outcome, Refused
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, sha256_hex
from qwestly_agent.domain.resume import UNNAMED, ResumeRecord
from qwestly_agent.memory.forget import forget_in_jobs, without_in_plan
from qwestly_agent.profile import UPDATE_PROFILE
from qwestly_agent.resumes import PARSE_RESUME
from qwestly_agent.resumes.model import NotKept, ResumeState, profile_changes
from qwestly_agent.services import Services
from qwestly_agent.text.clean import visible
from qwestly_agent.workflow_state import OutcomeUnknown, state

# --- start ------------------------------------------------------------------------------------------------------------
# Accept a résumé and start processing it.


MOST_BYTES = 4 * 1024 * 1024
MOST_A_DAY = 20
DAY_SECONDS = 86_400.0
LONGEST_NAME = 120
OPENING = "Opening the file"


class TooManyResumes(AgentError):
    code, http_status = "too_many_resumes", 429
    sentence = f"That is more than {MOST_A_DAY} résumés in a day. Please come back tomorrow."


async def start(services: Services, user_id: str, name: str, content: bytes) -> ResumeRecord:
    """Start processing a file and return its record. A file with the same content returns its existing record, unless
    that one failed or was stopped.

    Raises `Invalid`, `TooLong`, `TooManyResumes`, `Braked` and `Unavailable`.
    """
    if not content:
        raise Invalid("There is no text in this file.")
    if len(content) > MOST_BYTES:
        raise TooLong("A résumé may have 4 MB at most.")
    await pause.check(services.signals, user_id)
    now, number = services.clock(), 1
    while earlier := await services.resumes.find(user_id, _id_of(user_id, content, number)):
        if services.resumes.as_seen(earlier, now).status not in ("failed", "stopped"):
            return await PARSE_RESUME.begin(services, earlier)
        number += 1
    if await services.resumes.count_since(user_id, now - DAY_SECONDS) >= MOST_A_DAY:
        raise TooManyResumes
    resume_id = _id_of(user_id, content, number)
    await services.usage.ensure_document(user_id, now)
    # Store the file first, so that a record always has its file.
    await services.resume_files.add(user_id, resume_id, content, now)
    shown_name = " ".join(visible(name).split())[:LONGEST_NAME] or UNNAMED
    record = ResumeRecord(
        id=resume_id, user_id=user_id, run_id=resume_id, name=shown_name, label=OPENING, created_at=now, updated_at=now
    )
    return await PARSE_RESUME.begin(services, record)


def _id_of(user_id: str, content: bytes, number: int) -> str:
    return f"res_{sha256_hex(user_id, content.hex(), str(number))[:32]}"


# --- keep document ----------------------------------------------------------------------------------------------------
# Store the text in the candidate app as one of the user's documents, which is why the user uploaded it.


@state(ResumeState, ignores_brake=True)
async def keep_document(services: Services, given: ResumeState) -> ResumeState:
    """Send the text with the résumé's own idempotency key, so that it is stored only once. The brake can stop it only
    before it is sent. Raises `OutcomeUnknown` until the candidate app reports the outcome, and `NotKept` if it rejected
    the text."""
    record = await services.resumes.get(given.user_id, given.resume_id)
    await services.resumes.move(given.user_id, given.resume_id, services.clock(), "saving", "Keeping its text")
    name = f"document-{given.resume_id}"
    try:
        async with pause.named_effect(
            services.runs, services.signals, given.user_id, name, services.clock
        ) as sent_before:
            outcome = await _outcome(services, record, sent_before)
    except Braked:
        await services.runs.record_stopped(given.user_id, given.run_name, services.clock())
        raise
    if isinstance(outcome, Refused):
        raise NotKept
    return given.model_copy(update={"is_kept": True})


async def _outcome(services: Services, record: ResumeRecord, sent_before: float | None) -> Outcome:
    """Return the outcome of an earlier attempt or of a new one. Raises `OutcomeUnknown`, and `Braked` if nothing was
    sent."""
    key = sha256_hex(record.user_id, record.id, "document")[:32]
    outcome: Outcome = NeverArrived()
    if sent_before is not None:
        outcome = await services.candidate_app.outcome_of(record.user_id, record.id, key)
        if isinstance(outcome, NeverArrived):
            await _check_brake(services, record.user_id, sent_before)
    if isinstance(outcome, NeverArrived):
        effect = Effect(user_id=record.user_id, act=record.id, key=key, version=None)
        outcome = await services.candidate_app.keep_document(effect, record.id, record.name, record.text)
    if isinstance(outcome, Done | Changed | Refused):  # changed: stored by an earlier attempt whose key has expired
        return outcome
    raise OutcomeUnknown


async def _check_brake(services: Services, user_id: str, sent_at: float) -> None:
    """Raise `Braked` if the brake is on, but `OutcomeUnknown` while an earlier request may still arrive."""
    try:
        await pause.check(services.signals, user_id)
    except Braked:
        if services.clock() < sent_at + LEFT_BEHIND_SECONDS:
            raise OutcomeUnknown from None
        raise


# --- propose ----------------------------------------------------------------------------------------------------------
# Propose the résumé's changes to the profile: one approval, field by field, with quotes.


ASKED, NOTHING_NEW = "Ready for your decision", "Read. There is nothing new for your profile."
NOT_ALLOWED = "Read. At your level nothing is changed for you."
NOTHING_FOUND = "Read, but nothing in it says anything about your work. Is it a résumé?"


@state(ResumeState)
async def propose(services: Services, given: ResumeState) -> ResumeState:
    """Request approval, whatever the level, because the user did not ask for these values in a message."""
    record = await services.resumes.get(given.user_id, given.resume_id)
    level = await services.autonomy.level(given.user_id)
    answer = gate(UPDATE_PROFILE.effect, level).answer
    args = profile_changes(record, await services.profiles.get_summary(given.user_id))
    if args is None or answer == "refuse":
        label = NOT_ALLOWED if args else NOTHING_NEW if record.read else NOTHING_FOUND
        await services.resumes.move(given.user_id, given.resume_id, services.clock(), "done", label)
        return given
    await pause.check(services.signals, given.user_id)
    approval_id = f"ap_{sha256_hex(given.user_id, given.resume_id)[:32]}"
    context = ProposalContext(given.user_id, given.run_id, level, work="resumes", role="resumes")
    proposal = Proposal(UPDATE_PROFILE, args, rationale_of(record), revisable=False)
    # Queued, so that the mail is sent immediately, as no turn is waiting for the approval.
    await create_approval(services, approval_id, proposal, context, "queue")
    await services.resumes.save_parts(given.user_id, given.resume_id, approval_id=approval_id)
    await services.resumes.move(given.user_id, given.resume_id, services.clock(), "proposed", ASKED)
    # If the approval was decided in between, the résumé was not waiting for it yet.
    await close_work(services, await services.approvals.get(given.user_id, approval_id))
    return given


def rationale_of(record: ResumeRecord) -> str:
    unchecked = sum(not each.is_checked for each in record.read or ())
    told = [
        f"Read in {record.name}. Each value has the words that it was found in; take what you like of it.",
        f"Not checked by a second reader, or beside another position: {unchecked}. Compare with the quotes yourself."
        if unchecked
        else "",
    ]
    return " ".join(filter(None, told))


# --- remove -----------------------------------------------------------------------------------------------------------
# Delete a résumé, withdraw its approval, and remove its text from drafts and reasons.


DELETED = "You deleted the résumé. Nothing was done."


async def remove(services: Services, user_id: str, resume_id: str) -> None:
    """Delete the résumé and everything based on it. Raises `NotFound`."""
    record = await services.resumes.get(user_id, resume_id)
    evidence = [each.evidence.id for each in pieces_of([record])]
    # Once before the deletion, so that an interrupted deletion can be repeated, and once after it, for anything written
    # meanwhile.
    await _withdraw(services, user_id, evidence)
    await services.resumes.delete(user_id, resume_id, services.clock())
    await _withdraw(services, user_id, evidence)
    if record.approval_id:
        with suppress(NotFound):
            approval = await services.approvals.get(user_id, record.approval_id)
            await expire(services.approvals, approval, services.clock(), DELETED)


async def _withdraw(services: Services, user_id: str, evidence: Sequence[str]) -> None:
    if not evidence:
        return
    await services.learning.change(
        user_id, lambda plan: without_in_plan(plan, evidence, (), _tells_nothing), services.clock()
    )
    await forget_in_jobs(services, user_id, evidence, _tells_nothing)
    await forget_in_drafts(services.drafts, user_id, evidence, _tells_nothing)
    for approval in await services.approvals.list_all(user_id, 0):
        if not set(evidence).isdisjoint(approval.evidence):
            await end_forgotten(services, approval, _tells_nothing)


def _tells_nothing(_: str) -> bool:
    return False
