"""Process due approvals, every minute, and mails that came back."""

from typing import Any, Protocol

from qwestly_agent import container
from qwestly_agent.approvals.mail import SOURCE, note_returned_mail
from qwestly_agent.approvals.sweep import sweep


class Context(Protocol):
    def get_remaining_time_in_millis(self) -> int: ...


def handler(event: dict[str, Any], context: Context) -> dict[str, int]:
    if event.get("source") == SOURCE:
        return container.services.run(lambda services: note_returned_mail(services, event))
    return container.services.run(
        lambda services: sweep(services, lambda: context.get_remaining_time_in_millis() / 1000)
    )
