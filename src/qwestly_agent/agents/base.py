"""Dependencies of agents and their tools."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from aws_lambda_powertools import Logger
from pydantic_ai import Agent, DeferredToolRequests

from qwestly_agent.agents.calls import Calls
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.background_work import BackgroundWork
from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError
from qwestly_agent.cards.start import Cards
from qwestly_agent.documents.service import Applying, Documents
from qwestly_agent.domain.approval import Level
from qwestly_agent.interviews.service import InterviewService
from qwestly_agent.jobs.search import JobService
from qwestly_agent.learning.service import LearningService
from qwestly_agent.llm.embeddings import QueryVectors
from qwestly_agent.llm.models import Tier, TierModel
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.model_calls import Budget
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Docs, Knowledge, Profiles
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.resumes import Resumes


@dataclass(frozen=True)
class AgentDeps:
    """Everything that an agent and its tools can reach. The user id comes from the verified token; no tool takes
    one."""

    user_id: str
    profiles: Profiles
    career: dict[str, Any]
    """The profile with employment and preferences, as it was when the turn began."""
    memories: Memories
    conversation_search: ConversationSearch
    knowledge: Knowledge
    docs: Docs
    query_vectors: QueryVectors
    approvals: Approvals
    drafts: Drafts
    background: BackgroundWork
    """The user's running and finished background work."""
    cards: Cards
    memory_service: MemoryService
    """Keeps, corrects and forgets memories at the user's request."""
    proposer: Proposer
    """Submits the proposals that tools make."""
    interview: InterviewService
    """The interview of this conversation, for roles that have one."""
    learning: LearningService
    """Offers to learn in this conversation, and the user's progress."""
    jobs: JobService
    """Adverts, matches and the web search."""
    job_searches: JobSearches
    resumes: Resumes
    interviews: Interviews
    documents: Documents
    applying: Applying
    level: Level
    """The user's autonomy level."""
    user_messages: tuple[str, ...]
    """The user's messages in this conversation, ending with the one of this turn."""
    calls: Calls
    """The tool calls of this run so far."""
    budget: Budget
    failure_of: Callable[[BaseException], AgentError]
    """Translates an error to one whose message may be shown to the user."""
    clock: Clock
    logger: Logger


ChatAgent: TypeAlias = Agent[AgentDeps, str | DeferredToolRequests]
Models: TypeAlias = Mapping[Tier, TierModel]
