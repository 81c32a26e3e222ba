"""The pages behind the links in mails. GET and HEAD only show, and POST decides, because scanners follow links.

The unsubscribe link has its own page.
"""

import asyncio
import logging
from typing import Any
from urllib.parse import parse_qsl

from mangum import Mangum
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qwestly_agent import container
from qwestly_agent.approvals.links import Limits, LinkPage, PostedForm, error_page, render_link_page
from qwestly_agent.approvals.mail import UNSUBSCRIBE
from qwestly_agent.approvals.templates import Brand, style_hash
from qwestly_agent.base.errors import AgentError, Internal, Invalid, NotFound, WrongMethod
from qwestly_agent.base.http import BoundedBody, check_origin, source_of
from qwestly_agent.briefings.mail import unsubscribe
from qwestly_agent.services import Services

LARGEST_FORM_BYTES = 16 * 1024
MOST_FIELDS = 10
FORM = "application/x-www-form-urlencoded"
METHODS = "GET, HEAD, POST, OPTIONS"

# Mangum logs every path, and ours contain tokens.
logging.getLogger("mangum.http").setLevel(logging.ERROR)

limits = Limits()


class NotAForm(Invalid):
    http_status, sentence = 415, "Only the form of this page is understood here. Nothing was decided."


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    with asyncio.Runner() as runner:
        runner.get_loop()  # Mangum runs the application on this loop; the services have their own
        return Mangum(app, lifespan="off")(event, context)


async def link(request: Request) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=204, headers={**security_headers(Brand()), "Allow": METHODS})
    posted = await read_form(request) if request.method == "POST" else None
    token = request.path_params["token"]

    async def answer(services: Services) -> LinkPage:
        source = await _source(services, request)
        return await render_link_page(services, limits, token, source, posted)

    return response_of(request, await asyncio.wrap_future(container.services.start(answer)))


async def unsubscribe_link(request: Request) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=204, headers={**security_headers(Brand()), "Allow": METHODS})
    token, posted = request.path_params["token"], request.method == "POST"

    async def answer(services: Services) -> LinkPage:
        source = await _source(services, request)
        return await unsubscribe(services, limits, token, source, posted=posted)

    return response_of(request, await asyncio.wrap_future(container.services.start(answer)))


async def _source(services: Services, request: Request) -> str:
    """Return the client's address. Raises `NotFound` for a request that bypassed the distribution."""
    await check_origin(services.secrets, request.headers)
    return source_of(services.settings, request.headers, request.client.host if request.client else "")


async def read_form(request: Request) -> PostedForm:
    body = await request.body()
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise NotAForm
    try:
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise NotAForm from None
    return PostedForm(*(fields.get(name, "") for name in ("decision", "args_digest", "reason")))


def response_of(request: Request, page: LinkPage) -> Response:
    headers = security_headers(page.brand)
    if page.status == WrongMethod.http_status:
        headers["Allow"] = METHODS
    if page.retry_after:
        headers["Retry-After"] = str(page.retry_after)
    body = "" if request.method == "HEAD" else page.html
    return Response(body, page.status, headers, media_type="text/html")


def security_headers(brand: Brand) -> dict[str, str]:
    return {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{style_hash(brand)}'; "
        f"img-src {brand.logo_origin}; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex, nofollow",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=()",
        "Strict-Transport-Security": "max-age=63072000",
    }


async def answer_error(request: Request, error: Exception) -> Response:
    return response_of(request, error_page(_failure(error), await _brand()))


async def _brand() -> Brand:
    async def of(services: Services) -> Brand:
        return Brand.of(services.settings)

    try:
        return await asyncio.wrap_future(container.services.start(of))
    except Exception:
        return Brand()


def _failure(error: Exception) -> AgentError:
    match error:
        case AgentError():
            return error
        case HTTPException(status_code=NotFound.http_status):
            return NotFound()
        case HTTPException():
            return WrongMethod()
        case _:
            return Internal()


app = Starlette(
    routes=[
        Route("/approve/{token}", link, methods=METHODS.split(", ")),
        Route(f"/approve/{UNSUBSCRIBE}/{{token}}", unsubscribe_link, methods=METHODS.split(", ")),
    ],
    middleware=[
        Middleware(
            BoundedBody,
            most_bytes=LARGEST_FORM_BYTES,
            too_long="That is too long. Nothing was decided.",
            cut_off="The form ended before it was complete. Nothing was decided.",
            answer=answer_error,
        )
    ],
    exception_handlers=dict.fromkeys((AgentError, HTTPException, Exception), answer_error),
)
# With redirects, the response to an almost correct path would be a Location header that contains a token.
app.router.redirect_slashes = False
