"""The turn that holds a conversation, and those that held it when their process died."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import ValidationError

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.domain.summary import Summary
from qwestly_agent.stores.message import Message, Status
from qwestly_agent.stores.search import Document


@dataclass(frozen=True)
class PartialAnswer:
    """The messages that a turn would record if it ended now, and its events so far."""

    asked: Message
    """The user's message."""
    answer: Message
    told: Sequence[str]
    """JSON of its events, in order. The last one may still grow."""
    replaced_run: str | None = None
    """The run whose messages these replace."""

    @property
    def document(self) -> Document:
        return {
            "asked": self.asked.model_dump_json(),
            "answer": self.answer.model_dump_json(),
            "told": list(self.told),
            "replaced_run": self.replaced_run,
        }


def partial_answer_of(document: Document | None) -> PartialAnswer | None:
    """None if there is none, or if it is from another version."""
    with suppress(ValidationError):
        if document:
            return PartialAnswer(
                Message.model_validate_json(document["asked"]),
                Message.model_validate_json(document["answer"]),
                document["told"],
                document["replaced_run"],
            )
    return None


@dataclass(frozen=True)
class NewTurn:
    """A turn that claims a conversation. `text` is None if it answers an earlier message again, or if the user only
    decided an approval."""

    run_id: str
    message_id: str
    text: str | None
    started_at: float
    withheld: bool = False
    """True if it may contain something that the user had forgotten since."""
    partial: PartialAnswer | None = None
    """Its answer so far, when it was stored last."""


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
    """Ids of pending and running work in the model's last report of it."""
    summary: Summary | None = None
    """The summary of messages before the window."""
    interview: Document | None = None
    """The state of an interview; None in other conversations."""
    learning: Document | None = None
    """The state of learning; None in other conversations."""
    assignment: Assignment | None = None
    """Its variant; None if it is in no trial."""
    summary_due: int = 0
    """The cut of the window for which a summary was begun."""


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
        summary=summary_of(document),
        interview=document.get("interview"),
        learning=document.get("learning"),
        assignment=assignment_of(document),
        summary_due=document.get("summary_due", 0),
        messages_expire_at=document.get("messages_expire_at", 0),
        last_used=document["last_used"],
        abandoned=tuple(other for other in unfinished_turns(document) if other.run_id != turn.run_id),
    )


def summary_of(conversation: Document) -> Summary | None:
    """None if there is none yet, or only one of another version's."""
    with suppress(ValidationError):
        return Summary.model_validate(conversation.get("summary"))
    return None


def assignment_of(conversation: Document) -> Assignment | None:
    with suppress(ValidationError):
        return Assignment.model_validate(conversation.get("assignment"))
    return None


def role_of(conversation: Document) -> str:
    """Conversations from before there were roles are chats."""
    return conversation.get("role", "chat")


def unfinished_turns(conversation: Document) -> list[NewTurn]:
    """Turns not yet recorded, oldest first: the one that runs, and those whose process died."""
    kept = conversation.get("turns", {}).items()
    turns = [
        NewTurn(
            run_id,
            turn["message_id"],
            turn["text"],
            turn["started_at"],
            turn.get("withheld", False),
            partial_answer_of(turn.get("partial")),
        )
        for run_id, turn in kept
    ]
    return sorted(turns, key=lambda turn: turn.started_at)


def unrecorded_messages(turn: NewTurn, seq: int, status: Status) -> list[Message]:
    """The messages of a turn that runs or died, as far as they were stored; empty if it said nothing."""
    if turn.partial and turn.partial.answer.content.strip():
        changes = {"withheld": True, "model_messages": "[]"} if turn.withheld else {}
        asked = turn.partial.asked.model_copy(update={"seq": seq, **changes})
        return [asked, turn.partial.answer.model_copy(update={"seq": seq + 1, "status": status, **changes})]
    return [] if turn.text is None else [user_message(turn, seq, status)]


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
