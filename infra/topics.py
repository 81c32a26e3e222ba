"""Bring in the library of learning topics.

ingest FOLDER    make the library FOLDER's Markdown: a file a module, with subject, topic, module, summary, order and
                 questions as its front matter. All of it is checked before anything is written.
"""

import argparse
import asyncio
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from infra.stages import WrongUsage, database_settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.domain.learning import Module, Name
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.stores.learning import Topics

SHORTEST_TEXT, LONGEST_TEXT = 200, 6_000
_FRONT_MATTER = re.compile(r"\A---\n(?P<front>.*?)\n---\n(?P<text>.*)\Z", re.DOTALL)


class Question(BaseModel):
    model_config = ConfigDict(extra="forbid")

    asks: Annotated[str, StringConstraints(min_length=1, max_length=300)]
    options: Annotated[tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...], Field(min_length=3)]
    right: Annotated[int, Field(ge=0)]
    because: Annotated[str, StringConstraints(min_length=1, max_length=300)]

    @model_validator(mode="after")
    def _has_its_right_option(self) -> Self:
        if self.right >= len(self.options) or len({*self.options}) < len(self.options):
            raise ValueError("options are different, and one of them is right")
        return self


class FrontMatter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    subject: Name
    topic: Name
    module: Name
    also: tuple[Name, ...] = ()
    summary: Annotated[str, StringConstraints(min_length=1, max_length=300, strip_whitespace=True)]
    order: Annotated[int, Field(ge=1, le=99)]
    source: Annotated[str, StringConstraints(min_length=1, max_length=300)] = "written by the Qwestly team"
    """Its address and a quote, if a page was read."""
    questions: tuple[Question, ...] = ()


def read_library(folder: Path) -> list[Module]:
    """Read every module in the folder. Raises `WrongUsage`, which names the first invalid file."""
    paths = sorted(folder.rglob("*.md")) if folder.is_dir() else []
    if not paths:
        raise WrongUsage(f"{folder}: there is no Markdown in it.")
    modules = [(path.relative_to(folder), _module(path, folder)) for path in paths]
    for problem in _problems(modules):
        raise WrongUsage(problem)
    return [module for _, module in modules]


def _module(path: Path, folder: Path) -> Module:
    where = path.relative_to(folder)
    try:
        found = _FRONT_MATTER.match(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise WrongUsage(f"{where}: it is no UTF-8.") from None
    if found is None:
        raise WrongUsage(f"{where}: it does not begin with front matter between two lines “---”.")
    try:
        front = FrontMatter.model_validate(yaml.safe_load(found["front"]))
    except yaml.YAMLError:
        raise WrongUsage(f"{where}: its front matter is no YAML.") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(map(str, first["loc"])) or "front matter"
        raise WrongUsage(f"{where}: {name}: {first['msg']}.") from None
    text = found["text"].strip()
    if not SHORTEST_TEXT <= len(text) <= LONGEST_TEXT:
        raise WrongUsage(f"{where}: its text has {len(text)} characters, not {SHORTEST_TEXT} to {LONGEST_TEXT}.")
    if missing := next((each.because for each in front.questions if find_span(each.because, text) is None), ""):
        raise WrongUsage(f"{where}: “{missing}” does not stand in its text.")
    return Module.model_validate(
        {**front.model_dump(), "id": f"{_slug(front.topic)}/{_slug(front.module)}", "title": front.module, "text": text}
    )


def _problems(modules: Sequence[tuple[Path, Module]]) -> Iterator[str]:
    """List problems of the files as a whole."""
    names: dict[str, tuple[str, Path]] = {}
    places: dict[tuple[str, int], Path] = {}
    for where, module in modules:
        here = {
            module.subject: f"the subject {module.subject}",
            module.topic: f"the topic {module.topic} of {module.subject}",
            **dict.fromkeys(module.also, f"the topic {module.topic} of {module.subject}"),
            module.title: f"the module {module.title} of {module.topic} in {where}",
        }
        for name, what in here.items():
            other, there = names.setdefault(name.casefold(), (what, where))
            if other != what:
                yield f"{where}: “{name}” is {what}; in {there} it is {other}."
        if places.setdefault((module.topic, module.order), where) != where:
            yield f"{where}: order {module.order} of {module.topic} is taken by {places[module.topic, module.order]}."


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().casefold()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "module"


async def ingest(modules: Sequence[Module], topics: Topics) -> str:
    """Replace the library, and return a sentence about the changes."""
    changed, removed, left = await topics.replace_all(modules)
    return f"{changed} modules added or changed, {removed} removed, {left} unchanged."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=["ingest"])
    parser.add_argument("folder", type=Path, help="of Markdown")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    print(asyncio.run(run(read_library(arguments.folder), environment)))
    return 0


async def run(modules: Sequence[Module], environment: Mapping[str, str]) -> str:
    """Ingest the modules. Raises `InvalidSettings`."""
    settings: Any = database_settings(environment)
    async with make_mongo_client(settings.mongodb_uri) as mongo:
        return await ingest(modules, Topics(mongo[settings.mongodb_database]))
