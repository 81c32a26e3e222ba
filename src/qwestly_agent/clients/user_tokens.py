"""Verification of the candidate app's token: the only source of a `user_id`."""

import re

import jwt
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import Unauthorized
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.domain.approval import EVERYBODY

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


async def user_of_token(secrets: Secrets, token: str, clock: Clock) -> str:
    """Return the token's `user_id`, as `verify_token` with the current secrets. Raises `Unauthorized`."""
    try:
        return verify_token(token, secrets.settings, clock)
    except UnknownSignature:
        return verify_token(token, await secrets.renew(), clock)
