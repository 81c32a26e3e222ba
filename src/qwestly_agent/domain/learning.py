"""Types for learning: modules of the library, lessons with their questions, offers, and a person's goals."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StringConstraints

from qwestly_agent.base.clock import local_date

Granularity: TypeAlias = Literal["subject", "topic", "module", "nothing"]
"""`subject` is broad, `topic` is one skill or concept, `module` is very specific; `nothing` cannot be learned."""
LessonStatus: TypeAlias = Literal["writing", "ready", "failed", "stopped"]
LessonStage: TypeAlias = Literal["writing", "reading", "answered", "learned", "failed", "stopped"]
"""The lesson's status; a ready lesson is `reading` until all questions are answered, then `answered`, and `learned`
once the last answer to each was right."""
DecisionKind: TypeAlias = Literal["goal", "next", "later", "never"]
Rating: TypeAlias = Literal["again", "hard", "good", "easy"]
MOST_A_DAY = 10
"""Maximum number of questions that a person is asked to repeat on one day."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=120, strip_whitespace=True)]


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="ignore")


# --- the library ------------------------------------------------------------------------------------------------------


class ModuleQuestion(_Frozen):
    """A question from the library about applying a module."""

    asks: str
    options: tuple[str, ...]
    right: int
    """Index of the correct option."""
    because: str
    """The sentence of the page that answers the question, verbatim."""


class Module(_Frozen):
    """A page of the library."""

    id: str
    subject: str
    topic: str
    title: str
    also: tuple[str, ...] = ()
    """Other names of the topic."""
    summary: str
    order: int
    """Position within the topic."""
    source: str = ""
    """The origin of the page."""
    text: str = ""
    """Markdown; empty if only the tree was read."""
    questions: tuple[ModuleQuestion, ...] = ()
    """Empty if only the tree was read."""


# --- a lesson ---------------------------------------------------------------------------------------------------------


class LessonQuote(_Frozen):
    module_id: str
    text: str


class LessonSentence(_Frozen):
    """A sentence of a lesson. A sentence without quotes is general knowledge that was not checked."""

    point: int
    """Index of the point in the outline that the sentence belongs to."""
    text: str
    quotes: tuple[LessonQuote, ...] = ()


class LessonQuestion(_Frozen):
    text: str
    options: tuple[str, ...]
    right: int
    """Index of the correct option."""
    sentence: int
    """Index of the sentence in the lesson that answers the question."""


class Practice(_Frozen):
    """The schedule of a question, computed by `fsrs`."""

    due_at: float
    state: int
    step: int | None = None
    stability: float | None = None
    difficulty: float | None = None
    last_at: float | None = None
    answers: int = 0
    right: int = 0
    is_known: bool = False
    """True if the last answer was right."""


class Lesson(_Frozen):
    id: str
    user_id: str
    run_id: str
    conversation_id: str | None
    """None once the conversation is deleted."""
    subject: str = ""
    """The library's subject; empty if the library lacks the topic."""
    topic: str
    module_id: str = ""
    title: str
    wish: str = ""
    """What the person wants from the lesson, in the model's words."""
    language: str = ""
    status: LessonStatus = "writing"
    label: str = ""
    outline: tuple[str, ...] = ()
    written: tuple[LessonSentence, ...] = ()
    """The sentences as written, before they are checked."""
    sentences: tuple[LessonSentence, ...] = ()
    questions: tuple[LessonQuestion, ...] = ()
    practices: tuple[Practice, ...] = ()
    """One for each question, once the lesson is ready."""
    left_out: int = 0
    """Number of sentences that the check rejected."""
    revision: int = 0
    """Incremented with each answer."""
    created_at: float
    updated_at: float

    @property
    def due_at(self) -> float | None:
        return min((each.due_at for each in self.practices), default=None)

    @property
    def stage(self) -> LessonStage:
        if self.status != "ready":
            return self.status
        if not all(each.answers for each in self.practices):
            return "reading"
        return "learned" if all(each.is_known for each in self.practices) else "answered"


def due_questions(lessons: Sequence[Lesson], now: float, zone: str) -> list[tuple[Lesson, int]]:
    """Return the answered questions to repeat now, with their numbers, longest overdue first: at most `MOST_A_DAY`,
    including those already repeated today."""
    today = local_date(now, zone)
    asked = [(each, number, practice) for each in lessons for number, practice in enumerate(each.practices)]
    repeated = sum(each.answers > 1 and local_date(each.last_at or 0.0, zone) == today for *_, each in asked)
    due = sorted((each for each in asked if each[2].answers and each[2].due_at <= now), key=lambda each: each[2].due_at)
    return [(lesson, number) for lesson, number, _ in due[: max(0, MOST_A_DAY - repeated)]]


# --- offers, goals and gaps -------------------------------------------------------------------------------------------


class Offer(_Frozen):
    """A question from the agent that a typed yes can answer. It is never an approval."""

    topic: str
    question: str
    granularity: Granularity
    seq: int
    """`seq` of the person's message in whose turn it was asked."""


class PersonQuote(_Frozen):
    """A quote from the person, or from records about them."""

    source: str
    text: str


class LearningDecision(_Frozen):
    kind: DecisionKind
    text: str
    quote: str
    message_id: str = ""
    at: float


class JobRequirement(_Frozen):
    """A requirement of a chosen job. It is untrusted text, and not a statement about the person."""

    job_id: str
    requirement: str
    quote: str
    """Verbatim from the posting."""


class Gap(_Frozen):
    """A gap between a person and their goal."""

    title: str
    need: str
    """What the goal requires, as a sentence of the library."""
    need_quote: LessonQuote
    asked: JobRequirement | None = None
    """The requirement behind the gap, if the goal is a chosen job."""
    have: str = ""
    """What the person already has; empty if unknown."""
    have_quotes: tuple[PersonQuote, ...] = ()
    topic: str
    """The topic of the library that closes the gap."""


class LearningPlan(_Frozen):
    """A person's decisions about learning, and the gaps to their goal."""

    revision: int = 0
    forgettings: int = 0
    """How often the person had something forgotten."""
    goal: str = ""
    decisions: tuple[LearningDecision, ...] = ()
    gaps: tuple[Gap, ...] = ()
    gaps_of: str = ""
    """The goal that the gaps belong to."""
    gaps_at: float | None = None

    def with_gaps(self, gaps: tuple[Gap, ...], goal: str, now: float, before: "LearningPlan") -> "LearningPlan":
        """Return the plan with these gaps. The plan is unchanged if something was forgotten, or another goal was
        chosen, since `before` was read."""
        if (self.forgettings, self.goal) != (before.forgettings, before.goal):
            return self
        return self.model_copy(update={"gaps": gaps, "gaps_of": goal, "gaps_at": now})


class LearningTalk(_Frozen):
    """The state of learning in a conversation."""

    offer: Offer | None = None
