"""Answer a chat as the scripted model: find what a message means among the intents of `intents/*.yaml`, and play it.

An intent is added by examples:

    - intent: find jobs
      can: find jobs on the boards                    # how an unsure answer names it, with `try`, a sentence to say
      try: Find me a job as product manager
      examples: [any jobs for me?, I am looking for work]
      words: [suche Stelle, busco trabajo]            # in other languages: few words that such a sentence has
      german: Als was?                                # the answer to a German message in place of `answers`; `spanish`
      slots: ["find (?:me )?(?P<query>.+?) jobs? in (?P<place>.+)"]
      calls:                                          # a request each; several tools in one are called at once
      - search_jobs: {query: "{query}", place: "{place}"}
      - save_job: {job_id: "{results.search_jobs.jobs.0.id}"}
      answers: ["Saved: {results.save_job.title}", "I found nothing in {place}."]

- `slots` are the few closed forms: regular expressions of a whole sentence, or of the whole message, without its end
  mark. They come before examples; those of an intent that is `weak` come after.
- Otherwise the intent with the nearest examples is meant: above `sure` it is played; between `unsure` and `sure` the
  user is asked which of the nearest two; below, the answer names the nearest two that it can do, in other words each
  time.
  `needs_sure` intents are never offered.
- `words` are meant, too, if a German or Spanish message has all of them, in whatever form; the longest count.
- The first part of a message that is understood is answered; others are named. What `gives_way` counts only alone.
- `states: true` is meant by what the notes' grammar (`model_memory.py`) takes for a statement of users on themselves.
- `to` is how the instructions of a role begin: there only that role's intents count. One without examples is the
  default of its role.
- Placeholders: `{slot}`, `{message}`, `{earlier}` (the user's previous message), `{results.TOOL.path.0.id}`;
  `{?results.…}` must exist, and adds nothing. A placeholder alone keeps the type.
- A step of `calls` whose values are missing is skipped; an argument `name?` is left out instead; a list of arguments is
  a call each; `null` fills the required parameters with the message. `answers`: the first whose placeholders all have
  values; without any, `model_answers` describes the results.
- `function`: one of `model_functions.CHATS`, if data do not suffice: it takes all values by name, and returns an
  answer, tool → arguments, or nothing, in which case `answers` decide.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, TypeAdapter, ValidationError, model_validator

from infra.local.model_embedding import has_words, language_of, phrase_embedding
from infra.local.model_functions import CHATS
from infra.local.model_memory import note_of

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Vector: TypeAlias = "np.ndarray[Any, Any]"

INTENTS = Path(__file__).with_name("intents")
ENDING = " \t\r\n.!…,;"
LONGEST_PART, MOST_PARTS = 300, 12
"""Maximum number of characters of a message's part, and of parts, that are considered."""
NEVER = -9.0
INTERVIEWER = "You interview one person"


class IntentError(Exception):
    """An intent is invalid: file and reason."""


class Intent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    intent: str
    to: str = ""
    can: str = ""
    try_: str = ""
    examples: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    slots: tuple[re.Pattern[str], ...] = ()
    weak: bool = False
    needs_sure: bool = False
    calls: tuple[dict[str, Object | list[Object] | None], ...] = ()
    answers: Annotated[
        tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
    ] = ()
    german: str = ""
    spanish: str = ""
    states: bool = False
    gives_way: bool = False
    function: str = ""

    @model_validator(mode="before")
    @classmethod
    def _compiled(cls, given: Json) -> Json:
        if not isinstance(given, dict):
            return given
        slots = (re.compile(rf"(?:please |pls |bitte |por favor )?(?:{each})", re.I) for each in given.get("slots", ()))
        renamed = {"try_" if key == "try" else key: value for key, value in given.items()}
        return {**renamed, "slots": tuple(slots)}

    @model_validator(mode="after")
    def _can_be_played(self) -> "Intent":
        if not (self.answers or self.calls or self.function):
            raise ValueError("it needs `answers`, `calls` or a `function`")
        if not (self.examples or self.words or self.slots or self.to or self.states):
            raise ValueError("it needs `examples`, `words`, `slots` or a role (`to`)")
        if self.function and self.function not in CHATS:
            raise ValueError(f"there is no function “{self.function}”: there is {', '.join(CHATS)}")
        return self

    @property
    def tools(self) -> set[str]:
        return {tool for step in self.calls for tool in step}

    def said_in(self, part: str) -> Object | None:
        """Return the slots of a closed form; None if none matches."""
        if self.states:
            return {} if note_of(part) else None
        plain = part.replace("’", "'").strip().rstrip(ENDING)
        found = next((match for each in self.slots if (match := each.fullmatch(plain))), None)
        if found is None:
            return None
        # Slots keep the user's own characters: the replacement above does not change positions.
        start = len(part) - len(part.lstrip())
        spans = {name: found.span(name) for name, value in found.groupdict().items() if value}
        return {name: part[start + a : start + b].strip(f"{ENDING}“”\"'") for name, (a, b) in spans.items()}


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    intents: list[Intent] = []
    results: dict[str, str | list[str]] = {}


@dataclass(frozen=True)
class Meaning:
    """An embedding for comparing messages with examples, and its score thresholds."""

    embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]
    sure: float
    unsure: float
    learns: bool = False
    """Whether all examples of an intent count together (kernel ridge regression), or only the nearest."""


WORDS = Meaning(lambda texts: [*map(phrase_embedding, texts)], sure=0.62, unsure=0.45)
"""The scripted vectors: words and letters, in any language."""
OTHER_LANGUAGES = replace(WORDS, sure=0.72, unsure=0.5)
"""With an embedding that understands meaning, words decide only if most of them are equal."""


def by_meaning(embed: Callable[[Sequence[str]], Sequence[Sequence[float]]]) -> Meaning:
    """Return the comparison by all-MiniLM-L6-v2."""
    return Meaning(embed, sure=0.18, unsure=0.1, learns=True)


@dataclass(frozen=True)
class Played:
    text: str = ""
    calls: Sequence[tuple[str, Object | None]] = ()
    """Tools and their arguments; None stands for the required parameters."""
    after: str = ""
    """Text after an answer that is composed from the results."""


@dataclass(frozen=True)
class Chat:
    instructions: str
    said: Sequence[str]
    """The user's messages, newest last."""
    offered: Collection[str] = ()
    results: Sequence[tuple[str, str]] = ()
    """Tool names and results since the user's last message."""
    answered: Sequence[str] = ()
    """The earlier answers of this conversation."""


@dataclass(frozen=True)
class Found:
    intent: Intent
    part: str
    slots: Object = field(default_factory=dict)
    score: float = 1.0


class _Examples:
    """Examples and their embeddings."""

    def __init__(self, pairs: Sequence[tuple[Intent, str]], meaning: Meaning) -> None:
        names, self._meaning = [each.intent for each, _ in pairs], meaning
        vectors = np.asarray(meaning.embed([text for _, text in pairs]))
        self._intents = list(dict.fromkeys(names))
        # By dimension: few of a scripted vector's are not 0.
        self._by_dimension = np.ascontiguousarray(vectors.T)
        self._starts = [names.index(each) for each in self._intents]
        if pairs and meaning.learns:
            targets = np.asarray([[name == each for each in self._intents] for name in names], float)
            self._weights = np.linalg.solve(_kernel(vectors @ vectors.T) + RIDGE * np.eye(len(pairs)), targets)

    def scores(self, part: str) -> Iterator[tuple[str, float]]:
        """Yield each intent with its score: 1 and more is certain, 0 and less is not even near."""
        if not self._intents:
            return
        meaning, vector = self._meaning, np.asarray(self._meaning.embed([part])[0])
        used = np.flatnonzero(vector)
        cosines = vector[used] @ self._by_dimension[used]
        learned = meaning.learns
        scores = _kernel(cosines) @ self._weights if learned else np.maximum.reduceat(cosines, self._starts)
        yield from zip(self._intents, (scores - meaning.unsure) / (meaning.sure - meaning.unsure), strict=True)


RIDGE = 0.3


def _kernel(cosines: Vector) -> Vector:
    """Return a kernel by which near examples count much more than distant ones."""
    return np.maximum(cosines, 0.0) ** 3


@dataclass(frozen=True)
class Intents:
    """All intents, compared by an embedding."""

    intents: Sequence[Intent]
    results: Mapping[str, str | list[str]]
    meaning: Meaning = WORDS

    @cached_property
    def _examples(self) -> Mapping[str, "_Examples"]:
        """The examples by role."""
        return {
            role: _Examples(
                [(each, text) for each in self.intents if each.to == role for text in each.examples], self.meaning
            )
            for role in {each.to for each in self.intents}
        }

    @cached_property
    def _words(self) -> Mapping[str, "_Examples"]:
        """The examples, including those of other languages, by role."""
        meaning = WORDS if self.meaning is WORDS else OTHER_LANGUAGES
        pairs = [(each, text) for each in self.intents for text in (*each.examples, *each.words)]
        roles = {each.to for each in self.intents}
        return {role: _Examples([each for each in pairs if each[0].to == role], meaning) for role in roles}

    def warm(self) -> None:
        """Embed all examples."""
        _ = self._words if self.meaning is WORDS else (self._examples, self._words)

    def of_role(self, chat: Chat) -> list[Intent]:
        of_role = [each for each in self.intents if each.to and chat.instructions.startswith(each.to)]
        of_all = [each for each in self.intents if not each.to]
        return [each for each in of_role or of_all if not each.tools or each.tools & {*chat.offered}]

    def ranked(self, part: str, among: Sequence[Intent]) -> list[tuple[float, Intent]]:
        """Return the intents by score, best first. A score of 1 is certain."""
        scores: dict[str, float] = {}
        for role in {each.to for each in among}:
            # If only words are compared, the examples are included in those of other languages.
            by_meaning = () if self.meaning is WORDS else (self._examples[role],)
            for examples in (*by_meaning, self._words[role]):
                for name, score in examples.scores(part):
                    scores[name] = max(float(score), scores.get(name, float(score)))
        if language_of(part) != "english":
            for each in among:
                found = (len(text) for text in each.words if not each.to and has_words(part, text))
                scores[each.intent] = max(scores.get(each.intent, NEVER), *(1.0 + size / 100 for size in found), NEVER)
        return sorted(((scores.get(each.intent, NEVER), each) for each in among), key=lambda each: -each[0])

    def meant_by_an_interviewee(self, message: str) -> str:
        """Return the name of the certain intent of an interview message; empty if there is none."""
        found = self._strong(message, [each for each in self.intents if each.to == INTERVIEWER and _has_examples(each)])
        return found.intent.intent if found else ""

    def play(self, chat: Chat) -> Played | None:
        """Return the next step of a chat; None if the results are to be described."""
        among = self.of_role(chat)
        message, _ = typed_and_context(chat.said[-1])
        reported = _by_slots(chat.said[-1], [each for each in among if each.function == "tell_decisions"])
        found = [reported] if reported else self._found(message, among)
        if not found and (default := next((each for each in among if each.to and not _has_examples(each)), None)):
            found = [Found(default, message)]
        if not found:
            return None if chat.results else Played(self._unsure(chat, among))
        first, *others = found
        also = dict.fromkeys(each.intent.try_ for each in others if each.intent.try_)
        after = "".join(f"\n\nOne thing at a time: for the rest, say {_and(map(_quoted, also))}." if also else "")
        is_its_own = first.intent.tools.issuperset(tool for tool, _ in chat.results) or first.intent.function
        played = _next(first, chat) if is_its_own else None
        return Played("", (), after) if played is None else Played(_joined(played.text, after), played.calls, after)

    def _found(self, message: str, among: Sequence[Intent]) -> list[Found]:
        """Return the meanings of a message's parts, each intent once; empty if nothing is certain."""
        parts = parts_of(message)
        if by_form := _by_slots(message, [each for each in among if not each.weak]):
            return [by_form]
        found = [each for part in parts if (each := self._strong(part, among))]
        if len(found) < 2 and len(clauses := clauses_of(message)) > len(parts):
            of_clauses = [each for clause in clauses if (each := self._strong(clause, among))]
            found = of_clauses if len({each.intent.intent for each in of_clauses}) > 1 else found or of_clauses
        whole = self._strong(message[:LONGEST_PART], among) if len(parts) > 1 and len(found) < 2 else None
        found = [whole] if whole else found
        if not found and "?" not in message:
            found = [weak for each in parts if (weak := _by_slots(each, [i for i in among if i.weak]))][:1]
        once = list({each.intent.intent: each for each in reversed(found)}.values())[::-1]
        return [each for each in once if not each.intent.gives_way] or once[:1]

    def _strong(self, part: str, among: Sequence[Intent]) -> Found | None:
        if by_form := _by_slots(part, [each for each in among if not each.weak]):
            return by_form
        [*ranked] = self.ranked(part, among)[:2]
        if not ranked or ranked[0][0] < 1.0:
            return None
        return Found(ranked[0][1], part, score=ranked[0][0])

    def _unsure(self, chat: Chat, among: Sequence[Intent]) -> str:
        """Ask which of two intents is meant, or name the nearest two, never in words that were used before."""
        before = "\n".join(chat.answered)
        ranked = [(score, each) for score, each in self.ranked(typed_and_context(chat.said[-1])[0], among) if each.try_]
        fresh = [(score, each) for score, each in ranked if each.try_ not in before] or ranked
        if fresh and fresh[0][0] > 0.0 and not fresh[0][1].needs_sure:
            openings, near = _DID_YOU_MEAN, [each for score, each in fresh if score > 0.0][:2]
        else:
            openings, near = _CANNOT, [each for _, each in (*fresh, *ranked) if not each.needs_sure]
        near = list({each.intent: each for each in near}.values())[:2]
        said = next((each for each in openings if each not in before), openings[len(chat.answered) % len(openings)])
        return "\n".join([said, "", *(f"- “{each.try_}”: I can {each.can}" for each in near)]).strip()


_DID_YOU_MEAN = (
    "Did you mean this?",
    "I am not sure that I understood. Is it one of these?",
    "Which of these comes near to it?",
    "Is this what you are after?",
)
_CANNOT = (
    "A script answers in this demo, and that is not in it. The nearest that I can do:",
    "That one I cannot do here. What comes nearest to it:",
    "I have no answer to that in this demo. I could offer this instead:",
    "The script of this demo ends there. Would one of these help?",
    "Sorry, that goes beyond this demo. Two things that I do know:",
    "I would need a real model for that. Without one I can do this:",
)


def load(folder: Path = INTENTS, meaning: Meaning = WORDS) -> Intents:
    """Load all files as one. Raises `IntentError`."""
    files = [_load(path) for path in sorted(folder.glob("*.yaml"))]
    intents = [each for file in files for each in file.intents]
    names = [each.intent for each in intents]
    if twice := [name for name in names if names.count(name) > 1]:
        raise IntentError(f"“{twice[0]}” stands twice")
    return Intents(intents, {tool: told for each in files for tool, told in each.results.items()}, meaning)


def _load(path: Path) -> _File:
    try:
        return TypeAdapter(_File).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")) or {})
    except (yaml.YAMLError, ValidationError, re.error) as error:
        raise IntentError(f"{path.name}: {error}") from None


_NEWS = re.compile(r"<approval_news>.*?</approval_news>\s*", re.DOTALL)


def typed_and_context(message: str) -> tuple[str, str]:
    """Split a message into the user's text and the state that the product adds below it. Decisions reported above the
    text are left out, unless there is nothing else."""
    message = _NEWS.sub("", message).strip() or message
    found = re.search(r"\s*<(?:interview|learning)>", message)
    return (message[: found.start()], message[found.start() :]) if found else (message, "")


def parts_of(message: str) -> list[str]:
    """Return the sentences of a message."""
    parts = re.split(r"(?<=[.!?…])\s+|\n+", message, maxsplit=MOST_PARTS)[:MOST_PARTS]
    return [part.strip()[:LONGEST_PART] for part in parts if part.strip(ENDING)]


def clauses_of(message: str) -> list[str]:
    """Return the sentences of a message, split where one request follows another."""
    clauses = re.split(
        r"(?<=[.!?…])\s+|\n+|;|,? (?:and|und|y)? ?(?:then|also|btw|dann|außerdem|luego|además)\b|, (?:and|und|y) ",
        message,
    )
    return [clause.strip()[:LONGEST_PART] for clause in clauses[:MOST_PARTS] if len(clause.split()) > 2]


def _has_examples(intent: Intent) -> bool:
    return bool(intent.examples or intent.words or intent.slots)


def _by_slots(part: str, among: Sequence[Intent]) -> Found | None:
    said = ((each, each.said_in(part)) for each in among)
    return next((Found(each, part, slots) for each, slots in said if slots is not None), None)


def _next(found: Found, chat: Chat) -> Played | None:
    message, context = typed_and_context(chat.said[-1])
    names: Object = {
        "message": message,
        "context": context,
        "reply": (*found.intent.answers, "")[0],
        "language": language_of(message),
        "part": found.part.strip().rstrip(ENDING),
        "results": {tool: object_in(result) for tool, result in chat.results},
        **({"earlier": typed_and_context(chat.said[-2])[0]} if len(chat.said) > 1 else {}),
        **found.slots,
    }
    done = [tool for tool, _ in chat.results]
    for step in found.intent.calls:
        if ran := {*step} & {*done}:
            for tool in ran:
                done.remove(tool)
        elif calls := list(_calls({tool: step[tool] for tool in step if tool in chat.offered}, names)):
            return Played(calls=calls)
    if found.intent.function:
        answer = CHATS[found.intent.function]({**names, "said": chat.said, "answered": chat.answered})
        if isinstance(answer, str):
            return Played(answer)
        if left := [(tool, given) for tool, given in answer.items() if tool not in done and tool in chat.offered]:
            return Played(calls=left)
    translated = {"german": found.intent.german, "spanish": found.intent.spanish}.get(names["language"], "")
    said = fill_first((translated, *found.intent.answers), names)
    return None if said is None else Played(said)


def _calls(step: Mapping[str, Object | list[Object] | None], names: Object) -> Iterator[tuple[str, Object | None]]:
    """Yield a step's calls; none if a required value is missing."""
    calls: list[tuple[str, Object | None]] = []
    for tool, arguments in step.items():
        if arguments is None:
            calls.append((tool, None))
            continue
        given = arguments if isinstance(arguments, list) else [arguments]
        filled = [each for one in given if (each := fill_or_none(one, names)) is not None]
        if not filled:
            return
        calls += [(tool, each) for each in filled]
    yield from calls


def _joined(text: str, after: str) -> str:
    return f"{text}{after}" if text else ""


def _quoted(text: str) -> str:
    return f"“{text}”"


def _and(items: Iterator[str]) -> str:
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


# --- placeholders -----------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"\{(\??)([a-z_]+(?:\.\w+)*)\}")


class _Missing(Exception):
    pass


def fill_or_none(template: Json, names: Mapping[str, Json]) -> Json:
    """Fill in the placeholders; None if a value is missing."""
    try:
        return _filled(template, names)
    except _Missing:
        return None


def fill_first(templates: Sequence[str], names: Mapping[str, Json]) -> Json:
    """Return the first template that can be filled in, or None."""
    return next((text for each in templates if (text := fill_or_none(each, names)) not in (None, "")), None)


def _filled(template: Json, names: Mapping[str, Json]) -> Json:
    match template:
        case str() if (alone := _PLACE.fullmatch(template)) and not alone[1]:
            return _at(names, alone[2])
        case str():
            return _PLACE.sub(lambda place: str(_at(names, place[2]))[: 0 if place[1] else None], template)
        case list():
            return [_filled(each, names) for each in template]
        case dict():
            filled = {
                key: (_filled if not key.endswith("?") else fill_or_none)(each, names) for key, each in template.items()
            }
            return {key.removesuffix("?"): each for key, each in filled.items() if each is not None}
        case _:
            return template


def _at(value: Json, path: str) -> Json:
    try:
        for key in path.split("."):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (LookupError, ValueError, TypeError):
        raise _Missing(path) from None
    return value


def object_in(text: str) -> Object:
    """Return the first JSON object in a tool's result, or an empty one."""
    return next((value for value in json_in(text) if isinstance(value, dict)), {})


_JSON_START = re.compile(r"[\[{]")


def json_in(text: str) -> list[Json]:
    """Return each JSON object and each non-numeric array in the text, from left to right."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while (start := _JSON_START.search(text, at)) is not None:
        try:
            value, at = decoder.raw_decode(text, start.start())
            # A number in brackets is a footnote.
            if not (isinstance(value, list) and any(isinstance(item, int | float) for item in value)):
                values.append(value)
        except json.JSONDecodeError:
            at = start.start() + 1
    return values
