"""Store the text in the candidate app as a document of the user, who uploaded it for that purpose."""

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Braked
from qwestly_agent.clients.candidate_app import Changed, Done, Effect, NeverArrived, Outcome, Refused
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, sha256_hex
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.resumes.resume_state import NotKept, ResumeState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import OutcomeUnknown, state


@state(ResumeState, ignores_brake=True)
async def keep_document(services: Services, given: ResumeState) -> ResumeState:
    """Send the text with the résumé's own idempotency key, so that it is stored once. The brake can stop it only before
    it is sent. Raises `OutcomeUnknown` until the candidate app reports the outcome, and `NotKept` if it refused."""
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
    done."""
    key = sha256_hex(record.user_id, record.id, "document")[:32]
    outcome: Outcome = NeverArrived()
    if sent_before is not None:
        outcome = await services.candidate_app.outcome_of(record.user_id, record.id, key)
        if isinstance(outcome, NeverArrived):
            await _check_brake(services, record.user_id, sent_before)
    if isinstance(outcome, NeverArrived):
        effect = Effect(user_id=record.user_id, act=record.id, key=key, version=None)
        outcome = await services.candidate_app.keep_document(effect, record.id, record.name, record.text)
    if isinstance(outcome, Done | Changed | Refused):  # changed: stored by an attempt whose key has expired
        return outcome
    raise OutcomeUnknown


async def _check_brake(services: Services, user_id: str, sent_at: float) -> None:
    """Raise `Braked` if the brake is on, or `OutcomeUnknown` while an earlier request may still arrive."""
    try:
        await pause.check(services.signals, user_id)
    except Braked:
        if services.clock() < sent_at + LEFT_BEHIND_SECONDS:
            raise OutcomeUnknown from None
        raise
