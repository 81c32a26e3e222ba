"""What a design is, and what its tools may reach."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from aws_lambda_powertools import Logger
from pydantic_ai import Agent
from pydantic_ai.models import Model

from qwestly_agent.clients.embeddings import Embeddings
from qwestly_agent.llm import Tier
from qwestly_agent.stores.docs import Docs
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
    embeddings: Embeddings
    logger: Logger


ChatAgent: TypeAlias = Agent[AgentDeps, str]
Models: TypeAlias = Mapping[Tier, Model]


@dataclass(frozen=True)
class Design:
    name: str
    prompt_version: str
    """Changes with every change of the instructions, so that an answer can be traced to the words that led to it."""
    build: Callable[[Models], ChatAgent]
