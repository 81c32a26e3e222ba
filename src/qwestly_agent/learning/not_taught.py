"""Requests that are always answered in fixed words: self-harm and abuse."""

from difflib import SequenceMatcher

from qwestly_agent.learning.phrases import extract_name, folded
from qwestly_agent.text.language import language_of
from qwestly_agent.text.trouble import Kind, Trouble

LONGEST = 8
"""Maximum number of words in such a message; a longer one is left to a model."""
NEAR = 0.85

_SELF_HARM = (
    *("self harm", "selfharm", "self injury", "self mutilation", "harm myself", "hurt myself", "cut myself"),
    *("suicide", "killing myself", "kill myself", "selbstverletzung", "selbstmord", "suizid", "automutilation"),
    *("autolesión", "autolesiones", "suicidio", "suicídio", "automutilação", "autolesionismo"),
)
_OFFENSIVE = (
    *("fuck", "fucking", "fucker", "motherfucker", "bitch", "cunt", "whore", "slut", "faggot", "nigger", "retard"),
    *(
        "porn",
        "porno",
        "pornography",
        "asshole",
        "fick",
        "ficken",
        "fotze",
        "hure",
        "arschloch",
        "wichser",
        "hurensohn",
    ),
    *("putain", "connard", "salope", "enculé", "puta", "mierda", "cabrón", "hijo de puta", "caralho", "foda"),
)


def not_taught(text: str) -> Trouble | None:
    """Return the kind of trouble if a short message requests such a topic."""
    words = folded(text).split()
    if not 0 < len(words) <= LONGEST:
        return None
    kind: Kind | None = None
    if _holds(words, _SELF_HARM) or _nearly(extract_name(text), _SELF_HARM):
        kind = "self_harm"
    elif _holds(words, _OFFENSIVE):
        kind = "abuse"
    return Trouble(kind, language_of(text) or "en") if kind else None


def _holds(words: list[str], phrases: tuple[str, ...]) -> bool:
    said = f" {' '.join(words)} "
    return any(f" {each} " in said for each in phrases)


def _nearly(name: str, phrases: tuple[str, ...]) -> bool:
    """True if the name is a misspelling of one of the phrases."""
    return any(SequenceMatcher(None, name, each).ratio() >= NEAR for each in phrases)
