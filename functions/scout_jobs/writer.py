"""The states of scout_jobs that ask job boards and store matches, and ask no model; a schedule calls `sweep` every five
minutes."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.jobs.find import find
from qwestly_agent.jobs.keep import keep
from qwestly_agent.jobs.note_end import note_end
from qwestly_agent.jobs.sweep import sweep
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(find, keep, note_end)
SCHEDULED = by_name(sweep)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch({**STATES, **SCHEDULED}, event, context))
