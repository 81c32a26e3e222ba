"""Start cards, and write profile texts, for the tools of a run."""

from collections.abc import Sequence
from dataclasses import dataclass

from qwestly_agent.approvals.pause import run_unless_paused
from qwestly_agent.base.errors import Invalid, NotFound, Unavailable
from qwestly_agent.cards.drafts import changed_nothing, checked_of
from qwestly_agent.cards.model import HEADLINES, LINKEDIN_ABOUT, Outlined
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.card import NOT_DRAFTED, CheckedCard, Style
from qwestly_agent.services import ModelServices
from qwestly_agent.stores.drafts import UNFINISHED, Draft, DraftKind

MOST_UNDER_WAY = 50
MOST_WAITING = 5
"""Maximum number of a user's cards that are in progress or pending."""
ALIVE_SECONDS = 1_800.0
"""A draft without an update for this long counts as dead, whatever its status."""

GONE_ON_WITH_SECONDS = 86_400.0
"""Time during which an unfinished text is continued; after that it is started again, because there may be new
evidence."""
NOT_FINISHED = "Not finished yet. Ask for it again, and it goes on from here"


@dataclass(frozen=True)
class ProfileText:
    draft_id: str
    checked: CheckedCard
    unchanged: bool
    """True if the user asked for changes, but the text stayed the same."""


@dataclass(frozen=True)
class Cards:
    """The cards and texts of a run's user."""

    services: ModelServices
    user_id: str
    run_id: str
    conversation_id: str

    async def start(self, style: Style, wish: str) -> Draft:
        """Start a card, or find the one in progress; return its draft. Raises `Invalid` and `Unavailable`."""
        under_way = await self.services.drafts.list_active(self.user_id, MOST_UNDER_WAY)
        drafts = [each for each in under_way if each.kind == "card"]
        if not wish and (making := self._being_made(drafts, style)):
            return making
        if len(drafts) >= MOST_WAITING:
            raise Invalid("Several cards wait for the user's decision already. Ask them to decide on those first.")
        draft = self._draft("card", style, "Beginning", wish)
        await self.services.drafts.add(draft)
        given = {"user_id": self.user_id, "draft_id": draft.id, "run_id": self.run_id}
        try:
            await self.services.workflows.start("generate_card", f"card-{draft.id}", given)
        except Unavailable:
            now = self.services.clock()
            await self.services.drafts.update(self.user_id, draft.id, now, status="failed", label=NOT_DRAFTED)
            raise
        return draft

    async def about(self, style: Style, wish: str, revises: str = "") -> ProfileText:
        """Write an About section. `revises` is the id of a draft to write a new version of. Raises `NotFound` and the
        errors of `write_profile_text`."""
        before = await self._about_before(revises) if revises else None
        return await self._profile_text("about", LINKEDIN_ABOUT, style, wish, before, revises)

    async def headlines(self, wish: str) -> ProfileText:
        """Write headlines. Raises the errors of `write_profile_text`."""
        return await self._profile_text("headlines", HEADLINES, "concise", wish)

    async def _profile_text(
        self,
        kind: DraftKind,
        outlined: Outlined,
        style: Style,
        wish: str,
        before: CheckedCard | None = None,
        revises: str = "",
    ) -> ProfileText:
        # Imported late: its regular expressions for figures compile slowly, and few turns write such a text.
        from qwestly_agent.cards.reader import write_profile_text

        draft = self._draft(kind, style, NOT_FINISHED, wish, revises)
        draft = await self._tried(draft) or draft
        if draft.status == UNFINISHED or "card" not in draft.parts:
            work = write_profile_text(self.services, draft, outlined, before)
            draft = await run_unless_paused(self.services.signals, self.user_id, work)
        return ProfileText(draft.id, checked_of(draft), changed_nothing(draft))

    async def _tried(self, draft: Draft) -> Draft | None:
        """Find a draft of the same text that was started earlier in this run, or that was started recently and is
        unfinished."""
        tries = await self.services.drafts.list_earlier_attempts(draft, self.services.clock() - GONE_ON_WITH_SECONDS)
        found = next((each for each in tries if _wanted(each) == _wanted(draft)), None)
        mine = {"run_id": self.run_id, "conversation_id": self.conversation_id}
        return found.model_copy(update=mine) if found else None

    async def _about_before(self, draft_id: str) -> CheckedCard:
        draft = await self.services.drafts.get(self.user_id, draft_id)
        if draft.kind != "about" or "card" not in draft.parts:
            raise NotFound("There is no About section in this draft.")
        return checked_of(draft)

    def _being_made(self, drafts: Sequence[Draft], style: Style) -> Draft | None:
        since = self.services.clock() - ALIVE_SECONDS
        return next(
            (each for each in drafts if (each.status, each.style) == ("running", style) and each.updated_at > since),
            None,
        )

    def _draft(self, kind: DraftKind, style: Style, label: str, wish: str, revises: str = "") -> Draft:
        now = self.services.clock()
        # Deterministic: the same request in the same run yields the same draft.
        name = sha256_hex(self.user_id, self.conversation_id, self.run_id, kind, style, wish, revises)[:32]
        return Draft(
            id=f"{kind}_{name}",
            user_id=self.user_id,
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            kind=kind,
            style=style,
            status="running" if kind == "card" else UNFINISHED,
            label=label,
            created_at=now,
            updated_at=now,
            parts={name: each for name, each in (("wish", wish), ("revises", revises)) if each},
        )


def _wanted(draft: Draft) -> tuple[str, str]:
    return draft.parts.get("wish", ""), draft.parts.get("revises", "")
