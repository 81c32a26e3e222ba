"""The states of parse_resume that have effects, and ask no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.resumes.keep_document import keep_document
from qwestly_agent.resumes.note_end import note_end
from qwestly_agent.resumes.propose import propose
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(keep_document, note_end, propose)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
