"""Library pages as sources of quotes, and the schema of a model's quotes."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import BaseModel, StringConstraints

from qwestly_agent.domain.learning import Module
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.language import language_of

ABOUT_THE_LIBRARY = """

These statements are about a skill and not about one person, and their quotes are of a library's pages: what is said \
there in general holds in general. All else is as above."""


class WrittenQuote(BaseModel):
    source: Annotated[str, StringConstraints(max_length=200)]
    text: Annotated[str, StringConstraints(min_length=1, max_length=600)]


def library_sources(modules: Sequence[Module]) -> Mapping[str, QuotedSource]:
    return {
        each.id: QuotedSource(id=each.id, text=quoted(each.text), trust="tool", language=language_of(each.text))
        for each in modules
    }
