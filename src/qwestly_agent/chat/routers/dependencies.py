"""Shared by all routes: services, the user of the verified token, the origin of a request, and the form of errors."""

import re
from typing import Annotated

import jwt
from fastapi import Depends, Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query
from fastapi.routing import APIRoute
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError
from pydantic_core import from_json

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import Invalid, Unauthorized
from qwestly_agent.base.http import check_origin
from qwestly_agent.base.settings import Settings
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores.messages import Problem
from qwestly_agent.text.clean import visible

# --- auth -------------------------------------------------------------------------------------------------------------
# Verification of the candidate app's token: the only source of a `user_id`.


OUR_ISSUER = "qwestly-agent"
"""Issuer of our own tokens for the candidate app; never accepted here, even if both secrets are the same."""
LONGEST_LIFE_SECONDS = 15 * 60
CLOCK_SKEW_SECONDS = 30
"""How far the candidate app's clock may be ahead of ours."""
LONGEST_TOKEN_CHARACTERS = 4096


class UnknownSignature(Unauthorized):
    """No known secret signed it; a rotated secret may have."""


_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
"""Without base64 padding, which PyJWT accepts and RFC 7515 (section 2) forbids, so that a token has only one form."""


class _Claims(BaseModel):
    model_config = ConfigDict(strict=True)

    user_id: str = Field(min_length=1, max_length=256)
    exp: FiniteFloat
    nbf: FiniteFloat = 0
    iss: str | None = None


def verify_token(token: str, settings: Settings, clock: Clock) -> str:
    """Return the `user_id` of an HS256 token that expires within 15 minutes. Raises `Unauthorized` for any other token;
    its subclass `UnknownSignature` if none of our secrets signed it."""
    if len(token) <= LONGEST_TOKEN_CHARACTERS and _COMPACT.fullmatch(token):
        for secret in settings.shared_secrets:
            try:
                return _user_id(_Claims.model_validate(_decode(token, secret, settings)), clock())
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValidationError):
                raise Unauthorized from None
        raise UnknownSignature
    raise Unauthorized


def _decode(token: str, secret: str, settings: Settings) -> dict[str, object]:
    audience, issuer = settings.qwestly_jwt_audience or None, settings.qwestly_jwt_issuer or None
    return jwt.decode(
        token,
        secret,
        algorithms=["HS256"],
        audience=audience,
        issuer=issuer,
        options={
            "require": ["exp", "user_id", *(["aud"] if audience else []), *(["iss"] if issuer else [])],
            "verify_aud": audience is not None,
            # The library uses the system clock; ours is an argument, so `_user_id` compares the times.
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
        },
    )


def _user_id(claims: _Claims, now: float) -> str:
    in_force = claims.nbf <= now + CLOCK_SKEW_SECONDS and now < claims.exp
    short_lived = claims.exp <= now + LONGEST_LIFE_SECONDS + CLOCK_SKEW_SECONDS
    if not (in_force and short_lived) or claims.iss == OUR_ISSUER or claims.user_id == EVERYBODY:
        raise Unauthorized
    return claims.user_id


# --- dependencies -----------------------------------------------------------------------------------------------------


def services_of(request: Request) -> ChatServices:
    return request.app.state.services


TheServices = Annotated[ChatServices, Depends(services_of)]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


async def user_of(services: TheServices, bearer: Bearer) -> str:
    if bearer is None:
        raise Unauthorized
    try:
        return verify_token(bearer.credentials, services.secrets.settings, services.clock)
    except UnknownSignature:
        return verify_token(bearer.credentials, await services.secrets.renew(), services.clock)


TheUser = Annotated[str, Depends(user_of)]


def is_from_outside(request: Request) -> bool:
    """True for a request through the function's URL, which the adapter marks with a header that clients cannot
    remove."""
    return "x-amzn-request-context" in request.headers


async def only_from_distribution(request: Request) -> None:
    """Raises `NotFound` for a request that went around the distribution, if there is one."""
    if is_from_outside(request):
        await check_origin(services_of(request).secrets, request.headers)


def only_known_parameters(request: Request) -> None:
    """Raises `Invalid` for a parameter that the route does not have."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith("/api/"):
        return
    known = {each.alias for each in get_flat_params(route.dependant) if isinstance(each.field_info, Query)}
    if unknown := [name for name in request.query_params if name not in known]:
        raise Invalid(f"{visible(unknown[0])[:64]}: There is no such parameter.")


def request_id_of(request: Request) -> str:
    """Return Lambda's request id, which its own log lines contain."""
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
