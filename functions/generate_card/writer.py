"""The states of generate_card that have effects, and ask no model."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.keep_draft import keep_draft
from qwestly_agent.cards.note_end import note_end
from qwestly_agent.cards.publish import publish
from qwestly_agent.cards.read_decision import read_decision
from qwestly_agent.workflow_state import by_name, dispatch

STATES = by_name(keep_draft, note_end, publish, read_decision)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.services.run(dispatch(STATES, event, context))
