"""The states of generate_card that see what strangers wrote and ask models."""

from typing import Any

from qwestly_agent import container
from qwestly_agent.cards.cover import cover
from qwestly_agent.cards.draft_section import draft_section
from qwestly_agent.cards.gather_evidence import gather_evidence
from qwestly_agent.workflow_state import by_name, dispatch_within_day

STATES = by_name(cover, draft_section, gather_evidence)


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    return container.model_services.run(dispatch_within_day(STATES, event, context))
