"""Everything due about approvals, as the sweep function finds it every minute."""

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import jwt
import pytest
from botocore.exceptions import ClientError
from jwt.types import Options

from functions.approve import clock, pages
from infra.local.aws_functions import Context
from qwestly_agent.approvals import sweep as due
from qwestly_agent.approvals.decide import Decision, decide
from qwestly_agent.clients.aws import EventBus
from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.card import NOT_DRAFTED_ANEW
from qwestly_agent.services import Services
from tests.functions.approving import (
    ADDRESS,
    APPROVE_URL,
    CARD,
    DAY,
    DELETION,
    HEADLINE,
    HOUR,
    LOCATION,
    ONE,
    TWO,
    Shown,
    World,
    card_of,
    event_of,
)
from tests.servers import USER, until

MINUTE = 60.0
WAITS = {
    "StartAt": "Wait",
    "States": {
        "Wait": {
            "Type": "Task",
            "Resource": "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "Parameters": {"FunctionName": "keeps-token", "Payload": {"token.$": "$$.Task.Token"}},
            "TimeoutSeconds": 700_000,
            "End": True,
        }
    },
}
REFUSED = ClientError({"Error": {"Code": "MessageRejected"}}, "SendEmail")


def decided(world: World, verb: Any = "approve", approval_id: str = ONE) -> Approval:
    """Record a decision; its process dies right afterwards."""
    decision = Decision(decision=verb, args_digest=world.approval(approval_id).args_digest)
    approval, _ = world.run(lambda services: decide(services, USER, approval_id, decision, by="chat", where="test"))
    return approval


def headline(world: World) -> str:
    return world.database["candidates_enhanced"].find_one({"user_id": USER})["headline"]  # type: ignore[index]


@pytest.fixture
def execution(world: World) -> Callable[[], str]:
    """Create an approval that an execution waits for; return the execution."""

    def waits() -> str:
        tokens: list[str] = []
        world.aws.register("keeps-token", lambda event, _: tokens.append(event["token"]))
        world.aws.create_machine("waits", WAITS)
        started = world.aws.start("waits", {})
        [token] = until(lambda: list(tokens), 60)
        sealed = world.run(lambda services: services.workflows.seal(token, ONE))
        world.ask(proposal=HEADLINE, task_token=sealed)
        return started

    return waits


def test_a_mail_goes_to_the_address_stored_in_the_candidate_app(world: World) -> None:
    world.ask()
    assert world.sweep() == {"due": 1, "mailed": 1}
    [mail] = world.aws.outbox
    assert (list(mail.to) if not isinstance(mail.to, str) else [mail.to]) == [ADDRESS]
    assert mail.subject == "Change your headline?"
    for said in ("Manager", "Head of", "Sunday, January 17, 2027 at 8:00 AM UTC"):
        assert said in mail.text
        assert said in mail.html
    assert world.sweep() == {"due": 0}


def test_one_reminder_with_its_own_link_is_sent_at_half_time(world: World) -> None:
    world.ask()
    first = world.link()
    world.clock.advance(24 * HOUR - 1)
    assert world.sweep() == {"due": 0}
    world.clock.advance(1)
    second = world.link()
    assert world.aws.outbox[-1].subject == "Reminder: Change your headline?"
    assert first != second
    world.clock.advance(23 * HOUR)
    assert world.sweep() == {"due": 0}
    assert len(world.aws.outbox) == 2


def unsubscribe_path(world: World) -> str:
    """Return the unsubscribe path of the newest mail."""
    mail = world.aws.outbox[-1]
    [link] = re.findall(r"\S+/unsubscribe/\S+", mail.text)
    assert link in mail.html
    return urlsplit(link).path


@pytest.mark.parametrize("ended", ["questions", "reminders"])
def test_the_unsubscribe_link_ends_only_its_kind_of_mail_and_confirms_it(world: World, ended: str) -> None:
    world.ask()
    world.sweep()
    if ended == "reminders":
        world.clock.advance(24 * HOUR)
        world.sweep()
    path = unsubscribe_path(world)
    for method in ("GET", "HEAD", "OPTIONS"):
        assert world.ask_page(method, path).status in (200, 204)
    kept = world.run(lambda services: services.user_settings.get(USER))
    assert (kept.mail_questions, kept.mail_reminders) == (True, True), "a scanner follows links"
    for _ in range(2):
        shown = world.ask_page("POST", path, b"List-Unsubscribe=One-Click")
        assert (shown.status, f"no more {ended} by mail" in shown.text) == (200, True)
    kept = world.run(lambda services: services.user_settings.get(USER))
    assert (kept.mail_questions, kept.mail_reminders) == (ended != "questions", ended != "reminders")
    told = [*world.database["agent_activity"].find({"user_id": USER, "type": "approval.mails_ended"})]
    assert [each["severity"] for each in told] == ["warning"]
    assert world.approval().status == "pending", "nothing is decided by it"
    world.ask(TWO, LOCATION)
    mails = len(world.aws.outbox)
    world.sweep()
    assert len(world.aws.outbox) - mails == (ended != "questions")
    world.clock.advance(24 * HOUR)
    mails = len(world.aws.outbox)
    world.sweep()
    assert [each.subject.startswith("Reminder") for each in world.aws.outbox[mails:]].count(True) == (
        0 if ended == "reminders" else 2
    )


def test_a_decided_approval_gets_no_reminder(world: World) -> None:
    world.ask()
    world.decide(world.link(), "reject")
    world.clock.advance(24 * HOUR)
    assert world.sweep() == {"due": 0}
    assert len(world.aws.outbox) == 1


@pytest.mark.thorough
def test_a_mail_rejected_by_ses_is_tried_at_most_five_times(world: World) -> None:
    world.ask(proposal=CARD)
    world.wire.failing["send_email"] = REFUSED
    for _ in range(7 * 24 * 12 - 1):  # every five minutes until the end
        if world.approval().mail_at is None:
            break
        world.clock.now = max(world.clock.now, world.approval().mail_at or 0)
        world.sweep()
    assert world.wire.calls["send_email"] == 5
    assert world.approval().status == "pending"


def test_a_rejected_mail_is_sent_later(world: World) -> None:
    world.ask()
    world.wire.failing["send_email"] = REFUSED
    world.sweep()
    world.sweep()
    assert world.wire.calls["send_email"] == 1
    world.wire.failing.clear()
    world.clock.advance(MINUTE)
    token = world.link()
    assert world.get(token).status == 200


def test_a_signed_event_without_user_content_is_put_on_the_bus(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, put = "s" * 32, list[dict[str, Any]]()

    class Bridge:
        down = False

        def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
            if not self.down:
                put.extend(Entries)
            return {"FailedEntryCount": len(Entries) if self.down else 0}

    async def swept(services: Services) -> dict[str, int]:
        settings = replace(services.settings, event_bus="bus")
        bus = EventBus(lambda _: bridge, "bus", secret, lambda: 1_800_000_000.0)
        return await due.sweep(replace(services, settings=settings, event_bus=bus), lambda: 55.0)

    bridge = Bridge()
    # The first sweep reads a minute back: here long enough for the database's clock, by which events are copied.
    monkeypatch.setattr(due, "FIRST_EVENTS_SECONDS", 1e9)
    for number in range(12):
        world.ask(f"ap_{number}", card_of(number))
    bridge.down = True
    assert world.run(swept)["failed"] == 12, "what is not taken is put again"
    bridge.down = False
    assert world.run(swept)["put"] == 12
    assert "put" not in world.run(swept) or not world.run(swept)["put"]
    details = [json.loads(each["Detail"]) for each in put]
    assert {each["DetailType"] for each in put} == {"approval.asked"}
    assert {each["data"]["approval_id"] for each in details} == {f"ap_{number}" for number in range(12)}
    assert "headline" not in "".join(each["Detail"] for each in put).lower(), "ids alone"
    for each in details:
        untimed: Options = {"verify_exp": False, "verify_iat": False}
        token = each.pop("token")
        claims = jwt.decode(token, secret, algorithms=["HS256"], audience="candidate-app-events", options=untimed)
        assert (claims["event"], claims["jti"], claims["sub"]) == (each, each["id"], USER)
    assert "put" not in world.sweep(), "without a bus nothing is put"


def test_without_an_address_nothing_is_mailed_and_the_reason_is_recorded_once(world: World) -> None:
    world.database["candidates_enhanced"].update_one({"user_id": USER}, {"$set": {"email": ""}})
    world.ask()
    world.sweep()
    assert world.sweep() == {"due": 0}
    assert world.aws.outbox == []
    assert world.approval().audit[-1].endswith("not mailed: no address")


def test_a_stage_without_a_sender_sends_no_mail_and_does_not_retry(world: World) -> None:
    async def swept(services: Services) -> dict[str, int]:
        return await due.sweep(replace(services, settings=replace(services.settings, mail_from="")), lambda: 55.0)

    world.ask()
    world.run(swept)
    assert world.run(swept) == {"due": 0}
    assert world.approval().audit[-1].endswith("not mailed: no sender")


def test_behind_a_distribution_the_pages_reject_direct_requests(world: World) -> None:
    async def changed(services: Services) -> None:
        settings = replace(services.settings, behind_distribution=1, origin_secret="new,old")
        services.secrets.settings, services.secrets._read = settings, lambda: settings

    world.ask()
    path = f"/approve/{world.link()}"
    world.run(changed)

    def status(**headers: str) -> int:
        event = event_of("GET", path)
        return Shown.of(pages.handler({**event, "headers": {**event["headers"], **headers}}, None)).status

    assert status() == 404
    assert status(**{"x-origin-secret": "a guess"}) == 404
    assert status(**{"x-origin-secret": "old"}) == 200


def test_an_irreversible_change_is_mailed_without_a_link(world: World) -> None:
    card = {"user_id": USER, "card_id": "card_1", "style": "standard", "headline": "PM", "sections": [], "version": 1}
    world.database["qc_sections"].insert_one({"_id": "card_1", **card})
    world.ask(proposal=DELETION)
    world.sweep()
    [mail] = world.aws.outbox
    assert "https://" not in (mail.text + mail.html).replace(f"{APPROVE_URL}/unsubscribe/", "")
    assert "it’s waiting in your queue" in mail.text
    [link] = world.approval().links
    assert link.startswith("questions:"), "it ends mails, and decides nothing"


def test_mails_wait_while_the_brake_is_on_and_are_sent_afterwards(world: World) -> None:
    world.ask()
    world.pull_brake()
    world.sweep()
    world.clock.advance(HOUR)
    world.sweep()
    assert world.aws.outbox == []
    world.release_brake()
    world.clock.advance(5 * MINUTE)
    world.sweep()
    assert len(world.aws.outbox) == 1


@pytest.mark.thorough
def test_two_concurrent_sweeps_mail_and_expire_once(world: World) -> None:
    for number in range(10):
        world.ask(f"ap_{number:032}", card_of(number))
    world.ask(TWO)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: world.sweep(), range(4)))
    assert len(world.aws.outbox) == 11
    world.clock.advance(8 * DAY)
    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(lambda _: world.sweep(), range(4)))
    assert sum(each.get("expired", 0) for each in counts) == 11
    assert len(world.aws.outbox) == 11


def test_an_approval_left_behind_is_executed_by_the_sweep(world: World) -> None:
    world.ask()
    decided(world)
    world.sweep()
    assert headline(world) == "Product Manager"
    world.clock.advance(MINUTE)
    assert world.sweep() == {"due": 1, "carried_out": 1}
    assert headline(world) == "Head of Product"
    assert world.sweep() == {"due": 0}


def test_an_unknown_outcome_is_looked_up_by_the_sweep_and_the_action_runs_once(world: World) -> None:
    world.ask()
    token = world.link()
    world.candidate_app.misbehave("drop_after")
    world.decide(token)
    assert world.approval().status == "unknown"
    world.clock.advance(MINUTE)
    world.sweep()
    assert world.approval().status == "done"
    assert world.database["candidates_enhanced"].find_one({"user_id": USER})["version"] == 1  # type: ignore[index]


@pytest.mark.thorough
@pytest.mark.parametrize("verb", ["approve", "reject", "revise"])
def test_an_execution_not_yet_notified_is_notified_by_the_sweep(
    world: World, execution: Callable[[], str], verb: str
) -> None:
    started = execution()
    decided(world, verb)
    world.clock.advance(MINUTE)
    assert world.sweep()["told"] == 1
    outcome = world.aws.outcome(started)
    assert outcome.output == {"approval_id": ONE, "status": world.approval().status}
    assert world.sweep().get("told", 0) == 0
    assert world.wire.calls["send_task_success"] == 1


@pytest.mark.thorough
def test_a_notified_execution_has_five_minutes_to_act_itself(world: World, execution: Callable[[], str]) -> None:
    execution()
    decided(world)
    for _ in range(4):
        world.clock.advance(MINUTE)
        world.sweep()
    assert headline(world) == "Product Manager"
    world.clock.advance(MINUTE)
    assert world.sweep()["carried_out"] == 1
    assert headline(world) == "Head of Product"


def test_an_execution_is_notified_that_its_approval_expired(world: World, execution: Callable[[], str]) -> None:
    started = execution()
    world.clock.advance(2 * DAY)
    assert world.sweep()["expired"] == 1
    assert world.aws.outcome(started).output == {"approval_id": ONE, "status": "expired"}
    assert world.sweep() == {"due": 0}


def test_an_execution_that_can_never_be_notified_is_abandoned_and_blocks_no_other(world: World) -> None:
    world.ask(
        task_token=world.run(lambda services: services.workflows.seal("of-nobody", TWO))
    )  # sealed for another record
    decided(world, "reject")
    world.clock.advance(MINUTE)
    assert world.sweep()["failed"] == 1
    world.clock.advance(60 * MINUTE)
    assert world.sweep()["given_up"] == 1
    assert world.sweep() == {"due": 0}


def test_an_execution_that_no_longer_waits_is_not_notified_again(world: World) -> None:
    world.ask(task_token=world.run(lambda services: services.workflows.seal("of-nobody", ONE)))
    decided(world, "reject")
    world.clock.advance(MINUTE)
    world.sweep()
    assert world.approval().told_execution
    assert world.sweep() == {"due": 0}


def test_one_invalid_record_does_not_stop_the_others(world: World) -> None:
    world.ask(ONE)
    world.ask(TWO, CARD)
    world.database["agent_approvals"].update_one({"_id": ONE}, {"$set": {"preview": "no JSON"}})
    assert world.sweep() == {"due": 2, "failed": 1, "mailed": 1}


def test_records_that_always_fail_do_not_block_those_behind_them(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ask(ONE)
    world.clock.advance(1)
    world.ask(TWO, CARD)
    world.database["agent_approvals"].update_one({"_id": ONE}, {"$set": {"preview": "no JSON"}})
    assert sweep_one(world) == {"due": 1, "failed": 1}
    assert '"ApprovalsLeft":[2.0]' in capsys.readouterr().out
    assert sweep_one(world) == {"due": 1, "mailed": 1}
    world.clock.advance(MINUTE)
    capsys.readouterr()
    assert sweep_one(world) == {"due": 1, "failed": 1}
    assert '"ApprovalsLeft":[1.0],"OldestApprovalsLeft":[61.0]' in capsys.readouterr().out


def sweep_one(world: World) -> dict[str, int]:
    """Sweep one approval at a time."""

    def one_at_a_time(services: Services) -> Services:
        return replace(services, settings=replace(services.settings, approvals_a_sweep=1))

    return world.run(lambda services: due.sweep(one_at_a_time(services), lambda: 55.0))


def test_with_little_time_left_the_sweep_starts_nothing(world: World) -> None:
    world.ask()
    assert clock.handler({}, Context("clock", 1769, 10)) == {"due": 1, "left": 1}
    assert world.aws.outbox == []


def test_a_redraft_that_cannot_start_for_an_hour_is_reported_as_failed(world: World) -> None:
    world.wire.failing["start_execution"] = ClientError({"Error": {"Code": "ThrottlingException"}}, "StartExecution")
    world.ask(conversation_id="c1")
    shown = world.decide(world.link(), "revise", "Shorter, please")
    assert "You are asked again once it is rewritten." in shown.text
    draft_id = world.approval().redraft_id or ""
    world.clock.advance(MINUTE)
    assert world.sweep() == {"due": 1, "failed": 1}
    draft = world.run(lambda services: services.drafts.get(USER, draft_id))
    assert (draft.status, draft.conversation_id, draft.round) == ("running", "c1", 2)
    world.clock.advance(HOUR)
    assert world.sweep() == {"due": 1, "given_up": 1}
    draft = world.run(lambda services: services.drafts.get(USER, draft_id))
    assert (draft.status, draft.label, draft.news) == ("failed", NOT_DRAFTED_ANEW, True)
    assert (world.approval().status, world.approval().due_at) == ("revised", None)
    assert world.wire.calls["start_execution"] == 2
