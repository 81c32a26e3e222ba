"""Approvals wait for up to a week, and conversations stay open: approvals with an earlier signature are accepted for 30
days."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from qwestly_agent.workflows import ACTIONS

SIGNATURES = Path(__file__).with_name("signatures.json")
LISTED = json.loads(SIGNATURES.read_text(encoding="utf-8"))
READ_DAYS = timedelta(days=30)


@pytest.mark.parametrize("tool", ACTIONS)
def test_a_changed_signature_format_is_listed_and_accepted_for_thirty_days(tool: str) -> None:
    """A changed action lists its new digest and the date of the old one, and adds an upgrade."""
    assert tool in LISTED, f"{SIGNATURES.name} lists it after `make docs`"
    action = ACTIONS[tool]
    *earlier, present = LISTED[tool]
    assert present == {"digest": action.schema_digest}, f"list the new digest in {SIGNATURES.name}"
    newest = max((date.fromisoformat(each["replaced"]) for each in earlier), default=date.min)
    still_read = {each["digest"] for each in earlier if date.fromisoformat(each["replaced"]) > newest - READ_DAYS}
    assert still_read <= action.upgrades.keys()
