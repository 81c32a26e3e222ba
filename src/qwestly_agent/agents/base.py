"""Designs, and the dependencies that their tools are given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aws_lambda_powertools import Logger
from pydantic_ai import Agent, DeferredToolRequests

from qwestly_agent.agents.calls import Calls
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.start import Cards
from qwestly_agent.domain.approval import Level
from qwestly_agent.llm.models import Tier, TierModel
from qwestly_agent.llm.query_vectors import QueryVectors
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.model_calls.budget import Budget
from qwestly_agent.stores.docs import Docs
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.knowledge import Knowledge
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.profiles import Profiles


@dataclass(frozen=True)
class AgentDeps:
    """An agent's and its tools' only way to the world. The user is whose token was verified: no tool takes an id."""

    user_id: str
    profiles: Profiles
    memories: Memories
    knowledge: Knowledge
    docs: Docs
    query_vectors: QueryVectors
    drafts: Drafts
    cards: Cards
    memory_service: MemoryService
    """Where what the user asks to be kept, corrected or forgotten is done."""
    proposer: Proposer
    """Where a proposal is handed in."""
    level: Level
    """How far the user lets the agent go."""
    user_messages: tuple[str, ...]
    """What the user wrote in this conversation, this turn's last."""
    untrusted_content_before: bool
    """Whether others' text entered the prompt in this turn's message, or in the turn before."""
    calls: Calls
    """The run's own tool calls, so far."""
    budget: Budget
    failure_of: Callable[[BaseException], AgentError]
    """What a person is told of an error."""
    clock: Clock
    logger: Logger


ChatAgent: TypeAlias = Agent[AgentDeps, str | DeferredToolRequests]
Models: TypeAlias = Mapping[Tier, TierModel]


@dataclass(frozen=True)
class Design:
    name: str
    prompt_version: str
    """Changes with every change of the instructions, so that an answer can be traced to the words that led to it."""
    build: Callable[[Models], ChatAgent]
