"""A stand-in for a MongoDB that requires passwords: it authenticates each connection, and rejects every command of a
user that was deleted since."""

import asyncio
from dataclasses import dataclass, field
from struct import unpack_from
from typing import Any

from tests.replica_set import Flow, ReplicaSet, command_of, reply

UNAUTHORIZED, AUTHENTICATION_FAILED = 13, 18


@dataclass
class LockedDatabase(ReplicaSet):
    """`PLAIN`, whose one message has name and password; what another mechanism proves stays between the two ends."""

    users: dict[str, str] = field(default_factory=dict)
    """Passwords by name."""
    known: dict[Flow, str] = field(default_factory=dict)
    """Names of the connections' users."""

    def uri_of(self, name: str, password: str) -> str:
        return self.uri.replace("//", f"//{name}:{password}@") + "&authMechanism=PLAIN&authSource=$external"

    async def _answer(
        self, flow: Flow, message: bytes, there: asyncio.StreamReader, back: asyncio.StreamWriter
    ) -> bytes | None:
        _, request_id, _, code = unpack_from("<iiii", message)
        command = command_of(code, message)
        match next(iter(command)):
            case "hello" | "ismaster" | "isMaster":
                answer: dict[str, Any] | None = None
            case "saslStart":
                _, name, password = command["payload"].decode().split("\0")
                answer = _failure(AUTHENTICATION_FAILED)
                if self.users.get(name) == password:
                    self.known[flow] = name
                    answer = {"conversationId": 1, "done": True, "payload": b"", "ok": 1.0}
            case _:
                answer = None if self.known.get(flow) in self.users else _failure(UNAUTHORIZED)
        if answer:
            return reply(code, request_id, answer)
        return await super()._answer(flow, message, there, back)


def _failure(code: int) -> dict[str, Any]:
    return {"ok": 0.0, "code": code, "errmsg": "refused"}
