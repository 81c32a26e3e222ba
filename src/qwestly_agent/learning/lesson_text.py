"""The input of a lesson's writers, and the cleaning of their output."""

from collections.abc import Sequence

from qwestly_agent.domain.learning import Lesson, Module
from qwestly_agent.learning.library_sources import library_sources
from qwestly_agent.text.clean import safe_text, visible, well_formed

NO_PAGES = "The library has nothing on it."


def clean_line(text: str) -> str:
    """Return the text as one line without invisible characters and links."""
    return safe_text(" ".join(visible(well_formed(text)).split()), ())


def wish_of(lesson: Lesson) -> str:
    lines = [f"title: {lesson.title}", f"topic: {lesson.topic}", f"language: {lesson.language or 'en'}"]
    return "\n".join([*lines, *([f"wish: {lesson.wish}"] if lesson.wish else [])])


def pages(lesson: Lesson, modules: Sequence[Module]) -> str:
    """Render the pages, the lesson's own module first."""
    ordered = sorted(modules, key=lambda each: each.id != lesson.module_id)
    found = library_sources(ordered)
    return "\n\n".join(f"[{each.id}]\n{each.text}" for each in found.values()) or NO_PAGES
