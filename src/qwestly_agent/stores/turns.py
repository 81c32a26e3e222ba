"""The turn that holds a conversation, and turns whose process died while they held it."""

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

    question: Message
    """The user's message."""
    answer: Message
    events: Sequence[str]
    """JSON of the turn's events, in order. The last one may still grow."""
    replaced_run: str | None = None
    """The run whose messages these replace."""

    @property
    def document(self) -> Document:
        return {
            "asked": self.question.model_dump_json(),
            "answer": self.answer.model_dump_json(),
            "told": list(self.events),
            "replaced_run": self.replaced_run,
        }


def partial_answer_of(document: Document | None) -> PartialAnswer | None:
    """Parse a partial answer; None if there is none or if another version wrote it."""
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
    """True if the message may contain something that the user has forgotten since."""
    partial: PartialAnswer | None = None
    """The answer so far, as last stored."""


@dataclass(frozen=True)
class ClaimedConversation:
    """A conversation held by a turn, until the lease expires or `finish` releases it."""

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
    """Time of the last use before this turn, in seconds since the epoch."""
    abandoned: tuple[NewTurn, ...]
    """Turns whose process died; their user messages are not yet in `agent_messages`."""
    reported_work: tuple[str, ...] = ()
    """Ids of the pending and running work that was last reported to the model."""
    summary: Summary | None = None
    """Summary of the messages before the window."""
    interview: Document | None = None
    """State of the interview; None in other conversations."""
    learning: Document | None = None
    """State of learning; None in other conversations."""
    assignment: Assignment | None = None
    """The conversation's variant; None outside of rollouts."""
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
        reported_work=tuple(document.get("told_under_way", ())),
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
    """Parse the conversation's summary; None if there is none or if another version wrote it."""
    with suppress(ValidationError):
        return Summary.model_validate(conversation.get("summary"))
    return None


def assignment_of(conversation: Document) -> Assignment | None:
    with suppress(ValidationError):
        return Assignment.model_validate(conversation.get("assignment"))
    return None


def role_of(conversation: Document) -> str:
    """Return the conversation's role; conversations from before roles existed are chats."""
    return conversation.get("role", "chat")


def unfinished_turns(conversation: Document) -> list[NewTurn]:
    """List turns that were not recorded yet, oldest first: the running one, and those whose process died."""
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


def messages_to_recover(turn: NewTurn, seq: int, status: Status) -> list[Message]:
    """Return the stored messages of a running or dead turn; empty if it has no text."""
    if turn.partial and turn.partial.answer.content.strip():
        changes = {"withheld": True, "model_messages": "[]"} if turn.withheld else {}
        asked = turn.partial.question.model_copy(update={"seq": seq, **changes})
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
