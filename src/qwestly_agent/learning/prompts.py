"""The guide's prompt in a turn: the library, the offer, due questions, and the instruction."""

from pydantic_ai.framing import wrap

from qwestly_agent.domain.learning import Offer
from qwestly_agent.learning.phrases import agrees, extract_name
from qwestly_agent.learning.service import LearningService
from qwestly_agent.learning.tree import Tree
from qwestly_agent.text.clean import quoted
from qwestly_agent.text.prompt_tags import LEARNING
from qwestly_agent.text.user_text import typed_parts


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
