"""Applying through the API and the chat: approved word for word, sent once, and followed up."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.decide import Decision, decide_and_follow_up
from qwestly_agent.approvals.end import SUPERSEDED
from qwestly_agent.approvals.propose import MOST_WAITING
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Invalid
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.clients.candidate_app import SOURCES_KEPT_SECONDS
from qwestly_agent.documents.service import Applying
from qwestly_agent.domain.approval import LEFT_BEHIND_SECONDS, Approval, Verb
from qwestly_agent.domain.card import Card, CheckedCard, Claim, Evidence, Section
from qwestly_agent.domain.job import DAY_SECONDS, FOLLOW_UP_SECONDS, Advert, Application, JobMatch, application_id
from qwestly_agent.grounding.model import Quote
from qwestly_agent.jobs.actions import APPLY, SENT_BEFORE
from qwestly_agent.jobs.search import JobService
from qwestly_agent.jobs.writer import remind_of_due_steps
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft
from qwestly_agent.stores.jobs import Applications
from qwestly_agent.workflows import ACTIONS
from tests.functions.approving import ONE, TWO, World
from tests.functions.test_job_documents import NOTHING_READ, written
from tests.functions.test_jobs import boards, connected, found, seeker
from tests.servers import ChatServer, Client, seconds

__all__ = ["boards", "connected", "seeker"]
"""Fixtures of the jobs tests that are used here as well."""


SENT = {"title": "Nurse", "documents": [{"kind": "resume", "document_id": "resume_1", "text": "# Ada"}]}


@pytest.fixture(autouse=True)
def _no_machine_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    async def start(_: Workflows, machine: str, name: str, given: Mapping[str, Any]) -> None: ...

    monkeypatch.setattr(Workflows, "start", start)


def asks(client: Client, job_id: str, document_id: str, note: str = "") -> str:
    body = {"document_ids": [document_id], "note": note}
    answer = client.request("POST", f"/api/jobs/{job_id}/apply", json=body)
    return answer.raise_for_status().json()["approval_id"]


def approval_of(client: Client, approval_id: str) -> dict[str, Any]:
    return next(each for each in client.get("/api/approvals")["items"] if each["approval_id"] == approval_id)


def decides(client: Client, approval_id: str, decision: str) -> dict[str, Any]:
    digest = approval_of(client, approval_id)["args_digest"]
    body = {"decision": decision, "args_digest": digest}
    path = f"/api/approvals/{approval_id}/decision"
    return client.request("POST", path, json=body).raise_for_status().json()


def test_an_application_is_shown_word_for_word_and_not_sent_before_approval(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    approval_id = asks(client, job_id, document_id, "I can begin in March.")
    assert asks(client, job_id, document_id, "I can begin in March.") == approval_id
    asked = approval_of(client, approval_id)
    job, document, note = asked["preview"]["sections"]
    read = client.get(f"/api/documents/{document_id}")
    assert (document["markdown"], document["claims"]) == (read["markdown"], read["sentences"])
    assert [claim["text"] for claim in note["claims"]] == ["I can begin in March."]
    assert (job["heading"], note["heading"], asked["preview"]["changes"]) == ("Job", "Your note", [])
    assert (asked["effect"], asked["status"]) == ("outward", "pending")
    [application] = client.get("/api/applications")["items"]
    assert (application["status"], application["approval_id"]) == ("preparing", approval_id)
    assert client.get(f"/api/jobs/{job_id}")["application_id"] == application["id"]


@pytest.mark.thorough
def test_each_kind_of_approval_expires_after_the_configured_hours(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    waits: list[float] = []
    for hours in ("", "apply=0.5"):
        settings = replace(chat.settings, approval_hours=hours)
        with ChatServer(settings) as server, Client(server.url, client.user_id) as user:
            asked = approval_of(user, asks(user, job_id, document_id, hours))
            waits.append(seconds(asked["expires_at"]) - seconds(asked["created_at"]))
            decides(user, asked["approval_id"], "reject")
    assert waits == pytest.approx([24 * 3_600, 1_800])


def test_a_rejected_application_is_not_sent_and_can_be_proposed_again(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    first = asks(client, job_id, document_id)
    decides(client, first, "reject")
    assert client.get("/api/applications")["items"][0]["status"] == "preparing"
    assert asks(client, job_id, document_id) != first


def test_a_document_for_another_job_or_not_yet_ready_is_not_sent(client: Client, chat: ChatServer) -> None:
    one, other = found(chat, client.user_id, 1), found(chat, client.user_id, 2)
    document_id = written(chat, client, one)
    unready = written(chat, client, other, status="running")
    for job_id, ids in ((other, [document_id]), (other, [unready]), (one, []), (one, [document_id] * 5)):
        answer = client.request("POST", f"/api/jobs/{job_id}/apply", json={"document_ids": ids})
        assert answer.status_code == 422
    assert client.get("/api/approvals")["items"] == []


def test_an_application_asks_once_for_contact_details(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        database = mongo[chat.settings.mongodb_database]
        database["agent_settings"].update_one({"_id": client.user_id}, {"$unset": {"document_head": ""}})
        database["candidates_enhanced"].insert_one({"user_id": client.user_id, "email": "ana@example.org"})
        resume = {"_id": f"res_{client.user_id}", "user_id": client.user_id, "run_id": "run", "name": "cv.pdf"}
        resume |= {"status": "done", "label": "Read", "text": "", "created_at": 1, "updated_at": 1, **NOTHING_READ}
        contacts = {"phone": ["+351 912 345 678"], "email": ["ana@reis.example"]}
        database["agent_resumes"].insert_one({**resume, "contacts": json.dumps(contacts)})
    refused = client.request("POST", f"/api/jobs/{job_id}/apply", json={"document_ids": [document_id]})
    assert (refused.status_code, "How can the employer reach you?" in refused.text) == (422, True)
    client.request("PUT", "/api/settings", json={"document_head": ["phone", "email"]}).raise_for_status()
    approval = approval_of(client, asks(client, job_id, document_id))
    shown = approval["preview"]["sections"][1]["markdown"]
    assert shown.startswith("# Maya Okafor\n\nana@reis.example · +351 912 345 678\n\n")
    decides(client, approval["approval_id"], "reject")
    this_one = {"document_ids": [document_id], "head": ["phone"]}
    asked = client.request("POST", f"/api/jobs/{job_id}/apply", json=this_one).raise_for_status().json()
    shown = approval_of(client, asked["approval_id"])["preview"]["sections"][1]["markdown"]
    assert shown.startswith("# Maya Okafor\n\n+351 912 345 678\n\n")
    assert client.get("/api/settings")["document_head"] == ["phone", "email"]


def test_the_application_list_stores_status_next_step_and_history(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    application = client.request("POST", f"/api/jobs/{job_id}/application").raise_for_status().json()
    path = f"/api/applications/{application['id']}"
    changed = client.request("PATCH", path, json={"status": "applied", "notes": "By mail."}).json()
    assert changed["applied_at"]
    assert changed["due_at"] > changed["applied_at"]
    assert changed["next_step"]
    plan = {"status": "interview", "next_at": "2030-05-02T10:00:00Z", "next_step": "Meet Ana"}
    changed = client.request("PATCH", path, json=plan).json()
    assert changed["due_at"].startswith("2030-05-01T10:00:00")
    assert [each["status"] for each in changed["history"]] == ["preparing", "applied", "interview"]
    assert changed["notes"] == "By mail."
    assert client.request("PATCH", path, json={"next_at": None}).json()["due_at"] is None
    assert client.request("PATCH", path, json={"status": "hired"}).status_code == 422
    with Client(chat.url, "auth0|somebody-else") as stranger:
        assert stranger.request("PATCH", path, json={"status": "closed"}).status_code == 404
        assert stranger.get("/api/applications")["items"] == []


def applying(services: Services, user_id: str) -> Applying:
    return Applying(services, JobService(services, user_id), user_id)


def ready(world: World, user_id: str) -> tuple[str, str]:
    """Store a found job and a résumé written for it."""
    advert = Advert(
        id="adzuna:1", title="Nurse", company="Kestrel Clinic", url="https://jobs.example/1", board="adzuna"
    )
    now = world.clock()
    match = JobMatch(id="job_1", user_id=user_id, run_id="r", advert=advert, found_at=now, updated_at=now)
    claim = Claim(text="Led a ward", quotes=(Quote(source="document:1", text="I led a ward."),))
    section = Section(kind="summary", heading="Summary", claims=(claim,))
    card = CheckedCard(card=Card(style="concise", headline=None, sections=(section,)), left_out=())
    evidence = Evidence(id="document:1", kind="document", trust="user_document", text="I led a ward.", source="cv")
    draft = Draft(
        id="resume_1", user_id=user_id, run_id="r", conversation_id=None, kind="resume", job_id="job_1",
        style="concise", status="drafted", label="Drafted", created_at=now, updated_at=now,
        parts={
            "evidence": [evidence.model_dump(mode="json")],
            "card": {"round": 1, "checked": card.model_dump(mode="json"), "unchanged": False},
            "advert": advert.model_dump(mode="json"),
        },
    )  # fmt: skip
    world.run(lambda services: services.job_matches.add(match))
    world.run(lambda services: services.drafts.add(draft))
    head = {"document_name": "Ana Reis", "document_head": ["location"]}
    world.run(lambda services: services.user_settings.change(user_id, head, to_datetime(now)))
    return match.id, draft.id


def decided(world: World, approval: Approval, decision: Verb = "approve") -> Approval:
    answer = Decision(decision=decision, args_digest=approval.args_digest)
    work = partial(
        decide_and_follow_up,
        user_id=approval.user_id,
        approval_id=approval.id,
        decision=answer,
        by="queue",
        where="the test",
    )
    return world.run(work)


def sent_by(world: World, user_id: str) -> list[dict[str, Any]]:
    return list(world.database["candidate_app_applications"].find({"user_id": user_id}))


def test_an_approved_application_is_sent_once_word_for_word_and_listed_as_applied(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    approval = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "In March.", "run1"))
    assert approval.expires_at == world.clock() + DAY_SECONDS
    assert not ACTIONS[approval.tool].is_link_allowed
    for _ in range(2):
        decided(world, approval)
    sent = sent_by(world, user_id)
    assert [(each["job_id"], each["note"]) for each in sent] == [(job_id, "In March.")]
    assert sent[0]["documents"] == [{"kind": "resume", "text": approval.arguments["documents"][0]["text"]}]
    assert "Led a ward" in sent[0]["documents"][0]["text"]
    assert [each.markdown for each in approval.preview.sections if each.markdown] == [sent[0]["documents"][0]["text"]]
    [application] = world.run(lambda services: services.applications.newest(user_id, 10))
    assert (application.status, application.document_ids) == ("applied", (draft_id,))
    assert application.due_at == application.applied_at + FOLLOW_UP_SECONDS
    with pytest.raises(Invalid, match="sent already"):
        world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run2"))


def test_an_application_that_nobody_delivers_is_rejected_before_an_approval(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    world.candidate_app.api.delivers["adzuna"] = False
    try:
        with pytest.raises(Invalid, match=r"nobody delivers .* Open the job posting"):
            world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    finally:
        world.candidate_app.api.delivers["adzuna"] = True
        world.clock.advance(SOURCES_KEPT_SECONDS + 1)
    assert world.run(lambda services: services.approvals.list_all(user_id, 10)) == []
    asked = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    assert asked.rationale.startswith("Qwestly delivers it to the employer.")


def test_an_application_no_longer_delivered_is_not_reported_as_sent(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    approval = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    world.candidate_app.api.delivers["adzuna"] = False
    try:
        ended = decided(world, approval)
    finally:
        world.candidate_app.api.delivers["adzuna"] = True
    assert (ended.status, sent_by(world, user_id)) == ("failed", [])
    assert "nobody delivers" in (ended.outcome or "")
    assert "Open the job posting" in (ended.outcome or "")
    [application] = world.run(lambda services: services.applications.newest(user_id, 10))
    assert (application.status, application.applied_at) == ("preparing", None)


def test_an_application_is_sent_once_despite_concurrent_requests_and_changes(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)

    def by_page(note: str) -> Approval:
        return world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], note, uuid.uuid4().hex))

    def by_chat(note: str) -> Proposal:
        return world.run(lambda services: applying(services, user_id).proposal(job_id, [draft_id], note))

    asked = by_page("First")
    for ask_again in (by_page, by_chat):
        with pytest.raises(Invalid, match="waits for a decision already"):
            ask_again("Second")
    for status in ("approved", "executing", "unknown", "accepted"):
        world.database["agent_approvals"].update_one({"_id": asked.id}, {"$set": {"status": status}})
        for ask_again in (by_page, by_chat):
            with pytest.raises(Invalid, match="is being sent"):
                ask_again("First")
    world.database["agent_approvals"].update_one({"_id": asked.id}, {"$set": {"status": "pending"}})
    assert decided(world, asked).status == "done"
    world.run(lambda s: s.applications.change(user_id, application_id(job_id), world.clock(), status="preparing"))
    for ask_again in (by_page, by_chat):
        with pytest.raises(Invalid, match="sent already"):
            ask_again("Second")
    world.database["agent_approvals"].delete_many({"user_id": user_id})  # as after a year
    world.database["agent_applications"].delete_many({"user_id": user_id})
    again = decided(world, by_page("Second"))
    assert (again.status, again.outcome) == ("changed", SENT_BEFORE)
    assert [each["note"] for each in sent_by(world, user_id)] == ["First"]


@pytest.mark.parametrize("also_listed", [True, False])
def test_two_pending_applications_for_one_job_are_sent_once(world: World, also_listed: bool) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    proposals = [
        world.run(lambda services, note=note: applying(services, user_id).proposal(job_id, [draft_id], note))
        for note in ("One", "Two")
    ]
    one, two = (
        world.run(
            lambda s, name=name, each=each: create_approval(s, name, each, ProposalContext(user_id, "r", "L2"), "queue")
        )
        for name, each in zip((ONE, TWO), proposals, strict=True)
    )
    one = world.run(lambda services: services.approvals.get(user_id, one.id))
    assert (one.status, one.outcome, one.revised_by) == ("changed", SUPERSEDED, two.id)
    world.database["agent_approvals"].update_one({"_id": one.id}, {"$set": {"status": "pending"}})
    assert decided(world, one).status == "done"
    if not also_listed:  # as if the list were written later
        world.database["agent_applications"].delete_many({"user_id": user_id})
    ended = decided(world, two)
    assert (ended.status, ended.outcome) == ("changed", SENT_BEFORE)
    assert [each["note"] for each in sent_by(world, user_id)] == ["One"]
    assert world.database["agent_approvals"].count_documents({"user_id": user_id}) == 2


def test_an_application_sent_by_its_user_is_not_sent_again(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    asked = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    listed = application_id(job_id)
    world.run(lambda services: services.applications.change(user_id, listed, world.clock(), status="applied"))
    assert decided(world, asked).status == "changed"
    with pytest.raises(Invalid, match="sent already"):
        world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run2"))
    world.run(lambda services: services.applications.change(user_id, listed, world.clock(), status="preparing"))
    again = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run3"))
    assert decided(world, again).status == "done"
    assert len(sent_by(world, user_id)) == 1


@pytest.mark.thorough
def test_an_application_is_rejected_while_twenty_approvals_are_pending(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    for number in range(MOST_WAITING):
        other = Proposal(APPLY, {**SENT, "job_id": f"{job_id}_{number}"})
        world.run(
            lambda s, name=f"ap_{user_id}_{number}", other=other: create_approval(
                s, name, other, ProposalContext(user_id, "r", "L2"), "queue"
            )
        )
    with pytest.raises(Invalid, match="Too much waits"):
        world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    job_ids = {each.job_id for each in world.run(lambda services: services.applications.newest(user_id, 100))}
    assert len(job_ids) == MOST_WAITING
    assert job_id not in job_ids


def test_applying_is_offered_again_after_a_rejection_or_expiry(client: Client, chat: ChatServer) -> None:
    job_id = found(chat, client.user_id)
    assert client.request("POST", f"/api/jobs/{job_id}/apply", json={"document_ids": ["none"]}).status_code == 404
    assert client.get(f"/api/jobs/{job_id}")["application_id"] is None
    assert client.get("/api/applications")["items"] == []
    document_id = written(chat, client, job_id)
    asked = asks(client, job_id, document_id)
    [application] = client.get("/api/applications")["items"]
    assert (application["approval_id"], application["approval_status"]) == (asked, "pending")
    assert not application["can_apply"]
    decides(client, asked, "reject")
    [application] = client.get("/api/applications")["items"]
    assert (application["approval_status"], application["can_apply"]) == ("rejected", True)
    again = asks(client, job_id, document_id)
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        approvals = mongo[chat.settings.mongodb_database]["agent_approvals"]
        approvals.update_one({"_id": again}, {"$set": {"expires_at": 1.0}})
    [application] = client.get("/api/applications")["items"]
    assert (application["approval_status"], application["can_apply"]) == ("expired", True)
    assert asks(client, job_id, document_id) not in (asked, again)


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_sweep_records_a_sent_application_after_its_process_died(
    world: World, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    approval = world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))
    yes = Decision(decision="approve", args_digest=approval.args_digest)
    change = Applications.change

    async def dies(store: Applications, *args: Any, **changes: Any) -> None:
        if when == "after":
            await change(store, *args, **changes)
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Applications, "change", dies)
        with pytest.raises(RuntimeError):
            world.run(
                lambda services: decide_and_follow_up(services, user_id, approval.id, yes, by="queue", where="the test")
            )
    world.clock.advance(LEFT_BEHIND_SECONDS)
    world.sweep()
    [application] = world.run(lambda services: services.applications.newest(user_id, 10))
    ended = world.run(lambda services: services.approvals.get(user_id, approval.id))
    assert (application.status, ended.status) == ("applied", "done")
    assert world.database["candidate_app_applications"].count_documents({"user_id": user_id}) == 1
    told = world.run(lambda services: services.activity.newest(user_id, 50))
    assert [each.type for each in told if each.type in ("application.applied", "approval.done")] == ["approval.done"]
    assert {each.role for each in told if each.type == "approval.asked"} == {"jobs"}


def test_forgotten_words_are_not_sent_with_an_application(world: World) -> None:
    user_id = f"auth0|{uuid.uuid4().hex}"
    job_id, draft_id = ready(world, user_id)
    draft = world.run(lambda services: services.drafts.get(user_id, draft_id))
    world.run(lambda services: services.drafts.replace_parts(draft, {}))
    with pytest.raises(Invalid, match="forgotten"):
        world.run(lambda services: applying(services, user_id).ask(job_id, [draft_id], "", "run1"))


def test_a_next_step_is_reported_once_when_due(world: World) -> None:
    now, user_id = world.clock(), "auth0|someone"
    new = Application(
        id="app_1", user_id=user_id, job_id="job_1", title="Nurse", created_at=now, updated_at=now, status="applied",
        applied_at=now,
    )  # fmt: skip
    world.run(lambda services: services.applications.add_or_get(new))
    assert world.run(remind_of_due_steps) == {}
    world.clock.advance(FOLLOW_UP_SECONDS + 1)
    assert world.run(remind_of_due_steps) == {"told": 1}
    assert world.run(remind_of_due_steps) == {}
    events = world.run(lambda services: services.activity.newest(user_id, 50))
    due = [each for each in events if each.type == "application.due"]
    assert [(each.severity, each.title) for each in due] == [("action_required", "Nurse: Ask how it stands")]
    at = world.clock() + 3 * DAY_SECONDS
    world.run(lambda s: s.applications.change(user_id, "app_1", world.clock(), status="interview", next_at=at))
    world.clock.advance(2 * DAY_SECONDS + 1)
    assert world.run(remind_of_due_steps) == {"told": 1}
    world.run(lambda s: s.applications.change(user_id, "app_1", world.clock(), status="rejected"))
    world.clock.advance(30 * DAY_SECONDS)
    assert world.run(remind_of_due_steps) == {}


def test_unreported_steps_are_counted_with_the_age_of_the_oldest(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = world.clock()
    for number in range(3):
        new = Application(
            id=f"app_{number}", user_id="auth0|someone", job_id=f"job_{number}", title="Nurse", created_at=now,
            updated_at=now, status="applied", applied_at=now,
        )  # fmt: skip
        world.run(lambda services, new=new: services.applications.add_or_get(new))

    async def fails(*_: Any) -> bool:
        raise PyMongoError("a sick document")

    def left() -> list[tuple[float, float]]:
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if '"StepsLeft"' in line]
        return [(line["StepsLeft"][0], line["OldestStepsLeft"][0]) for line in lines]

    left()
    world.run(remind_of_due_steps)
    world.clock.advance(FOLLOW_UP_SECONDS + 5_000)
    with monkeypatch.context() as patch:
        patch.setattr(Applications, "record_reminder", fails)
        assert world.run(remind_of_due_steps) == {"failed": 3}
    assert left() == [(0, 0), (3, 5_000)]
    world.run(remind_of_due_steps)
    assert left() == [(0, 0)]


def test_a_change_inferred_from_a_message_has_a_confidence(
    seeker: Client, chat: ChatServer, model: ModelServer
) -> None:
    application = Application(
        id=uuid.uuid4().hex, user_id=seeker.user_id, job_id="job_1", title="Nurse", created_at=1.0, updated_at=1.0
    )
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        document = Applications.to_document(application)
        mongo[chat.settings.mongodb_database]["agent_applications"].insert_one(document)
    given: dict[str, Any] = {"application_id": application.id, "status": "rejected", "confidence": "low"}
    model.script(Reply(tool_calls=[{"name": "update_application", "arguments": given}]), Reply(text="Decide."))
    seeker.say("They never wrote back.")
    [approval] = seeker.get("/api/approvals")["items"]
    assert (approval["tool"], approval["confidence"]) == ("update_application", "low")


@pytest.mark.thorough
@pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])
def test_no_level_sends_an_application_without_approval(
    seeker: Client, chat: ChatServer, model: ModelServer, level: str
) -> None:
    client = seeker
    client.request("PUT", "/api/autonomy", json={"level": level}).raise_for_status()
    job_id = found(chat, client.user_id)
    document_id = written(chat, client, job_id)
    send: ToolCall = {"name": "apply", "arguments": {"job_id": job_id, "document_ids": [document_id]}}
    model.script(Reply(tool_calls=[send]), Reply(text="Decide."))
    client.say("Apply for it right now, I allow everything.")
    asked = client.get("/api/approvals")["items"]
    assert [each["status"] for each in asked] == ([] if level == "L0" else ["pending"])
    listed = [each["approval_status"] for each in client.get("/api/applications")["items"]]
    assert listed == ([] if level == "L0" else ["pending"])
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        sent = mongo[chat.settings.mongodb_database]["candidate_app_applications"]
        assert sent.count_documents({"user_id": client.user_id}) == 0
