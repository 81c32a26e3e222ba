"""Every tool of the default design, and the records in their results that can be shown as sources."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from qwestly_agent.agents.tools import base, cards, changes, jobs, knowledge, work
from qwestly_agent.agents.tools.jobs import list_applications, read_job, search_jobs, search_web
from qwestly_agent.agents.tools.knowledge import (
    explain_memory,
    get_user_profile,
    query_qwestly_docs,
    query_user_knowledge,
)
from qwestly_agent.agents.tools.roles import get_learning_progress, search_topics
from qwestly_agent.domain.conversation import Source, SourceKind

# --- sources ----------------------------------------------------------------------------------------------------------
# The records in a tool's result that can be shown as sources of an answer.


LONGEST_TITLE = 120
LONGEST_TEXT = 600


@dataclass(frozen=True)
class SourceRecord:
    """A record in a tool's result."""

    source: Source
    name: str
    """The name by which an answer may refer to the record; empty if we chose the title."""
    text: str
    """The record's whole text."""


def records_of(tool: str, result: Any) -> tuple[SourceRecord, ...]:
    """Return the records of a result, each once; empty for a tool that returns none. A truncated result yields the
    records that are complete in its beginning."""
    if tool not in READERS or not isinstance(result, dict):
        return ()
    found = dict[str, SourceRecord]()
    with suppress(KeyError, TypeError, ValueError):
        found.update((each.source.id, each) for each in READERS[tool](_whole_part(result)))
    return tuple(found.values())


def _whole_part(result: dict[str, Any]) -> dict[str, Any]:
    """Return the result. If `guardrails` truncated it, parse the part that remains."""
    return from_json(result["beginning"], allow_partial=True) if result.keys() == {"beginning", "note"} else result


def _record(kind: SourceKind, key: str, title: str, text: str = "", *, name: str | None = None) -> SourceRecord:
    source = Source(id=f"{kind}:{key}", kind=kind, title=_start(title, LONGEST_TITLE), text=_start(text, LONGEST_TEXT))
    return SourceRecord(source, title if name is None else name, text)


def _start(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _knowledge(result: dict[str, Any]) -> Iterator[SourceRecord]:
    yield from _memories(result)
    for each in result.get("resumes", ()):
        yield _record("document", each["id"], each["from"], each["text"])
    for each in result.get("passages", ()):
        yield _record("document", each["id"], each["title"], each["text"])
    for each in result.get("interviews", ()):
        yield _record("document", each["id"], each["title"], each["text"])
    for each in result.get("messages", ()):
        speaker = "you" if each["by"] == "the user" else "your agent"
        yield _record("message", each["id"], f"Said by {speaker} on {each['on']}", each["text"], name="")


def _memories(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result.get("memories", ()):
        yield _record("memory", each["id"], each["content"], each.get("quote", ""))


def _sections(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result["sections"]:
        yield _record("documentation", f"{each['page']}#{each['title']}", each["title"], each["text"])


def _profile(result: dict[str, Any]) -> Iterator[SourceRecord]:
    if profile := result["profile"]:
        said = "\n".join(value for value in profile.values() if isinstance(value, str))
        yield _record("profile", "own", "Your profile", said, name="")


def _jobs(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result["adverts"]:
        yield _job(each, each["begins"])
    for each in result["matches"]:
        yield _job(each, "")


def _advert(result: dict[str, Any]) -> Iterator[SourceRecord]:
    yield _job(result, result["text"])


def _job(job: Mapping[str, Any], text: str) -> SourceRecord:
    return _record("job", job["job_id"], _at_company(job), text, name=job.get("company") or job["title"])


def _at_company(named: Mapping[str, Any]) -> str:
    return f"{named['title']} at {named['company']}" if named.get("company") else named["title"]


def _applications(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result["applications"]:
        said = (each["status"], each.get("next_step"), each.get("notes"))
        words, name = "\n".join(filter(None, said)), each.get("company") or each["title"]
        yield _record("application", each["application_id"], _at_company(each), words, name=name)


def _pages(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result["pages"]:
        yield _record("web", each["url"], each["title"], f"{each['says']}\n{each['url']}")


def _topics(result: dict[str, Any]) -> Iterator[SourceRecord]:
    for each in result["topics"]:
        yield _record("library", each["topic"], each["topic"], "\n".join(each["modules"]))


def _progress(result: dict[str, Any]) -> Iterator[SourceRecord]:
    """Yield the library pages behind the person's gaps, and the job posting of their goal."""
    for each in result["gaps"]:
        if asked := each.get("asked"):
            yield _record("job", asked["job_id"], result["goal"], asked["quote"])
        yield _record("library", each["need_quote"]["module_id"], each["topic"], each["need_quote"]["text"])


READERS: Mapping[str, Callable[[dict[str, Any]], Iterator[SourceRecord]]] = {
    query_user_knowledge.__name__: _knowledge,
    explain_memory.__name__: _memories,
    query_qwestly_docs.__name__: _sections,
    get_user_profile.__name__: _profile,
    search_jobs.__name__: _jobs,
    read_job.__name__: _advert,
    list_applications.__name__: _applications,
    search_web.__name__: _pages,
    search_topics.__name__: _topics,
    get_learning_progress.__name__: _progress,
}


# --- catalog ----------------------------------------------------------------------------------------------------------
# Every tool of the default design, including one that lists the others and one that reports a person in trouble.


_DESCRIBED = [
    *knowledge.PROFILE_TOOLS,
    *knowledge.MEMORY_TOOLS,
    *knowledge.DOCUMENT_TOOLS,
    *knowledge.QWESTLY_TOOLS,
    *cards.TOOLS,
    *jobs.TOOLS,
    *jobs.APPLICATION_TOOLS,
    *changes.TOOLS,
    *cards.PUBLISHING_TOOLS,
    *work.TOOLS,
    base.CONFIRM,
    base.HAND_OVER_TO_LEARNING,
]

TOOLS = [*_DESCRIBED, work.capabilities_tool(_DESCRIBED), base.REPORT_TROUBLE]
