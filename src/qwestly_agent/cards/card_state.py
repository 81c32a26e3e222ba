"""The input and output of the states of `generate_card`, their errors, and their messages to the user.

Only ids and counts pass from state to state; texts are in the draft. A state that is invoked again finds its stored
results and changes nothing.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import Answer
from qwestly_agent.stores.drafts import Drafts, DraftStatus, pipeline_id_of
from qwestly_agent.workflow_state import TokenAnswer, WorkState

MOST_ROUNDS = 4
"""Rounds of a draft: the first, and three with the user's change requests."""


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


class CardState(WorkState):
    subject, later = "draft", "Please try again later"
    messages: ClassVar[Mapping[str, str]] = {
        "NothingToTell": NothingToTell.sentence,
        "NothingSupported": NothingSupported.sentence,
        "ModelRefused": "We’re fixing a problem on our side. Please try again later",
        "ContentRefused": "Our AI couldn’t work with this. Please tell us, so that we can mend it",
    }
    draft_id: str
    round: int = Field(default=1, ge=1)
    sections: tuple[str, ...] = ()
    """Kinds of the sections to be drafted next."""
    is_tailored: bool = False
    """True if it is written for a job, and compared with its advert."""
    section: str = ""
    """The section that this state drafts."""
    answer: Answer | None = None
    """The gate's answer."""
    decided: TokenAnswer | None = Field(default=None, exclude=True)
    """None if the wait timed out."""
    approval_id: str | None = None
    revises: str | None = None
    """The approval that the next one replaces."""
    decision: Literal["approved", "revised", "rejected", "expired"] | None = None
    outcome: Literal["published", "changed"] | None = None

    @property
    def run_name(self) -> str:
        return pipeline_id_of(self.draft_id)


async def update_progress(
    drafts: Drafts, clock: Clock, card: CardState, *, label: str, status: DraftStatus | None = None, **more: Any
) -> None:
    """Show progress to the user."""
    fields = {"label": label, **({"status": status} if status else {}), **more}
    await drafts.update(card.user_id, card.draft_id, clock(), **fields)
