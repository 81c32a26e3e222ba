"""The demo user's two weeks, as the real workflows wrote them while `infra.local.demo.record` played them.

A snapshot contains the user's documents of all collections, without vectors. It is restored as if it ended today: each
time, date and weekday moves by the same number of whole days, so that times of day stay. Digests and seals that cover a
time are recomputed, and texts are embedded by the local embedding.
"""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bson import json_util
from pymongo import MongoClient
from pymongo.asynchronous.database import AsyncDatabase

from infra.local.environment import DEMO_DATABASE, DEMO_USER
from qwestly_agent.approvals.seal import sealed
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.approval import canonical_json, sha256_hex
from qwestly_agent.platform.collection import Document
from qwestly_agent.platform.records import as_text
from qwestly_agent.stores import activity, approvals, jobs, memories, messages
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import KNOWLEDGE
from qwestly_agent.stores.search import to_binary, to_int8

if TYPE_CHECKING:
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.services import Services

FILE = Path(__file__).with_name("weeks.json.gz")
SECRETS = {"QWESTLY_AGENT_SHARED_SECRET": "s" * 64, "QWESTLY_CANDIDATE_API_SECRET": "c" * 64}
"""The recording's secrets. Whatever they sealed is sealed again when the snapshot is restored."""
DAY_SECONDS = 86_400
FORMAT = json_util.CANONICAL_JSON_OPTIONS
VECTORS = {
    memories.COLLECTION: ("content_embedding", "content", to_binary),
    messages.COLLECTION: (messages.VECTOR, "content", to_int8),
    KNOWLEDGE: ("embedding", "text", list[float]),  # the candidate app stores lists
}
"""The vector field of each collection, the text field it embeds, and its encoding."""
_EPOCH, _LAST = 1_500_000_000, 2_100_000_000
_DATE = re.compile(r"\b20\d\d-[01]\d-[0-3]\d\b")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SPOKEN = re.compile(
    rf"\b(?:(?P<weekday>[A-Z][a-z]+day), )?(?P<month>{_MONTHS}) (?P<day>[1-3]?\d)\b(?:, (?P<year>20\d\d))?"
)
_PAGE = "https://page.invalid"
_NEAR_DAYS = 60
"""Dates further from the end of the recording belong to her life story and are not moved."""


# --- taking -----------------------------------------------------------------------------------------------------------


def taken(mongodb_uri: str, ended_at: float, mails: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a compressed snapshot of the demo user's documents and mails, and of the adverts shown to her."""
    with MongoClient[Document](mongodb_uri) as mongo:
        database = mongo[DEMO_DATABASE]
        found = {
            name: [_without_vectors(each) for each in database[name].find({"user_id": DEMO_USER}).sort("_id")]
            for name in sorted(database.list_collection_names())
        }
        adverts = [json.loads(each["advert"])["id"] for each in found[jobs.JOB_MATCHES]]
        found[jobs.ADVERTS] = list(database[jobs.ADVERTS].find({"_id": {"$in": adverts}}).sort("_id"))
    kept = {"ended_at": ended_at, "documents": {name: some for name, some in found.items() if some}, "mails": mails}
    return gzip.compress(json_util.dumps(kept, json_options=FORMAT, sort_keys=True).encode(), mtime=0)


def read() -> dict[str, Any]:
    return unpacked(FILE.read_bytes())


def unpacked(snapshot: bytes) -> dict[str, Any]:
    """Return `ended_at` (seconds since the epoch), `documents` by collection, and `mails`, oldest first."""
    kept: dict[str, Any] = json_util.loads(gzip.decompress(snapshot).decode(), json_options=FORMAT)
    return kept


def without_page(mail: Mapping[str, Any], url: str) -> dict[str, Any]:
    """Return the mail with a placeholder for the address in its links."""
    return {name: each.replace(url, _PAGE) if isinstance(each, str) else each for name, each in mail.items()}


def _without_vectors(document: Document) -> Document:
    vectors = [name for name, _, _ in VECTORS.values()]
    return {name: value for name, value in document.items() if name not in vectors}


# --- restoring --------------------------------------------------------------------------------------------------------


async def restore(
    database: AsyncDatabase[Document], services: "Services", embeddings: "Embeddings", now: float
) -> None:
    """Store the snapshot as if it ended at `now`, or up to a day before."""
    kept = read()
    moved = Moved(kept["ended_at"], (now - kept["ended_at"]) // DAY_SECONDS)
    found: dict[str, list[Document]] = {
        name: [moved.value(each) for each in some] for name, some in kept["documents"].items()
    }
    found = _redigested(found)
    for document in found.get(approvals.COLLECTION, ()):
        if document.get("seal"):
            document["seal"] = sealed(services, Approvals.from_document(document)).seal
    for document in found.get(activity.COLLECTION, ()):
        document["copied_at"] = to_datetime(document["at"])  # the database's clock, which was that of the last day
    for name, (vector, text, encode) in VECTORS.items():
        some = [each for each in found.get(name, ()) if each.get(text) and each.get("role", "user") == "user"]
        embedded = await embeddings.embed([each[text] for each in some])
        for document, each in zip(some, embedded, strict=True):
            document[vector] = encode(each)
    for each in found.pop(jobs.ADVERTS):  # they belong to everybody
        await database[jobs.ADVERTS].replace_one({"_id": each["_id"]}, each, upsert=True)
    for name, some in found.items():
        await database[name].insert_many(some)


def mails(url: str, now: float) -> list[dict[str, Any]]:
    """Return the mails as if they ended at `now`, oldest first, with links to `url`."""
    kept = read()
    moved = Moved(kept["ended_at"], (now - kept["ended_at"]) // DAY_SECONDS)
    found = (moved.value(each) for each in kept["mails"])
    return [
        {name: each.replace(_PAGE, url) if isinstance(each, str) else each for name, each in mail.items()}
        for mail in found
    ]


def _redigested(found: Mapping[str, Sequence[Document]]) -> dict[str, list[Document]]:
    """Replace the digests of moved arguments, wherever they occur."""
    anew = dict[str, str]()
    for each in found.get(approvals.COLLECTION, ()):
        approval = Approvals.from_document(each)
        anew[approval.args_digest] = sha256_hex(approval.tool, approval.args)
    text = json_util.dumps(found, json_options=FORMAT)
    for old, new in anew.items():
        text = text.replace(old, new) if old != new else text
    replaced: dict[str, list[Document]] = json_util.loads(text, json_options=FORMAT)
    return replaced


class Moved:
    """Values shifted by whole days."""

    def __init__(self, ended_at: float, days: float) -> None:
        self.ended, self.days = datetime.fromtimestamp(ended_at, UTC).date(), timedelta(days=days)

    def value(self, value: Any) -> Any:
        match value:
            case dict():
                return {self.text(name): self.value(each) for name, each in value.items()}
            case list():
                return [self.value(each) for each in value]
            case datetime():
                return value + self.days
            case bool():
                return value
            case int() | float() if _EPOCH < value < _LAST:
                return type(value)(value + self.days.total_seconds())
            case str():
                return self.text(value)
            case _:
                return value

    def text(self, text: str) -> str:
        if text[:1] in ("{", "["):
            try:
                inside = json.loads(text)
            except ValueError:
                pass
            else:
                moved = self.value(inside)
                dump = canonical_json if text == canonical_json(inside) else as_text
                return text if moved == inside else dump(moved)
        return _SPOKEN.sub(self._spoken, _DATE.sub(self._date, text))

    def _date(self, found: re.Match[str]) -> str:
        try:
            return (self._near(date.fromisoformat(found[0]))).isoformat()
        except ValueError:
            return found[0]

    def _spoken(self, found: re.Match[str]) -> str:
        written = f"{found['month']} {found['day']} {found['year'] or self.ended.year}"
        try:
            moved = self._near(datetime.strptime(written, "%B %d %Y").replace(tzinfo=UTC).date())
        except ValueError:
            return found[0]
        year = f", {moved.year}" if found["year"] else ""
        return f"{f'{moved:%A}, ' if found['weekday'] else ''}{moved:%B} {moved.day}{year}"

    def _near(self, day: date) -> date:
        return day + self.days if abs((day - self.ended).days) <= _NEAR_DAYS else day
