"""Bounced mails, as SES publishes them on EventBridge. The details are from AWS's guide to SES, "Examples of event
data"; the envelope is from EventBridge's reference of events, "Amazon SES"."""

from typing import Any

import pytest

from infra.local.environment import FUNCTION
from qwestly_agent.approvals.mail import reminder_time
from qwestly_agent.approvals.view import approval_view
from tests.functions.approving import TEMPLATE, USER, World

SWEEP = TEMPLATE.name("ApproveClockFunction")
BOUNCE = {
    "bounceType": "Permanent",
    "bounceSubType": "General",
    "bouncedRecipients": [
        {"action": "failed", "status": "5.1.1", "diagnosticCode": "smtp; 550 5.1.1 user unknown"},
    ],
    "timestamp": "2026-11-26T00:41:02.669Z",
    "feedbackId": "01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000",
    "reportingMTA": "dsn; mta.example.com",
}
COMPLAINT = {
    "complainedRecipients": [{}],
    "timestamp": "2026-11-26T00:41:02.669Z",
    "feedbackId": "01000157c44f053b-61b59c11-9236-11e6-8f96-7be8aexample-000000",
    "userAgent": "Amazon SES Mailbox Simulator",
    "complaintSubType": None,
    "complaintFeedbackType": "abuse",
    "arrivalDate": "2026-11-26T00:41:02.669Z",
}


def event_of(mail: dict[str, Any], **about: dict[str, Any]) -> dict[str, Any]:
    """Return the event about a mail as it was passed to SES."""
    [(kind, details)] = about.items()
    [recipient] = mail["Destination"]["ToAddresses"]
    recipients = {"bounce": "bouncedRecipients", "complaint": "complainedRecipients"}[kind]
    tags = {
        "ses:source-tls-version": ["TLSv1.3"],
        "ses:operation": ["SendEmail"],
        "ses:configuration-set": [mail["ConfigurationSetName"]],
        "ses:source-ip": ["192.0.2.0"],
        "ses:from-domain": ["qwestly.example"],
        "ses:caller-identity": ["qwestly-agent-dev-approve-clock"],
        **{each["Name"]: [each["Value"]] for each in mail["EmailTags"]},
    }
    return {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": {"bounce": "Email Bounced", "complaint": "Email Complaint Received"}[kind],
        "source": "aws.ses",
        "account": "123456789012",
        "time": "2026-11-26T00:41:03Z",
        "region": "us-east-1",
        "resources": [f"arn:aws:ses:us-east-1:123456789012:configuration-set/{mail['ConfigurationSetName']}"],
        "detail": {
            "eventType": kind.title(),
            kind: {**details, recipients: [{"emailAddress": recipient, **each} for each in details[recipients]]},
            "mail": {
                "timestamp": "2026-11-26T00:40:02.012Z",
                "source": mail["FromEmailAddress"],
                "sourceArn": "arn:aws:ses:us-east-1:123456789012:identity/qwestly.example",
                "sendingAccountId": "123456789012",
                "messageId": "EXAMPLE7c191be45-e9aedb9a-02f9-4d12-a87d-dd0099a07f8a-000000",
                "destination": [recipient],
                "headersTruncated": False,
                "headers": [{"name": "From", "value": mail["FromEmailAddress"]}, {"name": "To", "value": recipient}],
                "commonHeaders": {"from": [mail["FromEmailAddress"]], "to": [recipient], "subject": "A question?"},
                "tags": tags,
            },
        },
    }


def problem(world: World, approval_id: str = "ap_1") -> str | None:
    """Return the queue's message about the mail of an approval."""
    return approval_view(world.approval(approval_id)).mail_problem


@pytest.mark.parametrize(
    ("about", "said"),
    [({"bounce": BOUNCE}, "Your mail came back"), ({"complaint": COMPLAINT}, "was reported as spam")],
    ids=["a bounce", "a complaint"],
)
def test_a_bounced_mail_stops_mails_to_its_address_and_is_shown_in_the_queue(
    world: World, about: dict[str, Any], said: str
) -> None:
    world.ask("ap_1")
    world.sweep()
    [mail] = world.wire.mails
    for _ in range(2):  # EventBridge may deliver it twice
        world.aws.invoke(SWEEP, event_of(mail, **about))
    assert said in (problem(world) or "")
    assert len([line for line in world.approval("ap_1").audit if "mail came back" in line]) == 1
    world.clock.now = reminder_time(world.approval("ap_1")) + 1
    world.ask("ap_2")
    world.sweep()
    assert said in (problem(world, "ap_2") or ""), "a later question is not mailed, and says why"
    assert len(world.wire.mails) == 1
    world.database["candidates_enhanced"].update_one({"user_id": USER}, {"$set": {"email": "new@example.com"}})
    world.ask("ap_3")
    world.sweep()
    assert world.wire.mails[-1]["Destination"]["ToAddresses"] == ["new@example.com"]
    assert problem(world, "ap_3") is None


@pytest.mark.parametrize(
    "about",
    [
        {"bounce": {**BOUNCE, "bounceType": "Transient"}},  # such as an automatic reply
        {"complaint": {**COMPLAINT, "complaintFeedbackType": "not-spam"}},
    ],
    ids=["out of office", "no spam"],
)
def test_an_inconclusive_delivery_report_changes_nothing(world: World, about: dict[str, Any]) -> None:
    world.ask("ap_1")
    world.sweep()
    world.aws.invoke(SWEEP, event_of(world.wire.mails[0], **about))
    assert problem(world) is None
    assert world.approval("ap_1").mail_at


def test_a_report_about_an_unknown_mail_changes_nothing(world: World) -> None:
    world.ask("ap_1")
    world.sweep()
    [mail] = world.wire.mails
    for tags in ([], [{"Name": "mail", "Value": "0" * 64}]):
        answer = world.aws.invoke(SWEEP, event_of({**mail, "EmailTags": tags}, bounce=BOUNCE))
        assert not answer.failed, answer.payload
    assert problem(world) is None


@pytest.mark.parametrize("about", [{"bounce": BOUNCE}, {"complaint": COMPLAINT}], ids=["a bounce", "a complaint"])
def test_the_templates_event_rule_matches_delivery_reports(world: World, about: dict[str, Any]) -> None:
    world.ask("ap_1")
    world.sweep()
    event = event_of(world.wire.mails[0], **about)
    pattern = TEMPLATE.of_type(FUNCTION)["ApproveClockFunction"]["Events"]["ReturnedMail"]["Properties"]["Pattern"]
    assert event["source"] in pattern["source"]
    assert event["detail-type"] in pattern["detail-type"]
    [named] = pattern["detail"]["mail"]["tags"]["ses:configuration-set"]
    assert event["detail"]["mail"]["tags"]["ses:configuration-set"] == [TEMPLATE.text(named)]


def test_a_decided_approval_shows_no_mail_problem(world: World) -> None:
    world.ask("ap_1")
    world.sweep()
    world.aws.invoke(SWEEP, event_of(world.wire.mails[0], bounce=BOUNCE))
    assert problem(world)
    decided = world.approval("ap_1").decided("approve", world.clock(), by="queue", where="the test")
    assert approval_view(decided).mail_problem is None
