"""Limits on requests: the length of their bodies, and the distribution through which they arrive."""

from collections.abc import Awaitable, Callable, Mapping
from hmac import compare_digest

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qwestly_agent.base.errors import AgentError, Invalid, NotFound, TooLong
from qwestly_agent.base.settings import Secrets, Settings

# --- body limit -------------------------------------------------------------------------------------------------------
# Limit the length of request bodies.


class BoundedBody:
    """Middleware that reads each body before the route, and responds with 413 to a body longer than `most_bytes`.

    It counts the received bytes: a chunked body has no Content-Length, and a Content-Length may be wrong.
    """

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int,
        too_long: str,
        cut_off: str,
        answer: Callable[[Request, Exception], Awaitable[Response]],
    ) -> None:
        self._app, self._most_bytes = app, most_bytes
        self._too_long, self._cut_off = too_long, cut_off
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            body = await self._read(request)
        except AgentError as error:
            response = await self._answer(request, error)
            await response(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return messages.pop() if messages else await receive()

        await self._app(scope, receive_again, send)

    async def _read(self, request: Request) -> bytes:
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > self._most_bytes:
                    raise TooLong(self._too_long)
        except ClientDisconnect:
            raise Invalid(self._cut_off) from None
        return bytes(body)


# --- origin -----------------------------------------------------------------------------------------------------------
# The distribution in front of the function URLs. Without this check, anyone who finds a function URL could bypass its
# firewall.


ORIGIN_HEADER = "x-origin-secret"
VIEWER_HEADER = "x-viewer-address"
"""Added by the distribution: the client's address, because a function sees only the distribution's own."""


async def check_origin(secrets: Secrets, headers: Mapping[str, str]) -> None:
    """Accept requests from the distribution. Raises `NotFound` for any other request, which reveals nothing."""
    if not secrets.settings.behind_distribution:
        return
    given = headers.get(ORIGIN_HEADER, "")
    if not (_is_known(secrets.settings, given) or _is_known(await secrets.renew(), given)):
        raise NotFound


def source_of(settings: Settings, headers: Mapping[str, str], peer: str) -> str:
    """Return the client's address. The header is trusted only behind the distribution, where nobody else can set it."""
    return headers.get(VIEWER_HEADER, peer) if settings.behind_distribution else peer


def _is_known(settings: Settings, given: str) -> bool:
    known = [each.strip() for each in settings.origin_secret.split(",") if each.strip()]
    return any(compare_digest(given.encode(), each.encode()) for each in known)
