"""Mail about pending approvals, and returned mail."""

import secrets
from collections.abc import Sequence
from email.utils import parseaddr
from typing import Any, Literal

from pydantic import BaseModel, Field

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.links import effect_of, find_mail, hash_of, is_decided_by_link, previous_round
from qwestly_agent.approvals.seal import new_link_token
from qwestly_agent.approvals.templates import Brand, render, shortly
from qwestly_agent.approvals.view import approval_span, pair_reworded
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked, Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_refused_mail
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.aws import TAG
from qwestly_agent.domain.approval import PRIVATE, Approval, Returned
from qwestly_agent.services import Services
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.user_settings import MailKind
from qwestly_agent.text.clean import disable_links, visible

# --- mail -------------------------------------------------------------------------------------------------------------
# Mail about pending approvals: one when it is due and a reminder halfway to expiry, each with its own link.
#
# A mail is claimed in the record before it is sent, with the time of the next attempt: if the process dies in between,
# or SES rejects the mail, the record becomes due again.


MOST_ATTEMPTS = 5
"""Maximum number of attempts for the first mail and the reminder together."""
TRY_AGAIN_SECONDS = (60.0, 300.0, 1800.0, 7200.0)
"""Delay after each failed attempt."""
BRAKED_SECONDS = 300.0
"""Delay until the brake is checked again."""
CLAIMS_SHOWN = 6
"""Claims per section in a mail; the page shows all."""
LONGEST_SUBJECT_CHARACTERS = 120
UNSUBSCRIBE = "unsubscribe"


def new_token() -> str:
    return secrets.token_urlsafe(32)


async def mail_if_due(services: Services, approval: Approval) -> Approval:
    """Send a mail if one is due, and return the updated record."""
    now = services.clock()
    if approval.status != "pending" or approval.mail_at is None or not approval.mail_at <= now < approval.expires_at:
        return approval
    try:
        await pause.check(services.signals, approval.user_id)
    except Braked:
        return await _note(services.approvals, approval, mail_at=now + BRAKED_SECONDS)
    contact = await services.profiles.get_mail_recipient(approval.user_id)
    if not (services.settings.mail_from and contact.address):
        lacking = "address" if services.settings.mail_from else "sender"
        return await _note(services.approvals, approval, _line(now, f"not mailed: no {lacking}"), mail_at=None)
    settings, kind = await services.user_settings.get(approval.user_id), kind_of(approval, now)
    if returned := settings.returned_as(contact.address):
        return (await services.approvals.change(approval, lambda record: record.mail_returned(returned, now)))[0]
    if not (settings.mail_reminders if kind == "reminders" else settings.mail_questions):
        later = reminder_time(approval) if kind == "questions" else None
        return await _note(services.approvals, approval, _line(now, f"not mailed: no {kind} by mail"), mail_at=later)
    earlier = await previous_round(services.approvals, approval)
    token = new_link_token(services, approval.id) if is_decided_by_link(services, approval) else None
    ending = new_token()
    links = (*([hash_of(token)] if token else []), f"{kind}:{hash_of(ending)}")
    claimed, ours = await services.approvals.change(
        approval, lambda record: _claim(record, links, now) if record.revision == approval.revision else None
    )
    if not ours:  # another process sends it, or the record was just decided
        return claimed
    try:
        async with pause.named_run(services.runs, claimed.user_id, f"mail-{claimed.id}", services.clock):
            await pause.check(services.signals, claimed.user_id)
            link = unsubscribe_link(services.settings, ending)
            message = message_of(
                claimed, services.settings, contact.name, token, now, settings.zone, earlier, unsubscribe=link
            )
            with approval_span(services.traces, "mail approval", claimed):
                await services.mail.send(contact.address, *message, unsubscribe=link, tag=hash_of(ending))
    except Braked:
        return claimed  # becomes due again at the time of the next attempt
    except Unavailable as error:
        line = {"approval_id": claimed.id, "run_id": claimed.run_id, **cause_of(error)}
        services.logger.warning(Event.REQUEST_FAILED, extra=line)
        measure_refused_mail()
        return claimed
    return await _sent(services.approvals, claimed, now)


def message_of(
    approval: Approval,
    settings: Settings,
    person: str,
    token: str | None,
    now: float,
    zone: str = "UTC",
    earlier: Approval | None = None,
    *,
    unsubscribe: str = "",
) -> tuple[str, str, str]:
    """Return subject, text and HTML. Without a token, the link leads to the queue, which requires sign-in. `earlier` is
    the approval of the previous round, and `unsubscribe` the link that stops mails of this kind."""
    reminder, brand = kind_of(approval, now) == "reminders", Brand.of(settings)
    # Others may see the mail on a screen, and mail providers store it for years.
    told = approval.scrubbed() if approval.kind in PRIVATE else approval
    rounds = pair_reworded(earlier.preview, told.preview) if earlier else ([], list(told.preview.difference))
    given = {
        "person": person,
        "first_name": person.partition(" ")[0],
        "zone": zone,
        "approval": told,
        "reworded": rounds[0],
        "difference": rounds[1],
        "effect": effect_of(approval),
        "link": f"{settings.approve_url.rstrip('/')}/{token}" if token else None,
        "reminder": reminder,
        "unsubscribe": unsubscribe,
        "most": CLAIMS_SHOWN,
    }
    asked = shortly(disable_links(visible(approval.preview.title)), LONGEST_SUBJECT_CHARACTERS - len("Reminder: ?"))
    subject = f"{'Reminder: ' if reminder else ''}{asked}?"
    return subject, render("mail.txt", brand, **given), render("mail.html", brand, **given)


def kind_of(approval: Approval, now: float) -> MailKind:
    """Return the kind of mail that is due now."""
    return "reminders" if now >= reminder_time(approval) else "questions"


def unsubscribe_link(settings: Settings, token: str) -> str:
    return f"{settings.approve_url.rstrip('/')}/{UNSUBSCRIBE}/{token}"


def reminder_time(approval: Approval) -> float:
    return (approval.created_at + approval.expires_at) / 2


def _claim(approval: Approval, links: Sequence[str], now: float) -> Approval:
    last = approval.mails + 1 >= MOST_ATTEMPTS
    again = None if last else now + TRY_AGAIN_SECONDS[approval.mails]
    return approval.mailing(links, again)


async def _sent(approvals: Approvals, approval: Approval, now: float) -> Approval:
    half = reminder_time(approval)
    next_mail = half if now < half and approval.mails < MOST_ATTEMPTS else None
    line = _line(now, "mailed")
    return await _note(approvals, approval, line, mail_at=next_mail)


async def _note(
    approvals: Approvals, approval: Approval, line: str | None = None, *, mail_at: float | None
) -> Approval:
    """Set the time of the next mail (none if the record was decided meanwhile), and add `line` to the audit."""
    return (await approvals.change(approval, lambda record: record.mailed(mail_at, line)))[0]


def _line(now: float, what: str) -> str:
    return f"{to_datetime(now).isoformat()} {what}"


# --- returned mail ----------------------------------------------------------------------------------------------------
# Returned mail (bounces and complaints), as SES publishes it on EventBridge.


SOURCE = "aws.ses"
_NOT_SPAM = "not-spam"
"""The feedback type when somebody moves a mail out of their spam folder."""


class _Recipient(BaseModel):
    address: str = Field(alias="emailAddress")


class _Bounce(BaseModel):
    kind: str = Field(alias="bounceType")
    recipients: list[_Recipient] = Field(alias="bouncedRecipients")


class _Complaint(BaseModel):
    recipients: list[_Recipient] = Field(alias="complainedRecipients")
    feedback: str | None = Field(default=None, alias="complaintFeedbackType")


class _Mail(BaseModel):
    tags: dict[str, list[str]] = {}


class _Detail(BaseModel):
    """The event of a configuration set."""

    kind: Literal["Bounce", "Complaint"] = Field(alias="eventType")
    mail: _Mail
    bounce: _Bounce | None = None
    complaint: _Complaint | None = None

    @property
    def returned(self) -> tuple[Returned, list[_Recipient]] | None:
        """How the mail came back, and of whom; None if it may have arrived. A transient bounce may be an answer by
        machine ("out of office") or a full mailbox, after which SES tries the next mail."""
        if self.bounce and self.bounce.kind != "Transient":
            return "bounce", self.bounce.recipients
        if self.complaint and self.complaint.feedback != _NOT_SPAM:
            return "complaint", self.complaint.recipients
        return None


async def note_returned_mail(services: Services, event: dict[str, Any]) -> dict[str, int]:
    """Stop sending mail to an address whose mail was returned, and record this in the approval that the mail was about.

    Idempotent, because EventBridge may deliver an event twice. Raises `ValidationError` for any other event.
    """
    detail = _Detail.model_validate(event["detail"])
    tag = "".join(detail.mail.tags.get(TAG, []))
    mailed = await find_mail(services, tag) if tag else None
    if not mailed or not detail.returned:
        return {"returned": 0}
    user_id, kind = mailed
    how, recipients = detail.returned
    for each in recipients:
        await services.user_settings.end_mail_to(user_id, parseaddr(each.address)[1], how)
    if about := await services.approvals.find_by_link(f"{kind}:{tag}"):
        approval, now = await services.approvals.get(*about), services.clock()
        await services.approvals.change(
            approval, lambda record: record.mail_returned(how, now) if record.returned_as != how else None
        )
    return {"returned": len(recipients)}
