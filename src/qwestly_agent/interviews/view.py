"""An interview as its person sees it beside the conversation."""

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment
from qwestly_agent.domain.interview import Aspect, EndReason, Interview, Phase, Said, TopicStatus
from qwestly_agent.interviews.markdown import difference
from qwestly_agent.stores.interviews import KeptInterview


class AspectView(BaseModel):
    name: str
    status: str
    """open, covered by what was said, or closed: the person has nothing to say of it."""
    quotes: tuple[str, ...]
    known_from: str
    """Where it was known from before this conversation: "your profile", "cv.pdf"; empty where it was said here."""


class TopicView(BaseModel):
    title: str
    status: TopicStatus
    priority: int
    completeness: float
    """From 0 to 1: covered and closed aspects of all."""
    aspects: list[AspectView]


class StatementView(BaseModel):
    topic: str
    text: str
    quotes: tuple[Said, ...]
    is_new: bool
    """True if the newest version brought it."""


class InterviewSummary(BaseModel):
    id: str
    """Of its conversation."""
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
    """Of the draft; 0 before there is one."""
    is_writing: bool
    """True while the draft has not heard the newest answer."""
    why: str
    """Why this is asked now; may be empty."""
    minutes: int | None
    """The person's time budget."""
    ended_by: str
    """Their words, where they ended it."""


class Version(BaseModel):
    version: int
    added: list[str]
    dropped: list[str]


class VersionList(BaseModel):
    items: list[Version]
    next: None = None


def summary_of(kept: KeptInterview) -> InterviewSummary:
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


def view_of(kept: KeptInterview) -> InterviewView:
    interview = kept.interview
    return InterviewView(
        **summary_of(kept).model_dump(),
        topics=[
            TopicView(
                title=topic.title,
                status=topic.status,
                priority=topic.priority,
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
    return f"{active.title}: {interview.asking}" if interview.asking else active.title


def versions_of(interview: Interview) -> list[Version]:
    """The newest first, each with what it changed."""
    changes = ((version, *difference(interview, version)) for version in range(interview.version, 0, -1))
    return [
        Version(version=version, added=[each.text for each in added], dropped=[each.text for each in dropped])
        for version, added, dropped in changes
    ]
