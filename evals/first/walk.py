"""A newcomer's path through the whole local stack: résumé, known facts, onboarding, interview, stop, card, search,
document, typed yes."""

import json
import os
import re
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from evals.first.hour import Hour, Unit
from evals.first.journal import Found
from evals.outcomes import Outcome
from evals.stage import database_server, tied
from evals.suite import OF_MODELS
from evals.whole_talks import questions_in
from infra.local.environment import DEMO_DATABASE, ROOT, SafeLoader
from infra.local.ports import free_port
from tests.resume_files import LEFT, Page, column, pdf
from tests.servers import SECRET, Client

FILE = Path(__file__).parent / "newcomers.yaml"
START_SECONDS, STEP_SECONDS = 90, 150
MOST_TURNS = 18
LEAST_COVERED = 8
HEADLINE = "Builder of calm teams"


class Newcomer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    cv: tuple[str, ...]
    employers: tuple[str, ...]
    onboarding: Mapping[str, tuple[str, str]]
    """A pattern of questions and the answer, by field."""
    interview: tuple[str, ...]
    told: str
    """Words that belong on the card and into the draft."""
    stop: str
    title: str
    place: str


def newcomers() -> list[Newcomer]:
    read = yaml.load(FILE.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    return [Newcomer.model_validate(each) for each in read]


class CannotStart(Exception):
    """The stack did not start; has its last line."""


@contextmanager
def running_stack(environment: Mapping[str, str]) -> Iterator[str]:
    """Run the stack of `make run` with its own database; yields its address. Raises `CannotStart`."""
    port = free_port()
    given = {
        "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PYTHONUNBUFFERED": "1",
        "HOME": os.environ.get("HOME", "/"),
        "PORT": str(port),
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "MONGODB_DATABASE": DEMO_DATABASE,
        "MESSAGES_A_MINUTE": "1000",
        **environment,
    }
    with ExitStack() as stack:
        uri = stack.enter_context(database_server())
        said = stack.enter_context(tempfile.TemporaryFile("w+"))
        command = (sys.executable, "-m", "infra.local")
        whole = {**given, "MONGODB_URI": uri}
        process = stack.enter_context(tied(*command, cwd=ROOT, env=whole, stdout=said))
        until = time.monotonic() + START_SECONDS
        while "Ctrl-C" not in (words := os.pread(said.fileno(), 1_000_000, 0).decode(errors="replace")):
            if process.poll() is not None or time.monotonic() > until:
                raise CannotStart((words.strip().splitlines() or ["it said nothing"])[-1])
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"


class _Stack:
    """Started by the first unit that needs it."""

    def __init__(self, hour: Hour) -> None:
        self._hour, self._lock, self._url = hour, threading.Lock(), ""

    def check_time(self) -> None:
        """Raise `TimeoutError` once no more requests are sent."""
        if time.monotonic() > self._hour.gateway.until:
            raise TimeoutError("the walk's share of the time is used up")

    def url(self) -> str:
        with self._lock:
            if not self._url:
                named = {name.upper(): str(getattr(self._hour.settings, name)) for name in OF_MODELS}
                variables = {**named, **self._hour.gateway.variables}
                given = {name: value for name, value in variables.items() if value}
                self._url = self._hour.exits.enter_context(running_stack(given))
            return self._url


def walk_units(hour: Hour) -> Sequence[Unit]:
    stack = _Stack(hour)
    return [Unit(f"walk/{each.name}", partial(_walked, stack, each)) for each in hour.some(newcomers())]


def _walked(stack: _Stack, person: Newcomer) -> Found:
    url = stack.url()
    with Client(url, f"auth0|{uuid.uuid4().hex}") as client:
        client.http.timeout = STEP_SECONDS
        road, outcomes = Road(client, person), list[Outcome]()
        for step in STEPS:
            problem = _problem_of(step, road)
            stack.check_time()
            case = f"{person.name}/{step.__name__}"
            told = (problem,) if problem else ()
            outcomes.append(
                Outcome(dataset="steps of newcomers", case=case, source="live", passed=not problem, problems=told)
            )
    return Found(outcomes)


def _problem_of(step: "Callable[[Road], str]", road: "Road") -> str:
    try:
        return step(road)
    except Exception as error:  # the next steps are tried nevertheless
        return f"{type(error).__name__}: {error}"[:200]


class Road:
    """The steps of one person. Each returns a problem, or nothing."""

    def __init__(self, client: Client, person: Newcomer) -> None:
        self.client, self.person, self.talk = client, person, ""

    def resume(self) -> str:
        sheet = Page()
        column(sheet, LEFT, [(line, 10) for line in self.person.cv], 90)
        file = {"content": pdf([sheet]), "params": {"name": "cv.pdf"}}
        number = self.client.request("POST", "/api/resumes", **file).raise_for_status().json()["id"]
        read = self._when(f"/api/resumes/{number}", lambda it: it["status"] in ("proposed", "done", "failed"))
        missing = [each for each in self.person.employers if each not in json.dumps(read, ensure_ascii=False)]
        if read["status"] == "failed":
            return "the résumé could not be read"
        return f"employers are missing: {', '.join(missing)}" if missing else ""

    def known(self) -> str:
        answer = self.client.say("What do you know about me?").text
        is_named = any(each in answer for each in self.person.employers)
        return "" if is_named else f"the answer names no employer: {answer[:120]}"

    def onboarding(self) -> str:
        answer = self.client.say("Hi!", role="onboarding")
        conversation, left = answer.conversation_id, dict(self.person.onboarding)
        for _ in range(MOST_TURNS):
            if self._interview(conversation).get("ended"):
                break
            asked = " ".join(questions_in(answer.text))
            name = next((name for name, (to, _) in left.items() if re.search(to, asked, re.IGNORECASE)), None)
            answer = self.client.say(left.pop(name)[1] if name else "I don't know, next one please", conversation)
        topics = self._interview(conversation).get("topics", ())
        covered = sum(aspect["status"] == "covered" for topic in topics for aspect in topic["aspects"])
        proposed = json.dumps(self.client.get("/api/approvals")["items"], ensure_ascii=False).lower()
        answers = [said for name, (_, said) in self.person.onboarding.items() if name not in left]
        inside = sum(any(word in proposed for word in re.findall(r"\w{4,}|\d+", each.lower())) for each in answers)
        if covered >= LEAST_COVERED and inside >= LEAST_COVERED:
            return ""
        return f"{covered} aspects are covered, and {inside} of {len(answers)} answers are proposed"

    def interview(self) -> str:
        opening = self.client.say("Interview me", role="interview")
        self.talk, asked = opening.conversation_id, [opening.text]
        for said in self.person.interview:
            answer = self.client.say(said, self.talk).text
            if answer in asked:
                return f"asked again: {answer[:80]}"
            asked.append(answer)
            if self._interview(self.talk).get("ended"):
                return f"“{said}” ended it"
        draft = " ".join(each["text"] for each in self._interview(self.talk).get("draft", ()))
        return "" if self.person.told.lower() in draft.lower() else f"“{self.person.told}” is not in the draft"

    def stop(self) -> str:
        self.client.say(self.person.stop, self.talk)
        return "" if self._interview(self.talk).get("ended") else f"“{self.person.stop}” did not end it"

    def card(self) -> str:
        for each in self.client.get("/api/approvals")["items"]:
            decision = {"decision": "approve", "args_digest": each.get("args_digest")}
            self.client.request("POST", f"/api/approvals/{each['approval_id']}/decision", json=decision)
        told = self.client.say("Draft my Qwestly Card").events
        begun = (each.data["data"]["draft_id"] for each in told if "draft_id" in str(each.data.get("data")))
        if not (draft := next(begun, None)):
            return "no draft was begun"
        read = self._when(f"/api/drafts/{draft}", lambda it: it["status"] not in ("running", "starting"))
        text = json.dumps(read.get("content"), ensure_ascii=False).lower()
        missing = [each for each in (self.person.employers[0], self.person.told) if each.lower() not in text]
        return f"{read['status']}, without {', '.join(missing)}" if missing else ""

    def search(self) -> str:
        wishes = {"titles": [self.person.title], "places": [self.person.place]}
        body = {"is_on": True, "wishes": wishes}
        self.client.request("PUT", "/api/jobs/settings", json=body).raise_for_status()
        self.client.request("POST", "/api/jobs/search").raise_for_status()
        found = self._when("/api/jobs", lambda it: not it["is_searching"])
        return "" if found["items"] else "no job was found"

    def document(self) -> str:
        jobs = self.client.get("/api/jobs")["items"]
        if not jobs:
            return "there is no job to write for"
        asked = self.client.request("POST", f"/api/jobs/{jobs[0]['id']}/documents", json={"kind": "resume"})
        number = asked.raise_for_status().json()["id"]
        self._when(f"/api/documents/{number}", lambda it: it["status"] != "writing")
        file = self.client.request("GET", f"/api/documents/{number}/download", params={"format": "md"})
        head = file.raise_for_status().text.splitlines()[0]
        return "" if self.person.name.lower() in head.lower() else f"is headed {head!r}"

    def typed_yes(self) -> str:
        asked = self.client.say(f"Change my headline to {HEADLINE}")
        self.client.say("yes", asked.conversation_id, answers=asked.id)
        waiting = self.client.get("/api/approvals")["items"]
        return "the change still waits" if any(HEADLINE in json.dumps(each) for each in waiting) else ""

    def _interview(self, conversation: str) -> Any:
        return self._when(f"/api/interviews/{conversation}", lambda it: not it.get("is_writing"))

    def _when(self, path: str, is_done: Callable[[Any], bool]) -> Any:
        """Return the response of the path once it is done, or its last one."""
        until = time.monotonic() + STEP_SECONDS
        while not is_done(shown := self.client.get(path)) and time.monotonic() < until:
            time.sleep(0.2)
        return shown


STEPS: Sequence[Callable[[Road], str]] = (
    Road.resume,
    Road.known,
    Road.onboarding,
    Road.interview,
    Road.stop,
    Road.card,
    Road.search,
    Road.document,
    Road.typed_yes,
)
