"""The chat door: an ASGI app behind the Lambda Web Adapter, streaming through the function's URL.

Each route parses, calls one thing of the package and answers. Nothing is built before the server starts.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import FrameType
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic_core import from_json
from pymongo.errors import PyMongoError
from starlette.exceptions import HTTPException

from qwestly_agent.account import ERASED, erase, export
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.decide import Decision
from qwestly_agent.approvals.forget import forget
from qwestly_agent.approvals.pause import PauseStatus, RunsOf
from qwestly_agent.approvals.settle import settle
from qwestly_agent.approvals.view import ApprovalList, ApprovalView
from qwestly_agent.approvals.view import list_of as approvals_of
from qwestly_agent.approvals.view import view_of as approval_view_of
from qwestly_agent.base.body_limit import BoundedBody
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import AgentError, Invalid, NotFound, TooManyTurns, Unauthorized, WrongMethod
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap_chat
from qwestly_agent.chat import api_page
from qwestly_agent.chat.auth import verify_token
from qwestly_agent.chat.deletion import delete
from qwestly_agent.chat.draft_view import DraftDetail
from qwestly_agent.chat.draft_view import detail_of as draft_detail_of
from qwestly_agent.chat.prepare_turn import open_turn
from qwestly_agent.chat.remembered_view import ids_of
from qwestly_agent.chat.request import POSTED_DEFINITIONS, POSTED_SCHEMA, parse_turn
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.stream import KEEP_ALIVE_SECONDS, headers_of, start_stream
from qwestly_agent.chat.updates import Updates, updates
from qwestly_agent.chat.view import (
    AutonomyView,
    ConversationList,
    ConversationView,
    Failure,
    FeedbackBody,
    FeedbackGiven,
    Made,
    UIConversation,
    list_of,
    ui_view_of,
    view_of,
)
from qwestly_agent.memory.find import find_something, vector_or_none
from qwestly_agent.memory.service import correct, explain, undo
from qwestly_agent.memory.start import read_now
from qwestly_agent.memory.view import (
    Correction,
    ForgottenView,
    MemoryDetail,
    MemoryList,
    MemoryView,
    UndoneView,
    detail_of,
    forgotten_view_of,
)
from qwestly_agent.memory.view import list_of as memories_of
from qwestly_agent.memory.view import view_of as memory_view_of
from qwestly_agent.model_calls.failures import failure_of

LARGEST_BODY_BYTES = 6 * 1024 * 1024
"""What Lambda itself lets through; a client of the AI SDK posts its whole history."""
FUNCTION_TIMEOUT_SECONDS = 300
"""As in template.yaml, for where no adapter tells the deadline."""
MOST_MADE = 200
"""Approvals, and drafts, of a conversation, shown with it."""
RESERVE_SECONDS = 10
"""Kept back from the deadline for recording what was said."""


class Stopping(BaseModel):
    stopping: bool
    """False where nothing was running."""


class Ending(BaseModel):
    ending: Literal[True] = True


class Deleted(BaseModel):
    deleted: Literal[True] = True


class Erased(BaseModel):
    erased: dict[str, int]
    """Documents, by collection."""
    note: str = ERASED


class Health(BaseModel):
    ok: Literal[True] = True


class ChatApp(FastAPI):
    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        document["components"]["schemas"].update(POSTED_DEFINITIONS)
        return document


async def services_from_environment() -> ChatServices:
    settings = Settings.from_env()
    settings.needs("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
    return await bootstrap_chat(settings)


def create_app(
    make_services: Callable[[], Awaitable[ChatServices]] = services_from_environment,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        services = app.state.services = await make_services()
        with before_termination(services.running.end_all):
            yield
        await services.close()

    app = ChatApp(
        title="qwestly-agent",
        description=api_page.DESCRIPTION,
        version="1",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # it would redirect to whatever host a client names
        responses={"4XX": {"model": Failure}, "5XX": {"model": Failure}},
    )
    app.state.keep_alive_seconds = keep_alive_seconds
    app.add_middleware(
        BoundedBody,
        most_bytes=LARGEST_BODY_BYTES,
        too_long="The request is too large.",
        cut_off="The request ended before its body did.",
        answer=answer_error,
    )
    for kind in (AgentError, PyMongoError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, answer_error)
    app.get("/healthz")(healthz)
    app.get("/api/docs", include_in_schema=False)(docs)
    app.post("/api/chat", openapi_extra=POSTED_SCHEMA, response_class=StreamingResponse)(chat)
    app.get("/api/conversations")(list_conversations)
    app.get("/api/conversations/{conversation_id}")(read_conversation)
    app.delete("/api/conversations/{conversation_id}")(delete_conversation)
    app.post("/api/conversations/{conversation_id}/stop")(stop_turn)
    app.post("/api/conversations/{conversation_id}/end")(end_conversation)
    app.get("/api/autonomy")(read_autonomy)
    app.put("/api/autonomy")(set_autonomy)
    app.get("/api/brake")(read_brake)
    app.post("/api/brake")(pull_brake)
    app.delete("/api/brake")(release_brake)
    app.get("/api/approvals")(list_approvals)
    app.post("/api/approvals/{approval_id}/decision")(decide_approval)
    app.get("/api/drafts/{draft_id}")(read_draft)
    app.get("/api/memories")(list_memories)
    app.get("/api/memories/{memory_id}")(read_memory)
    app.patch("/api/memories/{memory_id}")(correct_memory)
    app.delete("/api/memories/{memory_id}")(forget_memory)
    app.post("/api/memories/{memory_id}/undo")(undo_memory)
    app.get("/api/me/export", response_class=StreamingResponse)(export_everything)
    app.delete("/api/me")(erase_everything)
    app.get("/api/updates")(read_updates)
    app.post("/api/messages/{message_id}/feedback")(give_feedback)
    return app


@contextmanager
def before_termination(end_turns: Callable[[], None]) -> Iterator[None]:
    """Turns end as soon as the process is told to: the server itself would first wait for their streams."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread hears signals
        return
    loop = asyncio.get_running_loop()
    servers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def end(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end_turns)
        server = servers[signal.Signals(number)]
        if callable(server):
            server(number, frame)

    for number in servers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, server in servers.items():
            signal.signal(number, server)


def services_of(request: Request) -> ChatServices:
    return request.app.state.services


TheServices = Annotated[ChatServices, Depends(services_of)]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def user_of(services: TheServices, bearer: Bearer) -> str:
    if bearer is None:
        raise Unauthorized
    return verify_token(bearer.credentials, services.settings, services.clock)


TheUser = Annotated[str, Depends(user_of)]


async def healthz() -> Health:
    """Readiness; touches nothing."""
    return Health()


async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(api_page.render(request.app.openapi()))


async def chat(request: Request, services: TheServices, user_id: TheUser) -> StreamingResponse:
    """A turn, streamed. The body says which protocol the client speaks, and the answer is in the same language.

    Refused before a word is said: 409 `conversation_busy`; 429 `too_many_turns` and `over_budget`, with `Retry-After`.
    """
    posted = parse_turn(await request.body())
    turn = await open_turn(services, user_id, posted, deadline_of(request, services), where_from(request))
    events = start_stream(turn, posted.protocol, request.app.state.keep_alive_seconds)
    return StreamingResponse(events, media_type="text/event-stream", headers=headers_of(posted.protocol))


async def list_conversations(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: float | None = None,
) -> ConversationList:
    """The last used first."""
    found = await services.conversations.last_used(user_id, limit + 1, after)
    return list_of(found, limit, services.clock())


async def read_conversation(
    conversation_id: str,
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    form: Annotated[Literal["ui"] | None, Query(alias="as")] = None,
) -> ConversationView | UIConversation:
    """With the steps of each answer; `?as=ui` gives the AI SDK's `UIMessage[]`."""
    conversation = await services.conversations.get(user_id, conversation_id)
    said, approvals, drafts = await asyncio.gather(
        services.conversations.recent(user_id, conversation_id, limit + 1, before),
        services.approvals.of_conversation(user_id, conversation_id, MOST_MADE),
        services.drafts.of_conversation(user_id, conversation_id, MOST_MADE),
    )
    ids = [memory_id for message in said for memory_id in ids_of(message)]
    memories = await services.memories.of_ids(user_id, ids) if ids else []
    view = ui_view_of if form == "ui" else view_of
    return view(conversation, said, Made(approvals, drafts, memories), limit, before, services.clock())


async def delete_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Deleted:
    """With its messages, for good. What it asks, and nobody decided, expires."""
    await delete(services, user_id, conversation_id)
    return Deleted()


async def stop_turn(conversation_id: str, services: TheServices, user_id: TheUser) -> Stopping:
    """Stop the turn that runs; its stream ends, and what was said so far is kept. A closed connection stops nothing."""
    run_id = await services.conversations.running_turn(user_id, conversation_id, services.clock())
    if run_id:
        await services.signals.stop(user_id, run_id)
    return Stopping(stopping=run_id is not None)


async def end_conversation(conversation_id: str, services: TheServices, user_id: TheUser) -> Ending:
    """Remember now what matters in it, and not only once it fell silent. It can be gone on with at any time."""
    await read_now(services, user_id, conversation_id)
    return Ending()


async def give_feedback(message_id: str, given: FeedbackBody, services: TheServices, user_id: TheUser) -> FeedbackGiven:
    """A thumb (`up`, `down`) and words on an answer; null takes it back. An answer's id is `msg_` and its run's id."""
    feedback = given.feedback(to_datetime(services.clock()))
    await services.conversations.give_feedback(user_id, message_id, feedback)
    return FeedbackGiven(id=message_id, feedback=feedback)


async def read_autonomy(services: TheServices, user_id: TheUser) -> AutonomyView:
    """How far the agent may go: L0 suggest, L1 assist (new users), L2 supervised, L3 autonomous."""
    return AutonomyView(level=await services.autonomy.level(user_id))


async def set_autonomy(chosen: AutonomyView, services: TheServices, user_id: TheUser) -> AutonomyView:
    """Holds from the next turn on, and for what is not yet carried out."""
    await services.autonomy.set_level(user_id, chosen.level, to_datetime(services.clock()))
    return chosen


async def read_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Whether the agent may run: running, pausing, paused, or partial (something could not be stopped)."""
    return await pause.status(services.signals, user_id)


async def pull_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Stop everything of this user, and let nothing begin. Answers once nothing runs, or after 30 seconds."""
    runs = RunsOf(user_id, services.conversations, services.drafts, services.approvals)
    return await pause.engage(services.signals, user_id, runs, services.clock)


async def release_brake(services: TheServices, user_id: TheUser) -> PauseStatus:
    """Let the agent run again. What was stopped stays stopped. The operators' brake is not theirs to release."""
    await services.signals.brake_off(user_id)
    return await pause.status(services.signals, user_id)


async def list_approvals(
    services: TheServices,
    user_id: TheUser,
    state: Literal["waiting", "all"] = "waiting",
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: float | None = None,
) -> ApprovalList:
    """What waits for the user's decision, or is being carried out, the newest first; or all that was ever asked."""
    read = services.approvals.waiting if state == "waiting" else services.approvals.all
    return approvals_of(await read(user_id, limit + 1, after), limit)


async def decide_approval(
    approval_id: str, decision: Decision, request: Request, services: TheServices, user_id: TheUser
) -> ApprovalView:
    """Approve, edit (approve with other arguments), revise (not so, but otherwise) or reject what was seen.

    Who decides again sees the first outcome. 409 `changed` where `args_digest` is of something else, 423 `braked`.
    """
    where = where_from(request)
    return approval_view_of(await settle(services, user_id, approval_id, decision, by="queue", where=where))


async def read_draft(draft_id: str, services: TheServices, user_id: TheUser) -> DraftDetail:
    """What a card or an About section says, and what was left out and why; at every level, published or not."""
    return draft_detail_of(await services.drafts.get(user_id, draft_id))


async def list_memories(
    services: TheServices,
    user_id: TheUser,
    limit: Annotated[int, Query(ge=1, le=100)] = 30,
    after: Annotated[int, Query(ge=0, le=10_000)] = 0,
    status: Literal["active", "proposed", "unchecked", "superseded"] = "active",
    query: Annotated[str | None, Query(min_length=1, max_length=500)] = None,
) -> MemoryList:
    """What is remembered, the newest first; with `query` what holds, the best first, each with why it was found, and
    `found_by` where meaning could not be compared.

    `proposed` waits for the user's yes, `unchecked` for a check: neither is in a prompt or a search. Of what is
    `superseded` another one holds.
    """
    if query is None:
        return memories_of(await services.memories.newest(user_id, limit + 1, after, status), limit, after)
    if status != "active":
        raise Invalid("status: Only what holds can be searched.")
    vector = await vector_or_none(services.embeddings, services.logger, query)
    findings = await find_something(services.memories, user_id, query, vector, after + limit + 1, services.clock())
    return memories_of(findings.found[after:], limit, after, findings.by)


async def read_memory(memory_id: str, services: TheServices, user_id: TheUser) -> MemoryDetail:
    """With the user's own words, the conversation in which they wrote them, what it replaced, and what replaced it."""
    explanation = await explain(services.conversations, services.memories, user_id, memory_id)
    successor = explanation.memory.superseded_by
    replaced_by = await services.memories.of_ids(user_id, [successor] if successor else [])
    return detail_of(explanation, next(iter(replaced_by), None))


async def correct_memory(memory_id: str, correction: Correction, services: TheServices, user_id: TheUser) -> MemoryView:
    """Put something else in its place: the answer is the new one, and the older says by what it was replaced."""
    return memory_view_of(await correct(services, user_id, memory_id, correction.content))


async def undo_memory(memory_id: str, services: TheServices, user_id: TheUser) -> UndoneView:
    """Take back, within a day, what was remembered or corrected in a chat: what it had replaced holds again."""
    restored = await undo(services, user_id, memory_id)
    return UndoneView(undone=memory_id, restored=[memory_view_of(each) for each in restored])


async def forget_memory(memory_id: str, services: TheServices, user_id: TheUser) -> ForgottenView:
    """For good and at once, with what it replaced; with what rests on it and was published, and what stays."""
    forgotten = await forget(services, user_id, [memory_id])
    if not forgotten.ids:
        raise NotFound("There is no such memory.")
    return forgotten_view_of(forgotten)


async def export_everything(services: TheServices, user_id: TheUser) -> StreamingResponse:
    """Everything that we keep about the user, as one JSON document; without vectors, task tokens and hashes."""
    headers = {"Content-Disposition": 'attachment; filename="qwestly-agent.json"', "Cache-Control": "no-store"}
    return StreamingResponse(
        await export(services.user_data, services.clock, user_id), media_type="application/json", headers=headers
    )


async def erase_everything(services: TheServices, user_id: TheUser) -> Erased:
    """Erase everything that we keep about the user, for good: what runs is stopped first, which can take 30 seconds."""
    return Erased(erased=await erase(services, user_id))


async def read_updates(services: TheServices, user_id: TheUser, after: float | None = None) -> Updates:
    """What happened outside of turns since `after`, the last answer's `cursor`; without it, what runs or waits now.

    Ask every 2 seconds while `active`, else every 30. An item can come twice.
    """
    return await updates(services, user_id, after)


def deadline_of(request: Request, services: ChatServices) -> float:
    """When the answer must be over, in seconds since the epoch: the adapter passes the function's own deadline."""
    latest = services.clock() + FUNCTION_TIMEOUT_SECONDS
    try:
        ends = from_json(request.headers["x-amzn-lambda-context"])["deadline"] / 1000
    except (KeyError, ValueError, TypeError):
        ends = latest
    return (ends if ends < latest else latest) - RESERVE_SECONDS


def where_from(request: Request) -> str:
    """For the audit: the address that the function's URL saw. What a client says of itself proves nothing."""
    try:
        return str(from_json(request.headers["x-amzn-request-context"])["http"]["sourceIp"])
    except (KeyError, ValueError, TypeError):
        return ""


def request_id_of(request: Request) -> str:
    try:
        return str(from_json(request.headers["x-amzn-request-context"])["requestId"])
    except (KeyError, ValueError, TypeError):
        return services_of(request).new_id()


async def answer_error(request: Request, error: Exception) -> JSONResponse:
    """Every error in the one shape, with a request id that stands in the log too."""
    failure, request_id = _failure(error), request_id_of(request)
    if failure.http_status >= 500:
        line = {"request_id": request_id, "code": failure.code, **cause_of(error)}
        services_of(request).logger.error(Event.REQUEST_FAILED, extra=line)
    elif failure.http_status == TooManyTurns.http_status:
        services_of(request).logger.info(Event.TURN_REFUSED, extra={"request_id": request_id, "code": failure.code})
    headers = {"Retry-After": str(failure.retry_after)} if failure.retry_after else {}
    if failure.http_status == Unauthorized.http_status:
        headers["WWW-Authenticate"] = "Bearer"
    body = {"error": {"code": failure.code, "message": failure.message, "request_id": request_id}}
    return JSONResponse(body, failure.http_status, headers)


def _failure(error: Exception) -> AgentError:
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        return Invalid(f"{first['loc'][-1]}: {first['msg']}.")
    if isinstance(error, HTTPException):
        known = {each.http_status: each for each in (NotFound, WrongMethod)}
        return known.get(error.status_code, Invalid)()
    return failure_of(error)


app = create_app()
