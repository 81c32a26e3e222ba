"""The action of applying for a job: the preview shows exactly what is sent, and sending cannot be undone."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from qwestly_agent.approvals.action import Action
from qwestly_agent.approvals.arguments import DraftId, Line, plain
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Outcome, Refused
from qwestly_agent.domain.application import application_id
from qwestly_agent.domain.approval import Change, Preview, ShownClaim, ShownSection
from qwestly_agent.services import Services

LONGEST_DOCUMENT, LONGEST_NOTE, MOST_DOCUMENTS = 40_000, 2_000, 4
"""Limits in docs/candidate-app-api.yaml."""
HEADINGS = {"resume": "Résumé", "cover_letter": "Letter"}


class SentDocument(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    kind: Literal["resume", "cover_letter"]
    document_id: DraftId
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_DOCUMENT)]
    """Markdown, exactly as sent."""


class JobApplication(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    job_id: DraftId
    title: Line
    company: Annotated[str, StringConstraints(max_length=300)] = ""
    url: Annotated[str, StringConstraints(max_length=2_000)] = ""
    documents: Annotated[tuple[SentDocument, ...], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE)] = ""
    """The user's own words."""


SENT_BEFORE = "An application for this job was sent before, so nothing was sent."


async def _shown(services: Services, user_id: str, args: JobApplication) -> dict[str, str]:
    """Show when the user says that they applied elsewhere."""
    with suppress(NotFound):
        application = await services.applications.get(user_id, application_id(args.job_id))
        if application.applied_at is not None:
            return {"Sent": f"{to_datetime(application.applied_at):%d %B %Y}"}
    return {}


def _preview(args: JobApplication, _: Mapping[str, str]) -> Preview:
    told = {"Job": args.title, "Company": args.company, "Job posting": args.url, "Your note": args.note}
    return Preview(
        title=f"Apply: {', '.join(filter(None, (args.title, args.company)))}"[:300],
        changes=tuple(Change(name=name, before=None, after=text) for name, text in told.items() if text),
        sections=tuple(
            ShownSection(
                heading=HEADINGS[each.kind],
                claims=tuple(ShownClaim(text=line) for line in each.text.splitlines() if line.strip()),
            )
            for each in args.documents
        ),
    )


async def _send(services: Services, effect: candidate_app.Effect, args: JobApplication) -> Outcome:
    if effect.version is not None:  # with a version, the write API sends it again
        return Refused("sent_before", SENT_BEFORE)
    body = {
        "job": {"title": args.title, "company": args.company, "url": args.url},
        "documents": [{"kind": each.kind, "text": each.text} for each in args.documents],
        "note": args.note,
    }
    return await services.candidate_app.send_application(effect, args.job_id, plain(body))


APPLY = Action(
    tool="apply",
    kind="application",
    effect="outward",
    arguments=JobApplication,
    subject=lambda args: candidate_app.application(args.job_id),
    shown=_shown,
    preview=_preview,
    perform=_send,
    done="Your application was sent.",
    published=("documents",),
    sent_before=SENT_BEFORE,
    revisable=False,
    signed_in_only=True,
)
