"""A user whose database is restored to an earlier moment, while the candidate app, AWS and mails keep their state."""

import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pymongo import MongoClient

from functions.approve import clock as approve_clock
from infra import restore
from infra.local.aws import AwsServer, definition_of
from infra.local.aws_functions import Context
from infra.local.candidate_app import OPERATIONS
from infra.local.environment import ACCOUNT, REGION, Template
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals import pause
from qwestly_agent.approvals.execute import MOST_UNDOS, undo_id_of
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.stores import collections
from qwestly_agent.stores.drafts import Draft
from tests.functions.approving import CHECKED, ERASURES, EVIDENCE, TEMPLATE, World, a_world
from tests.functions.test_approve_request import DEFINITION as ASKS
from tests.servers import ChatServer, Client, settings_for, until

Document = dict[str, Any]
PREFIX = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:qwestly-agent-local-"
BUS = "any-bus"
ASKS_FOR_CARDS = "asks-for-cards"
"""An execution that asks with a task token and ends with the decision; the sweep publishes."""


def create_machines(aws: AwsServer) -> None:
    whole = Template.load()
    aws.create_machine(whole.name("BriefMachine"), definition_of(whole, "BriefMachine"))
    aws.create_machine(ASKS_FOR_CARDS, ASKS)


@dataclass
class Person:
    world: World
    model: ModelServer
    client: Client
    number: int = 0
    moment: float = 0.0
    kept: dict[str, list[Document]] = field(default_factory=dict[str, list[Document]])
    mailed: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """Counts by approval and kind of mail, or by briefing."""
    erased_at: list[float] = field(default_factory=list[float])
    forgotten: set[str] = field(default_factory=set[str])
    """Texts."""
    deleted: set[str] = field(default_factory=set[str])

    @property
    def user_id(self) -> str:
        return self.client.user_id

    def new_value(self) -> str:
        self.number += 1
        return f"Nurse number {self.number}"

    # --- actions of the user ------------------------------------------------------------------------------------------

    def waits(self, seconds: float) -> None:
        """Let time pass, with the scheduled functions running as their schedules say."""
        self.world.clock.advance(seconds)
        self.sweeps()

    def sweeps(self) -> None:
        self.world.sweep()
        swept = {"workflow": "brief", "state": "sweep", "given": {}}
        approve_clock.handler(swept, Context("clock", 1769, 55))
        until(lambda: not self._running("brief-"))
        self._note_mails()

    def proposes(self, field: str = "headline") -> str:
        """Propose a change in a turn; return the new value."""
        value = self.new_value()
        made: list[ToolCall] = [{"name": "update_profile_field", "arguments": {"field": field, "value": value}}]
        self.model.script_chat(Reply(tool_calls=made), Reply(text="Shall I?"))
        self.client.say(f"Perhaps {value} is better?")
        return value

    def wants_a_card(self) -> None:
        """Request a card through a waiting execution."""
        now, draft_id = self.world.clock(), f"draft_{uuid.uuid4().hex}"
        made = {"id": draft_id, "user_id": self.user_id, "run_id": "run_1", "conversation_id": None}
        card = {"checked": CHECKED.model_dump(mode="json")}
        parts = {"card": card, "evidence": [EVIDENCE.model_dump(mode="json")]}
        draft = Draft(**made, style="standard", label="Checking", created_at=now, updated_at=now, parts=parts)
        self.world.run(lambda services: services.drafts.add(draft))
        given = {"user_id": self.user_id, "draft_id": draft_id, "run_id": "run_1"}
        self.world.aws.start(ASKS_FOR_CARDS, given, draft_id)
        query = {"user_id": self.user_id, "draft_id": draft_id, "task_token": {"$ne": None}}
        until(lambda: self.world.database["agent_approvals"].find_one(query))
        until(lambda: self.world.database["agent_drafts"].find_one({"_id": draft_id, "status": "waiting"}))

    def pending(self) -> list[Document]:
        return [each for each in self.client.get("/api/approvals")["items"] if each["status"] == "pending"]

    def decides(self, asked: Document, decision: str = "approve", **more: Any) -> None:
        body = {"decision": decision, "args_digest": asked["args_digest"], **more}
        path = f"/api/approvals/{asked['approval_id']}/decision"
        self.client.request("POST", path, json=body).raise_for_status()
        kept = self.world.database["agent_approvals"].find_one({"_id": asked["approval_id"]}) or {}
        until(lambda: not self._running(kept.get("draft_id") or "none"))

    def _running(self, name: str) -> list[str]:
        return [each.name for each in self.world.aws.workflows() if each.status == "RUNNING" and name in each.name]

    def done(self) -> list[str]:
        """Return the ids of approvals that can be undone."""
        query = {"user_id": self.user_id, "status": "done", "undone_by": None, "undoes": None, "inverse": {"$ne": ""}}
        return [each["_id"] for each in self.world.database["agent_approvals"].find(query).sort("_id", 1)]

    def undoes(self, approval_id: str) -> None:
        self.client.request("POST", f"/api/activity/{approval_id}:done/undo")

    def remembers(self) -> str | None:
        """Remember something in a turn; return the id, or None if a forgotten memory makes approval necessary."""
        text = f"Has worked in ward {self.new_value()}"
        said = text.replace("Has", "I have")
        made: list[ToolCall] = [{"name": "remember", "arguments": {"type": "fact", "text": text, "quote": said}}]
        self.model.script_chat(Reply(tool_calls=made), Reply(text="Noted."))
        self.client.say(f"{said}.")
        return next((each["id"] for each in self.memories() if each["content"].rstrip(".") == text), None)

    def memories(self) -> list[Document]:
        return self.client.get("/api/memories")["items"]

    def forgets(self, memory_id: str | None) -> None:
        self.forgotten |= {each["content"] for each in self.memories() if each["id"] == memory_id}
        self.client.request("DELETE", f"/api/memories/{memory_id}").raise_for_status()

    def conversations(self) -> list[str]:
        return [each["id"] for each in self.client.get("/api/conversations")["items"]]

    def deletes(self, conversation_id: str) -> None:
        self.deleted.add(conversation_id)
        self.client.request("DELETE", f"/api/conversations/{conversation_id}").raise_for_status()

    def leaves(self) -> None:
        self.erased_at.append(self.world.clock())
        self.client.request("DELETE", "/api/me").raise_for_status()

    def wants_briefings(self) -> None:
        self.client.request("PUT", "/api/briefings/settings", json={"on": True}).raise_for_status()

    def kept_of(self) -> dict[str, int]:
        """Return the number of the user's documents."""
        query, database = {"user_id": self.user_id}, self.world.database
        return {name: count for name in collections() if (count := database[name].count_documents(query))}

    # --- backup and restore -------------------------------------------------------------------------------------------

    def keeps_a_backup(self) -> None:
        """Back up our collections. The candidate app's collections are not included."""
        self.moment = self.world.clock()
        self.kept = {name: list(self.world.database[name].find()) for name in collections()}

    def goes_back(self) -> None:
        for name in collections():
            self.world.database[name].delete_many({})
            if documents := self.kept[name]:
                self.world.database[name].insert_many(documents)

    def brakes(self) -> None:
        self.world.run(lambda services: services.signals.turn_brake_on(EVERYBODY, self.world.clock()))

    def releases(self) -> None:
        self.world.run(lambda services: pause.release(services.signals, services.sweeps, EVERYBODY, self.world.clock))

    def check(self, *, apply: bool = False) -> bool:
        now = self.world.clock()
        return self.world.run(lambda services: restore.check(services, self.moment, now, apply=apply))

    # --- outcomes -----------------------------------------------------------------------------------------------------

    def effects(self) -> Counter[str]:
        """Return the changes made in the candidate app, by fingerprint."""
        return Counter(each["fingerprint"] for each in self._operations() if each["key"] not in self._undos())

    def undone(self) -> Counter[str]:
        """Return the number of undos of each approval's action."""
        undos = self._undos()
        return Counter(undos[each["key"]] for each in self._operations() if each["key"] in undos)

    def _operations(self) -> list[Document]:
        return list(self.world.database[OPERATIONS].find({"user_id": self.user_id, "status": "done"}))

    def _undos(self) -> dict[str, str]:
        """Return the approvals by the idempotency keys of their undos."""
        keys = [each["key"] for each in self._operations()]

        return {undo_id_of(key, number): key for key in keys for number in range(1, MOST_UNDOS + 1)}

    def _note_mails(self) -> None:
        """Count the sent mails by the token of their unsubscribe link."""
        for given in self.world.wire.mails:
            token = re.search(rb"List-Unsubscribe: <[^>]*/([^/>]+)>", given["Content"]["Raw"]["Data"])
            assert token
            self.mailed[self._mail_of(hash_of(token[1].decode()))] += 1
        self.world.wire.mails.clear()

    def _mail_of(self, hashed: str) -> tuple[str, str]:
        database = self.world.database
        if briefing := database["agent_briefings"].find_one({"unsubscribe": hashed}):
            return briefing["_id"], "briefing"
        for kind in ("questions", "reminders"):
            if found := database["agent_approvals"].find_one({"links": {"$in": [f"{kind}:{hashed}"]}}):
                return found["_id"], kind
        raise AssertionError("a mail about nothing")


# --- random histories -------------------------------------------------------------------------------------------------

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


def play(seeds: Iterable[int], steps: int, aws: AwsServer, mongodb_uri: str, model: ModelServer) -> None:
    """Play a history for each seed, restore a random earlier moment of it and repair it. Raises `AssertionError`."""
    for seed in seeds:
        name = f"qwestly_test_{uuid.uuid4().hex[:12]}"
        model.reset()
        create_machines(aws)  # without executions of other tests
        with a_person(aws, mongodb_uri, name, model) as person, MongoClient(mongodb_uri) as mongo:
            try:
                History(person, random.Random(seed)).play(steps)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from error
            finally:
                mongo.drop_database(name)


@dataclass
class History:
    person: Person
    chance: random.Random
    told: list[str] = field(default_factory=list[str])

    def play(self, steps: int) -> None:
        back = self.chance.randrange(steps)
        for number in range(steps):
            if number == back:
                self.person.keeps_a_backup()
            self.chance.choice(self._possible())()
            self.person.waits(self.chance.choice((MINUTE, 11 * MINUTE, HOUR, 5 * HOUR)))
        person = self.person
        person.goes_back()
        person.brakes()
        person.check()
        assert person.check(apply=True), self.told
        assert person.check(), self.told
        self._nothing_erased_is_back()
        person.releases()
        self._goes_on()
        assert not [each for each in person.effects().values() if each > 1], self.told
        assert not [each for each in person.undone().values() if each > 1], self.told
        assert not [each for each in person.mailed.items() if each[1] > 1], (self.told, person.mailed)
        self._nothing_erased_is_back()

    def _possible(self) -> list[Callable[[], None]]:
        """Return the actions that are possible now."""
        person, one = self.person, self.chance.choice
        possible: list[Callable[[], object]] = [
            lambda: person.proposes("headline"),
            lambda: person.proposes("location"),
            person.wants_a_card,
            person.remembers,
            person.remembers,
            person.wants_briefings,
        ]
        if pending := person.pending():
            verbs = ("approve", "approve", "approve", "reject")
            possible += [lambda: person.decides(one(pending), one(verbs))] * 4
        if done := person.done():
            possible += [lambda: person.undoes(one(done))] * 2
        if memories := person.memories():
            possible += [lambda: person.forgets(one(memories)["id"])] * 2
        if conversations := person.conversations():
            possible += [lambda: person.deletes(one(conversations))] * 2
        if self.chance.random() < 0.15:
            possible = [person.leaves]
        return [lambda each=each: self._note(each) for each in possible]

    def _note(self, step: Callable[[], object]) -> None:
        self.told.append(f"{self.person.world.clock():.0f} {getattr(step, '__name__', step)} {step()}")

    def _nothing_erased_is_back(self) -> None:
        person = self.person
        since = [at for at in person.erased_at if at >= person.moment]
        if since:
            left = {
                name: person.world.database[name].count_documents({"user_id": person.user_id}) for name in person.kept
            }
            assert not any(left.values()), (self.told, left)
        assert not {each["content"] for each in person.memories()} & person.forgotten, self.told
        assert not {*person.conversations()} & person.deleted, self.told

    def _goes_on(self) -> None:
        """Approve everything pending, undo what can be undone, and let days pass."""
        person = self.person
        for _ in range(3):
            for each in person.pending():
                person.decides(each)
            person.waits(2 * HOUR)
            for each in person.done():
                person.undoes(each)
            person.waits(DAY)


@contextmanager
def a_person(aws: AwsServer, mongodb_uri: str, database_name: str, model: ModelServer) -> Iterator[Person]:
    with a_world(aws, mongodb_uri, database_name, machine_arn_prefix=PREFIX, event_bus=BUS, **ERASURES) as world:
        key = TEMPLATE.name("TaskTokenAlias")
        given = {"candidate_api_url": world.candidate_app.url, "task_token_key": key, **ERASURES}
        settings = settings_for(mongodb_uri, model.base_url, database_name, **given)
        with ChatServer(settings, world.clock) as chat, somebody(world, chat, model) as person:
            yield person


@contextmanager
def somebody(world: World, chat: ChatServer, model: ModelServer) -> Iterator[Person]:
    user_id = f"auth0|{uuid.uuid4().hex}"
    known = {"email": f"{uuid.uuid4().hex}@example.com", "name": "Tess", "headline": "Nurse", "location": "Porto"}
    world.database["candidates_enhanced"].insert_one({"_id": user_id, "user_id": user_id, **known})
    with Client(chat.url, user_id, world.clock) as client:
        yield Person(world, model, client)
