"""The user, the turn, and the features that a tool can reach. A feature is created when a tool first asks for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from qwestly_agent.agents.base import AgentDeps, TurnFacts
from qwestly_agent.approvals.propose import Proposer
from qwestly_agent.background_work import BackgroundWork
from qwestly_agent.base.errors import OverBudget
from qwestly_agent.base.settings import Settings
from qwestly_agent.cards.start import Cards
from qwestly_agent.chat.services import ChatServices
from qwestly_agent.chat.turn import Turn, replaced_runs
from qwestly_agent.documents.service import Applying, Documents
from qwestly_agent.domain.interview import Interview
from qwestly_agent.domain.learning import LearningTalk
from qwestly_agent.interviews.service import InterviewService
from qwestly_agent.jobs.search import JobService
from qwestly_agent.learning.service import LearningService
from qwestly_agent.llm.embeddings import QueryVectors
from qwestly_agent.memory.service import MemoryService
from qwestly_agent.model_calls import Budget
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.candidate_data import Docs, Knowledge, Profiles
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.interviews import Interviews
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.messages import has_untrusted_text
from qwestly_agent.stores.resumes import Resumes
from qwestly_agent.text.user_text import holds_others_words

TOO_MUCH_WORK = "This answer took more work than one answer may cost. Please ask for less at once."

F = TypeVar("F")


@dataclass(frozen=True)
class TurnFeatures:
    """The turn's features, by type."""

    makers: Mapping[type[Any], Callable[[], Any]]
    _made: dict[type[Any], Any] = field(default_factory=dict[type[Any], Any])

    def __call__(self, kind: type[F], /) -> F:
        if kind not in self._made:
            self._made[kind] = self.makers[kind]()
        return self._made[kind]


def deps_of(services: ChatServices, turn: Turn) -> AgentDeps:
    messages = (each.content for each in turn.history if each.role == "user" and not each.withheld)
    facts = TurnFacts(
        career=turn.career,
        level=turn.level,
        user_messages=(*messages, turn.text),
        calls=turn.record.calls,
        clock=services.clock,
        logger=services.logger,
    )
    return AgentDeps(turn.claim.user_id, facts, _budget(services.settings, turn), features_of(services, turn))


def features_of(services: ChatServices, turn: Turn) -> TurnFeatures:
    user_id, conversation_id, run_id = turn.claim.user_id, turn.claim.conversation_id, turn.run_id
    seq = turn.claim.last_seq + 1

    def memory_service() -> MemoryService:
        has_untrusted_content = partial(_has_untrusted_content, turn)
        return MemoryService(
            services,
            user_id,
            conversation_id,
            turn.message_id,
            turn.text,
            has_untrusted_content=has_untrusted_content,
        )

    def proposer() -> Proposer:
        # A reworded message is a different message.
        repeated = [each for each in turn.replaced if turn.text == turn.replaced[0].content]
        return Proposer(
            services,
            user_id,
            run_id,
            conversation_id,
            turn.text,
            turn.design,
            turn.counted_as,
            turn.token,
            earlier_runs=replaced_runs(repeated),
        )

    def interview() -> InterviewService:
        return InterviewService(
            services,
            user_id,
            conversation_id,
            run_id,
            turn.message_id,
            seq=seq,
            text=turn.text,
            is_new=not turn.replaced,
            starts=turn.record.starts,
            latest=Interview.model_validate(turn.claim.interview or {}),
        )

    def learning() -> LearningService:
        talk = LearningTalk.model_validate(turn.claim.learning or {})
        return LearningService(
            services, user_id, conversation_id, run_id, turn.message_id, seq=seq, text=turn.text, talk=talk
        )

    features = TurnFeatures(
        {
            Applying: lambda: Applying(services, features(JobService), user_id),
            Approvals: lambda: services.approvals,
            BackgroundWork: lambda: BackgroundWork(services, user_id),
            Cards: lambda: Cards(services, user_id, run_id, conversation_id),
            ConversationSearch: lambda: services.conversation_search,
            Docs: lambda: services.docs,
            Documents: lambda: Documents(services, features(JobService), user_id, run_id, conversation_id),
            Drafts: lambda: services.drafts,
            InterviewService: interview,
            Interviews: lambda: services.interviews,
            JobSearches: lambda: services.job_searches,
            JobService: lambda: JobService(services, user_id),
            Knowledge: lambda: services.knowledge,
            LearningService: learning,
            Memories: lambda: services.memories,
            MemoryService: memory_service,
            Profiles: lambda: services.profiles,
            Proposer: proposer,
            QueryVectors: lambda: QueryVectors(services.embeddings),
            Resumes: lambda: services.resumes,
        }
    )
    return features


def _has_untrusted_content(turn: Turn) -> bool:
    """True if the window has any text that the user did not type."""
    summed_up = turn.summary is not None and turn.summary.has_others_words
    return summed_up or holds_others_words(turn.text) or has_untrusted_text(turn.window)


def _budget(settings: Settings, turn: Turn) -> Budget:
    """Return the smaller of the turn's ceiling and the rest of the user's daily limit."""
    today, started_at = max(0.0, settings.day_ceiling_usd - turn.load.spent_today_usd), turn.claim.turn.started_at
    if today < settings.turn_ceiling_usd:
        return Budget(today, OverBudget(), started_at)
    return Budget(settings.turn_ceiling_usd, OverBudget(TOO_MUCH_WORK), started_at)
