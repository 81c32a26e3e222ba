"""Process due approvals, every minute."""

from typing import Any, Protocol

from qwestly_agent import container
from qwestly_agent.approvals.sweep import sweep


class Context(Protocol):
    def get_remaining_time_in_millis(self) -> int: ...


def handler(event: dict[str, Any], context: Context) -> dict[str, int]:  # noqa: ARG001
    return container.services.run(
        lambda services: sweep(services, lambda: context.get_remaining_time_in_millis() / 1000)
    )
