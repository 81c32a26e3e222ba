"""Mail about what waits: one when it is due, a reminder at half of the time, each with a link of its own.

A mail is claimed in the record before it is sent, with the moment of the next try: whoever dies in between, or is
refused by SES, leaves a record that is simply due again.
"""

import secrets
from collections.abc import Callable
from typing import Protocol

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.links import decided_by_link, effect_of, hash_of
from qwestly_agent.approvals.templates import render, shortly
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Braked, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import PRIVATE, Approval
from qwestly_agent.services import (
    HasApprovals,
    HasClock,
    HasLogger,
    HasMail,
    HasProfiles,
    HasSettings,
    HasSignals,
)
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.text.clean import unlinked, visible


class MailServices(HasApprovals, HasClock, HasLogger, HasMail, HasProfiles, HasSettings, HasSignals, Protocol): ...


MOST_ATTEMPTS = 5
"""For first mail and reminder together."""
TRY_AGAIN_SECONDS = (60.0, 300.0, 1800.0, 7200.0)
"""After each attempt."""
BRAKED_SECONDS = 300.0
"""Until somebody looks again whether the brake is still on."""
CLAIMS_SHOWN = 6
"""Of each section; the page shows all."""
LONGEST_SUBJECT_CHARACTERS = 120


def new_token() -> str:
    return secrets.token_urlsafe(32)


async def mail_if_due(services: MailServices, approval: Approval, new_token: Callable[[], str] = new_token) -> Approval:
    """The record after its mail was sent, or could not be; as it is where none is due."""
    now = services.clock()
    if approval.status != "pending" or approval.mail_at is None or not approval.mail_at <= now < approval.expires_at:
        return approval
    try:
        await pause.check(services.signals, approval.user_id)
    except Braked:
        return await _note(services.approvals, approval, mail_at=now + BRAKED_SECONDS)
    address = await services.profiles.address(approval.user_id)
    if not address:
        return await _note(services.approvals, approval, _line(now, "not mailed: no address"), mail_at=None)
    token = new_token() if decided_by_link(approval) else None
    claimed, ours = await services.approvals.change(
        approval, lambda record: _claim(record, token, now) if record.revision == approval.revision else None
    )
    if not ours:  # somebody else is at it, or it was decided this moment
        return claimed
    try:
        await pause.check(services.signals, approval.user_id)
    except Braked:
        return claimed  # which is due again soon
    try:
        await services.mail.send(address, *message_of(claimed, services.settings.approve_url, token, now))
    except Unavailable as error:
        line = {"approval_id": claimed.id, "run_id": claimed.run_id, **cause_of(error)}
        services.logger.warning(Event.REQUEST_FAILED, extra=line)
        return claimed
    return await _sent(services.approvals, claimed, now)


def message_of(approval: Approval, base_url: str, token: str | None, now: float) -> tuple[str, str, str]:
    """Subject, text and HTML. Without a token it leads to where the person is signed in."""
    reminder = now >= half_of_the_time(approval)
    given = {
        # A mail is read by whoever sees the screen, and kept by others for years.
        "approval": approval.model_copy(update=approval.scrubbed) if approval.kind in PRIVATE else approval,
        "effect": effect_of(approval),
        "link": f"{base_url.rstrip('/')}/{token}" if token else None,
        "reminder": reminder,
        "most": CLAIMS_SHOWN,
    }
    subject = f"{'Reminder' if reminder else 'Please decide'}: {approval.preview.title}"
    subject = shortly(unlinked(visible(subject)), LONGEST_SUBJECT_CHARACTERS)
    return subject, render("mail.txt", **given), render("mail.html", **given)


def half_of_the_time(approval: Approval) -> float:
    return (approval.created_at + approval.expires_at) / 2


def _claim(approval: Approval, token: str | None, now: float) -> Approval:
    last = approval.mails + 1 >= MOST_ATTEMPTS
    again = None if last else now + TRY_AGAIN_SECONDS[approval.mails]
    links = (*approval.links, hash_of(token)) if token else approval.links
    return approval.model_copy(update={"mails": approval.mails + 1, "mail_at": again, "links": links})


async def _sent(approvals: Approvals, approval: Approval, now: float) -> Approval:
    half = half_of_the_time(approval)
    next_mail = half if now < half and approval.mails < MOST_ATTEMPTS else None
    line = _line(now, "mailed")
    return await _note(approvals, approval, line, mail_at=next_mail)


async def _note(
    approvals: Approvals, approval: Approval, line: str | None = None, *, mail_at: float | None
) -> Approval:
    """When it is mailed next: never, where it was decided meanwhile."""

    def noted(record: Approval) -> Approval:
        audit = (*record.audit, line) if line else record.audit
        due = mail_at if record.status == "pending" else None
        return record.model_copy(update={"mail_at": due, "audit": audit})

    return (await approvals.change(approval, noted))[0]


def _line(now: float, what: str) -> str:
    return f"{to_datetime(now).isoformat()} {what}"
