"""Routes of interviews: the draft, and the user's manual changes."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheUser
from qwestly_agent.domain.interview import Ended, Interview
from qwestly_agent.interviews.machine import (
    MOST_ASPECTS,
    add_aspects,
    add_topic,
    edit_aspect,
    end,
    go_on,
    prioritize,
    strike,
    talk_about,
)
from qwestly_agent.interviews.view import (
    InterviewList,
    InterviewView,
    VersionList,
    draft_markdown,
    interview_summary,
    interview_view,
    versions_of,
)
from qwestly_agent.interviews.writer import change

MOST_INTERVIEWS = 50

router = APIRouter()

Title = Annotated[str, StringConstraints(min_length=1, max_length=80, strip_whitespace=True)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewTopic(_Body):
    title: Title
    aspects: Annotated[list[Title], Field(max_length=MOST_ASPECTS)] = []
    now: bool = False
    """True to ask about the topic from the next question on."""


class Order(_Body):
    titles: Annotated[list[Title], Field(min_length=1, max_length=50)]
    """The titles in the order in which to ask about them; other topics follow."""


class EditedAspect(_Body):
    topic: Title
    name: Title
    to: Annotated[str, StringConstraints(max_length=80, strip_whitespace=True)]
    """The aspect's new name; an empty name removes the aspect."""


class NewAspect(_Body):
    topic: Title
    name: Title


class StruckSentence(_Body):
    text: Annotated[str, StringConstraints(min_length=1, max_length=5_000)]
    """The sentence as it stands in the draft."""


class TimeBudget(_Body):
    minutes: Annotated[int | None, Field(ge=5, le=240)]
    """Minutes from the start; null for no limit."""


@router.get("/api/interviews")
async def list_interviews(services: TheServices, user_id: TheUser) -> InterviewList:
    """List interviews, most recently used first."""
    found = await services.interviews.newest(user_id, MOST_INTERVIEWS)
    return InterviewList(items=list(map(interview_summary, found)))


@router.get("/api/interviews/{conversation_id}")
async def read_interview(conversation_id: str, services: TheServices, user_id: TheUser) -> InterviewView:
    """Return an interview. 404 `not_found` also if the conversation is not an interview."""
    return interview_view(await services.interviews.get_stored(user_id, conversation_id))


@router.get("/api/interviews/{conversation_id}/versions")
async def list_versions(conversation_id: str, services: TheServices, user_id: TheUser) -> VersionList:
    """List what each version of the draft added and removed, newest first."""
    return VersionList(items=versions_of((await services.interviews.get_stored(user_id, conversation_id)).interview))


@router.get("/api/interviews/{conversation_id}/draft", response_class=Response)
async def take_draft(
    conversation_id: str,
    services: TheServices,
    user_id: TheUser,
    version: Annotated[int | None, Query(ge=0, le=10_000)] = None,
) -> Response:
    """Return the newest or an older version of the draft as Markdown."""
    interview = (await services.interviews.get_stored(user_id, conversation_id)).interview
    headers = {"Content-Disposition": 'attachment; filename="interview.md"'}
    return Response(draft_markdown(interview, version), media_type="text/markdown; charset=utf-8", headers=headers)


@router.post("/api/interviews/{conversation_id}/topics")
async def add_a_topic(conversation_id: str, body: NewTopic, services: TheServices, user_id: TheUser) -> InterviewView:
    """Add a topic, or select an existing one with `now`; an interview that had ended continues."""

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


@router.post("/api/interviews/{conversation_id}/strike")
async def strike_a_sentence(
    conversation_id: str, body: StruckSentence, services: TheServices, user_id: TheUser
) -> InterviewView:
    """Remove a sentence from the draft permanently. 404 `not_found` if the draft has no such sentence."""
    before = (await services.interviews.get_stored(user_id, conversation_id)).interview
    if strike(before, body.text) == before:
        raise NotFound("There is no such sentence in your draft.")
    return await _change(services, user_id, conversation_id, lambda interview: strike(interview, body.text))


@router.put("/api/interviews/{conversation_id}/time")
async def limit_time(conversation_id: str, body: TimeBudget, services: TheServices, user_id: TheUser) -> InterviewView:
    """Limit the interview's duration: it ends with the first answer after these minutes."""
    return await _change(
        services, user_id, conversation_id, lambda interview: interview.model_copy(update={"minutes": body.minutes})
    )


@router.post("/api/interviews/{conversation_id}/continue")
async def continue_interview(conversation_id: str, services: TheServices, user_id: TheUser) -> InterviewView:
    """Continue an interview that had ended: the next answer asks further questions."""
    return await _change(services, user_id, conversation_id, go_on)


@router.post("/api/interviews/{conversation_id}/finish")
async def finish(conversation_id: str, services: TheServices, user_id: TheUser) -> InterviewView:
    """End the interview; the next answer says so and asks no question."""
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
