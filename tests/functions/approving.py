"""A user's approvals as the three functions of the approve handler process them, over real servers."""

import json
import threading
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import pytest
from pymongo import MongoClient
from pymongo.database import Database

from functions.approve import clock, pages
from functions.extract_memories import writer as memory_writer
from functions.generate import writer
from infra.local.aws import AwsServer
from infra.local.aws_functions import Context
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import MACHINE, Template
from infra.mongo.indexes import INDEXES
from qwestly_agent import container
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.bootstrap import bootstrap
from qwestly_agent.cards.actions import DELETE_CARD, PUBLISH_CARD
from qwestly_agent.clients.aws import AWS
from qwestly_agent.clients.candidate_app import CardSection, CardText
from qwestly_agent.domain.approval import Answer, Approval, Preview, ShownClaim, ShownLeftOut, ShownQuote, ShownSection
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, Section
from qwestly_agent.domain.memory import Memory, MemorySource
from qwestly_agent.grounding.model import Quote
from qwestly_agent.profile import UPDATE_PROFILE_FIELD
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from tests.servers import API_SECRET, USER, FakeClock, settings_for

APPROVE_URL = "https://approve.test/approve"
ADDRESS = "tester@example.com"
SENDER = "Qwestly <agent@qwestly.com>"
HOUR, DAY = 3600.0, 86_400.0
ERASURES = {
    "erasure_log": "/aws/lambda/qwestly-agent-local-erasures",
    "erasure_key": "a-key-that-is-in-no-database" * 2,
}
"""Settings of the erasure log."""
ONE, TWO = "ap_" + "1" * 32, "ap_" + "2" * 32
"""Approvals."""


def template_without_machines() -> Template:
    """Parsing a state machine takes seconds. No concurrency is reserved: hundreds of decisions run at once, none
    throttled."""
    whole = Template.load()
    resources = {name: each for name, each in whole.resources.items() if each["Type"] != MACHINE}
    return replace(whole, resources=resources, parameters={**whole.parameters, "ReserveConcurrency": "false"})


TEMPLATE = template_without_machines()


@contextmanager
def local_aws() -> Iterator[AwsServer]:
    """Local AWS with the keys and functions of template.yaml."""
    with AwsServer(TEMPLATE, {"MAIL_FROM": SENDER}, hurried=True) as aws, pytest.MonkeyPatch.context() as patch:
        for name, value in aws.variables.items():
            patch.setenv(name, value)
        yield aws


class Wire:
    """The package's AWS clients, with counts of the calls and the calls that shall fail."""

    def __init__(self) -> None:
        self._aws = AWS()
        self._lock = threading.Lock()
        self.calls: Counter[str] = Counter()
        self.mails: list[dict[str, Any]] = []
        """Record the mails sent by SES."""
        self.failing: dict[str, Exception] = {}
        self.waiting: set[str] = set()
        """Task tokens with a waiting execution, besides those of the local executions."""

    def client(self, service: str) -> "Wire.Client":
        return Wire.Client(self, self._aws.client(service))

    @dataclass
    class Client:
        wire: "Wire"
        client: Any

        def __getattr__(self, operation: str) -> Callable[..., Any]:
            def call(**given: Any) -> Any:
                with self.wire._lock:
                    self.wire.calls[operation] += 1
                    if operation == "send_email":
                        self.wire.mails.append(given)
                if operation in self.wire.failing:
                    raise self.wire.failing[operation]
                if given.get("taskToken") in self.wire.waiting:
                    return {}
                return getattr(self.client, operation)(**given)

            return call

    def close(self) -> None:
        for client in self._aws._clients.values():
            client.close()


@dataclass
class World:
    aws: AwsServer
    clock: FakeClock
    wire: Wire
    candidate_app: CandidateAppServer
    database: Database[dict[str, Any]]

    def run(self, work: Callable[[Services], Any]) -> Any:
        return container.services.run(work)

    # Stored data

    def ask(self, approval_id: str = ONE, proposal: Proposal | None = None, answer: Answer = "queue", **more: Any):
        context = ProposalContext(**{"user_id": USER, "run_id": "run_1", "level": "L2", **more})
        return self.run(lambda services: create_approval(services, approval_id, proposal or HEADLINE, context, answer))

    def approval(self, approval_id: str = ONE) -> Approval:
        return self.run(lambda services: services.approvals.get(USER, approval_id))

    def link(self, approval_id: str = ONE) -> str:
        """Return the token of the link mailed last."""
        self.sweep()
        mail = self.aws.outbox[-1]
        token = mail.text.partition(f"{APPROVE_URL}/")[2].split()[0]
        assert token
        return token

    def draft(self) -> Draft:
        """Return a draft with a checked card."""
        now = self.clock()
        made = {"id": "draft_1", "user_id": USER, "run_id": "run_1", "conversation_id": None, "style": "standard"}
        parts = {"card": {"checked": CHECKED.model_dump(mode="json")}, "evidence": [EVIDENCE.model_dump(mode="json")]}
        draft = Draft(**made, label="Checking", created_at=now, updated_at=now, parts=parts)
        self.run(lambda services: services.drafts.add(draft))
        return draft

    def proposed(self, *contents: str) -> list[str]:
        """Store memories of the conversation `chat_1` that wait for approval; return their ids."""
        conversation = {"user_id": USER, "id": "chat_1", "lease_until": 0.0}
        self.database["agent_conversations"].update_one(
            {"_id": f"{USER}:chat_1", "user_id": USER}, {"$setOnInsert": conversation}, upsert=True
        )
        ids = [f"mem_{uuid.uuid4().hex}" for _ in contents]
        for memory_id, content in zip(ids, contents, strict=True):
            memory = Memory(
                id=memory_id,
                type="fact",
                content=content,
                status="proposed",
                quote=f"I say: {content}",
                sensitive=True,
                source=MemorySource(conversation_id="chat_1", message_ids=("m1",)),
            )
            self.run(
                lambda services, memory=memory: services.memories.add(USER, memory, memory.id, [1.0], self.clock())
            )
        return ids

    def request_memories(self, memory_ids: Sequence[str], **given: Any) -> dict[str, str]:
        ids = {"user_id": USER, "conversation_id": "chat_1", "batch_id": "batch_1", "memory_ids": memory_ids}
        return self._ask("extract_memories", {**ids, "run_id": "run_1", "task_token": "first", **given})

    def statuses(self) -> dict[str, str]:
        """Return the statuses of memories by content, or by id if the content was deleted."""
        return {each.get("content", each["_id"]): each["status"] for each in self.database["user_memories"].find()}

    def dump(self) -> dict[str, list[dict[str, Any]]]:
        """Return every document."""
        names = self.database.list_collection_names()
        return {name: sorted(self.database[name].find(), key=lambda each: str(each["_id"])) for name in names}

    def pull_brake(self) -> None:
        self.run(lambda services: services.signals.turn_brake_on(USER, self.clock()))

    def release_brake(self) -> None:
        self.run(lambda services: services.signals.turn_brake_off(USER, self.clock()))

    # Handlers

    def sweep(self) -> dict[str, int]:
        return clock.handler({}, Context("clock", 1769, 55))

    def request(self, **given: Any) -> dict[str, str]:
        return self._ask("generate_card", {"user_id": USER, "draft_id": "draft_1", "run_id": "run_1", **given})

    def _ask(self, workflow: str, given: dict[str, Any]) -> dict[str, str]:
        handler = {"extract_memories": memory_writer, "generate_card": writer}[workflow].handler
        answer = handler({"workflow": workflow, "state": "ask_approval", "given": given}, None)
        return {name: answer[name] for name in ("approval_id", "status")}

    def get(self, token: str, method: str = "GET", **more: Any) -> "Shown":
        return self.ask_page(method, f"/approve/{token}", **more)

    def decide(self, token: str, decision: str = "approve", reason: str = "", **more: Any) -> "Shown":
        """Submit the current form of the page."""
        fields = {"reason": reason, "decision": decision, **more}
        if "args_digest" not in fields:
            fields["args_digest"] = self.sha256_hex(token)
        return self.post(token, {name: value for name, value in fields.items() if value is not None})

    def sha256_hex(self, token: str) -> str:
        return self.get(token).text.partition('name="args_digest" value="')[2].partition('"')[0]

    def post(self, token: str, fields: Mapping[str, str], **more: Any) -> "Shown":
        return self.ask_page("POST", f"/approve/{token}", urlencode(fields).encode(), **more)

    def decide_by_lambda(self, token: str, decision: str, digest: str) -> "Shown":
        """Decide through the Lambda service, with as many containers as are reserved."""
        body = urlencode({"decision": decision, "args_digest": digest, "reason": ""}).encode()
        name = TEMPLATE.name("ApprovePagesFunction")
        answer = self.aws.invoke(name, event_of("POST", f"/approve/{token}", body))
        assert not answer.failed, answer.payload
        return Shown.of(json.loads(answer.payload))

    def ask_page(self, method: str, path: str, body: bytes = b"", **more: Any) -> "Shown":
        return Shown.of(pages.handler(event_of(method, path, body, **more), None))


@dataclass
class Shown:
    """A response of the pages, as a function URL returns it."""

    status: int
    headers: dict[str, str]
    text: str

    @classmethod
    def of(cls, answer: dict[str, Any]) -> "Shown":
        assert not answer["isBase64Encoded"]
        return cls(answer["statusCode"], answer["headers"], answer["body"])


def event_of(
    method: str,
    path: str,
    body: bytes = b"",
    kind: str = "application/x-www-form-urlencoded",
    source: str = "203.0.113.7",
) -> dict[str, Any]:
    """Return the event of a function URL, payload format 2.0."""
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"host": "approve.test", "x-forwarded-proto": "https", **({"content-type": kind} if body else {})},
        "requestContext": {"http": {"method": method, "path": path, "sourceIp": source, "protocol": "HTTP/1.1"}},
        **({"body": b64encode(body).decode()} if body else {}),
        "isBase64Encoded": bool(body),
    }


@contextmanager
def a_world(
    aws: AwsServer, mongodb_uri: str, database_name: str, candidate_apps_uri: str = "", **more: Any
) -> Iterator[World]:
    """All functions share one container, as in one Lambda environment. `more` are settings."""
    clock, wire = FakeClock(), Wire()
    aws.outbox.clear()

    async def make_services() -> Services:
        given = {
            "approve_url": APPROVE_URL,
            "mail_from": SENDER,
            "mail_configuration_set": TEMPLATE.name("MailConfigurationSet"),
            "candidate_api_url": candidate_app.url,
            **more,
        }
        services = await bootstrap(settings_for(mongodb_uri, "", database_name, **given), clock=clock)
        workflows = replace(services.workflows, aws=wire.client, key_id=TEMPLATE.name("TaskTokenAlias"))
        return replace(services, workflows=workflows, mail=replace(services.mail, aws=wire.client))

    with (
        CandidateAppServer(candidate_apps_uri or mongodb_uri, database_name, API_SECRET, clock) as candidate_app,
        MongoClient(mongodb_uri, serverSelectionTimeoutMS=1000) as mongo,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(container, "services", container.Container(make_services))
        patch.setattr(pages, "limits", pages.Limits())
        database = mongo[database_name]
        person = {"user_id": USER, "email": ADDRESS, "name": "Tess", "headline": "Product Manager"}
        database["candidates_enhanced"].insert_one({"_id": "tester", **person})
        # Without TTL indexes: our clock is not the database's.
        lasting = [index for index in INDEXES["agent_approvals"] if "expireAfterSeconds" not in index.document]
        database["agent_approvals"].create_indexes(lasting)
        try:
            yield World(aws, clock, wire, candidate_app, database)
        finally:
            container.services.close()
            wire.close()


HEADLINE = Proposal(
    UPDATE_PROFILE_FIELD,
    {"field": "headline", "value": "Head of Product"},
    rationale="You said on Monday that you lead the product group now.",
)
LOCATION = Proposal(UPDATE_PROFILE_FIELD, {"field": "location", "value": "Lisbon"})
LED = "led a team of five"
TEAM = ShownQuote(source="résumé.pdf", before="I ", quote=LED, after=" at Acme.")
CARD = Proposal(
    PUBLISH_CARD,
    {
        "card_id": "draft_1",
        "draft_id": "draft_1",
        "content": CardText(
            style="standard",
            headline="Head of Product",
            sections=(CardSection(kind="experience", heading="Experience", claims=("Led a team of five at Acme.",)),),
        ).model_dump(),
    },
    preview=Preview(
        title="Publish this card",
        sections=(
            ShownSection(
                heading="Experience",
                claims=(
                    ShownClaim(text="Led a team of five at Acme.", quotes=(TEAM,), marks=("five",)),
                    ShownClaim(text="Speaks Portuguese.", confirmed=True, unchecked=True),
                ),
            ),
        ),
        left_out=(ShownLeftOut(text="Doubled revenue in 2019.", why=("No cited source says 2019.",)),),
    ),
)


def card_of(number: int) -> Proposal:
    """Return a card with its own id, so that none replaces another."""
    return replace(CARD, args={**CARD.args, "card_id": f"card_{number}"})


DELETION = Proposal(DELETE_CARD, {"card_id": "card_1"})

EVIDENCE = Evidence(
    id="document:1", kind="document", trust="user_document", text="I led a team of five at Acme.", source="résumé.pdf"
)
CHECKED = CheckedCard(
    card=Card(
        style="standard",
        headline=None,
        sections=(
            Section(
                kind="experience",
                heading="Experience",
                claims=(Claim(text="Led a team of five at Acme.", quotes=(Quote(source="document:1", text=LED),)),),
            ),
        ),
    ),
    left_out=(),
)
