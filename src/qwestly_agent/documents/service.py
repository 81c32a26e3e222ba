"""Start writing a document for a job, and propose to apply with it."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.ask import Proposal, ProposalContext, create_approval
from qwestly_agent.approvals.propose import MOST_WAITING
from qwestly_agent.base.errors import Invalid, NotFound, Unavailable
from qwestly_agent.cards.drafts import evidence_of
from qwestly_agent.cards.publication import card_preview, cited_in, supported_in
from qwestly_agent.clients import candidate_app
from qwestly_agent.documents.content import (
    EditedPart,
    Head,
    TopFields,
    chosen_head,
    content_of,
    edited,
    file_of,
    positions_from_resume,
)
from qwestly_agent.domain.approval import Approval, ShownClaim, canonical_json, sha256_hex
from qwestly_agent.domain.card import NOT_WRITTEN, TailoredKind
from qwestly_agent.domain.job import Application, HeadField, JobMatch, application_id, match_id
from qwestly_agent.jobs.actions import APPLY, CONTACT, MOST_DOCUMENTS, NOT_DELIVERED, add_requested, add_to_list
from qwestly_agent.jobs.search import JobService
from qwestly_agent.services import Services
from qwestly_agent.stores.drafts import TAILORED, Draft, pipeline_id_of

# --- service ----------------------------------------------------------------------------------------------------------
# Start writing a document for a job, for the tools and for the page.


MOST_LOOKED_AT = 100
MOST_A_DAY = 20
DAY_SECONDS = 86_400.0
ALIVE_SECONDS = 1_800.0
"""A draft without an update for this long counts as dead, whatever its status."""
LONGEST_TITLE = 200


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
            job=", ".join(filter(None, (match.advert.title, match.advert.company)))[:LONGEST_TITLE],
            style="concise" if kind == "resume" else "standard",
            label="Beginning",
            created_at=now,
            updated_at=now,
            parts={"advert": match.advert.model_dump(mode="json"), **({"wish": wish} if wish else {})},
        )
        await self.services.usage.ensure_document(self.user_id, now)  # so that its cost is counted
        await self.services.drafts.add(draft)
        given = {"user_id": self.user_id, "draft_id": draft.id, "run_id": self.run_id}
        try:
            await self.services.workflows.start("generate_card", pipeline_id_of(draft.id), given)
        except Unavailable:
            await self.services.drafts.update(self.user_id, draft.id, now, status="failed", label=NOT_WRITTEN)
            raise
        return draft


# --- edit -------------------------------------------------------------------------------------------------------------
# Store a person's edits to a document on the page, and undo them.


MOST_UNDO = 30
CHANGED_MEANWHILE = "It changed meanwhile. Please open it again."


async def edit(services: Services, draft: Draft, revision: int, wanted: Sequence[EditedPart] | None) -> None:
    """Store the document with these sentences or, if `wanted` is None, as it was before the last change. Raises
    `Invalid`, also if the document is not at this revision, and `NotFound`."""
    if draft.status != "drafted":
        raise Invalid("A document that is not ready cannot be changed.")
    card, earlier = draft.parts["card"], list(draft.parts.get("undo", ()))
    if wanted is not None:
        earlier.append(card["checked"])
        checked = edited(draft, wanted).model_dump(mode="json")
    elif earlier:
        checked = earlier.pop()
    else:
        raise Invalid("Nothing of this document was changed by you.")
    parts = {"card": {**card, "checked": checked}, "undo": earlier[-MOST_UNDO:]}
    if draft.round != revision or not await services.drafts.replace_card(draft, **parts):
        raise Invalid(CHANGED_MEANWHILE)


# --- apply ------------------------------------------------------------------------------------------------------------
# Propose to apply for a job with documents that were written for it.


SENT_ALREADY = "There is an application for this job that was sent already."
ASKED_ALREADY = "An application for this job waits for a decision already."
IS_SENT = "An application for this job is being sent."
DELIVERED = "Qwestly delivers it to the employer."
MAYBE_DELIVERED = "Qwestly couldn’t find out yet if it can deliver it. If not, nothing is sent, and you are told."
TOO_MUCH_WAITS = "Too much waits for your decision already. Decide on some of it first."


@dataclass(frozen=True)
class Applying:
    services: Services
    jobs: JobService
    user_id: str

    async def list(self, limit: int) -> list[Application]:
        return await self.services.applications.newest(self.user_id, limit)

    async def prepare(self, job_id: str) -> Application:
        """Return the application for this job, or add a new one with the status "preparing" to the list. Raises
        `NotFound`."""
        match, now = await self.jobs.keep(job_id), self.services.clock()
        new = Application(
            id=application_id(match.id),
            user_id=self.user_id,
            job_id=match.id,
            title=match.advert.title,
            company=match.advert.company,
            url=match.advert.url,
            created_at=now,
            updated_at=now,
        )
        return await add_to_list(self.services.applications, self.services.job_matches, new)

    async def proposal(self, job_id: str, document_ids: Sequence[str], note: str) -> Proposal:
        """Return the proposal without writing anything. Raises `Invalid` if the application was sent or is pending, a
        document is not ready, applications for its board are not delivered, or the person never chose a header for
        documents, and `NotFound`."""
        match = await self._match(job_id)
        if await self._waiting(match):
            raise Invalid(ASKED_ALREADY)
        return await self._proposal(match, document_ids, note, None)

    async def _match(self, job_id: str) -> JobMatch:
        """Return the match. An advert from a search has one if a document was written for it. Raises `NotFound`."""
        advert, match = await self.jobs.read(job_id)
        return match or await self.services.job_matches.get(self.user_id, match_id(self.user_id, advert.id))

    async def _waiting(self, match: JobMatch) -> Approval | None:
        """Return the pending approval of this application. Raises `Invalid` if it was sent or is being sent; the
        approvals are checked first, because the user may edit the list."""
        subject = candidate_app.application_subject(match.id)
        standing = await self.services.approvals.find_active(self.user_id, APPLY.tool, subject, self.services.clock())
        if standing and standing.status != "pending":
            raise Invalid(SENT_ALREADY if standing.status == "done" else IS_SENT)
        with suppress(NotFound):
            application = await self.services.applications.get(self.user_id, application_id(match.id))
            if application.applied_at is not None:
                raise Invalid(SENT_ALREADY)
            if application.status != "preparing":
                raise Invalid(f"In the list this application is “{application.status}”, and not being prepared.")
        return standing

    async def _proposal(self, match: JobMatch, asked_ids: Sequence[str], note: str, fields: TopFields) -> Proposal:
        ids = list(dict.fromkeys(asked_ids))
        if not 1 <= len(ids) <= MOST_DOCUMENTS:
            raise Invalid(f"Apply with one to {MOST_DOCUMENTS} documents that were written for this job.")
        delivers = await self.services.candidate_app.delivers(match.advert.board)
        if delivers is False:
            raise Invalid(f"Nothing was prepared: {NOT_DELIVERED}")
        drafts = [await self._ready(match, each) for each in ids]
        head = await chosen_head(self.services, self.user_id, fields, to_send=True)
        # The contact details are separate, because all other texts for others are kept free of them.
        bare: dict[HeadField, str] = {name: value for name, value in head.items() if name in ("name", "location")}
        marked: Head = {**bare, **({"email": CONTACT} if len(bare) < len(head) else {})}
        texts = [file_of(content_of(each, marked), "md").decode() for each in drafts]
        whole = file_of(content_of(drafts[0], head), "md").decode()
        before, _, after = texts[0].partition(CONTACT)
        contact = whole[len(before) : len(whole) - len(after)] if after else ""
        documents = [
            {"kind": each.kind, "document_id": each.id, "text": text} for each, text in zip(drafts, texts, strict=True)
        ]
        checked = [supported_in(each) for each in drafts]
        unchecked = sum(claim.unchecked for each in checked for claim in each.card.claims)
        told = (
            f" No second reader was available for {unchecked} sentences: these are your own words." if unchecked else ""
        )
        advert = match.advert
        arguments = {
            "job_id": match.id,
            "title": advert.title[:300],
            "company": advert.company[:300],
            "url": advert.url[:2_000],
            "source": advert.board,
            "documents": documents,
            "note": note,
            "contact": contact,
        }
        shown, sentences = APPLY.preview(APPLY.parse(arguments), {}), iter(map(_sentences, drafts))
        return Proposal(
            APPLY,
            arguments,
            f"{DELIVERED if delivers else MAYBE_DELIVERED} Exactly what stands here is sent, once, and cannot be taken "
            f"back.{told}",
            evidence=tuple(dict.fromkeys(source for each in drafts for source in _cited_in(each))),
            drafted=shown.model_copy(
                update={
                    "sections": tuple(
                        each.model_copy(update={"claims": next(sentences)}) if each.markdown else each
                        for each in shown.sections
                    )
                }
            ),
        )

    async def ask(
        self, job_id: str, document_ids: Sequence[str], note: str, run_id: str, head: TopFields = None
    ) -> Approval:
        """Request the user's approval for an application that they started on the page. Repeating the request returns
        the same approval.

        Raises the errors of `proposal`, `Braked` and `Unavailable`.
        """
        await pause.check(self.services.signals, self.user_id)
        match = await self._match(job_id)
        approval = await self._waiting(match)
        proposal = await self._proposal(match, document_ids, note, head)
        if approval is None:
            approval = await self._request_approval(proposal, run_id)
        elif APPLY.arguments_of(approval) != APPLY.parse(proposal.args):
            raise Invalid(ASKED_ALREADY)
        else:  # a process that died after requesting it may not have listed it
            await add_requested(self.services, approval)
        return approval

    async def _request_approval(self, proposal: Proposal, run_id: str) -> Approval:
        if len(await self.services.approvals.list_open(self.user_id, MOST_WAITING)) >= MOST_WAITING:
            raise Invalid(TOO_MUCH_WAITS)
        context = ProposalContext(self.user_id, run_id, await self.services.autonomy.level(self.user_id))
        approval_id = f"ap_{sha256_hex(self.user_id, 'apply', canonical_json(proposal.args))[:32]}"
        approval = await create_approval(self.services, approval_id, proposal, context, "queue")
        if approval.waits(self.services.clock()):
            return approval
        again = f"ap_{sha256_hex(approval_id, run_id)[:32]}"  # it was requested before, and nothing was sent
        return await create_approval(self.services, again, proposal, context, "queue")

    async def _ready(self, match: JobMatch, document_id: str) -> Draft:
        draft = await self.services.drafts.get(self.user_id, document_id)
        if draft.kind not in TAILORED or draft.job_id != match.id:
            raise Invalid("A document was written for another job.")
        if draft.status != "drafted":
            raise Invalid("A document is not ready.")
        if draft.flagged:
            raise Invalid("A document rested on something that was forgotten since. Have it written anew.")
        return draft


def _sentences(draft: Draft) -> tuple[ShownClaim, ...]:
    """Return the document's sentences with their quotes and marks."""
    preview = card_preview(supported_in(draft), evidence_of(draft))
    return tuple(claim for section in preview.sections for claim in section.claims)


def _cited_in(draft: Draft) -> tuple[str, ...]:
    positions = (each.evidence[0].id for each in positions_from_resume(draft))
    return (*cited_in(supported_in(draft).card), *positions)
