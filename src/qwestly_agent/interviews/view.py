"""An interview as shown to the person: next to the conversation, and as Markdown."""

from collections.abc import Mapping

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment
from qwestly_agent.domain.interview import Aspect, DraftSentence, EndReason, Interview, Phase, Said, TopicStatus
from qwestly_agent.stores.interviews import StoredInterview

# --- markdown ---------------------------------------------------------------------------------------------------------
# An interview's draft as Markdown, the differences between versions, and the closing list.


_COVERED: Mapping[str, tuple[str, str]] = {
    "de": ("Was besprochen ist", "Was offen bleibt"),
    "es": ("Lo que está hablado", "Lo que queda abierto"),
    "fr": ("Ce qui est dit", "Ce qui reste ouvert"),
    "pt": ("O que foi dito", "O que fica em aberto"),
}
_IN_ENGLISH = ("What is covered", "What is still open")


def draft_markdown(interview: Interview, version: int | None = None) -> str:
    """Render the newest or an older version as a file: header and text."""
    at = interview.version if version is None else version
    head = ["---", f"version: {at}", f"topics: {len(interview.topics)}", f"completeness: {interview.completeness:.0%}"]
    return "\n".join([*head, "---", draft_text(interview, version)])


def draft_text(interview: Interview, version: int | None = None) -> str:
    """Render the newest or an older version, with a heading for each topic and a line for each statement."""
    at = interview.version if version is None else version
    there = [each for each in interview.statements if each.since <= at and (each.until is None or each.until > at)]
    lines = list[str]()
    for topic in dict.fromkeys(each.topic for each in there):
        lines += ["", f"## {topic}", "", *(f"- {each.text}" for each in there if each.topic == topic)]
    return "\n".join([*lines, ""])


def difference(interview: Interview, version: int) -> tuple[list[DraftSentence], list[DraftSentence]]:
    """Return the statements that this version added, and those that it dropped or replaced."""
    added = [each for each in interview.statements if each.since == version]
    return added, [each for each in interview.statements if each.until == version]


def covered_so_far(interview: Interview) -> list[dict[str, object]]:
    """Return each aspect that is covered or closed, with its quotes."""
    return [
        {"topic": topic.title, "aspect": aspect.name, "quotes": [each.text for each in aspect.quotes]}
        for topic in interview.topics
        for aspect in topic.aspects
        if aspect.status != "open"
    ]


def closing_list(interview: Interview, language: str) -> str:
    """List the covered aspects with one quote each, and the open ones; empty if no topic was discussed."""
    covered, still_open = _COVERED.get(language, _IN_ENGLISH)
    told = [
        f"- *{topic.title}*, {aspect.name}: “{aspect.quotes[0].text}”"
        for topic in interview.topics
        for aspect in topic.aspects
        if aspect.status != "open" and aspect.quotes
    ]
    missing = [f"- *{topic.title}*: {aspect.name}" for topic in interview.topics for aspect in topic.open_aspects]
    parts = [(covered, told), (still_open, missing)]
    return "\n\n".join(f"**{heading}**\n\n" + "\n".join(lines) for heading, lines in parts if lines)


# --- view -------------------------------------------------------------------------------------------------------------
# An interview as shown to the person next to the conversation.


class AspectView(BaseModel):
    name: str
    status: str
    """open, covered by the person's words, or closed because they have nothing to say about it."""
    quotes: tuple[str, ...]
    known_from: str
    """The earlier source: "your profile", "cv.pdf"; empty if it is from this conversation."""


class TopicView(BaseModel):
    title: str
    status: TopicStatus
    priority: int
    completeness: float
    """Share of aspects that are covered or closed, from 0 to 1."""
    aspects: list[AspectView]


class StatementView(BaseModel):
    topic: str
    text: str
    quotes: tuple[Said, ...]
    is_new: bool
    """True if the newest version added it."""


class InterviewSummary(BaseModel):
    id: str
    """Id of its conversation."""
    title: str
    role: str
    last_used: Moment
    phase: Phase
    completeness: float
    ended: EndReason | None


class InterviewList(BaseModel):
    items: list[InterviewSummary]
    next: None = None


class InterviewView(InterviewSummary):
    topics: list[TopicView]
    draft: list[StatementView]
    version: int
    """Version of the draft; 0 before there is one."""
    is_writing: bool
    """True while the draft does not cover the newest answer."""
    why: str
    """The reason for the current question; may be empty."""
    minutes: int | None
    """The person's time budget."""
    ended_by: str
    """The person's words, if these ended the interview."""


class Version(BaseModel):
    version: int
    added: list[str]
    dropped: list[str]


class VersionList(BaseModel):
    items: list[Version]
    next: None = None


def interview_summary(kept: StoredInterview) -> InterviewSummary:
    interview = kept.interview
    return InterviewSummary(
        id=kept.conversation_id,
        title=kept.title,
        role=kept.role,
        last_used=kept.last_used,
        phase=interview.phase,
        completeness=round(interview.completeness, 2),
        ended=interview.ended.reason if interview.ended else None,
    )


def interview_view(kept: StoredInterview) -> InterviewView:
    interview = kept.interview
    return InterviewView(
        **interview_summary(kept).model_dump(),
        topics=[
            TopicView(
                **topic.model_dump(include={"title", "status", "priority"}),
                completeness=round(topic.completeness, 2),
                aspects=[_aspect(each) for each in topic.aspects],
            )
            for topic in interview.topics
        ],
        draft=[
            StatementView(topic=each.topic, text=each.text, quotes=each.quotes, is_new=each.since == interview.version)
            for each in interview.draft
        ],
        version=interview.version,
        is_writing=interview.drafted_to < interview.counted_to and interview.ended is None,
        why=_why(interview),
        minutes=interview.minutes,
        ended_by=interview.ended.quote if interview.ended else "",
    )


def _aspect(aspect: Aspect) -> AspectView:
    known_from = next((each.known_from for each in aspect.quotes), "")
    quotes = tuple(each.text for each in aspect.quotes)
    return AspectView(name=aspect.name, status=aspect.status, quotes=quotes, known_from=known_from)


def _why(interview: Interview) -> str:
    active = interview.active
    if interview.ended or active is None:
        return ""
    return interview.reasoning or (f"{active.title}: {interview.asking}" if interview.asking else active.title)


def versions_of(interview: Interview) -> list[Version]:
    """Return the versions with their changes, newest first."""
    changes = ((version, *difference(interview, version)) for version in range(interview.version, 0, -1))
    return [
        Version(version=version, added=[each.text for each in added], dropped=[each.text for each in dropped])
        for version, added, dropped in changes
    ]
