"""The actions that change a user's profile, preferences, job wishes and LinkedIn data. The candidate app performs them,
except for job wishes, which are our own data (`fields.py`)."""

from collections.abc import Mapping
from typing import Any

from qwestly_agent.action import Action, FieldValues, Inverse, Redraft, keep_arguments, to_json_types
from qwestly_agent.approvals.view import Replacement, format_or_none, format_value, readable_name
from qwestly_agent.clients import candidate_app
from qwestly_agent.domain.approval import Approval
from qwestly_agent.profile.fields import (
    are_fields_unchanged,
    fields_preview,
    fields_shown,
    inverse_fields,
    set_fields,
    store_wishes,
)
from qwestly_agent.profile.redraft import start_redraft
from qwestly_agent.profile.values import Ingestion, LinkedInAbout, PreferenceChange, ProfileChange, ProfileChanges
from qwestly_agent.services import Services

TEXTS, LISTS = ("headline", "summary", "location"), ("skills", "languages")
"""Profile fields that can be drafted again. The others contain figures and dates that only the user knows."""
MOST_ITEMS = 20
"""Maximum number of list entries that can be drafted again, in one answer of the writer."""


async def _field(services: Services, user_id: str, args: ProfileChange) -> str | None:
    return format_or_none((await services.profiles.get_summary(user_id)).get(args.field))


async def _preference(services: Services, user_id: str, args: PreferenceChange) -> str | None:
    return format_or_none((await services.profiles.preferences(user_id)).get(args.name))


async def _linkedin_url(services: Services, user_id: str, _: Ingestion) -> str | None:
    return (await services.profiles.linkedin(user_id)).get("url") or None


async def _linkedin_about(services: Services, user_id: str, args: LinkedInAbout) -> str | None:
    return (await services.profiles.linkedin_suggestion(user_id, args.draft_id)).get("text") or None


PROFILE_FIELD = Replacement[ProfileChange](
    title=lambda args: f"Change your {readable_name(args.field)}",
    name=lambda args: readable_name(args.field).capitalize(),
    current=_field,
    new=lambda args: format_or_none(to_json_types(args.value)),
)

PREFERENCE = Replacement[PreferenceChange](
    title=lambda args: f"Change your preference for {readable_name(args.name)}",
    name=lambda args: readable_name(args.name).capitalize(),
    current=_preference,
    new=lambda args: format_or_none(to_json_types(args.value)),
)
LINKEDIN_PROFILE = Replacement[Ingestion](
    title=lambda _: "Read your LinkedIn profile and keep it",
    name=lambda _: "LinkedIn profile",
    current=_linkedin_url,
    new=lambda args: args.url,
)
LINKEDIN_ABOUT = Replacement[LinkedInAbout](
    title=lambda _: "Keep this suggestion for your LinkedIn profile",
    name=lambda _: "LinkedIn About",
    current=_linkedin_about,
    new=lambda args: args.text,
)


async def _field_before(services: Services, user_id: str, args: ProfileChange) -> dict[str, Any]:
    return {"field": args.field, "value": (await services.profiles.get_summary(user_id)).get(args.field)}


def _fields_named(args: ProfileChanges, before: Mapping[str, Any]) -> list[FieldValues]:
    """Return the values that a request must name, by field; empty if a field has no value that a user would name."""
    named = [
        _named(each.field, to_json_types(each.value), earlier["value"])
        for each, earlier in zip(args.changes, before["changes"], strict=True)
    ]
    return [each for field in named for each in field] if all(named) else []


async def _preference_before(services: Services, user_id: str, args: PreferenceChange) -> dict[str, Any]:
    return {"name": args.name, "value": (await services.profiles.preferences(user_id)).get(args.name)}


def _named(field: str, after: Any, before: Any) -> list[FieldValues]:
    """Return the added and removed values; empty if items also change their order, which no user would name."""
    if not isinstance(after, list):
        return [] if after is None else [FieldValues(field, _texts(after))]
    there = [] if before is None else before
    if not isinstance(there, list):
        return []
    kept = [each for each in there if each in after]
    if [each for each in after if each in there] != kept:
        return []
    new, gone = [each for each in after if each not in there], [each for each in there if each not in after]
    texts = [[text for each in items for text in _texts(each)] for items in (new, gone, kept)]
    return [FieldValues(field, *texts)]


def _texts(item: Any) -> list[str]:
    return [format_value(each) for each in (item.values() if isinstance(item, dict) else [item])]


def _section(approval: Approval) -> str | None:
    field, value = (approval.arguments.get(name) for name in ("field", "value"))
    is_drafted = bool(value) and (field in TEXTS or (field in LISTS and len(value) <= MOST_ITEMS))
    return f"profile_{field}" if is_drafted else None


UPDATE_PROFILE_FIELD = Action(
    tool="update_profile_field",
    kind="profile",
    effect="write",
    hours=48,
    arguments=ProfileChange,
    subject=lambda _: candidate_app.PROFILE,
    read_current=PROFILE_FIELD.read_current,
    preview=PROFILE_FIELD.preview,
    perform=lambda services, effect, args: services.candidate_app.set_profile_fields(
        effect, {args.field: to_json_types(args.value)}
    ),
    done_message="Your profile is changed.",
    published=("value",),
    editable=("value",),
    inverse=Inverse(
        _field_before,
        PROFILE_FIELD.is_unchanged,
        requested_values=lambda args, before: _named(args.field, to_json_types(args.value), before["value"]),
    ),
    redraft=Redraft(_section, start_redraft),
    upgrades={"6268b819a20cde5cb96167cc731dbd672cbc5da4c778c858e77d60125d426593": keep_arguments},
)
UPDATE_PROFILE = Action(
    tool="update_profile",
    kind="profile",
    effect="write",
    hours=168,
    arguments=ProfileChanges,
    subject=lambda _: candidate_app.PROFILE,
    read_current=fields_shown,
    preview=fields_preview,
    perform=set_fields,
    done_message="Your profile is changed.",
    published=("changes",),
    editable=("changes",),
    inverse=Inverse(inverse_fields, are_fields_unchanged, _fields_named),
    on_done=store_wishes,
    upgrades={"a67eefd2b56ad378dda399aff6f469c47560cd2ed353ee665150d6b6a5a894de": keep_arguments},
)
UPDATE_PREFERENCE = Action(
    tool="update_preference",
    kind="preference",
    effect="write",
    hours=48,
    arguments=PreferenceChange,
    subject=lambda _: candidate_app.PREFERENCES,
    read_current=PREFERENCE.read_current,
    preview=PREFERENCE.preview,
    perform=lambda services, effect, args: services.candidate_app.set_preference(effect, args.name, args.value),
    done_message="Your preferences are changed.",
    published=("value",),
    editable=("value",),
    inverse=Inverse(
        _preference_before,
        PREFERENCE.is_unchanged,
        requested_values=lambda args, before: _named(args.name, to_json_types(args.value), before["value"]),
    ),
    upgrades={"4445417f9c1114a2e1a6cf5deb2ab130139e5db2865e2e0d603207153a1d5012": keep_arguments},
)
INGEST_LINKEDIN_PROFILE = Action(
    tool="ingest_linkedin_profile",
    kind="linkedin",
    effect="write",
    hours=48,
    arguments=Ingestion,
    subject=lambda _: candidate_app.LINKEDIN_PROFILE,
    read_current=LINKEDIN_PROFILE.read_current,
    preview=LINKEDIN_PROFILE.preview,
    perform=lambda services, effect, args: services.candidate_app.ingest_linkedin(
        effect, args.url, refresh=args.refresh
    ),
    done_message="Your LinkedIn profile was read.",
)
SUGGEST_LINKEDIN_ABOUT = Action(
    tool="hand_over_linkedin_about",
    kind="linkedin",
    effect="write",
    hours=168,
    arguments=LinkedInAbout,
    subject=lambda args: candidate_app.suggestion_subject(args.draft_id),
    read_current=LINKEDIN_ABOUT.read_current,
    preview=LINKEDIN_ABOUT.preview,
    perform=lambda services, effect, args: services.candidate_app.suggest_linkedin(effect, args.draft_id, args.text),
    done_message="Your suggestion is kept. Nothing was sent to LinkedIn: copy it from Qwestly when you like.",
    published=("text",),
    editable=("text",),
    redraft=Redraft(lambda _: "about", start_redraft),
)
