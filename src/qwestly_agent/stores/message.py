"""A message of a conversation, as stored and as returned."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from qwestly_agent.domain.source import Source
from qwestly_agent.stores.search import Document
from qwestly_agent.text.user_text import holds_others_words

Status = Literal["complete", "stopped", "failed", "interrupted", "running"]
"""`running` marks an answer in progress; it is never stored."""


USAGE = ("input_tokens", "cached_tokens", "output_tokens", "cost_usd")
"""Fields of an answer's receipt that clients receive."""


class Step(BaseModel):
    """A tool call, as shown to the user."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    label: str
    effect: str | None = None
    """read, draft, write, outward or destructive; None for a tool that does not exist."""
    outside: bool = False
    """True if other people may have written the result."""
    users_own: bool = False
    """True if the result contains only what the user typed."""
    arguments: str = "{}"
    """The beginning of the arguments' JSON."""
    ok: bool | None = None
    """None while the call runs, or if the turn ended first."""
    problem: str | None = None
    """Why the call failed or was refused."""
    ms: int | None = None
    sources: tuple[Source, ...] = ()
    """The records in the result that the answer used."""


class Problem(BaseModel):
    """An error, as shown to the user."""

    model_config = ConfigDict(frozen=True)

    code: str
    message: str


class Feedback(BaseModel):
    """The user's feedback on an answer."""

    model_config = ConfigDict(frozen=True)

    thumb: Literal["up", "down"]
    words: str | None = None
    at: datetime


class Message(BaseModel):
    """A message of the user, or an answer of the agent."""

    model_config = ConfigDict(frozen=True)

    id: str
    run_id: str
    seq: int
    role: Literal["user", "assistant"]
    content: str
    created_at: datetime
    status: Status = "complete"
    error: Problem | None = None
    steps: tuple[Step, ...] = ()
    model_messages: str = "[]"
    """An answer's requests and responses as the model saw them (pydantic-ai's JSON), without the user's message."""
    receipt: dict[str, Any] = {}
    """Tokens, cost, latency, model, design and prompt version of an answer."""
    feedback: Feedback | None = None
    replaces: tuple[str, ...] = ()
    """Ids of the runs that this answer replaced; their effects remain, and are shown with it."""
    remembered_before: tuple[str, ...] = ()
    """Ids of memories that those runs stored."""
    note: str = ""
    """Text put before the user's message in the prompt: outcomes of approvals."""
    continues: str | None = None
    """Id of the previous answer, if the client continues to build it."""
    saw: tuple[str, ...] = ()
    """Ids of everything in an answer's prompts: the context's memories, tool results, and the `saw` of earlier answers
    in the window."""
    withheld: bool = False
    """True if it contains something forgotten: it is kept in the transcript, but excluded from prompts."""
    in_trouble: bool = False
    """True for a message of a person in trouble that was answered in fixed words; no memory is extracted from it."""


def sources_of(steps: Iterable[Step]) -> list[Source]:
    """Return the sources of these steps, without duplicates."""
    return list({source.id: source for step in steps for source in step.sources}.values())


def has_untrusted_text(messages: Iterable[Message]) -> bool:
    """True if anyone other than the user wrote part of these messages, or of the tool results behind them."""
    messages = list(messages)
    said = (message.content for message in messages if message.role == "user")
    steps = (step for message in messages for step in message.steps)
    return any(map(holds_others_words, said)) or any(step.outside and not step.users_own for step in steps)


def messages_of(documents: Iterable[Document]) -> list[Message]:
    """Parse the documents, skipping invalid ones: one bad document must not make the conversation unusable."""
    read = []
    for document in documents:
        with suppress(ValidationError):
            read.append(Message.model_validate(document))
    return read
