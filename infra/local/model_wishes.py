"""What the scripted model makes of wishes to change something, and of what became of them."""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

CHANGE_PROFILE, CHANGE_PREFERENCE, DELETE_CARD = "update_profile_field", "update_preference", "delete_card"
SHOW_FIRST, READ_LINKEDIN, PUBLISH = "save_card_as_active", "ingest_linkedin_profile", "publish_card"
HAND_OVER, READ_DRAFT = "hand_over_linkedin_about", "read_draft"
SUGGEST_HEADLINE, PROPOSE_HEADLINE = "suggest_headline", "propose_headline"
PROPOSING = {
    CHANGE_PROFILE,
    CHANGE_PREFERENCE,
    DELETE_CARD,
    SHOW_FIRST,
    READ_LINKEDIN,
    PUBLISH,
    HAND_OVER,
    PROPOSE_HEADLINE,
}

_NEWS = re.compile(r"<approval_news>\s*(.*?)\s*</approval_news>\s*", re.DOTALL)
_TO = r" (?:to|into|as) [\"“]?(?P<value>[^\n]+?)[\"”]?[.!]?\s*$"
_PROFILE = re.compile(rf"\b(?:change|set|update|make) my (?P<name>headline|location|summary){_TO}", re.IGNORECASE)
_PREFERENCE = re.compile(rf"\b(?:change|set|update|make) my (?P<name>work mode|availability){_TO}", re.IGNORECASE)
_CARD = re.compile(
    r"\b(?P<what>delete|publish|show) (?:the |my )?(?:card|draft) (?P<id>[\w-]+)", re.IGNORECASE | re.ASCII
)
_DRAFT = re.compile(
    r"\b(?P<what>read|hand over) (?:the |my )?draft (?P<id>(?:card|about)_[\w-]+)", re.IGNORECASE | re.ASCII
)
_LINKEDIN = re.compile(r"\b(?:read|import|ingest|refresh) my linkedin\b", re.IGNORECASE)


def without_news(words: str) -> str:
    return _NEWS.sub("", words)


def news_in(words: str) -> str | None:
    """What the user is told of decisions, where they only decided."""
    found = _NEWS.search(words)
    if found is None or without_news(words).strip():
        return None
    lines = [line.removeprefix("- ") for line in found[1].splitlines() if line.strip()]
    return " ".join(_to_the_user(line) for line in lines)


def _to_the_user(line: str) -> str:
    if line.startswith("The user said no"):
        return "All right, I leave it as it is."
    if line.startswith("The user wants"):
        return "How shall it be instead?"
    outcome = re.search(r"\)\. ([^“]+?)(?: As they put it| They wrote|$)", line)
    return f"Thank you. {outcome[1].strip()}" if outcome else "Thank you, I have noted that."


def wish_in(words: str, tools: Collection[str]) -> dict[str, Any] | None:
    """The call that proposes what the user would like to have changed, or that reads the draft they name."""
    for name, arguments in _wishes(words):
        if name in tools:
            return {"name": name, "arguments": arguments}
    return None


def _wishes(words: str) -> Iterable[tuple[str, dict[str, Any]]]:
    if found := _PROFILE.search(words):
        yield (
            CHANGE_PROFILE,
            {"field": found["name"].lower(), "value": found["value"], "rationale": "You asked for it."},
        )
    if found := _PREFERENCE.search(words):
        name = found["name"].lower().replace(" ", "_")
        yield CHANGE_PREFERENCE, {"name": name, "value": found["value"], "rationale": "You asked for it."}
    if found := _CARD.search(words):
        match found["what"].lower():
            case "delete":
                yield DELETE_CARD, {"card_id": found["id"]}
            case "publish":
                yield PUBLISH, {"draft_id": found["id"]}
            case _:
                yield SHOW_FIRST, {"card_id": found["id"]}
    if found := _DRAFT.search(words):
        yield HAND_OVER if found["what"].lower() == "hand over" else READ_DRAFT, {"draft_id": found["id"]}
    if _LINKEDIN.search(words):
        yield READ_LINKEDIN, {}


def outcome_in(result: str) -> str | None:
    """What is said of a proposal's result."""
    found = re.search(r"\{.*\}", result, re.DOTALL)
    try:
        told = json.loads(found[0]) if found else {}
    except ValueError:
        return None
    if told.get("status") == "waiting":
        return "It waits in your queue; you can decide whenever you like."
    return told.get("outcome")


def headlines_in(results: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """A proposal for each headline that was drafted just now."""
    drafted = next((result for name, result in results if name == SUGGEST_HEADLINE), "")
    if not (draft := _HEADLINES.search(drafted)) or any(name == PROPOSE_HEADLINE for name, _ in results):
        return []
    numbers = [int(number) for number in _NUMBERED.findall(drafted)]
    return [{"name": PROPOSE_HEADLINE, "arguments": {"draft_id": draft[0], "number": each}} for each in numbers]


_HEADLINES = re.compile(r"headlines_\w+")
_NUMBERED = re.compile(r'"number": ?(\d)')
