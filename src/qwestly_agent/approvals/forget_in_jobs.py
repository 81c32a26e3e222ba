"""Remove what is forgotten from the reasons of job matches, and from notes on applications."""

from collections.abc import Callable, Collection

from qwestly_agent.services import Services


async def forget_in_jobs(
    services: Services, user_id: str, evidence: Collection[str], tells: Callable[[str], bool]
) -> None:
    """`evidence` are the ids that reasons may quote. A running search drops everything written before."""
    # The search first: results that it stores until then are found among the matches.
    await services.job_searches.forget(user_id)
    await services.job_matches.forget(user_id, evidence, tells)
    await services.applications.forget(user_id, tells)
