"""Jobs in a running turn, for the tools."""

from dataclasses import dataclass

from qwestly_agent.base.errors import Invalid, NotFound
from qwestly_agent.clients.job_boards import JobQuery, WebPage
from qwestly_agent.domain.job import Advert, JobMatch, match_id
from qwestly_agent.jobs.limits import without_excluded
from qwestly_agent.jobs.search import QUESTIONS_A_DAY, search_boards
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import NO_SUCH_JOB

MOST_SHOWN = 8


@dataclass(frozen=True)
class JobService:
    services: Services
    user_id: str

    async def search(self, words: str, place: str, remote_only: bool) -> tuple[list[Advert], tuple[str, ...]]:
        """Return jobs from the boards, without those that the user's wishes rule out, and sentences: how many these
        are and why, and which boards could not be queried."""
        found = await search_boards(self.services, self.user_id, [JobQuery(words, place, remote_only)])
        wishes = (await self.services.job_searches.get(self.user_id)).wishes
        fits, ruled_out = without_excluded(found.adverts, wishes)
        return fits[:MOST_SHOWN], (*ruled_out, *found.missing)

    async def read(self, job_id: str) -> tuple[Advert, JobMatch | None]:
        """Return a match, or an advert of a search. Raises `NotFound`."""
        if job_id.startswith("job_"):
            match = await self.services.job_matches.get(self.user_id, job_id)
            return match.advert, match
        found = await self.services.adverts.get_many([job_id])
        if job_id not in found:
            raise NotFound(NO_SUCH_JOB)
        return found[job_id], None

    async def keep(self, job_id: str) -> JobMatch:
        """Return the match; an advert of a search becomes a saved match on its first use. Raises `NotFound`."""
        advert, match = await self.read(job_id)
        if match:
            return match
        now, new_id = self.services.clock(), match_id(self.user_id, advert.id)
        new = JobMatch(
            id=new_id, user_id=self.user_id, run_id="", advert=advert, status="saved", found_at=now, updated_at=now
        )
        return await self.services.job_matches.add_or_get(new)

    async def matches(self, limit: int) -> list[JobMatch]:
        newest = await self.services.job_matches.newest(self.user_id, limit * 2)
        return [each for each in newest if each.status != "hidden"][:limit]

    async def search_web(self, words: str) -> list[WebPage]:
        """Search the web. Raises `Invalid` if the day's limit is reached, and `Unavailable`."""
        web = self.services.job_boards.web
        if web is None or not await self.services.job_searches.count_board_request(
            self.user_id, self.services.clock(), QUESTIONS_A_DAY
        ):
            raise Invalid("The web can be searched again tomorrow.")
        return await web.search(words)
