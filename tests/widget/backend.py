"""A backend that speaks the chat's plain protocol and sends only what each test scripts, when the test says so."""

import asyncio
import base64
import json
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from infra.local.graphs import graphs
from qwestly_agent.base.clock import to_iso
from tests.widget.scripted_jobs import ScriptedJobs

ROOT = Path(__file__).parents[2]
PATIENCE = 5.0  # seconds a test waits for a request that the browser is about to make
CONTENT_SECURITY_POLICY = {"Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'"}
HOST_PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><title>Host</title>
<style>body { margin: 0; height: 100dvh }</style>
<qwestly-chat endpoint="" token-url="/token">
  <button type="button" slot="suggestion">What do we know about me?</button>
</qwestly-chat>
<script type="module" src="/widget/qwestly.js"></script>"""


MAIL_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
RUNNING = {"state": "running", "since": None, "receipt": None, "everybody": False}
NOTHING_RAN: dict[str, list[str]] = {"stopped": [], "finished": [], "unknown": [], "running": []}
BECOMES = {"approve": "done", "edit": "done", "reject": "rejected", "revise": "revised"}
FINAL = {"rejected", "revised", "expired", "done", "failed", "changed", "drafted", "published", "stopped"}


EVIL = "<img src=x onerror='window.hacked = 1'>"


class Cut(Exception):
    """Ends a stream as a broken connection does: without its last chunk."""


@dataclass
class Stream:
    """One answer, sent piece by piece."""

    conversation_id: str
    run_id: str
    loop: asyncio.AbstractEventLoop
    pieces: asyncio.Queue[bytes | Cut | None] = field(default_factory=asyncio.Queue)

    def raw(self, piece: bytes | Cut | None) -> "Stream":
        self.loop.call_soon_threadsafe(self.pieces.put_nowait, piece)
        return self

    def send(self, event: str, **data: Any) -> "Stream":
        return self.raw(sse(event, **data))

    def begin(self) -> "Stream":
        return self.send("conversation", conversation_id=self.conversation_id, run_id=self.run_id)

    def text(self, content: str) -> "Stream":
        return self.send("text_delta", content=content)

    def call(self, call_id: str, label: str) -> "Stream":
        return self.send("tool_call", id=call_id, name="a_tool", label=label)

    def result(self, call_id: str, *, ok: bool = True) -> "Stream":
        return self.send("tool_result", id=call_id, name="a_tool", ok=ok)

    def done(self, content: str, **more: Any) -> None:
        self.send("done", content=content, usage={}, **more).end()

    def error(self, code: str, message: str) -> None:
        self.send("error", code=code, message=message).end()

    def end(self) -> None:
        self.raw(None)

    def cut(self) -> None:
        self.raw(Cut())

    async def body(self) -> AsyncIterator[bytes]:
        while (piece := await self.pieces.get()) is not None:
            if isinstance(piece, Cut):
                raise piece
            yield piece


def sse(event: str, **data: Any) -> bytes:
    return f"event: {event}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    token: str
    body: Any
    query: str = ""


class ScriptedBackend:
    """Scripted streams and rejections are sent in order; all requests are recorded in `calls`."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.heard = threading.Condition()
        self.reset()

    def reset(self) -> None:
        self.calls: list[Call] = []
        self.tokens_asked = 0
        self.token_life = 300
        self.now: Callable[[], float] = time.time
        self.rejected: set[str] = set()
        self.runs = 0
        self.conversations: dict[str, dict[str, Any]] = {}
        self.answers: set[str] = set()
        self.feedback: dict[str, dict[str, Any] | None] = {}
        self.page_size = 50
        self.scripted: deque[tuple[str, Stream | Response]] = deque()
        self.token_gate: asyncio.Event | None = None
        self.approvals: dict[str, dict[str, Any]] = {}
        self.happened: list[dict[str, Any]] = []
        self.active = False
        self.brake: dict[str, Any] = RUNNING
        self.memories: dict[str, list[dict[str, Any]]] = {}
        self.found_by: str | None = None
        self.next_steps: list[dict[str, str]] = []
        self.events: list[dict[str, Any]] = []
        self.briefings: list[dict[str, Any]] = []
        self.home: dict[str, Any] = {
            "name": "",
            "hour": 8,
            "summary": "",
            "counts": {},
            "first": None,
        }
        self.home |= {"needs_you": [], "new": [], "jobs": [], "missing": []}
        self.home |= {"going": {"goal": "", "step": None, "lesson": None}}
        self.home_once_decided: dict[str, Any] = {}
        """Restore what the next decision changes."""
        self.learning: dict[str, Any] = {
            "progress": {"goal": "", "goals": [], "gaps": [], "due": 0, "unread": 0, "next": None}
        }
        self.learning |= {"path": [], "due": [], "lessons": []}
        self.lessons: dict[str, dict[str, Any]] = {}
        self.interviews: dict[str, dict[str, Any]] = {}
        self.jobs = ScriptedJobs()
        self.plan: dict[str, Any] = {"on": False, "hour": 8, "minute": 0, "days": [0, 1, 2, 3, 4, 5, 6], "mail": True}
        self.plan |= {"quiet": False, "time_zone": "UTC", "next": None}
        self.earned: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {"level": "L1", "ceiling": "L1", "language": None, "time_zone": None}
        self.replaced: dict[str, list[dict[str, Any]]] = {}
        self.local: dict[str, list[dict[str, Any]]] = {"outbox": [], "workflows": [], "schedules": []}

    # what a test says

    def stream(self, conversation_id: str = "c1") -> Stream:
        self.runs += 1
        self.answers.add(f"msg_run_{self.runs}")
        stream = Stream(conversation_id, f"run_{self.runs}", self.loop)
        self.scripted.append(("POST /api/chat", stream))
        return stream

    def resume(self, conversation_id: str = "c1", run_id: str = "run_1") -> Stream:
        """Script the stream of the running answer, repeated from its beginning."""
        stream = Stream(conversation_id, run_id, self.loop)
        self.scripted.append((f"GET /api/chat/{conversation_id}/stream", stream))
        return stream

    def hold(self, on: str) -> Stream:
        """Script a held response, whose body the test sends and ends, or cuts."""
        body = Stream("", "", self.loop)
        self.scripted.append((on, body))
        return body

    def refuse(self, status: int, code: str, message: str = "", *, on: str = "POST /api/chat", **headers: str) -> None:
        body = {"error": {"code": code, "message": message, "request_id": "r1"}}
        self.scripted.append((on, JSONResponse(body, status, {k.replace("_", "-"): v for k, v in headers.items()})))

    def answer(self, on: str, response: Response) -> None:
        self.scripted.append((on, response))

    def keep(self, conversation_id: str, title: str, *messages: dict[str, Any], running: bool = False) -> None:
        self.conversations[conversation_id] = {"title": title, "running": running, "messages": list(messages)}
        self.answers |= {message["id"] for message in messages if message["role"] == "assistant"}

    def ask(self, approval: dict[str, Any]) -> dict[str, Any]:
        """Store an approval record as it is now, and include it in the updates."""
        self.approvals[approval["approval_id"]] = approval
        self.happen("approval", approval["approval_id"], approval)
        return approval

    def become(self, approval_id: str, status: str, **more: Any) -> dict[str, Any]:
        """Change a record as another client would."""
        return self.ask(self.approvals[approval_id] | {"status": status} | more)

    def happen(self, kind: str, key: str, what: dict[str, Any]) -> None:
        self.happened.append({"type": kind, "id": key, "at": to_iso(len(self.happened) + 1), kind: what})

    def hold_tokens(self) -> Callable[[], None]:
        """Hold every token request until the returned function is called."""
        gate = self.token_gate = asyncio.Event()
        return lambda: (self.loop.call_soon_threadsafe(gate.set), None)[1]

    def decide(self, approval_id: str, decision: dict[str, Any]) -> Response:
        """Decide by compare-and-set, as the chat function does; a second decision gets the first outcome."""
        record = self.approvals.get(approval_id)
        if not record:
            return error(404, "not_found", "There is nothing here.")
        if record["status"] == "pending":
            self.home |= self.home_once_decided
            if decision["args_digest"] != record["args_digest"]:
                return error(409, "changed", "This is not what you were shown. Please look at it again.")
            args = record["args"] | decision.get("args", {})
            # An approval of memories loses its texts when decided.
            nothing = {
                "title": record["preview"]["title"],
                "changes": [],
                "sections": [],
                "left_out": [],
                "difference": [],
            }
            self.become(
                approval_id,
                BECOMES[decision["decision"]],
                args=args,
                reason=decision.get("reason"),
                decided_by="chat",
                outcome="Your profile is changed." if decision["decision"] in ("approve", "edit") else None,
                **({"rationale": "", "preview": nothing} if record["kind"] == "memory" else {}),
            )
        return JSONResponse(self.approvals[approval_id])

    # what a test asks

    def asked(self, method: str, path: str) -> list[Call]:
        return [call for call in self.calls if (call.method, call.path) == (method, path)]

    def chats(self) -> list[Any]:
        return [call.body for call in self.asked("POST", "/api/chat")]

    def wait_for(self, count: int, method: str, path: str) -> list[Call]:
        with self.heard:
            enough = self.heard.wait_for(lambda: len(self.asked(method, path)) >= count, PATIENCE)
            assert enough, f"{method} {path} was asked {len(self.asked(method, path))} times, not {count}"
            return self.asked(method, path)

    # what the browser hears

    async def token(self, request: Request) -> Response:
        with self.heard:
            self.tokens_asked += 1
            token = make_token(self.tokens_asked, self.now() + self.token_life)
            self.calls.append(Call("GET", request.url.path, "", None))
            self.heard.notify_all()
        if refusal := self._scripted(f"GET {request.url.path}"):
            assert isinstance(refusal, Response)
            return refusal
        if self.token_gate:
            await self.token_gate.wait()
        return JSONResponse({"token": token})

    async def api(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        raw = await request.body()
        with self.heard:
            is_file = request.headers.get("content-type") == "application/octet-stream"
            body = json.loads(raw) if raw and not is_file else None
            self.calls.append(Call(request.method, request.url.path, token, body, request.url.query))
            self.heard.notify_all()
        if token in self.rejected or expiry(token) <= self.now():
            return error(401, "unauthorized", "Please sign in again.")
        scripted = self._scripted(f"{request.method} {request.url.path}")
        if isinstance(scripted, Stream):
            for decision in (body or {}).get("decisions", ()):
                refused = self.decide(decision["approval_id"], decision)
                if refused.status_code != 200:
                    return refused
            return StreamingResponse(scripted.body(), media_type="text/event-stream")
        return scripted or self._stored(request, body)

    def _scripted(self, on: str) -> Stream | Response | None:
        if self.scripted and self.scripted[0][0] == on:
            return self.scripted.popleft()[1]
        return None

    def _stored(self, request: Request, body: Any) -> Response:
        _, _, *rest = request.url.path.split("/")  # "", "api", "conversations", id, verb
        match request.method, rest:
            case "GET", ["chat", _, "stream"]:
                return Response(status_code=204)
            case "GET", ["suggestions"]:
                return JSONResponse(self.next_steps)
            case "GET", ["conversations"]:
                query = request.query_params
                return JSONResponse(self._page(int(query.get("after", "0")), query.get("q", "")))
            case "GET", ["conversations", key] if key in self.conversations:
                return JSONResponse({"id": key, **self.conversations[key], "messages": self._messages(key)})
            case "PATCH", ["conversations", key] if key in self.conversations:
                self.conversations[key]["title"] = body["title"]
                return JSONResponse({"title": body["title"]})
            case "DELETE", ["conversations", key] if key in self.conversations:
                del self.conversations[key]
                return JSONResponse({"deleted": True})
            case "POST", ["conversations", _, "stop"]:
                return JSONResponse({"stopping": True})
            case "POST", ["messages", key, "feedback"] if key in self.answers:
                return self._keep_feedback(key, **body)
            case "GET", ["approvals"]:
                return JSONResponse(self._approvals(**request.query_params))
            case "POST", ["approvals", key, "decision"]:
                return self.decide(key, body)
            case "GET", ["memories"]:
                return JSONResponse(self._memories(**request.query_params))
            case "POST", ["memories", key, "undo"] if key in self.replaced:
                return JSONResponse({"undone": key, "restored": self.replaced.pop(key)})
            case "GET", ["activity"]:
                return JSONResponse(self._activity(request.query_params.getlist("severity")))
            case "DELETE", ["autonomy", tool]:
                self.earned = [{**each, "is_earned": False} for each in self.earned if each["tool"] == tool]
                return JSONResponse({"kinds": self.earned})
            case _, ["autonomy"]:
                return JSONResponse({"kinds": self.earned})
            case method, ["settings"]:
                self.settings |= body or {}
                if "level" in (body or {}):
                    self.settings["ceiling"] = self.settings["level"]
                return JSONResponse(self.settings)
            case "GET", ["home"]:
                waiting = sum(view["status"] == "pending" for view in self.approvals.values())
                counts = {"needs_you": waiting, "waiting": waiting}
                counts |= {name: self.learning["progress"][name] for name in ("due", "unread")} | self.home["counts"]
                return JSONResponse(self.home | {"counts": counts})
            case "GET", ["briefings"]:
                return JSONResponse({"items": self.briefings, "next": None})
            case method, ["briefings", "settings"]:
                self.plan |= body or {}
                return JSONResponse(self.plan)
            case "GET", ["briefings", key]:
                return JSONResponse(next(each for each in self.briefings if each["id"] == key))
            case "POST", ["briefings", _, "read"]:
                self.briefings[0] |= {"read_at": to_iso(self.now())}
                return JSONResponse(self.briefings[0])
            case "GET", ["learning"]:
                return JSONResponse(self.learning)
            case "PUT", ["learning", "goal"]:
                self.learning["progress"] |= body
                return JSONResponse(self.learning)
            case "GET", ["lessons", key] if key in self.lessons:
                return JSONResponse(self.lessons[key])
            case "POST", ["lessons"]:
                summary = {"lesson_id": "les_2", "title": body["module"], "topic": "T", "subject": "S", "label": ""}
                self.learning["lessons"] = [summary | {"stage": "writing"}, *self.learning["lessons"]]
                return JSONResponse(self.learning["lessons"][0], 202)
            case "POST", ["lessons", _, "questions", _, "explanation"]:
                told = {"text": f"In other words {EVIL}.", "quotes": [{"of": "you", "text": f"My words {EVIL}"}]}
                return JSONResponse({"sentences": [told], "note": ""})
            case "POST", ["lessons", key, "questions", number] if key in self.lessons:
                question = self.lessons[key]["questions"][int(number)] | {"answers": body["answers"] + 1}
                explained = self.lessons[key]["sentences"]
                told = {"right": 1, "because": "A summary is not agreement.", "question": question}
                told |= {"explained": explained}
                return JSONResponse({"is_right": body["option"] == 1, **told})
            case "GET", ["interviews"]:
                return JSONResponse({"items": list(self.interviews.values()), "next": None})
            case "GET", ["interviews", key, "versions"] if key in self.interviews:
                return JSONResponse(
                    {"items": [{"version": 2, "added": [EVIL], "dropped": [f"Old {EVIL}"]}], "next": None}
                )
            case "GET", ["interviews", key, "draft"] if key in self.interviews:
                return Response("# The draft\n", media_type="text/markdown")
            case _, ["interviews", key, *_] if key in self.interviews:
                return JSONResponse(self.interviews[key])
            case "GET", ["me", "export"]:
                return JSONResponse({"everything": []})
            case "DELETE", ["me"]:
                return JSONResponse({"erased": {}, "note": "Everything was erased."})
            case "POST", ["activity", event, "undo"] if (key := event.removesuffix(":done")) in self.approvals:
                return JSONResponse({"undone": event, "by": self.approvals[key] | {"approval_id": f"{key}_undo"}})
            case "GET", ["updates"]:
                return JSONResponse(self._updates(request.query_params.get("after")))
            case method, ["brake"]:
                return JSONResponse(self._brake(method))
            case _:
                told = self.jobs.answer(request.method, rest, body, request.query_params)
                return told or error(404, "not_found", "There is nothing here.")

    def _messages(self, key: str) -> list[dict[str, Any]]:
        messages = self.conversations[key]["messages"]
        return [
            message | {"feedback": self.feedback.get(message["id"])} if message["role"] == "assistant" else message
            for message in messages
        ]

    def _keep_feedback(self, key: str, *, thumb: str | None, words: str | None = None) -> Response:
        if thumb not in ("up", "down", None) or len(words or "") > 2_000:
            return error(422, "invalid", "That request is not valid.")
        self.feedback[key] = {"thumb": thumb, "words": words, "at": "2025-03-01T09:00:00Z"} if thumb else None
        return JSONResponse({"id": key, "feedback": self.feedback[key]})

    def _approvals(self, state: str = "waiting", limit: str = "50", after: str = "0") -> dict[str, Any]:
        kept = [view for view in self.approvals.values() if state == "all" or view["status"] == "pending"]
        start, end = int(after), int(after) + min(int(limit), self.page_size)
        return {"items": kept[start:end], "next": end if end < len(kept) else None}

    def _memories(self, status: str = "active", query: str | None = None, **_: str) -> dict[str, Any]:
        found_by = self.found_by if query else None
        return {"items": self.memories.get(status, []), "next": None, "found_by": found_by}

    def _updates(self, after: str | None) -> dict[str, Any]:
        """Return the updates; a new client gets pending and running work."""
        brake = {"type": "brake", "id": "brake", "at": self.brake["since"] or to_iso(0), "brake": self.brake}
        items = [brake, *self.happened[int(after or 0) :]]
        if after is None:
            items = [item for item in {item["id"]: item for item in items}.values() if not is_over(item)]
        return {"items": items, "cursor": str(len(self.happened)), "active": self.active}

    def _activity(self, severities: list[str]) -> dict[str, Any]:
        events = [event for event in self.events if not severities or event["severity"] in severities]
        return {"items": events, "next": None}

    def _brake(self, method: str) -> dict[str, Any]:
        if method == "POST":
            self.brake = {"state": "paused", "since": to_iso(self.now()), "receipt": NOTHING_RAN, "everybody": False}
        elif method == "DELETE":
            self.brake = RUNNING
        return self.brake

    async def local_api(self, request: Request) -> Response:
        raw = await request.body()
        with self.heard:
            self.calls.append(Call(request.method, request.url.path, "", json.loads(raw) if raw else None))
            self.heard.notify_all()
        match request.method, request.url.path.split("/")[2:]:
            case "GET", ["outbox", key]:
                [mail] = [mail for mail in self.local["outbox"] if mail["id"] == key]
                return HTMLResponse(mail["html"], headers=MAIL_HEADERS)
            case "GET", [what]:
                return self._scripted(f"GET {request.url.path}") or JSONResponse({"items": self.local[what]})  # type: ignore[return-value]
            case _:
                return self._scripted(f"POST {request.url.path}") or JSONResponse({})  # type: ignore[return-value]

    def _page(self, start: int, words: str) -> dict[str, Any]:
        rows = [
            {"id": key, "title": kept["title"], "running": kept["running"]}
            | {"created_at": "2025-03-01T09:00:00Z", "updated_at": "2025-03-01T09:00:00Z"}
            | ({"found": found} if (found := _found(kept, words)) else {})
            for key, kept in self.conversations.items()
            if not words or _found(kept, words)
        ]
        end = start + self.page_size
        return {"items": rows[start:end], "next": str(end) if end < len(rows) else None}

    def app(self) -> Starlette:
        page = ROOT / "infra/local/page"
        status = {"model": "scripted", "embeddings": "scripted", "user": "auth0|demo", "database": "qwestly_local"}
        return Starlette(
            routes=[
                Route("/", lambda _: FileResponse(page / "index.html", headers=CONTENT_SECURITY_POLICY)),
                Route("/page.js", lambda _: FileResponse(page / "page.js")),
                Route("/graphs.js", lambda _: FileResponse(page / "graphs.js")),
                Route("/local/graphs", lambda _: JSONResponse({"items": graphs()})),
                Route("/host", lambda _: HTMLResponse(HOST_PAGE, headers=CONTENT_SECURITY_POLICY)),
                Route("/favicon.svg", lambda _: FileResponse(page / "favicon.svg")),
                Route("/favicon.ico", lambda _: Response(status_code=204)),
                Route("/local/status", lambda _: JSONResponse({**status, "notes": ["A note."]})),
                Route("/local/token", self.token),
                Route("/token", self.token),
                Route("/local/{what}", self.local_api),
                Route("/local/{what}/{key:path}", self.local_api, methods=["GET", "POST"]),
                Mount("/widget", StaticFiles(directory=ROOT / "widget" / "dist")),
                Route("/api/{rest:path}", self.api, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
            ]
        )


def _found(kept: dict[str, Any], words: str) -> dict[str, Any] | None:
    """Return where the conversation has the words: in its title, or in a message."""
    if words and words in kept["title"]:
        return {"message_id": None, "snippet": kept["title"], "words": [words]}
    told = [message for message in kept["messages"] if words and words in message["content"]]
    return {"message_id": told[0]["id"], "snippet": told[0]["content"], "words": [words]} if told else None


def is_over(item: dict[str, Any]) -> bool:
    """A new client also learns of failed drafts."""
    status = item.get(item["type"], {}).get("status")
    return status in FINAL and (item["type"], status) not in {("draft", "failed"), ("draft", "stopped")}


def error(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message, "request_id": "r1"}}, status)


def make_token(number: int, expires: float) -> str:
    claims = json.dumps({"user_id": "auth0|démo", "n": number, "exp": int(expires)}, ensure_ascii=False).encode()
    return f"head.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.signature"


def expiry(token: str) -> float:
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    return json.loads(base64.urlsafe_b64decode(payload + "=="))["exp"] if payload else 0


class RunningBackend:
    """The scripted backend behind a real socket, on its own thread."""

    def __init__(self) -> None:
        self.backend = ScriptedBackend()
        config = uvicorn.Config(
            self.backend.app(), port=0, log_level="critical", lifespan="off", ws="none", timeout_graceful_shutdown=1
        )
        self.server = uvicorn.Server(config)
        self.bound = threading.Event()
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> tuple[str, ScriptedBackend]:
        self.socket = self.server.config.bind_socket()
        self.thread.start()
        assert self.bound.wait(PATIENCE)
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}", self.backend

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join()
        self.socket.close()

    def _run(self) -> None:
        loop = self.backend.loop
        asyncio.set_event_loop(loop)
        loop.call_soon(self.bound.set)
        loop.run_until_complete(self.server.serve(sockets=[self.socket]))
        loop.close()
