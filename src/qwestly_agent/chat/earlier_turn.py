"""The earlier turn of a message that is posted again, written anew, or answered again."""

from collections.abc import Sequence

from qwestly_agent.base.errors import ChangedMeanwhile, Invalid
from qwestly_agent.chat.read_turn import History
from qwestly_agent.chat.turn_request import TurnRequest
from qwestly_agent.stores.message import Message


def earlier_turn(request: TurnRequest, said: History) -> Sequence[Message]:
    """The earlier turn with this message, answered or not; empty for a new message.

    Raises `ChangedMeanwhile` if the turn is not the last one or tells what was forgotten, and `Invalid` if there is
    nothing to answer again.
    """
    last = [message for message in said.recent if message.run_id == said.recent[-1].run_id]
    if request.text is None and not request.regenerate:
        return []
    if not request.regenerate:
        if request.replaces and not said.exchange:
            raise ChangedMeanwhile("Only the last message can be rewritten.")
        if said.exchange and said.exchange[0].content != request.text and said.exchange != last:
            raise ChangedMeanwhile("Only the last message can be rewritten.")
        return said.exchange
    if request.text is not None and not said.exchange:
        return []  # we never received it
    if not last:
        raise Invalid("There is no answer to make again.")
    if any(message.withheld for message in last if message.role == "user"):
        raise ChangedMeanwhile("This tells something that you had forgotten. Please rewrite it.")
    named = {name for message in last for name in (message.id, message.continues)}
    # An answer continued after a decision is one message to the client, which names it by the user's message.
    asked = said.exchange == last or any(message.id in named for message in said.exchange)
    if (said.exchange and not asked) or (request.regenerates or last[0].id) not in named:
        raise ChangedMeanwhile("Only the last answer can be made again.")
    return last


def complete_answer(request: TurnRequest, earlier: Sequence[Message]) -> Message | None:
    """The complete answer to this message, if it was answered before."""
    if not earlier or request.regenerate or request.text != earlier[0].content:
        return None
    return next((message for message in earlier if message.role == "assistant" and message.status == "complete"), None)


def replaced_runs(earlier: Sequence[Message]) -> tuple[str, ...]:
    """Ids of the runs that an answer in this turn's place replaces, the latest first."""
    return tuple(dict.fromkeys(run for each in earlier for run in (each.run_id, *each.replaces)))
