"""Next steps for the user, derived by code from pending and missing items, without a model."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import BaseModel

from qwestly_agent.domain.approval import Approval
from qwestly_agent.domain.resume import ResumeRecord
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import ACTIVE_STATUSES, Draft

MOST_STEPS = 3
MOST_WAITING = 20
DRAFT_CARD = "Draft my Qwestly Card"


class NextStep(BaseModel):
    label: str
    does: Literal["say", "review", "upload"]
    """say: send the label in the chat · review: open the pending approval · upload: choose a résumé's file."""


async def next_steps(services: Services, user_id: str) -> list[NextStep]:
    """Return at most three steps, most urgent first."""
    waiting, drafts, career, card, resumes = await asyncio.gather(
        services.approvals.list_open(user_id, MOST_WAITING),
        services.drafts.newest(user_id, MOST_WAITING),
        services.profiles.get_career(user_id),
        services.profiles.card_shown_first(user_id),
        services.resumes.newest(user_id, 1),
    )
    return [*_steps(waiting, drafts, career, card, resumes)][:MOST_STEPS]


def _steps(
    waiting: Sequence[Approval],
    drafts: Sequence[Draft],
    career: dict[str, Any],
    card: str | None,
    resumes: Sequence[ResumeRecord],
) -> Iterator[NextStep]:
    if waiting:
        count = "one change" if len(waiting) == 1 else f"{len(waiting)} changes"
        yield NextStep(label=f"Decide on {count}", does="review")
    if not resumes and not career.get("employment"):
        yield NextStep(label="Add my résumé", does="upload")
    is_drafting = any(each.kind == "card" and each.status in ACTIVE_STATUSES for each in drafts)
    if not card and not is_drafting:
        yield NextStep(label=DRAFT_CARD, does="say")
    if not career.get("headline"):
        yield NextStep(label="Suggest a headline", does="say")
    if not career.get("preferences"):
        yield NextStep(label="Help me say what I am looking for", does="say")
    yield NextStep(label="What do you remember about me?", does="say")
