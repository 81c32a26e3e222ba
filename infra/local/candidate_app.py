"""A stub of the candidate app: mints tokens exactly as the real one does.

`jsonwebtoken`'s `sign({user_id, email, name}, secret, {expiresIn: '5m'})`: HS256, and a header and claims in its order.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping

import jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from infra.local.environment import DEMO_USER
from infra.local.serving import serve

LIFE_SECONDS = 300


def mint(user_id: str, secret: str, now: float, **more: str) -> str:
    """A token as the candidate app gives its page; `more` are claims such as `aud`."""
    name = user_id.partition("|")[2] or user_id
    issued = int(now)
    claims = {"user_id": user_id, "email": f"{name}@example.com", "name": name.title()}
    return jwt.encode({**claims, "iat": issued, "exp": issued + LIFE_SECONDS, **more}, secret, algorithm="HS256")


def demanded(environment: Mapping[str, str]) -> dict[str, str]:
    """The claims that the chat function is told to demand."""
    claims = {"aud": environment.get("QWESTLY_JWT_AUDIENCE"), "iss": environment.get("QWESTLY_JWT_ISSUER")}
    return {name: value for name, value in claims.items() if value}


def create_app(secret: str, clock: Callable[[], float] = time.time, claims: Mapping[str, str] = {}) -> Starlette:
    async def token(request: Request) -> JSONResponse:
        user_id = request.query_params.get("user") or DEMO_USER
        return JSONResponse({"token": mint(user_id, secret, clock(), **claims)}, headers={"Cache-Control": "no-store"})

    return Starlette(routes=[Route("/api/agent/token", token)])


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=8003)
    port = arguments.parse_args().port
    secret = os.environ.get("QWESTLY_AGENT_SHARED_SECRET", "").split(",")[0].strip()
    if not secret:
        sys.exit("QWESTLY_AGENT_SHARED_SECRET is missing: the secret that the chat function verifies tokens with.")
    serve(create_app(secret, claims=demanded(os.environ)), port)
