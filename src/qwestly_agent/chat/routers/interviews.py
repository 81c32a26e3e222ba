"""Routes of interviews: the draft beside the conversation, and what its person changes by hand."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.interview import Ended, Interview
from qwestly_agent.interviews.change import change
from qwestly_agent.interviews.machine import end, prioritize, talk_about
from qwestly_agent.interviews.markdown import draft_markdown
from qwestly_agent.interviews.topics import MOST_ASPECTS, add_aspects, add_topic, edit_aspect
from qwestly_agent.interviews.view import (
    InterviewList,
    InterviewView,
    VersionList,
    summary_of,
    versions_of,
    view_of,
)

MOST_INTERVIEWS = 50

router = APIRouter()

Title = Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewTopic(_Body):
    title: Title
    aspects: Annotated[list[Title], Field(max_length=MOST_ASPECTS)] = []
    now: bool = False
    """Whether it is asked about from the next question on."""


class Order(_Body):
    titles: Annotated[list[Title], Field(min_length=1, max_length=50)]
    """The first one is asked about first; the others come after them."""


class EditedAspect(_Body):
    topic: Title
    name: Title
    to: Annotated[str, StringConstraints(max_length=80, strip_whitespace=True)]
    """Its new name; empty takes it out."""


class NewAspect(_Body):
    topic: Title
    name: Title


class TimeBudget(_Body):
    minutes: Annotated[int | None, Field(ge=5, le=240)]
    """From its beginning; null for no limit."""


@router.get("/api/interviews")
async def list_interviews(services: TheServices, user_id: TheUser) -> InterviewList:
    """The last used first."""
    found = await services.interviews.newest(user_id, MOST_INTERVIEWS)
    return InterviewList(items=list(map(summary_of, found)))


@router.get("/api/interviews/{conversation_id}")
async def read_interview(conversation_id: str, services: TheServices, user_id: TheUser) -> InterviewView:
    """404 `not_found` too where the conversation is no interview."""
    return view_of(await services.interviews.get_stored(user_id, conversation_id))


@router.get("/api/interviews/{conversation_id}/versions")
async def list_versions(conversation_id: str, services: TheServices, user_id: TheUser) -> VersionList:
    """What each version of the draft added and dropped, the newest first."""
    return VersionList(items=versions_of((await services.interviews.get_stored(user_id, conversation_id)).interview))


@router.get("/api/interviews/{conversation_id}/draft", response_class=Response)
async def take_draft(
    conversation_id: str,
    services: TheServices,
    user_id: TheUser,
    version: Annotated[int | None, Query(ge=0, le=10_000)] = None,
) -> Response:
    """As Markdown, of the newest version or of an older one."""
    interview = (await services.interviews.get_stored(user_id, conversation_id)).interview
    headers = {"Content-Disposition": 'attachment; filename="interview.md"'}
    return Response(draft_markdown(interview, version), media_type="text/markdown; charset=utf-8", headers=headers)


@router.post("/api/interviews/{conversation_id}/topics")
async def add_a_topic(conversation_id: str, body: NewTopic, services: TheServices, user_id: TheUser) -> InterviewView:
    """Add a topic, or choose one that there is by `now`; an interview that had ended goes on with it."""

    def changed(interview: Interview) -> Interview:
        changed_by = talk_about if body.now else add_topic
        return changed_by(interview, body.title, body.aspects)

    return await _change(services, user_id, conversation_id, changed)


@router.put("/api/interviews/{conversation_id}/topics")
async def order_topics(conversation_id: str, body: Order, services: TheServices, user_id: TheUser) -> InterviewView:
    return await _change(services, user_id, conversation_id, lambda interview: prioritize(interview, body.titles))


@router.post("/api/interviews/{conversation_id}/aspects")
async def add_an_aspect(
    conversation_id: str, body: NewAspect, services: TheServices, user_id: TheUser
) -> InterviewView:
    return await _change(
        services, user_id, conversation_id, lambda interview: add_aspects(interview, body.topic, [body.name])
    )


@router.put("/api/interviews/{conversation_id}/aspects")
async def edit_an_aspect(
    conversation_id: str, body: EditedAspect, services: TheServices, user_id: TheUser
) -> InterviewView:
    return await _change(
        services, user_id, conversation_id, lambda interview: edit_aspect(interview, body.topic, body.name, body.to)
    )


@router.put("/api/interviews/{conversation_id}/time")
async def limit_time(conversation_id: str, body: TimeBudget, services: TheServices, user_id: TheUser) -> InterviewView:
    """The interview ends with the first answer after these minutes."""
    return await _change(
        services, user_id, conversation_id, lambda interview: interview.model_copy(update={"minutes": body.minutes})
    )


@router.post("/api/interviews/{conversation_id}/finish")
async def finish(conversation_id: str, services: TheServices, user_id: TheUser) -> InterviewView:
    """End it; its next answer says so and asks nothing."""
    return await _change(
        services,
        user_id,
        conversation_id,
        lambda interview: interview if interview.ended else end(interview, Ended(reason="asked")),
    )


async def _change(
    services: TheServices, user_id: str, conversation_id: str, changed: Callable[[Interview], Interview]
) -> InterviewView:
    await services.interviews.get_stored(user_id, conversation_id)
    await change(services, user_id, conversation_id, changed)
    return await read_interview(conversation_id, services, user_id)
