"""Play whole conversations until they end by themselves: a simulated person answers the questions, and the draft is
written after each answer as its workflow does. The conversation as a whole is checked rather than single turns."""

import asyncio
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from evals.outcomes import Outcome
from evals.played import Played
from evals.stage import SECONDS_A_TURN, Begun, Stage
from evals.talks import FOLDER, Answers, Step
from infra.local.environment import SafeLoader
from qwestly_agent.base.errors import AgentError
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.domain.interview import Interview
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.interviews.model import DraftState
from qwestly_agent.interviews.reader import decide, write
from qwestly_agent.interviews.writer import keep
from qwestly_agent.services import ModelServices
from qwestly_agent.stores import conversations
from tests.servers import Client

FILE = FOLDER / "interviews/whole.yaml"
NAME = "whole talks"
LESSON = "lesson"
"""How a conversation of the role `learning` ends: a lesson was started."""
_QUESTION = re.compile(r"[^.!?？؟\n]*[?？؟]")
_QUOTED = re.compile(r"“([^”]*)”")
_PRAISE = re.compile(
    r"\b(?:great|excellent|awesome|amazing|fantastic|wonderful|brilliant|perfect|good|lovely) (?:choice|question|idea"
    r"|topic|pick|start|job|work)|\bwell done|\bcongratulations|(?:^|[.!?] )(?:great|perfect|excellent|awesome)[.,!]"
    r"|(?:tolle|gute) (?:wahl|frage|idee)|gut gemacht|excellente? (?:choix|question|idée)"
    r"|(?:excelente|buena) (?:elección|pregunta|idea)|(?:excelente|boa|ótima) (?:escolha|pergunta|ideia)",
    re.IGNORECASE,
)
_UNDER_A_CARD = re.compile(r"[^.!?\n]*\? You can answer yes or no\.")
"""The question by code under a card."""
_OPENING_WORDS = 5


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Told(Strict):
    """A subject about which the person answers if asked."""

    name: str
    to: str
    """A pattern that matches the questions it answers."""
    says: tuple[str, ...]
    """Its answers, given one after the other."""


class Case(Strict):
    case: str
    role: str = "interview"
    opens: str
    tells: tuple[Told, ...]
    otherwise: str
    """The answer to every other question."""
    ends: tuple[str, ...]
    """The permitted ends."""
    most_turns: int = 16
    drafts: tuple[str, ...] = ()
    """Patterns that the draft must match."""
    not_drafts: tuple[str, ...] = ()


@dataclass
class Talk:
    """A played conversation: its messages, and the draft written from them."""

    said: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    covered: list[frozenset[str]] = field(default_factory=list)
    """By turn: the subjects already covered by the draft before the answer."""
    ended: str = ""
    interview: Interview | None = None
    problems: list[str] = field(default_factory=list)
    receipts: Sequence[Mapping[str, Any]] = ()


def load() -> list[Case]:
    read = yaml.load(FILE.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    return [Case.model_validate(each) for each in read["cases"]]


def play_whole_talks(stage: Stage, samples: int, answers: Answers | None) -> Played:
    """Play all cases. With `answers` no model is called, and a case without answers is skipped."""
    played = Played()
    for case in load():
        if answers is not None and case.case not in answers:
            played.wanting[f"{NAME}: {case.case}"] = "answers that can be played"
            continue
        given = answers[case.case] if answers is not None else [()] * samples
        for sample, steps in enumerate(given[:samples]):
            begun = time.perf_counter()
            talk, recorded = _talked(stage, case, steps)
            problems = problems_of(case, talk)
            played.answers.setdefault(case.case, []).append(recorded or list(steps))
            costs = [each.get("cost_usd") or 0 for each in talk.receipts]
            last = talk.receipts[-1] if talk.receipts else {}
            played.outcomes.append(
                Outcome(
                    dataset=NAME,
                    case=case.case,
                    group=case.role,
                    sample=sample,
                    source="live" if answers is None else "replayed",
                    passed=not problems,
                    problems=tuple(problems),
                    cost_usd=sum(costs) / len(costs) if costs else None,
                    total_ms=1000 * (time.perf_counter() - begun),
                    model=", ".join(last.get("models", ())),
                    prompt_version=last.get("prompt_version", ""),
                    design=last.get("design", ""),
                )
            )
    return played


# --- the talk ---------------------------------------------------------------------------------------------------------


def _talked(stage: Stage, case: Case, recorded: Sequence[Step]) -> tuple[Talk, list[Step]]:
    """Play the conversation until it ends by itself. Returns the conversation and the model's answers."""
    talk, left = Talk(), {each.name: list(each.says) for each in case.tells}
    stage.script(recorded)
    stage.relay.recorded_steps.clear()
    conversation: str | None = None
    with asyncio.Runner() as runner, Client(stage.chat.url, f"auth0|{uuid.uuid4().hex}") as person:
        services = runner.run(bootstrap_models(stage.chat.settings))
        person.http.timeout = SECONDS_A_TURN
        line = case.opens
        for _ in range(case.most_turns):
            stage.begun.clear()
            answer = person.say(line, conversation, **({} if conversation else {"role": case.role}))
            conversation = answer.conversation_id
            talk.covered.append(_covered(case, talk, left))
            talk.said.append(line)
            talk.answers.append(answer.text)
            if answer.last.name != "done":
                talk.problems.append(f"turn {len(talk.said)} ended with {answer.last.name}")
                break
            talk.problems += runner.run(write_draft(services, stage.begun, len(talk.said)))
            kept = stage.database[conversations.COLLECTION].find_one({"user_id": person.user_id}) or {}
            talk.interview = Interview.model_validate(kept["interview"]) if kept.get("interview") else None
            talk.ended = end_of(talk.interview, stage.begun)
            if talk.ended:
                break
            line = next_line(case, answer.text, left)
        runner.run(services.close())
        messages = person.get(f"/api/conversations/{conversation}")["messages"]
        talk.receipts = [each["receipt"] for each in messages if each.get("receipt")]
    stage.script(())
    return talk, list(stage.relay.recorded_steps)


async def write_draft(services: ModelServices, begun: Sequence[Begun], turn: int) -> list[str]:
    """Write the draft as the workflow `write_draft` does. Returns the problems, if it failed."""
    for given in (each.given for each in begun if each.name.startswith("interview-")):
        try:
            after = await decide.work(services, DraftState.model_validate(given))
            after = after if after.overtaken else await write.work(services, after)
            if not after.overtaken:
                await keep.work(services, after)
        except AgentError as error:
            return [f"the draft of turn {turn} was not written: {type(error).__name__}"]
    return []


def end_of(interview: Interview | None, begun: Sequence[Begun]) -> str:
    if interview and interview.ended and interview.ended.told_to is not None:
        return interview.ended.reason
    return LESSON if any(each.name.startswith("lesson-") for each in begun) else ""


def next_line(case: Case, answer: str, left: Mapping[str, list[str]]) -> str:
    """Choose the person's next answer: the first unused subject that the question is about."""
    asked = " ".join(questions_in(answer))
    told = next((each for each in case.tells if left[each.name] and re.search(each.to, asked, re.IGNORECASE)), None)
    return left[told.name].pop(0) if told else case.otherwise


def _covered(case: Case, talk: Talk, left: Mapping[str, list[str]]) -> frozenset[str]:
    """Return the subjects that were answered in full and, if there is a draft, are partly in it."""
    draft = talk.interview.draft if talk.interview else ()
    quotes = [quote.text for each in draft for quote in each.quotes]
    told = [each for each in case.tells if not left[each.name]]
    in_draft = [each for each in told if any(find_span(quote, line) for quote in quotes for line in each.says)]
    return frozenset(each.name for each in (told if case.role == "learning" else in_draft))


# --- what is looked at ------------------------------------------------------------------------------------------------


def problems_of(case: Case, talk: Talk) -> list[str]:
    manner = manner_of(talk.answers) if case.role == "learning" else ""
    parts = (*_of_questions(case, talk), *_of_end(case, talk), *_of_draft(case, talk))
    return [*talk.problems, *parts, *([manner] if manner else [])]


def manner_of(answers: Sequence[str]) -> str:
    """Count praise, exclamation marks and repeated openings in the answers of a conversation; empty if there are none.
    The prompt alone asks for this manner: code changes no answer."""
    openings = [" ".join(re.findall(r"\w+", each.casefold())[:_OPENING_WORDS]) for each in answers]
    counts = {
        "praise": sum(bool(_PRAISE.search(each)) for each in answers),
        "an exclamation mark": sum(bool(re.search("[!！]", each)) for each in answers),
        "an opening of before": len(openings) - len(set(openings)),
    }
    return ", ".join(f"{count} of {len(answers)} answers with {what}" for what, count in counts.items() if count)


def _of_questions(case: Case, talk: Talk) -> Iterator[str]:
    turns = zip(talk.answers, talk.covered, strict=True)
    asked_again = set[str]()
    for number, (answer, covered) in enumerate(turns, 1):
        questions = questions_in(answer)
        is_last = number == len(talk.answers) and bool(talk.ended)
        if len(questions) > 1 or (not questions and not is_last):
            yield f"asked {len(questions)} questions in turn {number}"
        if is_last and questions and case.role != "learning":
            yield "asked after its end"
        of = [each.name for each in case.tells if re.search(each.to, " ".join(questions), re.IGNORECASE)]
        if of and covered.issuperset(of) and not asked_again.issuperset(of):
            asked_again |= set(of)
            yield f"asked for {', '.join(of)} in turn {number}, which was told"


def _of_end(case: Case, talk: Talk) -> Iterator[str]:
    if not talk.ended:
        yield f"did not end in {len(talk.said)} turns"
    elif talk.ended not in case.ends:
        yield f"ended as {talk.ended} instead of {' or '.join(case.ends)}"
    topics = talk.interview.topics if talk.interview else ()
    if talk.ended and any(aspect.status == "covered" for topic in topics for aspect in topic.aspects):
        quotes = _QUOTED.findall(talk.answers[-1])
        if not any(find_span(quote, line) for quote in quotes for line in talk.said):
            yield "ended without a quote of what was told"


def _of_draft(case: Case, talk: Talk) -> Iterator[str]:
    draft = talk.interview.draft if talk.interview else ()
    for quote in (quote.text for each in draft for quote in each.quotes):
        if not any(find_span(quote, line) for line in talk.said):
            yield f"the draft quotes what was not said: “{quote}”"
    text = "\n".join(each.text for each in draft)
    yield from (f"the draft does not say “{each}”" for each in case.drafts if not re.search(each, text, re.IGNORECASE))
    yield from (f"the draft says “{each}”" for each in case.not_drafts if re.search(each, text, re.IGNORECASE))


def questions_in(answer: str) -> list[str]:
    """Return the questions of an answer, ignoring quotations and the one that code asks under a card."""
    return _QUESTION.findall(_QUOTED.sub("", _UNDER_A_CARD.sub("", answer)))
