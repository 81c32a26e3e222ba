"""The action that changes an application in the user's own list."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints

from qwestly_agent.approvals.action import Action, digest_of
from qwestly_agent.approvals.arguments import DraftId
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import ChangedMeanwhile, Invalid, NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Changed, Done, Outcome, Refused
from qwestly_agent.domain.application import Application, ApplicationStatus, planned_at
from qwestly_agent.domain.approval import Change, Preview
from qwestly_agent.services import Services

Step = Annotated[str, StringConstraints(max_length=300, strip_whitespace=True)]
Notes = Annotated[str, StringConstraints(max_length=5_000, strip_whitespace=True)]


NAMES = {"status": "Status", "next_step": "Next step", "next_at": "On", "notes": "Notes"}


class ApplicationChange(BaseModel):
    """What is None stays."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    application_id: DraftId
    status: ApplicationStatus | None = None
    next_step: Step | None = None
    next_at: AwareDatetime | None = None
    notes: Notes | None = None

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude={"application_id"}, exclude_none=True)

    def changes(self, now: float) -> dict[str, Any]:
        """Return the fields that it sets. Raises `Invalid` for a date that is too far away."""
        return {**self.given, **({"next_at": planned_at(self.next_at, now)} if self.next_at else {})}


def _as_it_stands(application: Application, args: ApplicationChange) -> dict[str, str]:
    """Return the fields that the change names, and the application."""
    stands = {
        "status": application.status,
        "next_step": application.next_step,
        "next_at": _moment(to_datetime(application.next_at)) if application.next_at is not None else "",
        "notes": application.notes,
    }
    name = ", ".join(filter(None, (application.title, application.company)))
    return {"Application": name, **{NAMES[each]: stands[each] for each in args.given if stands[each]}}


def _moment(at: datetime) -> str:
    return f"{at:%d %B %Y %H:%M %Z}"


async def _shown(services: Services, user_id: str, args: ApplicationChange) -> dict[str, str]:
    return _as_it_stands(await services.applications.get(user_id, args.application_id), args)


def _preview(args: ApplicationChange, shown: Mapping[str, str]) -> Preview:
    given = {**args.given, **({"next_at": _moment(args.next_at)} if args.next_at else {})}
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


UPDATE_APPLICATION = Action(
    tool="update_application",
    kind="application",
    effect="write",
    arguments=ApplicationChange,
    subject=lambda args: f"application:{args.application_id}",
    shown=_shown,
    preview=_preview,
    perform=_change,
    done="It is changed in your list.",
    ours=True,
    revisable=False,
)
