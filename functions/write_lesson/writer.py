"""The states of write_lesson that show the lesson, or record why there is none, and ask no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.learning.keep import keep
from qwestly_agent.learning.note_end import note_end
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(keep, note_end)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
