"""The actions on job applications: send one, which cannot be undone and whose preview shows exactly what is sent; and
change one in the user's own list, which is also updated when sending is requested and when it is done."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from qwestly_agent.action import Action, Arguments, DraftId, Inverse, Line, digest_of, keep_arguments, to_json_types
from qwestly_agent.base.clock import format_date, format_day, format_time, to_datetime
from qwestly_agent.base.errors import ChangedMeanwhile, Invalid, NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Changed, Done, Outcome, Refused
from qwestly_agent.domain.approval import Approval, Change, Preview, ShownClaim, ShownSection
from qwestly_agent.domain.job import Application, ApplicationStatus, application_id, planned_at
from qwestly_agent.services import Services
from qwestly_agent.stores.jobs import Applications, JobMatches

LONGEST_DOCUMENT, LONGEST_NOTE, MOST_DOCUMENTS = 40_000, 2_000, 4
"""Limits in docs/candidate-app-api.yaml."""
CONTACT, LONGEST_CONTACT = "{contact}", 1_000
HEADINGS = {"resume": "Résumé", "cover_letter": "Letter"}


class SentDocument(Arguments):
    kind: Literal["resume", "cover_letter"]
    document_id: DraftId
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_DOCUMENT)]
    """Markdown, exactly as sent, with `CONTACT` in the place of the contact details."""


class JobApplication(Arguments):
    job_id: DraftId
    title: Line
    company: Annotated[str, StringConstraints(max_length=300)] = ""
    url: Annotated[str, StringConstraints(max_length=2_000)] = ""
    source: Annotated[str, StringConstraints(max_length=60)] = ""
    """The job board that listed it first, of which the candidate app knows whether it delivers there."""
    documents: Annotated[tuple[SentDocument, ...], Field(min_length=1, max_length=MOST_DOCUMENTS)]
    note: Annotated[str, StringConstraints(max_length=LONGEST_NOTE)] = ""
    """The user's own words."""
    contact: Annotated[str, StringConstraints(max_length=LONGEST_CONTACT)] = ""
    """The contact details that the user chose for the head, as Markdown. They stand apart, because the texts must have
    none."""

    def sent_text(self, document: SentDocument) -> str:
        return document.text.replace(CONTACT, self.contact, 1) if self.contact else document.text


NOT_DELIVERED = (
    "nobody delivers applications for this job board. Open the job posting, send your documents there, and press "
    "“I sent it” in your list."
)
SENT_BEFORE = "An application for this job was sent before, so nothing was sent."


async def _sent_on(services: Services, user_id: str, args: JobApplication) -> dict[str, str]:
    """Return the date of the application if the user says that they have already applied elsewhere."""
    with suppress(NotFound):
        application = await services.applications.get(user_id, application_id(args.job_id))
        if application.applied_at is not None:
            return {"Sent": format_day(application.applied_at)}
    return {}


def _application_preview(args: JobApplication, _: Mapping[str, str]) -> Preview:
    job = tuple(ShownClaim(text=text) for text in (args.title, args.company, args.url) if text)
    note = (ShownSection(heading="Your note", claims=(ShownClaim(text=args.note),)),) if args.note else ()
    return Preview(
        title=f"Apply: {', '.join(filter(None, (args.title, args.company)))}"[:300],
        sections=(
            ShownSection(heading="Job", claims=job),
            *(ShownSection(heading=HEADINGS[each.kind], markdown=args.sent_text(each)) for each in args.documents),
            *note,
        ),
    )


async def _send(services: Services, effect: candidate_app.Effect, args: JobApplication) -> Outcome:
    if effect.version is not None:  # given a version, the write API would send it again
        return Refused("sent_before", SENT_BEFORE)
    body = {
        "job": {"title": args.title, "company": args.company, "url": args.url, "source": args.source},
        "documents": [{"kind": each.kind, "text": args.sent_text(each)} for each in args.documents],
        "note": args.note,
    }
    outcome = await services.candidate_app.send_application(effect, args.job_id, to_json_types(body))
    is_left_to_them = isinstance(outcome, Refused) and outcome.code == "not_delivered"
    return Refused("not_delivered", NOT_DELIVERED) if is_left_to_them else outcome


async def add_to_list(applications: Applications, job_matches: JobMatches, new: Application) -> Application:
    """Insert an application, or return the existing one, and link the match to it."""
    application = await applications.add_or_get(new)
    with suppress(NotFound):  # matches expire earlier than applications
        match = await job_matches.get(new.user_id, new.job_id)
        if match.application_id != application.id:
            await job_matches.change(new.user_id, new.job_id, new.created_at, application_id=application.id)
    return application


async def add_requested(services: Services, approval: Approval) -> None:
    """Add the application that this approval would send to the user's list (idempotent)."""
    now = services.clock()
    application = await add_to_list(services.applications, services.job_matches, _of(approval, now))
    await services.applications.change(approval.user_id, application.id, now, approval_id=approval.id)


async def record_as_sent(services: Services, approval: Approval, args: JobApplication) -> None:
    """Record in the user's list that this approval's application was sent (idempotent)."""
    now = services.clock()
    with suppress(NotFound):  # the user was erased meanwhile
        await services.approvals.get(approval.user_id, approval.id)
        application = await add_to_list(services.applications, services.job_matches, _of(approval, now))
        is_new = application.status == "preparing"
        await services.applications.change(
            approval.user_id,
            application.id,
            now,
            approved=True,
            status="applied" if is_new else application.status,
            applied_at=application.applied_at or now,
            approval_id=approval.id,
            document_ids=tuple(each.document_id for each in args.documents),
        )


def _of(approval: Approval, now: float) -> Application:
    job = {name: approval.arguments.get(name, "") for name in ("job_id", "title", "company", "url")}
    return Application(
        id=application_id(job["job_id"]), user_id=approval.user_id, created_at=now, updated_at=now, **job
    )


APPLY = Action(
    tool="apply",
    kind="application",
    effect="outward",
    hours=24,
    arguments=JobApplication,
    subject=lambda args: candidate_app.application_subject(args.job_id),
    read_current=_sent_on,
    preview=_application_preview,
    perform=_send,
    done_message="Your application was sent.",
    published=("documents",),
    on_asked=add_requested,
    on_done=record_as_sent,
    duplicate_message=SENT_BEFORE,
    revisable=False,
    signed_in_only=True,
    upgrades=dict.fromkeys(
        (
            "2bf71208f74e9cd5e91e84da320a08280921abe435ec181e50543641178a420d",
            "79d7efc4da190279613cbfd01bac3d750f81183d0df1e5f85076656707bec945",
        ),
        keep_arguments,
    ),
)

Step = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
Notes = Annotated[str, StringConstraints(max_length=5_000, strip_whitespace=True)]


NAMES = {"status": "Status", "next_step": "Next step", "next_at": "On", "notes": "Notes", "applied_at": "Applied"}
MOMENTS = ("next_at", "applied_at")


class ApplicationChange(Arguments):
    # This docstring is part of the digest of `update_application`'s arguments, so changing it requires an upgrade.
    """What is None stays."""

    application_id: DraftId
    status: ApplicationStatus | None = None
    next_step: Step | None = None
    next_at: AwareDatetime | Literal[""] | None = None
    notes: Notes | None = None
    applied_at: AwareDatetime | Literal[""] | None = None

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude={"application_id"}, exclude_none=True)

    def changes(self, now: float) -> dict[str, Any]:
        """Return the fields to set; an empty moment is none. Raises `Invalid` for a date too far away."""
        given = self.given
        moments = {name: planned_at(given[name], now) if given[name] else None for name in MOMENTS if name in given}
        return {**given, **moments}


def _as_it_stands(application: Application, args: ApplicationChange) -> dict[str, str]:
    """Return the current values of the changed fields, and the application's name."""
    stands = {each: getattr(application, each) for each in args.given}
    stands |= {each: _moment(to_datetime(stands[each])) for each in MOMENTS if stands.get(each) is not None}
    name = ", ".join(filter(None, (application.title, application.company)))
    return {"Application": name, **{NAMES[each]: value for each, value in stands.items() if value}}


def _moment(at: datetime) -> str:
    return f"{format_date(at)} at {format_time(at.hour, at.minute)} {at:%Z}"


async def _list_shown(services: Services, user_id: str, args: ApplicationChange) -> dict[str, str]:
    return _as_it_stands(await services.applications.get(user_id, args.application_id), args)


def _change_preview(args: ApplicationChange, shown: Mapping[str, str]) -> Preview:
    given = args.given
    given |= {each: _moment(given[each]) for each in MOMENTS if given.get(each)}
    changes = (
        Change(name=NAMES[each], before=shown.get(NAMES[each]), after=value or None) for each, value in given.items()
    )
    title = f"Change in your list: {shown.get('Application', 'an application')}"
    return Preview(title=title[:300], changes=tuple(changes))


async def _change(services: Services, effect: candidate_app.Effect, args: ApplicationChange) -> Outcome:
    now = services.clock()

    def is_as_shown(application: Application) -> bool:
        return digest_of(_as_it_stands(application, args)) == effect.version

    try:
        await services.applications.change_once(
            effect.user_id, args.application_id, now, effect.key, is_as_shown, **args.changes(now)
        )
    except NotFound:
        return Refused("not_found", "It is not in your list any more.")
    except Invalid as error:
        return Refused("invalid", error.message)
    except ChangedMeanwhile:
        return Changed("")
    return Done(None, {})


async def _as_before(services: Services, user_id: str, args: ApplicationChange) -> dict[str, Any]:
    """Return the arguments that restore the changed fields, including the application date if the status sets it."""
    before = {"application_id": args.application_id}
    with suppress(NotFound):  # in that case nothing is changed
        application = await services.applications.get(user_id, args.application_id)
        now = services.clock()
        after = application.after(args.changes(now), now)
        changed = [each for each in NAMES if each in args.given or getattr(after, each) != getattr(application, each)]
        stood = {each: getattr(application, each) for each in changed}
        stood |= {
            each: to_datetime(stood[each]) if stood[each] is not None else "" for each in MOMENTS if each in stood
        }
        before |= stood
    return before


async def _is_as_changed(services: Services, user_id: str, args: ApplicationChange) -> bool:
    with suppress(NotFound):
        application = await services.applications.get(user_id, args.application_id)
        changes = args.changes(services.clock())
        return all(getattr(application, name) == value for name, value in changes.items())
    return False


async def _told_of(services: Services, user_id: str, args: ApplicationChange) -> str:
    """Return the company or, if the job names none, the title. Empty if notes change, since these are the user's own
    words."""
    application = await services.applications.get(user_id, args.application_id)
    return (application.company or application.title) if args.notes is None else ""


UPDATE_APPLICATION = Action(
    tool="update_application",
    kind="application",
    effect="write",
    hours=168,
    arguments=ApplicationChange,
    subject=lambda args: f"application:{args.application_id}",
    read_current=_list_shown,
    preview=_change_preview,
    perform=_change,
    done_message="It is changed in your list.",
    is_own_data=True,
    revisable=False,
    inverse=Inverse(_as_before, _is_as_changed, told_of=_told_of),
    upgrades={"4709100904a0a465f3f2cae588fc784d379d931cfa1643c7385ec98224362f63": keep_arguments},
)
