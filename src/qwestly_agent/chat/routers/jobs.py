"""Routes of jobs: matches, their ratings, wishes, and a search on demand."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.job import JobWishes, MatchStatus, Verdict
from qwestly_agent.jobs.view import (
    JobDetail,
    JobList,
    JobSettings,
    JobView,
    JobWeights,
    SearchBegun,
    job_detail,
    job_list,
    job_settings,
    job_view,
    job_weights,
)
from qwestly_agent.jobs.wishes import suggestions_of, weights_of, wishes_of
from qwestly_agent.jobs.writer import next_night, start_requested

router = APIRouter()

MOST_LISTED = 50


class PostedStatus(BaseModel):
    model_config = ConfigDict(extra="forbid")

    status: MatchStatus


class PostedVerdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    verdict: Verdict | None
    """Null removes it."""


class PostedSettings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    is_on: bool
    wishes: JobWishes = Field(default_factory=JobWishes)


@router.get("/api/jobs")
async def list_jobs(
    services: TheServices,
    user_id: TheUser,
    status: Literal["new", "saved", "hidden", "all"] = "new",
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 20,
) -> JobList:
    """List matches, newest first, and within one night best first, each with verified reasons. New matches whose job is
    closed are left out."""
    of_status: dict[str, Any] = {} if status == "all" else {"status": status}
    matches = await services.job_matches.newest(user_id, limit * 2, **of_status)
    closed = await services.adverts.closed_of([each.advert for each in matches], services.clock())
    open_ones = [each for each in matches if status != "new" or each.advert.id not in closed]
    return job_list(open_ones[:limit], closed, await services.job_searches.get(user_id), services.clock())


@router.get("/api/jobs/settings")
async def read_job_settings(services: TheServices, user_id: TheUser) -> JobSettings:
    """Return the wishes, whether nightly searches are on, and suggestions from the profile and from memories."""
    search = await services.job_searches.get(user_id)
    boards = [each.title for each in services.job_boards.boards]
    return job_settings(search, boards, await suggestions_of(services, search))


@router.put("/api/jobs/settings")
async def change_job_settings(body: PostedSettings, services: TheServices, user_id: TheUser) -> JobSettings:
    """Replace all wishes. Code excludes jobs by these wishes only."""
    zone = (await services.user_settings.get(user_id)).zone
    next_at = next_night(user_id, zone, services.clock()) if body.is_on else None
    await services.job_searches.set_wishes(user_id, is_on=body.is_on, wishes=body.wishes, next_at=next_at)
    return await read_job_settings(services, user_id)


@router.get("/api/jobs/weights")
async def read_job_weights(services: TheServices, user_id: TheUser) -> JobWeights:
    """Return the weights learned from thumbs, in words."""
    search = await services.job_searches.get(user_id)
    return job_weights(await weights_of(services.job_matches, search, await wishes_of(services, search)))


@router.delete("/api/jobs/weights")
async def forget_job_weights(services: TheServices, user_id: TheUser) -> JobWeights:
    """Reset the weights learned from thumbs; the thumbs themselves are kept."""
    await services.job_searches.forget_thumbs(user_id, services.clock())
    return await read_job_weights(services, user_id)


@router.post("/api/jobs/search", status_code=202)
async def search_for_jobs(services: TheServices, user_id: TheUser) -> SearchBegun:
    """Search now; `is_searching` in the list shows when the search is finished. 422 without a job board, or just after
    a search for the same wishes; 423 `braked`."""
    return SearchBegun(run_id=await start_requested(services, user_id))


@router.get("/api/jobs/{job_id}")
async def read_one_job(job_id: str, services: TheServices, user_id: TheUser) -> JobDetail:
    """Return a match with the text of the job posting, and whether applications for its job board can be delivered."""
    match = await services.job_matches.get(user_id, job_id)
    delivers = await services.candidate_app.delivers(match.advert.board)
    closed = await services.adverts.closed_of([match.advert], services.clock())
    return job_detail(match, is_closed=bool(closed), delivers=delivers)


@router.put("/api/jobs/{job_id}")
async def change_job(job_id: str, body: PostedStatus, services: TheServices, user_id: TheUser) -> JobView:
    """Save or hide a match, or undo either."""
    match = await services.job_matches.change(user_id, job_id, services.clock(), status=body.status)
    return job_view(match, is_closed=bool(await services.adverts.closed_of([match.advert], services.clock())))


@router.post("/api/jobs/{job_id}/verdict")
async def judge_job(job_id: str, body: PostedVerdict, services: TheServices, user_id: TheUser) -> JobView:
    """Rate a match thumbs up or down, or as "not this kind"; the next search takes it into account."""
    match = await services.job_matches.set_verdict(user_id, job_id, body.verdict, services.clock())
    return job_view(match, is_closed=bool(await services.adverts.closed_of([match.advert], services.clock())))
