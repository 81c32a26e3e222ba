"""A turn: a claimed conversation, and all that was read for its answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from qwestly_agent.agents.design import TurnAgent
from qwestly_agent.chat.approval_updates import TurnApprovals, note_of
from qwestly_agent.chat.context import FirstTurnContext
from qwestly_agent.chat.record import Record
from qwestly_agent.chat.under_way import UnderWay
from qwestly_agent.chat.window import window_start
from qwestly_agent.domain.approval import Level
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
    continues: str | None = None
    """Id of the answer that the client goes on building."""
    replaced: Sequence[Message] = ()
    """Messages of the turn that this one replaces."""
    answered: Message | None = None
    """The earlier answer, if this message was answered already."""

    @property
    def run_id(self) -> str:
        return self.claim.turn.run_id

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
        return is_in_window and self.told_under_way == self.claim.told_under_way

    @property
    def window_from(self) -> int:
        """The `seq` at which the model's window begins."""
        return window_start(self.history, self.claim.window_from)

    @property
    def window(self) -> list[Message]:
        """Messages of the history that the model sees."""
        start = self.window_from
        return [each for each in self.history if each.seq >= start and not each.withheld]
