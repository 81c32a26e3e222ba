"""`agent_settings`: each user's language and time zone. Only the user sets them; no tool can reach this store.

`briefing_plans.py` keeps its fields in the same documents.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeAlias
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pymongo.errors import DuplicateKeyError

from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.stores.activity import copy_after_write, with_events
from qwestly_agent.stores.collection import MongoCollection, Permanent, index
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.store import Store

COLLECTION = MongoCollection(
    "agent_settings",
    Permanent("One document per user: language, time zone and briefing settings."),
    # Missing for a user whose briefings are off.
    index("briefing_at", "briefing_at", sparse=True),
    holds="language, time zone, briefings, mails",
    has_outbox=True,
)
"""`_id` and `user_id`, `language`, `time_zone`, `variant` (that an operator pinned the user to), `changed_at`;
`briefing_…`: what the user chose (`on`, `hour`, `minute`, `days`, `mail`, `quiet`), `at` and `day` of the next one,
`told` (the last day), `marks` (a JSON text: by source, what was told); its outbox."""
MailKind: TypeAlias = Literal["questions", "reminders", "briefings"]
"""Pending decisions · reminders after half the time · briefings."""
_FIELDS: Mapping[MailKind, str] = {
    "questions": "mail_questions",
    "reminders": "mail_reminders",
    "briefings": "briefing_mail",
}
_ENDED: Mapping[MailKind, tuple[str, str]] = {
    "questions": ("approval", "Questions of your agent no longer come by email"),
    "reminders": ("approval", "Reminders no longer come by email"),
    "briefings": ("briefing", "Your briefings no longer come by email"),
}
"""By kind of mail: subject and title of the event for unsubscribing."""
NO_SUCH_ZONE = "There is no such time zone. Names are as in the IANA database, for example Europe/Lisbon."


class UserSettings(BaseModel):
    model_config = ConfigDict(frozen=True)

    language: str | None = None
    """A BCP 47 tag, as in browsers; None if it was never set."""
    time_zone: str | None = None
    """A name from the IANA database; None if it was never set."""
    mail_questions: bool = True
    mail_reminders: bool = True
    variant: str | None = None
    """The variant that an operator pinned this user to; it takes precedence over every share."""

    @field_validator("language", "time_zone", "variant", mode="before")
    @classmethod
    def _is_readable(cls, value: Any, info: ValidationInfo) -> str | None:
        """Replace an unreadable value, or a zone that no longer exists, with None."""
        readable = isinstance(value, str) and (info.field_name != "time_zone" or value in known_time_zones())
        return value if readable else None

    @field_validator("mail_questions", "mail_reminders", mode="before")
    @classmethod
    def _is_on(cls, value: Any) -> bool:
        """Only an explicit False is off."""
        return value is not False

    @property
    def zone(self) -> str:
        """The zone in which times are shown."""
        return self.time_zone or "UTC"


@cache
def known_time_zones() -> frozenset[str]:
    """Return the time zones that this machine knows, except placeholders. Reading their names takes a few
    milliseconds."""
    return frozenset(available_timezones() - {"localtime", "Factory"})


class UserSettingsStore(Store):
    async def get(self, user_id: str) -> UserSettings:
        return UserSettings.model_validate(
            await self.database[COLLECTION].find_one({"_id": user_id, "user_id": user_id}) or {}
        )

    async def pin(self, user_id: str, variant: str | None) -> None:
        """Pin a user to a variant, or to none."""
        change: Document = {"$set": {"variant": variant}} if variant else {"$unset": {"variant": ""}}
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, change, upsert=variant is not None
        )

    async def unsubscribe(self, user_id: str, kind: MailKind, now: float) -> None:
        """Unsubscribe a user by the link in a mail of this kind. An event records it, because anybody who has the mail,
        even a malware scanner, can follow the link."""
        subject, title = _ENDED[kind]
        event = ActivityEvent(
            id=f"{user_id}:{kind}:mails_ended:{now!r}",
            user_id=user_id,
            at=now,
            type=f"{subject}.mails_ended",
            role="briefing" if kind == "briefings" else "chat",
            severity="warning",
            title=title,
        )
        with suppress(DuplicateKeyError):  # already ended
            await self.database[COLLECTION].update_one(
                {"_id": user_id, "user_id": user_id, _FIELDS[kind]: {"$in": [None, True]}},
                with_events({"$set": {_FIELDS[kind]: False}}, event),
                upsert=True,
            )
        await copy_after_write(self.database, COLLECTION, user_id, user_id)

    async def change(self, user_id: str, changes: dict[str, Any], at: datetime) -> None:
        """Set these fields; the others are unchanged."""
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, {"$set": {**changes, "changed_at": at}}, upsert=True
        )
