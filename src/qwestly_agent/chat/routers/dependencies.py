"""Shared by all routes: services, the user of the verified token, the origin of a request, and the error format."""

from typing import Annotated

from fastapi import Depends, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel
from pydantic_core import from_json

from qwestly_agent.base.errors import Invalid, Unauthorized
from qwestly_agent.base.http import check_origin
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.clients.user_tokens import user_of_token
from qwestly_agent.stores.messages import Problem
from qwestly_agent.text.clean import visible

# --- dependencies -----------------------------------------------------------------------------------------------------


def services_of(request: Request) -> ChatServices:
    return request.app.state.services


TheServices = Annotated[ChatServices, Depends(services_of)]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


async def token_of(bearer: Bearer) -> str:
    if bearer is None:
        raise Unauthorized
    return bearer.credentials


TheToken = Annotated[str, Depends(token_of)]
"""The user's token, not yet verified."""


async def user_of(services: TheServices, token: TheToken) -> str:
    return await user_of_token(services.secrets, token, services.clock)


TheUser = Annotated[str, Depends(user_of)]


def is_from_outside(request: Request) -> bool:
    """True for a request through the function's URL, which the adapter marks with a header that clients cannot
    remove."""
    return "x-amzn-request-context" in request.headers


async def only_from_distribution(request: Request) -> None:
    """Raises `NotFound` for a request that bypassed the distribution, if there is one."""
    if is_from_outside(request):
        await check_origin(services_of(request).secrets, request.headers)


def only_known_parameters(request: Request) -> None:
    """Raises `Invalid` for a parameter that the route does not define."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith("/api/"):
        return
    known = {each.alias for each in get_flat_params(route.dependant) if isinstance(each.field_info, Query)}
    if unknown := [name for name in request.query_params if name not in known]:
        raise Invalid(f"{visible(unknown[0])[:64]}: There is no such parameter.")


def request_id_of(request: Request) -> str:
    """Return Lambda's request id, which Lambda's own log lines contain."""
    try:
        return str(from_json(request.headers["x-amzn-request-context"])["requestId"])
    except (KeyError, ValueError, TypeError):
        return services_of(request).new_id()


def where_from(request: Request) -> str:
    """Return the client's address as seen by the function URL, for the audit; headers set by a client prove nothing."""
    try:
        return str(from_json(request.headers["x-amzn-request-context"])["http"]["sourceIp"])
    except (KeyError, ValueError, TypeError):
        return ""


# --- errors -----------------------------------------------------------------------------------------------------------


class ErrorDetail(Problem):
    request_id: str


class Failure(BaseModel):
    """The format of all errors."""

    error: ErrorDetail
