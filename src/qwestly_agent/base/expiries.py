"""How long each kind of approval waits for the user's decision."""

from collections.abc import Mapping

from qwestly_agent.base.errors import InvalidSettings

HOURS: Mapping[str, float] = {
    "update_profile_field": 48,
    "update_profile": 168,
    "update_preference": 48,
    "ingest_linkedin_profile": 48,
    "hand_over_linkedin_about": 168,
    "publish_card": 168,
    "save_card_as_active": 168,
    "delete_card": 48,
    "apply": 24,
    "update_application": 168,
    "raise_autonomy": 168,
    "keep_memories": 168,
    "forget_memory": 1,
    "forget_outdated_memories": 168,
}
"""Hours by tool name."""
LONGEST_HOURS = 168.0
"""The longest time that a state machine waits for a user."""


def hours_to_decide(given: str) -> Mapping[str, float]:
    """Return `HOURS` with the overrides of `given`, such as `apply=12,publish_card=72`. Raises `InvalidSettings`."""
    changed: dict[str, float] = {}
    for each in filter(None, map(str.strip, given.split(","))):
        tool, _, hours = each.partition("=")
        try:
            changed[tool] = float(hours)
        except ValueError:
            changed[tool] = 0.0
        if tool not in HOURS or not 0 < changed[tool] <= LONGEST_HOURS:
            raise InvalidSettings(
                "APPROVAL_HOURS must be tool=hours,tool=hours: tools of docs/approvals.md, "
                f"and hours above 0 and up to {LONGEST_HOURS:g}."
            )
    return {**HOURS, **changed}
