"""Issue tokens as the candidate app does for its page: `jsonwebtoken`'s `sign({user_id, email, name}, secret,
{expiresIn: '5m'})`: HS256, with the same header and order of claims."""

from collections.abc import Mapping

import jwt

LIFE_SECONDS = 300


def mint(user_id: str, secret: str, now: float, **more: str) -> str:
    """`more` are further claims such as `aud`."""
    name = user_id.partition("|")[2] or user_id
    issued = int(now)
    claims = {"user_id": user_id, "email": f"{name}@example.com", "name": name.title()}
    return jwt.encode({**claims, "iat": issued, "exp": issued + LIFE_SECONDS, **more}, secret, algorithm="HS256")


def required_claims(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the claims that the chat function requires."""
    claims = {"aud": environment.get("QWESTLY_JWT_AUDIENCE"), "iss": environment.get("QWESTLY_JWT_ISSUER")}
    return {name: value for name, value in claims.items() if value}
