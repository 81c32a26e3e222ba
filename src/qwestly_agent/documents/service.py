"""Start to write a document for a job, for the tools and for the page."""

from dataclasses import dataclass

from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import Invalid, Unavailable
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.domain.card import NOT_WRITTEN, TailoredKind
from qwestly_agent.jobs.service import JobService
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import Draft, pipeline_id_of

MOST_LOOKED_AT = 100
MOST_A_DAY = 20
DAY_SECONDS = 86_400.0
ALIVE_SECONDS = 1_800.0
"""A draft that was not updated for this long counts as dead, whatever its status."""


@dataclass(frozen=True)
class Documents:
    services: Services
    jobs: JobService
    user_id: str
    run_id: str
    conversation_id: str | None = None

    async def write(self, kind: TailoredKind, job_id: str, wish: str = "") -> Draft:
        """Start a document, or return the one that is already being written for this job. Each document is a separate
        version.

        Raises `NotFound`, `Invalid`, `Braked` and `Unavailable`.
        """
        await pause.check(self.services.signals, self.user_id)
        match, now = await self.jobs.keep(job_id), self.services.clock()
        before = await self.services.drafts.list_tailored(self.user_id, MOST_LOOKED_AT)
        for each in before:
            is_written = each.status == "running" and each.updated_at > now - ALIVE_SECONDS
            if (each.kind, each.job_id) == (kind, match.id) and is_written:
                return each
        if sum(each.created_at > now - DAY_SECONDS for each in before) >= MOST_A_DAY:
            raise Invalid(f"{MOST_A_DAY} documents a day are enough. They can go on tomorrow.")
        draft = Draft(
            id=f"{kind}_{sha256_hex(self.user_id, self.run_id, match.id, kind, wish)[:32]}",
            user_id=self.user_id,
            run_id=self.run_id,
            conversation_id=self.conversation_id,
            kind=kind,
            job_id=match.id,
            style="concise" if kind == "resume" else "standard",
            label="Beginning",
            created_at=now,
            updated_at=now,
            parts={"advert": match.advert.model_dump(mode="json"), **({"wish": wish} if wish else {})},
        )
        await self.services.usage.ensure_document(self.user_id, now)  # so that its cost counts
        await self.services.drafts.add(draft)
        given = {"user_id": self.user_id, "draft_id": draft.id, "run_id": self.run_id}
        try:
            await self.services.workflows.start("generate_card", pipeline_id_of(draft.id), given)
        except Unavailable:
            await self.services.drafts.update(self.user_id, draft.id, now, status="failed", label=NOT_WRITTEN)
            raise
        return draft
