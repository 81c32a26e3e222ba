"""A user's settings: language and time zone (`agent_settings`), the autonomy level, and the stop and brake signals.

Only the user can write them: no tool has access to these stores. `briefings.py` keeps its fields in the documents of
`agent_settings`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeAlias, get_args
from zoneinfo import available_timezones

from pydantic import (
    BaseModel,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked
from qwestly_agent.domain.activity import ActivityEvent, Severity
from qwestly_agent.domain.approval import (
    EVERYBODY,
    LADDER,
    NEW_USERS_CEILING,
    NEW_USERS_LEVEL,
    UNREADABLE_LEVEL,
    Grant,
    Level,
    Returned,
    Standing,
    higher,
    sha256_hex,
)
from qwestly_agent.domain.job import HeadField
from qwestly_agent.platform.collection import Document, MongoCollection, Permanent, Store, across_users, index
from qwestly_agent.platform.outbox import OUTBOX, copy_after_write, with_events

COLLECTION = MongoCollection(
    "agent_settings",
    Permanent("One document per user: language, time zone, the head of documents and briefing settings."),
    # Missing if the user's briefings are off.
    index("briefing_at", "briefing_at", sparse=True),
    holds="language, time zone, the head of documents, briefings, mails, hashes of addresses whose mail bounced",
    events=("briefing.mails_ended", "approval.mails_ended"),
    events_note="by the link in a mail",
)
"""`_id` and `user_id`, `language`, `time_zone`, `document_name`, `document_head`, `variant` (to which an operator
pinned the user), `changed_at`, `mail_returned` (bounce or complaint, by the address's hash); `briefing_…`: the user's
choices (`on`, `hour`, `minute`, `days`, `mail`, `quiet`), `at` and `day` of the next one, `told` (the last day),
`marks` (a JSON text: the newest covered item, by source); its outbox."""
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
    mail_returned: Mapping[str, Returned] = {}
    """By hash of an address: how mail to it came back. It gets no more."""
    document_name: str | None = None
    """The name at the top of documents; None to use that of the profile or a résumé."""
    document_head: tuple[HeadField, ...] | None = None
    """Fields at the top of documents beside the name; None until the person chose."""
    variant: str | None = None
    """The variant that an operator pinned this user to; it takes precedence over every share."""

    @field_validator("language", "time_zone", "document_name", "variant", mode="before")
    @classmethod
    def _is_readable(cls, value: Any, info: ValidationInfo) -> str | None:
        """Replace an unreadable value, or a zone that no longer exists, with None."""
        readable = isinstance(value, str) and (info.field_name != "time_zone" or value in known_time_zones())
        return value if readable else None

    @field_validator("document_head", mode="wrap")
    @classmethod
    def _is_known(cls, value: Any, read: ValidatorFunctionWrapHandler) -> tuple[HeadField, ...] | None:
        """Replace unreadable fields with None."""
        try:
            return read(value)
        except ValidationError:
            return None

    @field_validator("mail_questions", "mail_reminders", mode="before")
    @classmethod
    def _is_on(cls, value: Any) -> bool:
        """Only an explicit False is off."""
        return value is not False

    def returned_as(self, address: str) -> Returned | None:
        """Return how mail to this address came back; None if it did not."""
        return self.mail_returned.get(_hash_of_address(address))

    @property
    def zone(self) -> str:
        """The zone in which times are shown."""
        return self.time_zone or "UTC"


@cache
def known_time_zones() -> frozenset[str]:
    """Return the time zones known to this machine, except placeholders. Reading their names takes a few
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

    @across_users
    async def count_pinned(self) -> int:
        """Return the number of users whom an operator pinned to a variant."""
        return await self.database[COLLECTION].count_documents({"variant": {"$gt": ""}})

    async def unsubscribe(self, user_id: str, kind: MailKind, now: float) -> None:
        """Unsubscribe a user who followed the link in a mail of this kind. An event records it, because anybody who has
        the mail, even a malware scanner, can follow the link."""
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

    async def end_mail_to(self, user_id: str, address: str, how: Returned) -> None:
        """Stop all mail to this address, because a mail bounced or was reported as spam."""
        change = {"$set": {f"mail_returned.{_hash_of_address(address)}": how}}
        await self.database[COLLECTION].update_one({"_id": user_id, "user_id": user_id}, change, upsert=True)

    async def change(self, user_id: str, changes: dict[str, Any], at: datetime) -> None:
        """Set these fields; the others are unchanged."""
        await self.database[COLLECTION].update_one(
            {"_id": user_id, "user_id": user_id}, {"$set": {**changes, "changed_at": at}}, upsert=True
        )


def _hash_of_address(address: str) -> str:
    return sha256_hex(address.strip().casefold())


# --- `agent_autonomy` -------------------------------------------------------------------------------------------------
# Each user's autonomy level. Only the user can write it: no tool has access to this store.


AUTONOMY = MongoCollection(
    "agent_autonomy",
    Permanent("One document per user: the chosen level, and earned levels."),
    events=("autonomy.changed", "autonomy.ceiling", "autonomy.taken_back"),
    holds="the level, and earned levels",
    chat="find",
)
"""`_id` and `user_id`, `level`, `ceiling` (the highest level that may be earned), `earned` (each grant), `changed_at`,
`changes` (the last ones, with their times)."""
REMEMBERED_CHANGES = 100


class Autonomy(Store):
    async def level(self, user_id: str) -> Level:
        """Return the user's level: L1 if none was chosen, L0 if the stored value is not a level."""
        document = await self.database[AUTONOMY].find_one({"_id": user_id, "user_id": user_id}, {"level": 1})
        if document is None:
            return NEW_USERS_LEVEL
        return document["level"] if document.get("level") in get_args(Level) else UNREADABLE_LEVEL

    async def get(self, user_id: str) -> Standing:
        """Return the user's level, the ceiling up to which the agent may earn autonomy, and the earned grants."""
        fields = dict.fromkeys(("level", "ceiling", "earned"), 1)
        document = await self.database[AUTONOMY].find_one({"_id": user_id, "user_id": user_id}, fields)
        if document is None:
            return Standing(NEW_USERS_LEVEL, NEW_USERS_CEILING)
        level = document["level"] if document.get("level") in LADDER else UNREADABLE_LEVEL
        ceiling = document["ceiling"] if document.get("ceiling") in LADDER else level
        return Standing(level, higher(level, ceiling), tuple(_grants(document)))

    async def set_ceiling(self, user_id: str, ceiling: Level, at: datetime) -> None:
        """Set the highest level that the agent may earn."""
        change = {"$set": {"ceiling": ceiling}, "$setOnInsert": {"level": NEW_USERS_LEVEL, "changed_at": at}}
        event = _autonomy_event(
            user_id, "ceiling", at, f"You set how far your agent may earn its way to {ceiling}", level=ceiling
        )
        await self._change({"ceiling": {"$ne": ceiling}}, change, event, upsert=True)

    async def grant(self, user_id: str, grant: Grant) -> None:
        """Grant a higher level for one tool's actions. The feed shows the event of the approval."""
        query = {"_id": user_id, "user_id": user_id}
        first = {"level": NEW_USERS_LEVEL, "ceiling": NEW_USERS_CEILING, "changed_at": to_datetime(grant.since)}
        change = {"$set": {f"earned.{grant.tool}": grant.model_dump()}, "$setOnInsert": first}
        await self.database[AUTONOMY].update_one(query, change, upsert=True)

    async def revoke(self, user_id: str, tool: str, at: datetime) -> None:
        """Revoke the grant for this tool unless it was already revoked."""
        event, ended = (
            _autonomy_event(user_id, "taken_back", at, "Your agent asks you again", tool=tool),
            f"earned.{tool}.ended_at",
        )
        await self._change({f"earned.{tool}.tool": tool, ended: None}, {"$set": {ended: at.timestamp()}}, event)

    async def _change(
        self, if_still: Document, change: Document, event: ActivityEvent, *, upsert: bool = False
    ) -> None:
        query = {"_id": event.user_id, "user_id": event.user_id, **if_still}
        with suppress(DuplicateKeyError):  # unchanged
            await self.database[AUTONOMY].update_one(query, with_events(change, event), upsert=upsert)
            await copy_after_write(self.database, AUTONOMY, event.user_id, event.user_id)

    async def set_level(self, user_id: str, level: Level, at: datetime) -> None:
        """Set level and ceiling, and append the level to the history. To let the agent earn more, the user must raise
        the ceiling again."""
        change = {
            "$set": {"level": level, "ceiling": level, "changed_at": at},
            "$push": {"changes": {"$each": [f"{at.isoformat()} {level}"], "$slice": -REMEMBERED_CHANGES}},
        }
        event = _autonomy_event(user_id, "changed", at, f"You set your agent's level to {level}", level=level)
        await self._change({"level": {"$ne": level}}, change, event, upsert=True)


def _autonomy_event(user_id: str, verb: str, at: datetime, title: str, **data: str) -> ActivityEvent:
    return ActivityEvent(
        id=f"autonomy:{user_id}:{verb}:{at.timestamp()!r}",
        user_id=user_id,
        at=at.timestamp(),
        type=f"autonomy.{verb}",
        role="user",
        title=title,
        data=data,
    )


def _grants(document: Document) -> Iterator[Grant]:
    """Yield the stored grants, skipping unreadable ones and those granted under earlier rules."""
    earned = document.get("earned")
    for tool, each in earned.items() if isinstance(earned, dict) else ():
        with suppress(ValidationError):
            if (grant := Grant.model_validate(each)).tool == tool:
                yield grant


# --- `agent_signals` --------------------------------------------------------------------------------------------------
# Stop and brake signals, one document per user and one for `EVERYBODY`. Fields are flat and each is set by a single
# update: the brake is written before anything is read.


SIGNALS = MongoCollection(
    "agent_signals",
    Permanent("One document per user: the brake stays on until it is released."),
    # While its brake is off, a document has no `brake_since`.
    index("brake_since", "brake_since"),
    events=("brake.on", "brake.off"),
    reader="find",
    opener="find",
    holds="the brake, stopped runs",
)
"""`_id` and `user_id` (or `everybody`), `stopped_runs` (the last 50), `brake_since`, `released_at`, `receipt` and
`receipt_since` (of the last brake), `receipt_edits`."""
STOPS_KEPT = 50
"""More than a user can have running; older ones are not needed any more."""


@dataclass(frozen=True)
class Signal:
    """The signals of a user, or of `EVERYBODY`. Times are in seconds since the epoch."""

    stopped_runs: frozenset[str] = frozenset()
    brake_since: float | None = None
    """None if the brake is off."""
    released_at: float | None = None
    """When the brake was last turned off."""
    receipt: Mapping[str, Any] | None = None
    """The receipt of the current or last brake."""
    receipt_since: float | None = None
    """`brake_since` of the brake that the receipt belongs to."""
    receipt_edits: int = 0
    """How often a receipt was stored."""


class Signals(Store):
    async def stop(self, user_id: str, run_id: str) -> None:
        await self._update(
            user_id, {"$push": {"stopped_runs": {"$each": [run_id], "$slice": -STOPS_KEPT}}}, upsert=True
        )

    async def read(self, user_id: str) -> tuple[Signal, Signal]:
        """Read the signals of this user and of `EVERYBODY` with one query."""
        both = {"$in": [user_id, EVERYBODY]}
        found = {each["_id"]: each async for each in self.database[SIGNALS].find({"_id": both, "user_id": both})}
        return _signal(found.get(user_id, {})), _signal(found.get(EVERYBODY, {}))

    async def list_stopped(self, user_id: str, run_ids: Collection[str]) -> set[str]:
        """Return the subset of these runs that the user stopped. Raises `Braked` if the brake of the user or of
        `EVERYBODY` is on."""
        own, everybody = await self.read(user_id)
        if own.brake_since or everybody.brake_since:
            raise Braked
        return set(run_ids) & own.stopped_runs

    async def check_brake(self, user_id: str) -> None:
        """Raise `Braked` if the brake of this user or of `EVERYBODY` is on."""
        await self.list_stopped(user_id, ())

    async def is_braked(self, user_id: str) -> bool:
        """True if the brake of this user, or of `EVERYBODY`, is on."""
        own, everybody = await self.read(user_id)
        return bool(own.brake_since or everybody.brake_since)

    @across_users
    async def list_braked(self) -> list[str]:
        """Return the ids of users whose brake is on, including `EVERYBODY` if that brake is on."""
        found = self.database[SIGNALS].find({"brake_since": {"$gt": 0}}, {"_id": 1})
        return [each["_id"] async for each in found]

    async def turn_brake_on(self, user_id: str, now: float) -> None:
        """Turn the brake on without a prior read (idempotent: `brake_since` keeps its first value)."""
        # Rounded to milliseconds, because receipts compare it and the local database keeps only fifteen digits.
        since = round(now, 3)
        off = {"_id": user_id, "user_id": user_id, "brake_since": None}
        with suppress(DuplicateKeyError):  # it is on already
            await self._turn(off, {"$set": {"brake_since": since}}, _event(user_id, "on", since), upsert=True)

    async def turn_brake_off(self, user_id: str, now: float) -> None:
        """Turn the brake off; its receipt is kept."""
        on = {"_id": user_id, "user_id": user_id, "brake_since": {"$gt": 0}}
        change = {"$unset": {"brake_since": ""}, "$set": {"released_at": now}}
        await self._turn(on, change, _event(user_id, "off", now))

    async def save_receipt(self, user_id: str, since: float, receipt: Mapping[str, Any], edits: int) -> bool:
        """Store a receipt for the current brake, or for the last one if its receipt has the same `since`. Returns False
        if there is no such brake any more, or if the receipt was changed since it was read with these `edits`."""
        # `None` also matches a missing field.
        here = {"_id": user_id, "user_id": user_id, "receipt_edits": edits or None}
        change = {"$set": {"receipt": dict(receipt), "receipt_since": since}, "$inc": {"receipt_edits": 1}}
        # `$or` cannot be used: with it the local database finds another user's document.
        for of_brake in ({"brake_since": since}, {"receipt_since": since}):
            if (await self.database[SIGNALS].update_one({**here, **of_brake}, change)).matched_count:
                return True
        return False

    async def _turn(self, where: Document, change: Document, event: ActivityEvent, *, upsert: bool = False) -> None:
        turned = await self.database[SIGNALS].find_one_and_update(
            where, with_events(change, event), OUTBOX, upsert=upsert, return_document=ReturnDocument.AFTER
        )
        if turned:  # the local database returns nothing instead of a duplicate key error
            await copy_after_write(self.database, SIGNALS, event.user_id, event.user_id, turned)

    async def _update(self, user_id: str, change: Document, *, upsert: bool = False) -> None:
        await self.database[SIGNALS].update_one({"_id": user_id, "user_id": user_id}, change, upsert=upsert)


def _event(whose: str, state: Literal["on", "off"], at: float) -> ActivityEvent:
    sentence, severity = _SENTENCES[state, whose == EVERYBODY]
    return ActivityEvent(
        id=f"brake:{whose}:{state}:{at!r}",
        user_id=whose,
        at=at,
        type=f"brake.{state}",
        role="operators" if whose == EVERYBODY else "user",
        severity=severity,
        title=sentence,
    )


_SENTENCES: Mapping[tuple[str, bool], tuple[str, Severity]] = {
    ("on", False): ("You paused your agent", "info"),
    ("off", False): ("You resumed your agent", "info"),
    ("on", True): ("Qwestly paused its agent for everybody", "warning"),
    ("off", True): ("Qwestly resumed its agent for everybody", "info"),
}


def _signal(document: Document) -> Signal:
    return Signal(
        stopped_runs=frozenset(document.get("stopped_runs", ())),
        brake_since=document.get("brake_since"),
        released_at=document.get("released_at"),
        receipt=document.get("receipt"),
        receipt_since=document.get("receipt_since"),
        receipt_edits=document.get("receipt_edits", 0),
    )
