"""Run the product on this machine for evals, with a relay in front of its model."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pymongo import MongoClient
from pymongo.database import Database

from evals.relay import Relay, Upstream
from evals.talks import Call, Case, Step, Turn
from infra.local.__main__ import TIED
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import DEMO_DATABASE
from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_controls import SCRIPT
from infra.local.ports import free_port
from infra.topics import read_library
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.stores import candidate_data, learning, memories
from tests.servers import API_SECRET, ChatServer, Client, settings_for, wait_for_port

LIBRARY = Path(__file__).parents[1] / "library"
SECONDS_A_TURN = 180
SECONDS_TO_END = 90


@dataclass(frozen=True)
class Begun:
    """A workflow that a turn requested to start."""

    name: str
    given: Mapping[str, Any]


@dataclass
class Stage:
    chat: ChatServer
    relay: Relay
    database: Database[dict[str, Any]]
    begun: list[Begun]

    @property
    def roles(self) -> frozenset[str]:
        designs = self.chat.services.designs
        return frozenset(designs.agents[designs.new_conversation_design])

    def play(self, case: Case, recorded: Sequence[Step] = ()) -> tuple[Turn, list[Step]]:
        """Play the case as a new user. Returns the last turn, and the model's answers in it."""
        with Client(self.chat.url, f"auth0|{uuid.uuid4().hex}") as person:
            person.http.timeout = SECONDS_A_TURN
            self._keep(person.user_id, case)
            conversation, seen = None, dict[str, str]()
            for before in case.before:
                self.script(before.answers)
                shown = person.say(before.said, conversation, **_role(case, conversation), **seen)
                conversation, seen = shown.conversation_id, {"answers": shown.id}
            self.script(recorded)
            self.relay.recorded_steps.clear()
            answer = person.say(case.said, conversation, **_role(case, conversation), **seen)
            self.script(())
            waiting = len(person.get("/api/approvals")["items"])
            *_, last = person.get(f"/api/conversations/{answer.conversation_id}")["messages"]
            steps = list(self.relay.recorded_steps)
            calls = [Call(each["name"], _arguments(each["arguments"]), each["ok"]) for each in last["steps"]]
            return Turn(last["content"], calls, answer.last.name, last["receipt"], waiting), steps

    def script(self, steps: Sequence[Step]) -> None:
        """Serve these answers to the next matching requests."""
        self.relay.script(*SCRIPT.validate_python({"steps": list(steps)})["steps"])

    def _keep(self, user_id: str, case: Case) -> None:
        given, now = case.given, datetime.now(UTC)
        if given.profile:
            self.database[candidate_data.CANDIDATES].insert_one({"user_id": user_id, **given.profile})
        for content in given.memories:
            memory = {"status": "active", "type": "fact", "content": content, "salience": 1.0, "created_at": now}
            self.database[memories.COLLECTION].insert_one({"_id": uuid.uuid4().hex, "user_id": user_id, **memory})
        for text in given.documents:
            document = {"title": "CV", "source_type": "resume", "text": text}
            self.database[candidate_data.KNOWLEDGE].insert_one(
                {"_id": uuid.uuid4().hex, "user_id": user_id, **document}
            )


def _role(case: Case, conversation: str | None) -> dict[str, str]:
    return {} if conversation else {"role": case.role}


def _arguments(shown: str) -> Mapping[str, Any]:
    try:
        read = json.loads(shown)
    except ValueError:
        return {"": shown}
    return read if isinstance(read, dict) else {"": shown}


@contextmanager
def tied(
    *command: str, stdout: Any, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that ends with this one, even if this one is killed."""
    theirs, ours = os.pipe()
    shell = ["/bin/sh", "-c", TIED, "part", *command]
    process = subprocess.Popen(  # noqa: S603
        shell, stdin=theirs, stdout=stdout, stderr=subprocess.STDOUT, cwd=cwd, env=env, start_new_session=True
    )
    os.close(theirs)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(SECONDS_TO_END)
        os.close(ours)


@contextmanager
def database_server() -> Iterator[str]:
    """Run a database in memory; yields its address."""
    port = free_port()
    command = (sys.executable, "-m", "infra.local.database", "--port", str(port), "--data", "memory")
    with tied(*command, stdout=subprocess.DEVNULL) as process:
        wait_for_port(port, process)
        yield f"mongodb://127.0.0.1:{port}"


@contextmanager
def run_stage(upstreams: Mapping[str, Upstream], **settings: Any) -> Iterator[Stage]:
    """Run the stage. `settings` name the models and the design. Workflows are recorded instead of started."""
    begun = list[Begun]()

    async def begins(_: Workflows, workflow: str, name: str, given: Mapping[str, Any]) -> None:  # noqa: ARG001
        begun.append(Begun(name, given))

    with ExitStack() as stack:
        # The product prints each turn's metrics in Lambda's format.
        nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
        stack.enter_context(redirect_stdout(nowhere))
        uri = stack.enter_context(database_server())
        relay = Relay(upstreams)
        stack.enter_context(relay)
        app = stack.enter_context(CandidateAppServer(uri, DEMO_DATABASE, API_SECRET))
        boards = stack.enter_context(JobBoardsServer())
        keys = dict.fromkeys(("adzuna_app_id", "adzuna_app_key", "jsearch_api_key", "search_api_key"), KEY)
        stack.enter_context(patch.object(Workflows, "start", begins))
        given = settings_for(
            uri, relay.base_url, candidate_api_url=app.url, job_boards_url=boards.url, **keys, **settings
        )
        chat = stack.enter_context(ChatServer(given))
        mongo = stack.enter_context(MongoClient[dict[str, Any]](uri))
        stage = Stage(chat, relay, mongo[given.mongodb_database], begun)
        for module in read_library(LIBRARY):
            stage.database[learning.TOPICS].insert_one({**module.model_dump(exclude={"id"}), "_id": module.id})
        yield stage
