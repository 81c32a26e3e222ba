"""An answer with its question, as a judge reads it."""

from dataclasses import dataclass

from qwestly_agent.stores.measures import GivenAnswer
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.user_settings import Signals

MOST_CHARACTERS = 6_000
"""Maximum length of a judged message."""
MESSAGES = 4
"""The answer, its question, and the two messages before them."""


@dataclass(frozen=True)
class Exchange:
    before: str
    asked: str
    answer: str


async def read_exchange(signals: Signals, messages: Messages, given: GivenAnswer) -> Exchange | None:
    """Return the exchange; None if no judge may read it: the answer is incomplete or forgotten, or its user is braked
    or in trouble."""
    if given.status != "complete" or await signals.is_braked(given.user_id):
        return None
    told = await messages.list_recent(given.user_id, given.conversation_id, MESSAGES, before=given.seq + 1)
    if len(told) < 2 or told[-1].run_id != given.run_id or any(each.withheld for each in told):
        return None
    *earlier, asked, answer = told
    if asked.role != "user" or not answer.content or answer.receipt.get("help"):
        return None
    if any(each.receipt.get("help") for each in earlier):
        earlier = []
    before = "\n".join(f"{each.role}: {each.content[:MOST_CHARACTERS]}" for each in earlier)
    return Exchange(before, asked.content[:MOST_CHARACTERS], answer.content[:MOST_CHARACTERS])
