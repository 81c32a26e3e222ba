"""Log and measure the results of a page of users."""

from qwestly_agent.base.observability import Event, measure_consolidation, measure_left
from qwestly_agent.memory.consolidation_state import ConsolidationPage
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import OVER_BUDGET, state

PASSING = ("Unavailable", "DataGone", "Lambda.TooManyRequestsException", "ModelUnavailable", "DeadlineExceeded")
"""Transient errors, after which the next night catches up. A provider that rejects all requests (`ModelRefused`) is not
among them, as a person must fix that."""


@state(ConsolidationPage, ignores_brake=True)
async def sum_up(services: Services, page: ConsolidationPage) -> ConsolidationPage:
    """Log failed users, and emit the metrics of the page. Lasting errors (`broken`) raise an alarm after the last
    page."""
    failed = [each for each in page.results if each.error and each.error != "Braked"]
    for each in failed:
        services.logger.warning(Event.CONSOLIDATION_FAILED, extra={"user_id": each.user_id, "cause": each.error})
    done = [each for each in page.results if not each.error]
    measure_consolidation(
        users=len(done),
        planned=sum(each.planned for each in done),
        merged=sum(each.merged for each in done),
        left_over=sum(each.planned - each.begun for each in done),
        failed=len(failed),
    )
    if not page.more:
        left = await services.sweeps.memories_left()
        measure_left("Memories", left.count, services.clock() - (left.due_since or services.clock()))
    # A short outage of the database resolves itself, and its users are still due. Other errors would recur every night
    # unnoticed, and failures of one user in ten are not a short outage. An exhausted budget resets at midnight.
    failed = [each for each in failed if each.error not in OVER_BUDGET]
    broken = [each for each in failed if each.error not in PASSING or len(failed) * 10 > len(page.results)]
    return page.model_copy(
        update={"users": (), "seen": page.seen + len(page.results), "broken": page.broken + len(broken)}
    )
