"""Mail that comes back, as SES publishes it on EventBridge: bounces and complaints."""

from email.utils import parseaddr
from typing import Any, Literal

from pydantic import BaseModel, Field

from qwestly_agent.clients.aws import TAG
from qwestly_agent.domain.approval import Returned
from qwestly_agent.services import Services

SOURCE = "aws.ses"
_NOT_SPAM = "not-spam"
"""The feedback of somebody who takes a mail out of their spam folder."""


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
    """Send no more mail to an address whose mail came back, and record it in the approval that it was about.

    Idempotent, because EventBridge may deliver an event twice. Raises `ValidationError` for another event.
    """
    detail = _Detail.model_validate(event["detail"])
    tag = "".join(detail.mail.tags.get(TAG, []))
    mailed = await services.sweeps.find_mail_by_token(tag) if tag else None
    if not mailed or not detail.returned:
        return {"returned": 0}
    user_id, kind = mailed
    how, recipients = detail.returned
    for each in recipients:
        await services.user_settings.end_mail_to(user_id, parseaddr(each.address)[1], how)
    if about := await services.sweeps.find_approval_by_link(f"{kind}:{tag}"):
        approval, now = await services.approvals.get(*about), services.clock()
        await services.approvals.change(
            approval, lambda record: record.mail_returned(how, now) if record.returned_as != how else None
        )
    return {"returned": len(recipients)}
