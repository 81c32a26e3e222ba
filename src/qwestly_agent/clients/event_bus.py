"""Put events on an EventBridge bus: signed ids and enumerated words, without titles or other text.

Listeners receive each event at least once, within about a minute, always with the same `id`. `token` signs it (HS256,
with the secret shared with the candidate app), so that a listener behind a webhook need not trust the transport.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
from botocore.exceptions import BotoCoreError, ClientError

from qwestly_agent.base.clock import Clock, to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.clients.candidate_app import ISSUER
from qwestly_agent.domain.activity import ActivityEvent

SOURCE = "qwestly-agent"
AUDIENCE = "candidate-app-events"
LIFE_SECONDS = 86_400
"""EventBridge retries delivery for a day."""
MOST_ENTRIES = 10
"""Maximum number of entries in one request to EventBridge."""


@dataclass(frozen=True)
class EventBus:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    name: str
    """Empty if no bus is configured."""
    secret: str
    clock: Clock

    async def put(self, events: Sequence[ActivityEvent]) -> None:
        """Send the events in order. Raises `Unavailable` if EventBridge does not accept all of them."""
        for begin in range(0, len(events), MOST_ENTRIES):
            entries = [self._entry(each) for each in events[begin : begin + MOST_ENTRIES]]
            try:
                answer = await asyncio.to_thread(self.aws("events").put_events, Entries=entries)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable from error
            if answer["FailedEntryCount"]:
                raise Unavailable

    def _entry(self, event: ActivityEvent) -> dict[str, Any]:
        told = event.model_dump(mode="json", include={"id", "user_id", "type", "role", "severity", "run_id", "data"})
        told["at"] = to_datetime(event.at).isoformat()
        now = int(self.clock())
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": event.user_id, "jti": event.id, "iat": now}
        token = jwt.encode({**claims, "exp": now + LIFE_SECONDS, "event": told}, self.secret, algorithm="HS256")
        detail = json.dumps({**told, "token": token}, ensure_ascii=False)
        return {"Source": SOURCE, "DetailType": event.type, "Detail": detail, "EventBusName": self.name}
