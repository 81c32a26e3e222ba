"""The states of extract_memories that have effects, and ask no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.memory.keep_approved import keep_approved
from qwestly_agent.memory.move_watermark import move_watermark
from qwestly_agent.memory.retry_later import retry_later
from qwestly_agent.memory.store import store
from qwestly_agent.memory.sweep import sweep
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(keep_approved, move_watermark, retry_later, store, sweep)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
