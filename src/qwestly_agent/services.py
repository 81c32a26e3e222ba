"""Records of all stores and clients, which handlers hold; `bootstrap` builds them once."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import httpx2
from aws_lambda_powertools import Logger
from pymongo import AsyncMongoClient

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.ids import NewId
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.clients.mail import Mail
from qwestly_agent.clients.workflows import Workflows
from qwestly_agent.stores.activity import Activity
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.autonomy import Autonomy
from qwestly_agent.stores.briefing_plans import BriefingPlans
from qwestly_agent.stores.briefings import Briefings
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.docs import Docs
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.extractions import Extractions
from qwestly_agent.stores.journal import Journal
from qwestly_agent.stores.knowledge import Knowledge
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.merges import Merges
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.profiles import Profiles
from qwestly_agent.stores.runs import Runs
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.signals import Signals
from qwestly_agent.stores.tombstones import Tombstones
from qwestly_agent.stores.tool_calls import ToolCalls
from qwestly_agent.stores.unchecked import Unchecked
from qwestly_agent.stores.usage import Usage
from qwestly_agent.stores.user_data import UserData
from qwestly_agent.stores.user_settings import UserSettingsStore
from qwestly_agent.stores.watermarks import Watermarks

if TYPE_CHECKING:  # slow imports, which handlers without models do not need
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.llm.models import Tier, TierModel


class HasSettings(Protocol):
    @property
    def settings(self) -> Settings: ...


class HasClock(Protocol):
    @property
    def clock(self) -> Clock: ...


class HasNewId(Protocol):
    @property
    def new_id(self) -> NewId: ...


class HasLogger(Protocol):
    @property
    def logger(self) -> Logger: ...


class HasActivity(Protocol):
    @property
    def activity(self) -> Activity: ...


class HasBriefingPlans(Protocol):
    @property
    def briefing_plans(self) -> BriefingPlans: ...


class HasBriefings(Protocol):
    @property
    def briefings(self) -> Briefings: ...


class HasConversations(Protocol):
    @property
    def conversations(self) -> Conversations: ...


class HasConversationSearch(Protocol):
    @property
    def conversation_search(self) -> ConversationSearch: ...


class HasRuns(Protocol):
    @property
    def runs(self) -> Runs: ...


class HasSignals(Protocol):
    @property
    def signals(self) -> Signals: ...


class HasAutonomy(Protocol):
    @property
    def autonomy(self) -> Autonomy: ...


class HasProfiles(Protocol):
    @property
    def profiles(self) -> Profiles: ...


class HasMessages(Protocol):
    @property
    def messages(self) -> Messages: ...


class HasWatermarks(Protocol):
    @property
    def watermarks(self) -> Watermarks: ...


class HasMemories(Protocol):
    @property
    def memories(self) -> Memories: ...


class HasUnchecked(Protocol):
    @property
    def unchecked(self) -> Unchecked: ...


class HasTombstones(Protocol):
    @property
    def tombstones(self) -> Tombstones: ...


class HasMerges(Protocol):
    @property
    def merges(self) -> Merges: ...


class HasJournal(Protocol):
    @property
    def journal(self) -> Journal: ...


class HasKnowledge(Protocol):
    @property
    def knowledge(self) -> Knowledge: ...


class HasApprovals(Protocol):
    @property
    def approvals(self) -> Approvals: ...


class HasDrafts(Protocol):
    @property
    def drafts(self) -> Drafts: ...


class HasExtractions(Protocol):
    @property
    def extractions(self) -> Extractions: ...


class HasToolCalls(Protocol):
    @property
    def tool_calls(self) -> ToolCalls: ...


class HasUsage(Protocol):
    @property
    def usage(self) -> Usage: ...


class HasUserData(Protocol):
    @property
    def user_data(self) -> UserData: ...


class HasUserSettings(Protocol):
    @property
    def user_settings(self) -> UserSettingsStore: ...


class HasSweeps(Protocol):
    @property
    def sweeps(self) -> Sweeps: ...


class HasCandidateApp(Protocol):
    @property
    def candidate_app(self) -> CandidateApp: ...


class HasWorkflows(Protocol):
    @property
    def workflows(self) -> Workflows: ...


class HasMail(Protocol):
    @property
    def mail(self) -> Mail: ...


class HasDocs(Protocol):
    @property
    def docs(self) -> Docs: ...


class HasEmbeddings(Protocol):
    @property
    def embeddings(self) -> "Embeddings": ...


class HasModels(Protocol):
    @property
    def models(self) -> "dict[Tier, TierModel]": ...


class HasJudges(Protocol):
    @property
    def judges(self) -> "dict[Tier, TierModel]": ...


@dataclass(frozen=True)
class Services:
    """Stores and clients of a handler that calls no model."""

    settings: Settings
    clock: Clock
    new_id: NewId
    logger: Logger
    mongo: AsyncMongoClient[Document]
    http: httpx2.AsyncClient
    """Shared by all clients: creating a TLS context for each would dominate a cold start."""
    conversations: Conversations
    conversation_search: ConversationSearch
    messages: Messages
    watermarks: Watermarks
    signals: Signals
    runs: Runs
    autonomy: Autonomy
    user_settings: UserSettingsStore
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
    tool_calls: ToolCalls
    usage: Usage
    activity: Activity
    briefings: Briefings
    briefing_plans: BriefingPlans
    user_data: UserData
    sweeps: Sweeps
    candidate_app: CandidateApp
    workflows: Workflows
    mail: Mail

    async def close(self) -> None:
        await self.http.aclose()
        await self.mongo.close()


@dataclass(frozen=True)
class ModelServices(Services):
    """`Services` with models and embeddings."""

    docs: Docs
    embeddings: "Embeddings"
    models: "dict[Tier, TierModel]"
    judges: "dict[Tier, TierModel]"
    """By the tier of the model whose statements they judge."""
