"""The guide's prompt for a turn: the library, the offer, and whether this is the first answer."""

from pydantic_ai.framing import wrap

from qwestly_agent.learning.service import LearningService
from qwestly_agent.learning.tree import Tree
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import LEARNING


async def learning_context(service: LearningService, *, is_first: bool) -> str:
    """Return the state of learning, and the instruction for this turn."""
    lines, offer = [_library(await service.tree())], service.open_offer
    lines += [f"offered: {quoted(offer.topic)}: {quoted(offer.question)}"] if offer else []
    manner = "This is your first answer: greet them, fuller and formal." if is_first else "No greeting."
    return f"{wrap(LEARNING, chr(10).join(lines))}\n\n{manner}"


def _library(tree: Tree) -> str:
    subjects = (f"{subject} ({', '.join(topics)})" for subject, topics in tree.topics_by_subject.items())
    return f"library: {quoted('; '.join(subjects)) or 'empty'}"
