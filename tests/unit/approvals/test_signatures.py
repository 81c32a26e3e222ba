"""Approvals wait for up to a week, and conversations stay open: what was asked with an earlier signature is read for 30
days."""

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from qwestly_agent.workflows import ACTIONS

SIGNATURES = Path(__file__).with_name("signatures.json")
READ_DAYS = timedelta(days=30)


@pytest.mark.parametrize("tool", ACTIONS)
def test_a_signature_that_changed_is_listed_with_its_day_and_read_for_thirty(tool: str) -> None:
    """Who changes the arguments of an action adds the new digest here, the day to the old one, and an upgrade."""
    action, listed = ACTIONS[tool], json.loads(SIGNATURES.read_text())[tool]
    *earlier, present = listed
    assert present == {"digest": action.schema_digest}
    newest = max((date.fromisoformat(each["replaced"]) for each in earlier), default=date.min)
    still_read = {each["digest"] for each in earlier if date.fromisoformat(each["replaced"]) > newest - READ_DAYS}
    assert still_read <= action.upgrades.keys()
