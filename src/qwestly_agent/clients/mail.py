"""Send mail by SES: one message to one person, as text and HTML."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from qwestly_agent.base.errors import Unavailable

TAG = "mail"
"""Name of the tag that identifies a mail in SES's events."""


@dataclass(frozen=True)
class Mail:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    sender: str
    configuration_set: str = ""
    """Reports mails that come back; empty for none."""

    async def send(self, to: str, subject: str, text: str, html: str, *, unsubscribe: str = "", tag: str = "") -> None:
        """Send the message. `unsubscribe` is the URL at which a single POST ends such mails (RFC 8058); `tag` names the
        mail if it comes back.

        Raises `Unavailable` if SES rejects it, also for an invalid address.
        """
        try:
            data = _unsubscribe_header(unsubscribe) + _message(self.sender, to, subject, text, html).as_bytes()
        except ValueError as error:  # an address contains a line break
            raise Unavailable from error

        watched: dict[str, Any] = {}
        if self.configuration_set:
            watched["ConfigurationSetName"] = self.configuration_set
            watched["EmailTags"] = [{"Name": TAG, "Value": tag}] if tag else []

        def call() -> None:
            self.aws("sesv2").send_email(
                FromEmailAddress=self.sender,
                Destination={"ToAddresses": [to]},
                Content={"Raw": {"Data": data}},
                **watched,
            )

        try:
            await asyncio.to_thread(call)
        except (ClientError, BotoCoreError) as error:
            raise Unavailable from error


def _unsubscribe_header(url: str) -> bytes:
    """Return the lines as they are: the library would fold a long address into encoded words, which no mail program
    decodes there. Raises `ValueError`."""
    if not url:
        return b""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("not an address")
    return f"List-Unsubscribe: <{url}>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n".encode()


def _message(sender: str, to: str, subject: str, text: str, html: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    # Asks automatic responders not to reply.
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    message.add_alternative(html, subtype="html")
    return message
