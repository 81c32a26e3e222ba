"""A turn: a claimed conversation, and all that was read for its answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from qwestly_agent.agents.design import TurnAgent
from qwestly_agent.chat.approval_updates import TurnApprovals, note_of
from qwestly_agent.chat.assignment import is_ours
from qwestly_agent.chat.context import FirstTurnContext
from qwestly_agent.chat.turn_record import Record
from qwestly_agent.chat.under_way import UnderWay
from qwestly_agent.chat.window import window_start
from qwestly_agent.domain.approval import Level
from qwestly_agent.domain.rollout import Assignment
from qwestly_agent.domain.summary import Summary
from qwestly_agent.rollout.variants import VARIANTS
from qwestly_agent.stores.message import Message
from qwestly_agent.stores.turns import ClaimedConversation
from qwestly_agent.stores.usage import Load


@dataclass(frozen=True)
class Turn:
    """All but `record` is known before the run."""

    claim: ClaimedConversation
    agent: TurnAgent
    text: str
    message_id: str
    """Id of the user's message."""
    history: Sequence[Message]
    """Messages without the turn that this one replaces."""
    context: FirstTurnContext
    load: Load
    """The user's load before this turn."""
    level: Level
    """The user's autonomy level."""
    deadline: float
    """Time by which the answer must end, in seconds since the epoch."""
    approvals: TurnApprovals
    under_way: UnderWay
    """What waits and runs in all conversations."""
    read_at: float
    """When the prompt's data was read, in seconds since the epoch. What is forgotten later may be in the prompt."""
    record: Record
    """Filled while the turn runs."""
    went_back: bool = False
    """True if the turns before this one died, so that the conversation goes on with the base."""
    continues: str | None = None
    """Id of the answer that the client goes on building."""
    replaced: Sequence[Message] = ()
    """Messages of the turn that this one replaces."""
    answered: Message | None = None
    """The earlier answer, if this message was answered already."""
    moderated: "asyncio.Task[bool] | None" = None
    """Whether the moderation endpoint holds its person to be in danger; None where it is not asked."""

    @property
    def run_id(self) -> str:
        return self.claim.turn.run_id

    @property
    def assignment(self) -> Assignment | None:
        """The conversation's variant after this turn, as far as it came; that of a pinned user is not kept."""
        before = self.claim.assignment
        if before is None or not before.trial or self.record.status == "stopped":
            return before
        return before.after(failed=self.record.status == "failed" and is_ours(self.record.error))

    @property
    def goes_back(self) -> bool:
        """True if this turn is the last of those after which the conversation goes on with the base."""
        before, after = self.claim.assignment, self.assignment
        return bool(before and after and after.given_up and not before.given_up)

    @property
    def variant(self) -> str | None:
        """The variant whose agent answers, or the base's name; None in no trial, or in one that was given up."""
        assignment = self.claim.assignment
        return assignment.variant if assignment and not assignment.given_up else None

    @property
    def counted_as(self) -> str | None:
        """Names the counts of the trial that this turn belongs to."""
        return self.claim.assignment.tag if self.claim.assignment else None

    @property
    def design(self) -> str:
        """That of the agent that answers."""
        agents = self.claim.assignment.agents if self.claim.assignment else None
        return next((each.design for each in VARIANTS if each.name == agents), self.claim.design)

    @property
    def answer_run_id(self) -> str:
        return self.answered.run_id if self.answered else self.run_id

    @property
    def answer_id(self) -> str:
        return f"msg_{self.answer_run_id}"

    @property
    def note(self) -> str:
        """Note on approvals and drafts before the user's words, with that of the replaced turn, which is stored nowhere
        else."""
        earlier = self.replaced[0].note if self.replaced else ""
        changed = [] if self._is_told_what_is_under_way else self.under_way.lines
        return "\n\n".join(filter(None, (earlier, note_of(self.approvals, changed))))

    @property
    def told_under_way(self) -> tuple[str, ...]:
        """Ids that the model knows after this turn's note."""
        return self.under_way.elsewhere(self.claim.conversation_id)

    @property
    def _is_told_what_is_under_way(self) -> bool:
        """True if an earlier note in the model's window says the same."""
        is_in_window = self.window_from == self.claim.window_from or not self.told_under_way
        return is_in_window and self.told_under_way == self.claim.reported_work

    @property
    def window_from(self) -> int:
        """The `seq` at which the model's window begins."""
        return window_start(self.history, self.claim.window_from)

    @property
    def summary(self) -> Summary | None:
        """Of what fell out of the window, or of an earlier cut's."""
        return self.claim.summary

    @property
    def needs_summary(self) -> bool:
        """True if this turn cut the window, or if what was forgotten since took the summary with it."""
        told_to = self.summary.to if self.summary else 0
        return self.window_from > max(told_to, self.claim.summary_due)

    @property
    def window(self) -> list[Message]:
        """Messages of the history that the model sees."""
        start = self.window_from
        return [each for each in self.history if each.seq >= start and not each.withheld]
