"""Routes of turns, which are streamed. All others are in `others.py`."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import from_json

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import NotFound
from qwestly_agent.chat.routers.dependencies import TheServices, TheToken, TheUser, request_id_of, where_from
from qwestly_agent.chat.stream import NOTHING_RUNS, headers_of, start_following, start_loading, start_stream
from qwestly_agent.chat.turn_approvals import Caller
from qwestly_agent.chat.turn_request import POSTED_SCHEMA, Protocol, parse_turn
from qwestly_agent.chat.turn_store import TurnStore

FUNCTION_TIMEOUT_SECONDS = 300
"""The timeout in template.yaml; used if no adapter passes the deadline."""
RESERVE_SECONDS = 10
"""Time reserved before the deadline for recording the turn."""

STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
NOTHING_STREAMED: dict[int | str, dict[str, Any]] = {204: {"description": "Nothing runs there"}}

router = APIRouter()


@router.post("/api/chat", openapi_extra=POSTED_SCHEMA, response_class=StreamingResponse, responses=STREAMED)
async def chat(request: Request, services: TheServices, user_id: TheUser, token: TheToken) -> StreamingResponse:
    """Stream a turn. The format of the body determines the client's protocol, which is also used for the response. An
    AG-UI post without anything new loads the thread: its messages, the running answer, and the open interrupts.

    Rejected before the first byte: 409 `conversation_busy`; 429 `too_many_turns` and `over_budget`, with `Retry-After`.
    """
    if not services.settings.answers_turns:
        raise NotFound("Turns are answered at the chat's own URL.")
    deadline, where = deadline_of(request, services.clock), where_from(request)
    services.logger.thread_safe_append_keys(request_id=request_id_of(request))
    posted = parse_turn(await request.body())
    if posted.loads and posted.conversation_id:
        from qwestly_agent.chat.conversation_view import load_thread  # imported late: no turn needs it

        thread = await load_thread(services, user_id, token, posted.conversation_id)
        keep_alive_seconds = request.app.state.keep_alive_seconds
        events = await start_loading(services, user_id, posted.conversation_id, thread, keep_alive_seconds)
        return StreamingResponse(events, media_type="text/event-stream", headers=headers_of(posted.protocol))
    turn = await TurnStore(services).open(user_id, posted, deadline, Caller(token, where))
    events = start_stream(services, turn, posted.protocol, request.app.state.keep_alive_seconds)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers_of(posted.protocol))


@router.get(
    "/api/chat/{conversation_id}/stream", response_class=StreamingResponse, responses=STREAMED | NOTHING_STREAMED
)
async def resume(
    conversation_id: str,
    request: Request,
    services: TheServices,
    user_id: TheUser,
    protocol: Annotated[Protocol, Query(alias="as")] = "ai_sdk",
) -> Response:
    """Stream the running answer from its beginning: after a reload, or on another device.

    204 if no turn of this user is running in the conversation; 429 `too_many_turns`, because the stream counts as one
    of the concurrent answers.
    """
    if not services.settings.answers_turns:
        raise NotFound("Answers are streamed at the chat's own URL.")
    keep_alive_seconds = request.app.state.keep_alive_seconds
    events = await start_following(services, user_id, conversation_id, protocol, keep_alive_seconds)
    if events:
        return StreamingResponse(events, media_type="text/event-stream", headers=headers_of(protocol))
    if "x-amzn-lambda-context" in request.headers:
        # With a streaming function URL, a response without a body hangs.
        return Response(NOTHING_RUNS, media_type="text/event-stream", headers=headers_of(protocol))
    return Response(status_code=204)


def deadline_of(request: Request, clock: Clock) -> float:
    """Return the time by which the answer must end, in seconds since the epoch; the adapter passes the function's
    deadline."""
    latest = clock() + FUNCTION_TIMEOUT_SECONDS
    try:
        ends = from_json(request.headers["x-amzn-lambda-context"])["deadline"] / 1000
    except (KeyError, ValueError, TypeError):
        ends = latest
    return (ends if ends < latest else latest) - RESERVE_SECONDS
