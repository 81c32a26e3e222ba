"""The stores and clients that a function may ask for, each by a protocol of its own."""

from typing import TYPE_CHECKING, Protocol

import httpx2
from aws_lambda_powertools import Logger

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.ids import NewId
from qwestly_agent.base.secrets import Secrets
from qwestly_agent.base.settings import Settings
from qwestly_agent.base.traces import Traces
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.clients.event_bus import EventBus
from qwestly_agent.clients.job_boards import JobBoards
from qwestly_agent.clients.mail import Mail
from qwestly_agent.clients.workflows import Workflows
from qwestly_agent.stores.activity import Activity
from qwestly_agent.stores.adverts import Adverts
from qwestly_agent.stores.applications import Applications
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
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.job_matches import JobMatches
from qwestly_agent.stores.job_searches import JobSearches
from qwestly_agent.stores.journal import Journal
from qwestly_agent.stores.knowledge import Knowledge
from qwestly_agent.stores.learning import Learning
from qwestly_agent.stores.lessons import Lessons
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.merges import Merges
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.partial_answers import PartialAnswers
from qwestly_agent.stores.profiles import Profiles
from qwestly_agent.stores.resumes import ResumeFiles, Resumes
from qwestly_agent.stores.runs import Runs
from qwestly_agent.stores.signals import Signals
from qwestly_agent.stores.stage_day import StageDay
from qwestly_agent.stores.summaries import Summaries
from qwestly_agent.stores.tombstones import Tombstones
from qwestly_agent.stores.tool_calls import ToolCalls
from qwestly_agent.stores.topics import Topics
from qwestly_agent.stores.unchecked import Unchecked
from qwestly_agent.stores.usage import Usage
from qwestly_agent.stores.user_settings import UserSettingsStore
from qwestly_agent.stores.watermarks import Watermarks

if TYPE_CHECKING:  # slow imports, which handlers without models do not need
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.llm.models import Tier, TierModel
    from qwestly_agent.llm.moderation import Moderation


class HasSettings(Protocol):
    @property
    def settings(self) -> Settings: ...


class HasSecrets(Protocol):
    @property
    def secrets(self) -> Secrets: ...


class HasHttp(Protocol):
    @property
    def http(self) -> httpx2.AsyncClient: ...


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


class HasPartialAnswers(Protocol):
    @property
    def partial_answers(self) -> PartialAnswers: ...


class HasProfiles(Protocol):
    @property
    def profiles(self) -> Profiles: ...


class HasMessages(Protocol):
    @property
    def messages(self) -> Messages: ...


class HasSummaries(Protocol):
    @property
    def summaries(self) -> Summaries: ...


class HasWatermarks(Protocol):
    @property
    def watermarks(self) -> Watermarks: ...


class HasMemories(Protocol):
    @property
    def memories(self) -> Memories: ...


class HasTraces(Protocol):
    @property
    def traces(self) -> Traces | None: ...


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


class HasAdverts(Protocol):
    @property
    def adverts(self) -> Adverts: ...


class HasJobBoards(Protocol):
    @property
    def job_boards(self) -> JobBoards: ...


class HasJobMatches(Protocol):
    @property
    def job_matches(self) -> JobMatches: ...


class HasJobSearches(Protocol):
    @property
    def job_searches(self) -> JobSearches: ...


class HasKnowledge(Protocol):
    @property
    def knowledge(self) -> Knowledge: ...


class HasApplications(Protocol):
    @property
    def applications(self) -> Applications: ...


class HasApprovals(Protocol):
    @property
    def approvals(self) -> Approvals: ...


class HasResumes(Protocol):
    @property
    def resumes(self) -> Resumes: ...


class HasResumeFiles(Protocol):
    @property
    def resume_files(self) -> ResumeFiles: ...


class HasDrafts(Protocol):
    @property
    def drafts(self) -> Drafts: ...


class HasExtractions(Protocol):
    @property
    def extractions(self) -> Extractions: ...


class HasInterviews(Protocol):
    @property
    def interviews(self) -> Interviews: ...


class HasLearning(Protocol):
    @property
    def learning(self) -> Learning: ...


class HasLessons(Protocol):
    @property
    def lessons(self) -> Lessons: ...


class HasToolCalls(Protocol):
    @property
    def tool_calls(self) -> ToolCalls: ...


class HasTopics(Protocol):
    @property
    def topics(self) -> Topics: ...


class HasUsage(Protocol):
    @property
    def usage(self) -> Usage: ...


class HasStageDay(Protocol):
    @property
    def stage_day(self) -> StageDay: ...


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


class HasEventBus(Protocol):
    @property
    def event_bus(self) -> EventBus: ...


class HasMail(Protocol):
    @property
    def mail(self) -> Mail: ...


class HasDocs(Protocol):
    @property
    def docs(self) -> Docs: ...


class HasEmbeddings(Protocol):
    @property
    def embeddings(self) -> "Embeddings": ...


class HasModeration(Protocol):
    @property
    def moderation(self) -> "Moderation": ...


class HasModels(Protocol):
    @property
    def models(self) -> "dict[Tier, TierModel]": ...


class HasJudges(Protocol):
    @property
    def judges(self) -> "dict[Tier, TierModel]": ...
