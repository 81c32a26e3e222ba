"""The turn that holds a conversation, and those that held it when their process died."""

from dataclasses import dataclass

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.stores.message import Message, Status
from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class NewTurn:
    """A turn that claims a conversation. `text` is None if it answers an earlier message again, or if the user only
    decided an approval."""

    run_id: str
    message_id: str
    text: str | None
    started_at: float
    withheld: bool = False
    """True if its text contains something that the user had forgotten since."""


@dataclass(frozen=True)
class ClaimedConversation:
    """A conversation held by a turn, until the lease runs out or `finish` releases it."""

    user_id: str
    conversation_id: str
    turn: NewTurn
    design: str
    role: str
    last_seq: int
    window_from: int
    """The `seq` at which the prompt's history begins."""
    context: Document | None
    messages_expire_at: float
    last_used: float
    """The time before this turn, in seconds since the epoch."""
    abandoned: tuple[NewTurn, ...]
    """Turns of processes that died; their user messages are not yet in `agent_messages`."""
    told_under_way: tuple[str, ...] = ()
    """Ids of what waited or ran elsewhere when its model was told of that last."""


def claim_of(document: Document, turn: NewTurn) -> ClaimedConversation:
    return ClaimedConversation(
        user_id=document["user_id"],
        conversation_id=document["id"],
        turn=turn,
        design=document["design"],
        role=role_of(document),
        last_seq=document.get("last_seq", 0),
        window_from=document.get("window_from", 0),
        context=document.get("context"),
        told_under_way=tuple(document.get("told_under_way", ())),
        messages_expire_at=document.get("messages_expire_at", 0),
        last_used=document["last_used"],
        abandoned=tuple(other for other in unfinished_turns(document) if other.run_id != turn.run_id),
    )


def role_of(conversation: Document) -> str:
    """Conversations of before there were roles are chats."""
    return conversation.get("role", "chat")


def unfinished_turns(conversation: Document) -> list[NewTurn]:
    """Turns not yet recorded, oldest first: the one that runs, and those whose process died."""
    kept = conversation.get("turns", {}).items()
    turns = [
        NewTurn(run_id, turn["message_id"], turn["text"], turn["started_at"], turn.get("withheld", False))
        for run_id, turn in kept
    ]
    return sorted(turns, key=lambda turn: turn.started_at)


def user_message(turn: NewTurn, seq: int, status: Status) -> Message:
    return Message(
        id=turn.message_id,
        run_id=turn.run_id,
        seq=seq,
        role="user",
        content=turn.text or "",
        created_at=to_datetime(turn.started_at),
        status=status,
        withheld=turn.withheld,
    )
