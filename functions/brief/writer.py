"""The states of brief, which have effects and ask no model; a schedule calls `sweep` every minute."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.briefings.deliver import deliver
from qwestly_agent.briefings.gather import gather
from qwestly_agent.briefings.note_read import note_read
from qwestly_agent.briefings.sweep import sweep
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(deliver, gather, note_read)
SCHEDULED = by_name(sweep)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch({**STATES, **SCHEDULED}, event, context))
