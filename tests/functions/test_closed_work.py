"""Work that waits for a decision is closed with it, even if the deciding process dies right afterwards."""

from collections.abc import Callable
from typing import Any

import pytest

from qwestly_agent.approvals.decide import Decision, decide, decide_and_follow_up
from qwestly_agent.domain.approval import Approval, DecidedBy, Verb
from qwestly_agent.domain.learning import Lesson
from qwestly_agent.domain.resume import ReadField, ResumeRecord
from qwestly_agent.jobs.view import ApplicationView, application_view
from qwestly_agent.platform.work import Work
from qwestly_agent.resumes.model import ResumeState
from qwestly_agent.resumes.writer import ASKED, propose
from qwestly_agent.services import Services
from qwestly_agent.stores.resumes import Resumes
from tests.functions.approving import ONE, World
from tests.functions.test_applications import applying, ready
from tests.servers import USER

WEEK = 7 * 86_400.0
Way = Callable[[World, Approval, Verb], None]


def decided_by(by: DecidedBy) -> Way:
    """Record the decision; the process dies before it follows up. The sweep comes minutes later."""

    def way(world: World, approval: Approval, verb: Verb) -> None:
        given = Decision(decision=verb, args_digest=approval.args_digest)
        world.run(lambda services: decide(services, USER, approval.id, given, by=by, where="test"))
        world.clock.advance(301.0)
        world.sweep()

    return way


def by_mail(world: World, approval: Approval, verb: Verb) -> None:
    world.clock.advance(601.0)  # an approval from a chat is mailed after ten minutes
    assert world.decide(world.link(approval.id), verb).status == 200


def by_expiry(world: World, _: Approval, __: Verb) -> None:
    world.clock.advance(WEEK + 1)
    world.sweep()


CHAT, QUEUE = decided_by("chat"), decided_by("queue")
DECLINED = [
    pytest.param(CHAT, "rejected", id="chat"),
    pytest.param(QUEUE, "rejected", id="queue"),
    pytest.param(by_mail, "rejected", id="mail"),
    pytest.param(by_expiry, "expired", id="expiry"),
]


def proposed_resume(world: World) -> ResumeRecord:
    about: dict[str, Any] = {"id": "res_1", "user_id": USER, "run_id": "r", "name": "cv.pdf", "approval_id": ONE}
    about |= {"created_at": world.clock(), "updated_at": world.clock()}
    record = ResumeRecord(**about, status="proposed", label=ASKED)
    world.ask(work="resumes", role="resumes")
    world.run(lambda services: services.resumes.add(record))
    return record


def resume_of(world: World) -> tuple[str, str]:
    record = world.run(lambda services: services.resumes.get(USER, "res_1"))
    return record.status, record.label


@pytest.mark.parametrize("way", [CHAT, QUEUE, by_mail], ids=["chat", "queue", "mail"])
def test_an_approved_resume_says_that_its_changes_are_in_the_profile(world: World, way: Way) -> None:
    proposed_resume(world)
    way(world, world.approval(), "approve")
    assert resume_of(world) == ("done", "Read. What you approved is in your profile.")


@pytest.mark.parametrize(("way", "status"), DECLINED)
def test_a_resume_does_not_wait_after_a_rejection(world: World, way: Way, status: str) -> None:
    proposed_resume(world)
    way(world, world.approval(), "reject")
    assert world.approval().status == status
    label = {"rejected": "You declined", "expired": "This wasn’t decided in time"}[status]
    assert resume_of(world) == ("done", f"Read. {label}, so your profile stayed as it is.")
    world.clock.advance(301.0)
    assert world.sweep()["due"] == 0


def test_a_resume_proposed_by_the_previous_version_is_closed_too(world: World) -> None:
    proposed_resume(world)
    world.database["agent_approvals"].update_one({"_id": ONE}, {"$unset": {"work": ""}})
    by_mail(world, world.approval(), "reject")
    assert resume_of(world)[0] == "done"


def test_a_resume_rejected_while_being_proposed_does_not_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    place = ReadField(path="/basics/location", value="Lisbon", original="Lisbon", quote="Lisbon", start=0, end=6,
                      is_checked=True)  # fmt: skip
    about: dict[str, Any] = {
        "id": "res_1",
        "user_id": USER,
        "run_id": "r",
        "name": "cv.pdf",
        "label": "Keeping its text",
    }
    about |= {"created_at": world.clock(), "updated_at": world.clock(), "text": "Lisbon", "read": (place,)}
    world.run(lambda services: services.resumes.add(ResumeRecord(**about, status="saving")))
    move = Resumes.move

    async def propose_it(services: Services) -> None:
        async def late(store: Resumes, *args: Any, **parts: Any) -> bool:
            [asked] = await services.approvals.list_open(USER, 2)
            given = Decision(decision="reject", args_digest=asked.args_digest)
            await decide_and_follow_up(services, USER, asked.id, given, by="queue", where="test")
            return await move(store, *args, **parts)

        monkeypatch.setattr(Resumes, "move", late)
        await propose(services, ResumeState(user_id=USER, run_id="r", resume_id="res_1"))

    world.run(propose_it)
    assert resume_of(world) == ("done", "Read. You declined, so your profile stayed as it is.")


@pytest.mark.parametrize(("way", "status"), DECLINED)
def test_a_draft_without_its_execution_does_not_wait_after_a_rejection(world: World, way: Way, status: str) -> None:
    draft = world.draft()
    asked = world.request(task_token="of-nobody")["approval_id"]
    assert world.run(lambda services: services.drafts.get(USER, draft.id)).status == "waiting"
    way(world, world.approval(asked), "reject")
    after = world.run(lambda services: services.drafts.get(USER, draft.id))
    assert (world.approval(asked).status, after.status) == (status, status)


@pytest.mark.parametrize(
    ("way", "verb", "status"),
    [
        pytest.param(CHAT, "approve", "done", id="chat"),
        pytest.param(QUEUE, "reject", "rejected", id="queue"),
        pytest.param(by_expiry, "reject", "expired", id="expiry"),
    ],
)
def test_after_the_decision_a_document_is_sent_or_can_be_sent_again(
    world: World, way: Way, verb: Verb, status: str
) -> None:
    """An application is never decided by mail: its action needs a sign-in."""
    job_id, document_id = ready(world, USER)
    approval = world.run(lambda services: applying(services, USER).ask(job_id, [document_id], "", "run_1"))
    assert not shown(world, approval.id).can_apply
    way(world, approval, verb)
    seen = shown(world, approval.id)
    assert seen.approval_status == status
    is_sent = status == "done"
    assert (seen.status, seen.document_ids) == (("applied", (document_id,)) if is_sent else ("preparing", ()))
    assert seen.can_apply is not is_sent


def shown(world: World, approval_id: str) -> ApplicationView:
    [application] = world.run(lambda services: services.applications.newest(USER, 10))
    return application_view(application, world.approval(approval_id), world.clock())


def test_a_lesson_needs_no_approval_and_is_not_in_progress_forever(world: World) -> None:
    about: dict[str, Any] = {"id": "les_1", "user_id": USER, "run_id": "r", "conversation_id": None, "topic": "t"}
    lesson = Lesson(**about, title="Pricing", created_at=world.clock(), updated_at=world.clock())
    world.run(lambda services: services.lessons.add(lesson))

    async def listed(services: Any) -> tuple[str, int]:
        now, lessons = services.clock(), services.lessons
        seen = lessons.as_seen(await lessons.get(USER, lesson.id), now)
        return seen.status, len(await lessons.list_under_way(USER, now))

    assert world.run(listed) == ("writing", 1)
    world.clock.advance(Work.alive_seconds)
    assert world.run(listed) == ("failed", 0)


def test_only_work_with_an_outcome_for_each_decision_waits_for_approval(world: World) -> None:
    async def waiting(services: Any) -> dict[str, set[str]]:
        return {each.subject: {*each.closed_by} for each in services.works if each.waits_as}

    assert world.run(waiting) == {"resume": {"done", "rejected", "expired", "changed", "failed"}}
