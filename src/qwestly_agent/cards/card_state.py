"""The input and output of the states of `generate_card`, their errors, and what they tell the user.

What passes from state to state are ids and counts; what is written stands in the draft. A state that is delivered again
finds what it kept, and changes nothing.
"""

from typing import Any, Literal

from pydantic import Field

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import Answer
from qwestly_agent.stores.drafts import Drafts, DraftStatus, pipeline
from qwestly_agent.workflow_state import CaughtError, TokenAnswer, UserState

MOST_ROUNDS = 4
"""Drafted, and three times as the person wanted it otherwise."""


class NothingToTell(AgentError):
    code, http_status = "nothing_to_tell", 422
    sentence = (
        "There is too little to write from. Tell me where you worked, as what and since when, or add your résumé."
    )


class NothingSupported(AgentError):
    code, http_status = "nothing_supported", 422
    sentence = (
        "Nothing that was drafted is supported by what you told and gave us. Tell me more about your work, or add your "
        "résumé."
    )


class Overtaken(AgentError):
    code, http_status = "overtaken", 409
    sentence = "Drafted, but you were asked about it again, changed it, or deleted its conversation meanwhile."


class PublishingFailed(AgentError):
    code, http_status, sentence = "publishing_failed", 502, "The card could not be published."


class CardState(UserState):
    draft_id: str
    round: int = Field(default=1, ge=1)
    sections: tuple[str, ...] = ()
    """To be drafted next."""
    is_tailored: bool = False
    """True if it is written for a job, and is compared with its advert."""
    section: str = ""
    """The one that this state drafts."""
    answer: Answer | None = None
    """The gate's."""
    decided: TokenAnswer | None = Field(default=None, exclude=True)
    """None where the wait timed out."""
    approval_id: str | None = None
    revises: str | None = None
    """The record whose place the next one takes."""
    decision: Literal["approved", "revised", "rejected", "expired"] | None = None
    outcome: Literal["published", "changed"] | None = None
    error: CaughtError | None = Field(default=None, exclude=True)
    end: Literal["failed", "stopped", "drafted"] | None = None

    @property
    def run_name(self) -> str:
        return pipeline(self.draft_id)

    @property
    def labels(self) -> dict[str, str]:
        return {"run_id": self.run_id, "draft_id": self.draft_id}


async def tell_progress(
    drafts: Drafts, clock: Clock, card: CardState, *, label: str, status: DraftStatus | None = None, **more: Any
) -> None:
    """Show the user how far their card is."""
    fields = {"label": label, **({"status": status} if status else {}), **more}
    await drafts.tell(card.user_id, card.draft_id, clock(), **fields)
