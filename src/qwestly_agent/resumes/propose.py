"""Propose the résumé's changes to the profile: one approval, field by field, with quotes."""

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.autonomy import gate
from qwestly_agent.approvals.end import close_work
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.profile import UPDATE_PROFILE
from qwestly_agent.resumes.profile_changes import profile_changes
from qwestly_agent.resumes.resume_state import ResumeState
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state

ASKED, NOTHING_NEW = "Ready for your decision", "Read. There is nothing new for your profile."
NOT_ALLOWED = "Read. At your level nothing is changed for you."
NOTHING_FOUND = "Read, but nothing in it says anything about your work. Is it a résumé?"


@state(ResumeState)
async def propose(services: Services, given: ResumeState) -> ResumeState:
    """Request approval at every level, because no message of the user asked for these values."""
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
    # Queued, so that the mail is sent at once: no turn waits for it.
    await create_approval(services, approval_id, proposal, context, "queue")
    await services.resumes.save_parts(given.user_id, given.resume_id, approval_id=approval_id)
    await services.resumes.move(given.user_id, given.resume_id, services.clock(), "proposed", ASKED)
    # If it was decided in between, it was not waiting yet.
    await close_work(services, await services.approvals.get(given.user_id, approval_id))
    return given


def rationale_of(record: ResumeRecord) -> str:
    unchecked = sum(not each.is_checked for each in record.read or ())
    told = [
        f"Read in {record.name}. Each value has the words that it was found in; take what you like of it.",
        f"Not checked by a second reader: {unchecked}. Compare these with their quotes yourself." if unchecked else "",
    ]
    return " ".join(filter(None, told))
