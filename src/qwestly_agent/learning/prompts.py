"""The guide's prompt in a turn, and what must not be taught."""

from difflib import SequenceMatcher

from pydantic_ai.framing import wrap

from qwestly_agent.domain.learning import Offer
from qwestly_agent.learning.service import LearningService
from qwestly_agent.learning.tree import Tree, agrees, extract_name, folded
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.language import language_of
from qwestly_agent.text.prompt_tags import LEARNING
from qwestly_agent.text.trouble import Kind, Trouble
from qwestly_agent.text.user_text import typed_parts

# --- prompts ----------------------------------------------------------------------------------------------------------
# The guide's prompt in a turn: the library, the offer, due questions, and the instruction.


async def learning_context(service: LearningService, *, is_first: bool) -> str:
    """Return the state, and the instruction for this turn."""
    tree, typed = await service.tree(), "\n".join(typed_parts(service.text))
    offer = service.open_offer
    lines = [_library(tree)]
    lines += [f"offered: {quoted(offer.topic)}: {quoted(offer.question)}"] if offer else []
    lines += (
        [f"your last answers began: {'; '.join(map(quoted, service.talk.openings))}"] if service.talk.openings else []
    )
    return f"{wrap(LEARNING, chr(10).join(lines))}\n\n{_task(typed, offer, tree, is_first=is_first)}"


def _library(tree: Tree) -> str:
    subjects = (f"{subject} ({', '.join(topics)})" for subject, topics in tree.subjects.items())
    return f"library: {quoted('; '.join(subjects)) or 'empty'}"


def _task(typed: str, offer: Offer | None, tree: Tree, *, is_first: bool) -> str:
    manner = "This is your first answer: greet them, fuller and formal." if is_first else "No greeting."
    if offer and agrees(typed):
        return f"{manner} They said yes to what you offered: call generate_content, then say so in one sentence."
    if not typed:
        return manner
    if not extract_name(typed) and not tree.find(typed):
        return (
            f"{manner} They name nothing to learn. Ask what they would like to learn, in words that you have not used."
        )
    return manner


# --- not taught -------------------------------------------------------------------------------------------------------
# Requests that are always answered in fixed words: self-harm and abuse.


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
