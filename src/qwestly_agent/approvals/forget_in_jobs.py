"""Take what is forgotten out of the reasons that jobs were given, and out of notes on applications."""

from collections.abc import Callable, Collection
from typing import Protocol

from qwestly_agent.services import HasApplications, HasJobMatches, HasJobSearches


class ForgetJobsServices(HasApplications, HasJobMatches, HasJobSearches, Protocol): ...


async def forget_in_jobs(
    services: ForgetJobsServices, user_id: str, evidence: Collection[str], tells: Callable[[str], bool]
) -> None:
    """`evidence` are the ids of what reasons may quote. A search under way keeps nothing that was written before."""
    # The search first: what it keeps until then is found among the matches.
    await services.job_searches.forget(user_id)
    await services.job_matches.forget(user_id, evidence, tells)
    await services.applications.forget(user_id, tells)
