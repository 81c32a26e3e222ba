"""Jobs that a person saved or applied for, as possible goals, and the posting of the chosen one."""

from dataclasses import dataclass

from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.job import OVER, Advert
from qwestly_agent.learning.phrases import folded
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import Applications, JobMatches

MOST_JOBS = 20


@dataclass(frozen=True)
class ChosenJob:
    id: str
    title: str
    company: str

    @property
    def goal(self) -> str:
        return f"{self.title} at {self.company}" if self.company else self.title


async def chosen_jobs(applications: Applications, job_matches: JobMatches, user_id: str) -> list[ChosenJob]:
    """Return the jobs that the person applied for, then the saved ones, without closed applications."""
    applied = await applications.newest(user_id, MOST_JOBS)
    saved = await job_matches.newest(user_id, MOST_JOBS, status="saved")
    over = {each.job_id for each in applied if each.status in OVER}
    found = [
        *(ChosenJob(each.job_id, each.title, each.company) for each in applied),
        *(ChosenJob(each.id, each.advert.title, each.advert.company) for each in saved),
    ]
    return list({each.id: each for each in reversed(found) if each.id not in over}.values())[::-1]


async def posting_of(services: Services, user_id: str, goal: str) -> tuple[str, Advert] | None:
    """Return the job that the goal names, and its advert; None if it names none, or if the advert is gone or empty."""
    jobs = await chosen_jobs(services.applications, services.job_matches, user_id)
    named = next((each for each in jobs if folded(each.goal) == folded(goal)), None)
    if named is None:
        return None
    try:
        advert = (await services.job_matches.get(user_id, named.id)).advert
    except NotFound:
        return None
    return (named.id, advert) if advert.text.strip() else None
