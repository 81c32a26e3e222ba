"""Verification of the candidate app's token: the only source of a `user_id`."""

import base64
import re
from functools import cache
from typing import Any

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
LONGEST_TURN_SECONDS = 330
"""Longer than any turn: requests made by a turn are accepted this long after its token, valid at the beginning, has
expired."""
LONGEST_TOKEN_CHARACTERS = 4096


class UnknownSignature(Unauthorized):
    """The token was not signed with any known secret; the secret may have been rotated."""


_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+", re.ASCII)
"""Excludes base64 padding, which PyJWT accepts and RFC 7515 (section 2) forbids, so that each token has only one
form."""


class _Claims(BaseModel):
    model_config = ConfigDict(strict=True)

    user_id: str = Field(min_length=1, max_length=256)
    exp: FiniteFloat
    nbf: FiniteFloat = 0
    iss: str | None = None


def verify_token(token: str, settings: Settings, clock: Clock, late_seconds: float = 0) -> str:
    """Return the `user_id` of a token that expires within 15 minutes, or that expired at most `late_seconds` ago. The
    token must be signed with ES256 if we have public keys, otherwise with HS256. Raises `Unauthorized` for any other
    token, and its subclass `UnknownSignature` if none of our keys signed it."""
    algorithm = "ES256" if settings.public_keys else "HS256"
    if len(token) <= LONGEST_TOKEN_CHARACTERS and _COMPACT.fullmatch(token):
        for key in map(_public_key, settings.public_keys) if settings.public_keys else settings.shared_secrets:
            try:
                claims = _Claims.model_validate(_decode(token, key, algorithm, settings))
                return _user_id(claims, clock(), late_seconds)
            except jwt.InvalidSignatureError:
                continue
            except (jwt.InvalidTokenError, ValidationError):
                raise Unauthorized from None
        raise UnknownSignature
    raise Unauthorized


@cache
def _public_key(text: str) -> Any:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    return load_der_public_key(base64.b64decode(text))


def _decode(token: str, key: Any, algorithm: str, settings: Settings) -> dict[str, object]:
    audience, issuer = settings.qwestly_jwt_audience or None, settings.qwestly_jwt_issuer or None
    return jwt.decode(
        token,
        key,
        algorithms=[algorithm],
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


def _user_id(claims: _Claims, now: float, late_seconds: float) -> str:
    in_force = claims.nbf <= now + CLOCK_SKEW_SECONDS and now < claims.exp + late_seconds
    short_lived = claims.exp <= now + LONGEST_LIFE_SECONDS + CLOCK_SKEW_SECONDS
    if not (in_force and short_lived) or claims.iss == OUR_ISSUER or claims.user_id == EVERYBODY:
        raise Unauthorized
    return claims.user_id


async def user_of_token(secrets: Secrets, token: str, clock: Clock, *, late_seconds: float = 0) -> str:
    """Return the token's `user_id`, like `verify_token`; reloads the secrets once if the signature is unknown. Raises
    `Unauthorized`."""
    try:
        return verify_token(token, secrets.settings, clock, late_seconds)
    except UnknownSignature:
        return verify_token(token, await secrets.renew(), clock, late_seconds)
