"""Interview twelve people to the end, and play an onboarding: what an interviewer asks, answers and understands.

Each person answers the question, as in a whole talk, but also asks back, declines, corrects, and stops.
"""

import asyncio
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import yaml

from evals import whole_talks
from evals.first.hour import Hour, Unit
from evals.first.journal import Found
from evals.outcomes import Outcome
from evals.stage import SECONDS_A_TURN, Begun, Stage
from evals.talks import FOLDER
from evals.whole_talks import Strict, end_of, next_line, questions_in, write_draft
from infra.local.environment import SafeLoader
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.domain.interview import Interview
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.stores import conversations
from tests.servers import Client

FILE = FOLDER / "interviews/twelve.yaml"
ONBOARDING = "nurse"
"""One of the whole talks."""
FEWEST_WORDS = 4
"""Minimum words of an answer, besides those of the question."""
COMPLETE = ("covered", "out_of_topics")


class Aside(Strict):
    after: int
    """Number of answers of the person before it."""
    kind: Literal["asks", "refuses", "corrects"]
    says: str
    gone: str = ""
    """A pattern that the draft must not match after a correction."""


class Person(whole_talks.Case):
    ends: tuple[str, ...] = ()
    opening: tuple[str, ...] = ()
    """Names of the facts that the first message already tells."""
    asides: tuple[Aside, ...] = ()
    stop: str = ""


@dataclass(frozen=True)
class Exchange:
    said: str
    answer: str
    told: frozenset[str]
    """Names of all facts that the person has told so far."""
    aside: Aside | None
    is_news: bool
    """True if the message tells something that was asked about."""
    interview: Interview | None
    ended: str


@dataclass
class Talk:
    person: Person
    exchanges: list[Exchange] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    proposed: str = ""
    """The pending approval at the end, as JSON in lower case."""


def people() -> list[Person]:
    read = yaml.load(FILE.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    onboarding = next(each for each in whole_talks.load() if each.case == ONBOARDING)
    return [*(Person.model_validate(each) for each in read["cases"]), Person.model_validate(onboarding.model_dump())]


def interview_units(hour: Hour) -> Sequence[Unit]:
    _ = hour.stage  # before threads ask for it
    return [Unit(f"interviews/{each.case}", partial(_interview, hour, each)) for each in hour.some(people())]


def _interview(hour: Hour, person: Person) -> Found:
    return Found(list(outcomes_of(talk_with(hour.stage, hour.gateway.base_url, person))))


def talk_with(stage: Stage, model_url: str, person: Person) -> Talk:
    """Play until the interview ends. Several can be played at once."""
    talk, left = Talk(person), {each.name: list(each.says) for each in person.tells}
    for name in person.opening:
        left[name].clear()
    conversation: str | None = None
    with asyncio.Runner() as runner, Client(stage.chat.url, f"auth0|{uuid.uuid4().hex}") as client:
        client.http.timeout = SECONDS_A_TURN
        services = runner.run(bootstrap_models(replace(stage.chat.settings, model_base_url=model_url)))
        asides, line, aside, is_news = list(person.asides), person.opens, None, True
        for turn in range(1, person.most_turns + 1):
            before = len(stage.begun)
            answer = client.say(line, conversation, **({} if conversation else {"role": person.role}))
            conversation = answer.conversation_id
            if answer.last.name != "done":
                talk.problems.append(f"turn {turn} ended with {answer.last.name}")
                break
            talk.problems += runner.run(write_draft(services, _begun_of(stage, before, client.user_id), turn))
            kept = stage.database[conversations.COLLECTION].find_one({"user_id": client.user_id}) or {}
            interview = Interview.model_validate(kept["interview"]) if kept.get("interview") else None
            told = frozenset(name for name, lines in left.items() if not lines)
            ended = end_of(interview, ())
            talk.exchanges.append(Exchange(line, answer.text, told, aside, is_news, interview, ended))
            if ended or line == person.stop:
                break
            if asides and asides[0].after <= turn:
                aside, is_news = asides.pop(0), False
                line = aside.says
            elif person.stop and not any(left.values()):
                aside, is_news, line = None, False, person.stop
            else:
                had = sum(map(len, left.values()))
                line = next_line(person, answer.text, left)
                aside, is_news = None, sum(map(len, left.values())) < had
        runner.run(services.close())
        talk.proposed = json.dumps(client.get("/api/approvals")["items"], ensure_ascii=False).lower()
    return talk


def _begun_of(stage: Stage, after: int, user_id: str) -> list[Begun]:
    return [each for each in stage.begun[after:] if each.given.get("user_id") == user_id]


# --- what is counted --------------------------------------------------------------------------------------------------


def outcomes_of(talk: Talk) -> Iterator[Outcome]:
    yield _outcome(talk, "interviews without an error", 0, not talk.problems, "; ".join(talk.problems))
    yield from _of_questions(talk)
    yield from _of_ends(talk)
    yield from _of_asides(talk)
    if talk.person.role == "onboarding":
        yield from _of_proposal(talk)


def _outcome(talk: Talk, dataset: str, turn: int, passed: bool, problem: str = "") -> Outcome:
    problems = () if passed or not problem else (problem,)
    group = talk.person.role
    case = f"{talk.person.case}/{turn}"
    return Outcome(dataset=dataset, case=case, group=group, source="live", passed=passed, problems=problems)


def _of_questions(talk: Talk) -> Iterator[Outcome]:
    asked = set[str]()
    for turn, each in enumerate(talk.exchanges, 1):
        if not (questions := questions_in(each.answer)):
            continue
        text = " ".join(questions).strip()
        yield _outcome(talk, "answers with one question", turn, len(questions) == 1, f"asked {len(questions)}")
        of = [told.name for told in talk.person.tells if re.search(told.to, text, re.IGNORECASE)]
        is_told = bool(of) and each.told.issuperset(of)
        yield _outcome(talk, "questions about something new", turn, not is_told, f"“{text}” asks what was told")
        words = " ".join(re.findall(r"\w+", text.casefold()))
        yield _outcome(talk, "questions asked once", turn, words not in asked, f"“{text}” was asked before")
        asked.add(words)


def _of_ends(talk: Talk) -> Iterator[Outcome]:
    for turn, each in enumerate(talk.exchanges, 1):
        if each.said == talk.person.stop:
            yield _outcome(talk, "stops that are heard", turn, bool(each.ended), f"“{each.said}” ended nothing")
        elif each.is_news:
            too_early = each.ended and each.ended not in COMPLETE
            yield _outcome(
                talk, "answers that end nothing", turn, not too_early, f"“{each.said}” ended it: {each.ended}"
            )


def _of_asides(talk: Talk) -> Iterator[Outcome]:
    last = next((each.interview for each in reversed(talk.exchanges) if each.interview), None)
    draft = last.draft if last else ()
    quotes = [quote.text for sentence in draft for quote in sentence.quotes]
    text = "\n".join(sentence.text for sentence in draft)
    for turn, each in enumerate(talk.exchanges, 1):
        if not (aside := each.aside):
            continue
        if aside.kind == "corrects":
            yield _outcome(
                talk, "corrections that hold", turn, not re.search(aside.gone, text, re.IGNORECASE), aside.says
            )
            continue
        stands = any(find_span(quote, aside.says) for quote in quotes)
        yield _outcome(talk, "questions and refusals kept out of the draft", turn, not stands, aside.says)
        if aside.kind == "asks":
            beside = each.answer
            for question in questions_in(beside):
                beside = beside.replace(question, " ")
            is_answered = len(beside.split()) >= FEWEST_WORDS
            yield _outcome(
                talk, "questions back that are answered", turn, is_answered, f"“{aside.says}”: “{each.answer}”"
            )


def _of_proposal(talk: Talk) -> Iterator[Outcome]:
    """Yield for each answer whether the proposed profile contains one of its figures or words of four or more
    letters."""
    said = {line for told in talk.person.tells for line in told.says}
    for turn, each in enumerate(talk.exchanges, 1):
        if each.said in said:
            words: list[Any] = re.findall(r"\w{4,}|\d+", each.said.lower())
            is_proposed = any(word in talk.proposed for word in words)
            yield _outcome(talk, "onboarding answers that are proposed", turn, is_proposed, f"“{each.said}” is not")
