"""A model server between the product and the real model: it replays given answers and records the others.

Prescribed and recorded answers are served like those of the scripted model. Every other request is forwarded to the
model that the settings name, and its answer is recorded in the same format.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.settings import Settings
from qwestly_agent.llm.client import PROVIDER_ADDRESSES, keys_of
from qwestly_agent.llm.models import DEFAULT_MODELS

SECONDS = 120.0
SECONDS_TO_TELL = 5.0
"""For the list of a server's models."""
OF_INSTRUCTIONS = 60
"""Number of characters of a request's instructions that identify its recorded answer."""
MISSING = "No answer to this was recorded."


@dataclass(frozen=True)
class Upstream:
    url: str
    key: str


class Relay(ModelServer):
    """Without `upstreams` it serves the given answers, and then status 400."""

    def __init__(self, upstreams: Mapping[str, Upstream]) -> None:
        super().__init__(more_models=[*upstreams])
        self._upstreams = upstreams
        self.recorded_steps: list[dict[str, Any]] = []

    async def _chat(self, request: Request) -> Any:
        body = json.loads(await request.body())
        given = self.next_reply(body)
        if given != Reply():
            self.script(given, *self._script)
            return await super()._chat(request)
        if (upstream := self._upstreams.get(body.get("model", ""))) is None:
            return JSONResponse({"error": {"message": MISSING, "code": "not_recorded"}}, 400)
        return await self._passed_on(body, upstream)

    async def _passed_on(self, body: Mapping[str, Any], upstream: Upstream) -> Response:
        http = httpx2.AsyncClient(timeout=SECONDS)
        headers = {"Authorization": f"Bearer {upstream.key or 'none'}"}
        asked = http.build_request("POST", f"{upstream.url}/chat/completions", json=body, headers=headers)
        try:
            answer = await http.send(asked, stream=True)
        except httpx2.HTTPError as error:
            await http.aclose()
            return JSONResponse({"error": {"message": type(error).__name__}}, 502)

        async def told() -> AsyncIterator[bytes]:
            whole = b""
            try:
                async for chunk in answer.aiter_bytes():
                    whole += chunk
                    yield chunk
            finally:
                await answer.aclose()
                await http.aclose()
                if answer.status_code == httpx2.codes.OK:
                    self.recorded_steps.append(step_of(body, whole))

        return StreamingResponse(told(), answer.status_code, media_type=answer.headers.get("content-type"))


def step_of(body: Mapping[str, Any], answered: bytes) -> dict[str, Any]:
    """Return the answer to a request in a format that can be replayed."""
    streams = bool(body.get("stream"))
    messages = [_message_of_stream(answered)] if streams else [json.loads(answered)["choices"][0]["message"]]
    [message] = messages
    calls = [each["function"] for each in message.get("tool_calls") or ()]
    step: dict[str, Any] = {"streams": True} if streams else {"to": _beginning_of_instructions(body)}
    if message.get("content"):
        step["text"] = message["content"]
    if calls:
        step["tool_calls"] = [{"name": each["name"], "arguments": _read(each["arguments"])} for each in calls]
    return step


def _read(arguments: str) -> Any:
    """Parse arguments as an object; return them unchanged if they are not one."""
    try:
        read = json.loads(arguments)
    except ValueError:
        return arguments
    return read if isinstance(read, dict) else arguments


def _beginning_of_instructions(body: Mapping[str, Any]) -> str:
    return str(body["messages"][0].get("content"))[:OF_INSTRUCTIONS]


def _message_of_stream(answered: bytes) -> dict[str, Any]:
    text, calls = "", dict[int, dict[str, str]]()
    for line in answered.decode("utf-8", "replace").splitlines():
        if not line.startswith("data: ") or line == "data: [DONE]":
            continue
        for choice in json.loads(line.removeprefix("data: ")).get("choices", ()):
            delta = choice.get("delta", {})
            text += delta.get("content") or ""
            for call in delta.get("tool_calls") or ():
                whole = calls.setdefault(call["index"], {"name": "", "arguments": ""})
                for name, value in call["function"].items():
                    whole[name] += value or ""
    return {"content": text, "tool_calls": [{"function": calls[index]} for index in sorted(calls)]}


def upstreams_of(settings: Settings) -> dict[str, Upstream]:
    """Return the upstream of each configured model, by the name in the request."""
    named: Sequence[str] = [
        settings.model_fast or DEFAULT_MODELS["fast"],
        settings.model_pro or DEFAULT_MODELS["pro"],
        settings.model_judge,
        settings.model_fallback,
    ]
    keys = keys_of(settings)
    return {
        model: Upstream((settings.model_base_url or PROVIDER_ADDRESSES[provider]).rstrip("/"), keys.get(provider, ""))
        for provider, _, model in (each.partition(":") for each in named if each)
    }


def is_scripted(settings: Settings) -> bool:
    """True if a configured server reports that its models are scripted: their rates mean nothing."""
    servers = dict.fromkeys(upstreams_of(settings).values()) if settings.model_base_url else ()
    return any(map(_says_scripted, servers))


def _says_scripted(server: Upstream) -> bool:
    try:
        headers = {"Authorization": f"Bearer {server.key or 'none'}"}
        models: Any = httpx2.get(f"{server.url}/models", headers=headers, timeout=SECONDS_TO_TELL).json()
        return any(each.get("owned_by") == "scripted" for each in models.get("data", ()))
    except (httpx2.HTTPError, ValueError, AttributeError):
        return False
