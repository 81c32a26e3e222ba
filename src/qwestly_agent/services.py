"""The stores and clients of a handler. `bootstrap` builds them once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import httpx2
from aws_lambda_powertools import Logger
from pymongo import AsyncMongoClient

from qwestly_agent.action import Action
from qwestly_agent.base.clock import Clock, NewId
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.base.traces import Traces
from qwestly_agent.clients.aws import ErasureLog, EventBus, Mail, Workflows
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.clients.job_boards import JobBoards
from qwestly_agent.platform.collection import Document
from qwestly_agent.platform.work import Work
from qwestly_agent.stores.activity import Activity
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.briefings import BriefingPlans, Briefings
from qwestly_agent.stores.candidate_data import Docs, Knowledge, Profiles
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.conversations import Conversations, PartialAnswers, Summaries, Watermarks
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.jobs import Adverts, Applications, JobMatches, JobSearches
from qwestly_agent.stores.learning import Learning, Lessons, Topics
from qwestly_agent.stores.measures import Answers, PlantedLies, Rollouts, VariantCounts
from qwestly_agent.stores.memories import Memories, Tombstones
from qwestly_agent.stores.memory_work import Extractions, Journal, Merges, Unchecked
from qwestly_agent.stores.messages import Messages, ToolCalls
from qwestly_agent.stores.resumes import ResumeFiles, Resumes
from qwestly_agent.stores.runs import Runs, Sweeps
from qwestly_agent.stores.usage import StageDay, Usage
from qwestly_agent.stores.user_data import UserData
from qwestly_agent.stores.user_settings import Autonomy, Signals, UserSettingsStore

if TYPE_CHECKING:  # slow imports that handlers without models do not need
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.llm.models import Tier, TierModel
    from qwestly_agent.llm.moderation import Moderation


@dataclass(frozen=True, eq=False, repr=False)
class Services:
    """Stores and clients of a handler that calls no model."""

    settings: Settings
    """The settings at startup. For settings that can be rotated, `secrets` has the current values."""
    secrets: Secrets
    clock: Clock
    new_id: NewId
    logger: Logger
    traces: Traces | None
    """None if tracing is off."""
    mongo: AsyncMongoClient[Document]
    http: httpx2.AsyncClient
    """Shared by all clients, because creating a TLS context for each would dominate a cold start."""
    conversations: Conversations
    conversation_search: ConversationSearch
    messages: Messages
    summaries: Summaries
    partial_answers: PartialAnswers
    watermarks: Watermarks
    signals: Signals
    runs: Runs
    autonomy: Autonomy
    user_settings: UserSettingsStore
    planted_lies: PlantedLies
    profiles: Profiles
    memories: Memories
    unchecked: Unchecked
    tombstones: Tombstones
    merges: Merges
    journal: Journal
    knowledge: Knowledge
    approvals: Approvals
    drafts: Drafts
    extractions: Extractions
    interviews: Interviews
    learning: Learning
    lessons: Lessons
    resumes: Resumes
    resume_files: ResumeFiles
    rollouts: Rollouts
    tool_calls: ToolCalls
    topics: Topics
    usage: Usage
    stage_day: StageDay
    activity: Activity
    adverts: Adverts
    answers: Answers
    applications: Applications
    job_boards: JobBoards
    job_matches: JobMatches
    job_searches: JobSearches
    briefings: Briefings
    briefing_plans: BriefingPlans
    user_data: UserData
    variant_counts: VariantCounts
    sweeps: Sweeps
    actions: "Mapping[str, Action[Services, Any]]"
    """The actions that the agent may propose, by tool."""
    candidate_app: CandidateApp
    workflows: Workflows
    mail: Mail
    event_bus: EventBus
    erasure_log: ErasureLog

    @property
    def works(self) -> "list[Work[Any]]":
        """The stores of work (`platform/work.py`)."""
        return [each for each in vars(self).values() if isinstance(each, Work)]

    async def close(self) -> None:
        await self.http.aclose()
        await self.mongo.close()


AnyAction: TypeAlias = Action[Services, Any]


@dataclass(frozen=True, eq=False, repr=False)
class ModelServices(Services):
    """`Services` plus models and embeddings."""

    docs: Docs
    embeddings: "Embeddings"
    moderation: "Moderation"
    models: "dict[Tier, TierModel]"
    judges: "dict[Tier, TierModel]"
    """Judge models, by the tier whose output they judge."""
