"""The actions that the agent may propose: each with its arguments, subject, preview and effect. The candidate app
performs them, except those that are ours.

A tool that writes only proposes an action; `approvals.execute` alone calls `perform`.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from qwestly_agent.approvals.action import Action, Inverse, same
from qwestly_agent.approvals.apply_for_job import APPLY
from qwestly_agent.approvals.arguments import (
    CardActivation,
    CardName,
    CardPublication,
    Ingestion,
    LinkedInAbout,
    PreferenceChange,
    ProfileChange,
    ProfileChanges,
    plain,
)
from qwestly_agent.approvals.change_application import UPDATE_APPLICATION
from qwestly_agent.approvals.memory_actions import FORGET_MEMORIES, FORGET_OUTDATED_MEMORIES, KEEP_MEMORIES
from qwestly_agent.approvals.plain_request import FieldValues
from qwestly_agent.approvals.previews import (
    LINKEDIN_ABOUT,
    LINKEDIN_PROFILE,
    PREFERENCE,
    PROFILE_FIELD,
    activation_preview,
    card_shown,
    deletion_preview,
    in_words,
    is_shown_first,
    publication_preview,
)
from qwestly_agent.approvals.profile_fields import (
    fields_are_as_done,
    fields_before,
    fields_preview,
    fields_shown,
    set_fields,
)
from qwestly_agent.approvals.raise_autonomy import RAISE_AUTONOMY
from qwestly_agent.base.errors import Invalid
from qwestly_agent.clients import candidate_app
from qwestly_agent.domain.approval import Approval
from qwestly_agent.services import Services


async def _field_before(services: Services, user_id: str, args: ProfileChange) -> dict[str, Any]:
    return {"field": args.field, "value": (await services.profiles.summary(user_id)).get(args.field)}


def _fields_named(args: ProfileChanges, before: Mapping[str, Any]) -> list[FieldValues]:
    """Return the values to name, by field; none if a field has no value that a person would name."""
    named = [
        _named(each.field, plain(each.value), earlier["value"])
        for each, earlier in zip(args.changes, before["changes"], strict=True)
    ]
    return [each for field in named for each in field] if all(named) else []


async def _preference_before(services: Services, user_id: str, args: PreferenceChange) -> dict[str, Any]:
    return {"name": args.name, "value": (await services.profiles.preferences(user_id)).get(args.name)}


def _named(field: str, after: Any, before: Any) -> list[FieldValues]:
    """Return the values that are new or gone; none if items also change places, which nobody would name."""
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
    return [in_words(each) for each in (item.values() if isinstance(item, dict) else [item])]


async def _shown_first_before(services: Services, user_id: str, args: CardActivation) -> dict[str, Any]:
    card_id = await services.profiles.card_shown_first(user_id)
    return {"card_id": card_id or args.card_id, "active": card_id is not None}


UPDATE_PROFILE_FIELD = Action(
    tool="update_profile_field",
    kind="profile",
    effect="write",
    arguments=ProfileChange,
    subject=lambda _: candidate_app.PROFILE,
    shown=PROFILE_FIELD.shown,
    preview=PROFILE_FIELD.preview,
    perform=lambda services, effect, args: services.candidate_app.set_profile_fields(
        effect, {args.field: plain(args.value)}
    ),
    done="Your profile is changed.",
    published=("value",),
    editable=("value",),
    inverse=Inverse(
        _field_before,
        PROFILE_FIELD.is_as_done,
        named=lambda args, before: _named(args.field, plain(args.value), before["value"]),
    ),
    upgrades={"6268b819a20cde5cb96167cc731dbd672cbc5da4c778c858e77d60125d426593": same},
)
UPDATE_PROFILE = Action(
    tool="update_profile",
    kind="profile",
    effect="write",
    arguments=ProfileChanges,
    subject=lambda _: candidate_app.PROFILE,
    shown=fields_shown,
    preview=fields_preview,
    perform=set_fields,
    done="Your profile is changed.",
    published=("changes",),
    editable=("changes",),
    inverse=Inverse(fields_before, fields_are_as_done, _fields_named),
    upgrades={"a67eefd2b56ad378dda399aff6f469c47560cd2ed353ee665150d6b6a5a894de": same},
)
UPDATE_PREFERENCE = Action(
    tool="update_preference",
    kind="preference",
    effect="write",
    arguments=PreferenceChange,
    subject=lambda _: candidate_app.PREFERENCES,
    shown=PREFERENCE.shown,
    preview=PREFERENCE.preview,
    perform=lambda services, effect, args: services.candidate_app.set_preference(effect, args.name, args.value),
    done="Your preferences are changed.",
    published=("value",),
    editable=("value",),
    inverse=Inverse(
        _preference_before,
        PREFERENCE.is_as_done,
        named=lambda args, before: _named(args.name, plain(args.value), before["value"]),
    ),
    upgrades={"4445417f9c1114a2e1a6cf5deb2ab130139e5db2865e2e0d603207153a1d5012": same},
)
PUBLISH_CARD = Action(
    tool="publish_card",
    kind="card",
    effect="outward",
    arguments=CardPublication,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=card_shown,
    preview=publication_preview,
    perform=lambda services, effect, args: services.candidate_app.publish_card(effect, args.card_id, args.content),
    done="Your card is published.",
    published=("content",),
)
SAVE_CARD_AS_ACTIVE = Action(
    tool="save_card_as_active",
    kind="card",
    effect="outward",
    arguments=CardActivation,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=card_shown,
    preview=activation_preview,
    perform=lambda services, effect, args: services.candidate_app.activate_card(
        effect, args.card_id, active=args.active
    ),
    done="Which card is shown first is changed.",
    must_exist=True,
    inverse=Inverse(_shown_first_before, is_shown_first),
    upgrades={"1c4e57090abfacea1be8ce282ec5c04811762e5b1fbcb4ea3dd421b88eeec6e5": same},
)
DELETE_CARD = Action(
    tool="delete_card",
    kind="deletion",
    effect="destructive",
    arguments=CardName,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=card_shown,
    preview=deletion_preview,
    perform=lambda services, effect, args: services.candidate_app.delete_card(effect, args.card_id),
    done="The card is deleted.",
    must_exist=True,
)
INGEST_LINKEDIN_PROFILE = Action(
    tool="ingest_linkedin_profile",
    kind="linkedin",
    effect="write",
    arguments=Ingestion,
    subject=lambda _: candidate_app.LINKEDIN_PROFILE,
    shown=LINKEDIN_PROFILE.shown,
    preview=LINKEDIN_PROFILE.preview,
    perform=lambda services, effect, args: services.candidate_app.ingest_linkedin(
        effect, args.url, refresh=args.refresh
    ),
    done="Your LinkedIn profile was read.",
)
SUGGEST_LINKEDIN_ABOUT = Action(
    tool="hand_over_linkedin_about",
    kind="linkedin",
    effect="write",
    arguments=LinkedInAbout,
    subject=lambda args: candidate_app.linkedin_suggestion(args.draft_id),
    shown=LINKEDIN_ABOUT.shown,
    preview=LINKEDIN_ABOUT.preview,
    perform=lambda services, effect, args: services.candidate_app.suggest_linkedin(effect, args.draft_id, args.text),
    done="Your suggestion is kept. Nothing was sent to LinkedIn: copy it from Qwestly when you like.",
    published=("text",),
    editable=("text",),
)
ACTIONS: Mapping[str, Action[Any]] = {
    action.tool: action
    for action in (
        UPDATE_PROFILE_FIELD,
        UPDATE_PROFILE,
        UPDATE_PREFERENCE,
        PUBLISH_CARD,
        SAVE_CARD_AS_ACTIVE,
        DELETE_CARD,
        INGEST_LINKEDIN_PROFILE,
        SUGGEST_LINKEDIN_ABOUT,
        KEEP_MEMORIES,
        FORGET_MEMORIES,
        FORGET_OUTDATED_MEMORIES,
        RAISE_AUTONOMY,
        APPLY,
        UPDATE_APPLICATION,
    )
}


def arguments_of(approval: Approval) -> Any:
    """Convert the record's arguments to the action's present schema. Raises `Invalid` if they can no longer be read."""
    action = ACTIONS[approval.tool]
    return parse(action, action.upgraded(approval.schema_digest, approval.arguments) or {})


def parse(action: Action[Any], args: Mapping[str, Any]) -> Any:
    try:
        return action.arguments.model_validate(dict(args))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid(f"{where or 'arguments'}: {first['msg']}.") from None
