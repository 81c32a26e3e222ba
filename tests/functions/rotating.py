"""Users who keep chatting, searching for jobs and uploading résumés while the secrets of the services are rotated."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pymongo import MongoClient

from functions.generate import reader
from functions.open_files import opener
from infra.local import aws_moto
from infra.local.aws_functions import Context
from infra.local.candidate_app import CandidateAppServer
from infra.local.job_boards import JobBoardsServer
from infra.local.model_server import ModelServer
from infra.local.tokens import mint
from qwestly_agent import container
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_resumes
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.resumes.reader import ResumeServices
from qwestly_agent.services import Services
from tests.collector import Collector
from tests.locked_database import LockedDatabase
from tests.resume_files import MAYA, markdown
from tests.servers import SECRET, ChatServer, Client, FakeClock, until

TALKERS, STEPS = 2, 5
FILE = {"Content-Type": "application/octet-stream"}


@dataclass
class Stage:
    """Functions whose secrets are in Parameter Store, and every service that rejects an outdated secret."""

    settings: Settings
    clock: FakeClock
    model: ModelServer
    app: CandidateAppServer
    boards: JobBoardsServer
    collector: Collector
    database: LockedDatabase
    chat: ChatServer = field(init=False)
    signs_with: str = SECRET
    """The secret with which the candidate app signs its users' tokens."""

    def put(self, name: str, value: str) -> None:
        aws_moto.put_parameter(f"/rotation/{name}", value)

    def delete(self, name: str) -> None:
        aws_moto.delete_parameter(f"/rotation/{name}")

    def headers(self, user_id: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {mint(user_id, self.signs_with, self.clock())}"}

    def add_candidate(self, user_id: str) -> None:
        with MongoClient(f"mongodb://127.0.0.1:{self.database.upstream}") as mongo:
            candidates = mongo[self.settings.mongodb_database]["candidates_enhanced"]
            candidates.insert_one({"_id": user_id, "user_id": user_id, "headline": "Product Manager"})

    @contextmanager
    def resume_functions(self) -> Iterator[None]:
        """Return the containers of the functions that open and read résumés, each with its own database user."""
        of_opener = replace(self.settings, mongodb_uri="ssm:/rotation/mongodb-opener-uri")
        of_reader = replace(self.settings, mongodb_uri="ssm:/rotation/mongodb-reader-uri")

        async def services() -> Services:
            return await bootstrap(of_opener, clock=self.clock)

        async def resume_services() -> ResumeServices:
            return await bootstrap_resumes(of_reader, clock=self.clock)

        own = {"services": container.Container(services), "resume_services": container.Container(resume_services)}
        with pytest.MonkeyPatch.context() as patch, ExitStack() as closing:
            for name, each in own.items():
                patch.setattr(container, name, each)
                closing.callback(each.close)
            yield


class Person(Client):
    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.chat.url, f"auth0|{uuid.uuid4().hex}", stage.clock)
        self.stage = stage
        stage.add_candidate(self.user_id)

    def headers(self) -> dict[str, str]:
        return self.stage.headers(self.user_id)

    def steps(self) -> list[Callable[[], object]]:
        """Return the steps, each of which uses other services. Each step returns an error, if there is one."""
        return [
            lambda: self.talk("What do you know about me?", "tool_result"),  # OpenAI
            self.change_headline,  # the candidate app
            lambda: self.talk(f"Find jobs as product manager {self.user_id}", "tool_result"),
            lambda: self.talk(f"Search the web for Kestrel Labs {self.user_id}", "tool_result"),
            self.upload_a_resume,
        ]

    def talk(self, said: str, expected: str) -> object:
        answer = self.say(said)
        is_right = answer.last.name == "done" and expected in answer.names
        return None if is_right else [(event.name, event.data) for event in answer.events]

    def change_headline(self) -> object:
        answer = self.say("Please change my headline to Director.")
        asked = [event.data for event in answer.events if event.name == "approval_required"]
        if not asked:
            return [(event.name, event.data) for event in answer.events]
        path, yes = f"/api/approvals/{asked[0]['approval_id']}/decision", {"args_digest": asked[0]["args_digest"]}
        decided = self.request("POST", path, json={"decision": "approve", **yes}).json()
        return None if decided.get("status") == "done" else decided

    def upload_a_resume(self) -> object:
        headers, content = {**self.headers(), **FILE}, markdown(MAYA)
        posted = self.http.post(f"{self.url}/api/resumes?name=cv.md", content=content, headers=headers).json()
        given = {"user_id": self.user_id, "run_id": posted["id"], "resume_id": posted["id"]}
        given = opener.handler(
            {"workflow": "parse_resume", "state": "read", "given": given}, Context("opener", 128, 30)
        )
        reader.handler({"workflow": "parse_resume", "state": "parse", "given": given}, Context("reader", 128, 30))
        found = self.get(f"/api/resumes/{posted['id']}")
        return None if found["label"] == "Finding what it says" else found


@dataclass
class People:
    stage: Stage
    failed: list[object] = field(default_factory=list)
    people: list[int] = field(default_factory=lambda: [0] * TALKERS)
    """The number of users of each thread."""
    steps: list[int] = field(default_factory=lambda: [0] * TALKERS)
    over: threading.Event = field(default_factory=threading.Event)

    def come_and_go(self, number: int) -> None:
        while not self.over.is_set() and not self.failed:
            with Person(self.stage) as person:
                for step in person.steps():
                    try:
                        wrong = step()
                    except Exception as error:
                        wrong = error
                    self.failed += [wrong] if wrong else []
                    self.steps[number] += 1
            self.people[number] += 1

    def wait(self) -> None:
        """Wait until each thread has started and finished each step once more."""
        needed = [now + 1 + STEPS for now in self.steps]
        until(lambda: self.failed or all(now >= then for now, then in zip(self.steps, needed, strict=True)), 60)
        assert not self.failed, self.failed[0]


@contextmanager
def people(stage: Stage) -> Iterator[People]:
    async def start(self: Workflows, workflow: str, name: str, given: Any) -> None:
        """Do nothing: the uploading user calls the functions."""

    everyone = People(stage)
    threads = [threading.Thread(target=everyone.come_and_go, args=[n], daemon=True) for n in range(TALKERS)]
    with pytest.MonkeyPatch.context() as patch, stage.resume_functions():
        patch.setattr(Workflows, "start", start)
        for each in threads:
            each.start()
        try:
            yield everyone
        finally:
            everyone.over.set()
            for each in threads:
                each.join()
