"""Delete a résumé, withdraw its approval, and remove its text from drafts and reasons."""

from collections.abc import Sequence
from contextlib import suppress

from qwestly_agent.approvals.end import end_forgotten, expire
from qwestly_agent.base.errors import NotFound
from qwestly_agent.cards.evidence import pieces_of
from qwestly_agent.cards.forget import forget_in_drafts
from qwestly_agent.memory.forget import forget_in_jobs, without_in_plan
from qwestly_agent.services import Services

DELETED = "You deleted the résumé. Nothing was done."


async def remove(services: Services, user_id: str, resume_id: str) -> None:
    """Delete the résumé and everything that rests on it. Raises `NotFound`."""
    record = await services.resumes.get(user_id, resume_id)
    evidence = [each.evidence.id for each in pieces_of([record])]
    # Before the deletion, so that an interrupted one can be repeated, and again after it, for anything written
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
