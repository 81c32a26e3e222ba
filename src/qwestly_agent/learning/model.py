"""The input and output of the states of `write_lesson`, and the input of its writers."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

from pydantic import BaseModel, StringConstraints

from qwestly_agent.base.errors import Invalid
from qwestly_agent.domain.learning import Lesson, Module
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.text.clean import quoted, safe_text, visible, well_formed
from qwestly_agent.text.language import language_of
from qwestly_agent.workflow_state import End, WorkState

# --- lesson state -----------------------------------------------------------------------------------------------------
# The input and output of the states of `write_lesson`, which contain only ids. Everything else is in the lesson's
# record.


class NotTaught(Invalid):
    """The lesson is not taught; its record contains the reason."""

    sentence = "This is nothing that we teach."


class LessonState(WorkState):
    subject, later = "lesson", "Please ask for it again later."
    messages: ClassVar[Mapping[str, str]] = {"ContentRefused": "Our AI couldn’t work with this topic."}
    lesson_id: str

    def known_end(self) -> tuple[End, str] | None:
        """A topic that is not taught does not count as a failure."""
        return ("stopped", NotTaught.sentence) if self.error_kind == NotTaught.__name__ else None


# --- library sources --------------------------------------------------------------------------------------------------
# Library pages as sources for quotes, and the schema of a model's quotes.


ABOUT_THE_LIBRARY = """

These statements are about a skill and not about one person, and their quotes are of a library's pages: what is said \
there in general holds in general. All else is as above."""


class WrittenQuote(BaseModel):
    source: Annotated[str, StringConstraints(max_length=200)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=600)]


def cited(text: str, quotes: Sequence[WrittenQuote]) -> Statement:
    return Statement(text=text, quotes=tuple(Quote(source=each.source, text=each.text) for each in quotes))


def library_sources(modules: Sequence[Module]) -> Mapping[str, QuotedSource]:
    return {
        each.id: QuotedSource(id=each.id, text=quoted(each.text), trust="tool", language=language_of(each.text))
        for each in modules
    }


# --- lesson text ------------------------------------------------------------------------------------------------------
# The input for a lesson's writers, and the cleaning of their output.


NO_PAGES = "The library has nothing on it."


def clean_line(text: str) -> str:
    """Return the text as one line without invisible characters and links."""
    return safe_text(" ".join(visible(well_formed(text)).split()), ())


def wish_of(lesson: Lesson) -> str:
    lines = [f"title: {lesson.title}", f"topic: {lesson.topic}", f"language: {lesson.language or 'en'}"]
    return "\n".join([*lines, *([f"wish: {lesson.wish}"] if lesson.wish else [])])


def pages(lesson: Lesson, modules: Sequence[Module]) -> str:
    """Render the library's pages, with the lesson's own module first."""
    ordered = sorted(modules, key=lambda each: each.id != lesson.module_id)
    found = library_sources(ordered)
    return "\n\n".join(f"[{each.id}]\n{each.text}" for each in found.values()) or NO_PAGES
