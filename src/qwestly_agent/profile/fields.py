"""Several fields of the profile, the preferences and the job wishes, changed by one approval.

The candidate app writes its own fields in one step; job wishes are ours and are stored after that.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, get_args

from qwestly_agent.action import to_json_types
from qwestly_agent.approvals.view import format_or_none, readable_name
from qwestly_agent.base.errors import NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Done, Outcome
from qwestly_agent.domain.approval import Approval, Change, Preview
from qwestly_agent.domain.candidate import ProfileField
from qwestly_agent.domain.job import wishes_as_fields, with_wishes
from qwestly_agent.profile.values import FieldChange, ProfileChanges
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.stores.jobs import JobSearches

FIELD_NAMES: Mapping[str, str] = {
    "roles": "Role you want",
    "locations": "Where you want to work",
    "work_mode": "Way to work",
    "availability": "When you can begin",
    "remote": "Remote jobs",
    "pay": "Least pay a year",
    "never": "Never show me jobs with",
}
"""Names of fields whose labels would otherwise equal those of the profile."""


def _name_of(change: FieldChange) -> str:
    return FIELD_NAMES.get(change.field, readable_name(change.field).capitalize())


async def read_fields(profiles: Profiles, job_searches: JobSearches, user_id: str) -> dict[str, Any]:
    """Read the current values of all fields that can be changed: profile, preferences and job wishes."""
    profile, preferences, search = await asyncio.gather(
        profiles.get_summary(user_id), profiles.preferences(user_id), job_searches.get(user_id)
    )
    return {**profile, **preferences, **wishes_as_fields(search.wishes)}


async def fields_shown(services: Services, user_id: str, args: ProfileChanges) -> dict[str, str]:
    current = await _fields(services, user_id, args)
    return {_name_of(each): value for each in args.changes if (value := current[each.field]) is not None}


async def are_fields_unchanged(services: Services, user_id: str, args: ProfileChanges) -> bool:
    """True if the fields have the values that the action wrote with these arguments."""
    return await _fields(services, user_id, args) == {
        name: format_or_none(value) for name, value in args.values.items()
    }


async def _fields(services: Services, user_id: str, args: ProfileChanges) -> dict[str, str | None]:
    now = await read_fields(services.profiles, services.job_searches, user_id)
    return {each.field: format_or_none(now.get(each.field)) for each in args.changes}


def fields_preview(args: ProfileChanges, shown: Mapping[str, str]) -> Preview:
    changes = (
        Change(
            name=_name_of(each),
            before=shown.get(_name_of(each)),
            after=format_or_none(to_json_types(each.value)),
            quotes=args.quotes.get(each.field, ()),
        )
        for each in args.changes
    )
    is_profile = args.values.keys() <= {*get_args(ProfileField)}
    title = "Change your profile" if is_profile else "Change your profile and what you look for"
    return Preview(title=title, changes=tuple(changes))


async def inverse_fields(services: Services, user_id: str, args: ProfileChanges) -> dict[str, Any]:
    now = await read_fields(services.profiles, services.job_searches, user_id)
    return {"changes": [{"field": each.field, "value": now.get(each.field)} for each in args.changes]}


async def set_fields(services: Services, effect: candidate_app.Effect, args: ProfileChanges) -> Outcome:
    """Set the candidate app's fields in one step. The job wishes are stored after that."""
    if not args.of_candidate_app:
        return Done(effect.version, {})
    return await services.candidate_app.set_profile_fields(effect, args.of_candidate_app)


async def store_wishes(services: Services, approval: Approval, args: ProfileChanges) -> None:
    """Store the job wishes once per approval, so that repeated calls do not overwrite the user's later choices."""
    if not args.wishes:
        return
    with suppress(NotFound):  # the user was erased meanwhile
        await services.approvals.get(approval.user_id, approval.id)
        await services.job_searches.change_wishes_once(
            approval.user_id, approval.id, lambda before: with_wishes(before, args.wishes)
        )
