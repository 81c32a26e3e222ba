"""The actions that the agent may propose: each with its arguments, subject, preview and effect. The candidate app
performs them, except those on memories, which are ours.

A tool that writes only proposes an action; `approvals.execute` alone calls `perform`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qwestly_agent.approvals.action import Action, Inverse, PerformServices, ShownServices, same
from qwestly_agent.approvals.arguments import (
    CardActivation,
    CardName,
    CardPublication,
    Forgetting,
    Ingestion,
    Keeping,
    LinkedInAbout,
    PreferenceChange,
    ProfileChange,
    plain,
)
from qwestly_agent.approvals.end import still_proposed, still_there
from qwestly_agent.approvals.forget import forget_exactly
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
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_answers import Changed, Done, Outcome, Refused
from qwestly_agent.domain.approval import KEEPS_MEMORIES, Preview, sha256_hex
from qwestly_agent.domain.memory import Memory

HOUR, DAY = 3600.0, 86_400.0


async def _memories_shown(services: ShownServices, user_id: str, args: Keeping) -> dict[str, str]:
    return {each.id: each.content for each in await still_proposed(services.memories, user_id, args.memory_ids)}


def as_shown(user_id: str, memory: Memory) -> str:
    """A digest of content, count and status. If it differs later, the memory is not what the user saw."""
    return sha256_hex(user_id, memory.id, memory.content, str(memory.count), memory.status)[:32]


async def _lineage_shown(services: ShownServices, user_id: str, args: Forgetting) -> dict[str, str]:
    return {each.id: each.content for each in await services.memories.lineage(user_id, list(args.memories))}


async def _forget(services: PerformServices, effect: candidate_app.Effect, args: Forgetting) -> Outcome:
    """Forget the shown memories that still exist; nothing if their lineage now includes others."""
    lineage = await services.memories.lineage(effect.user_id, list(args.memories))
    if any(args.memories.get(each.id) != as_shown(effect.user_id, each) for each in lineage):
        return Changed("")
    forgotten = await forget_exactly(services, effect.user_id, list(args.memories))
    return Done(None, {"note": forgotten.note})


async def _keep(services: PerformServices, effect: candidate_app.Effect, args: Keeping) -> Outcome:
    if not await still_there(services.memories, effect.user_id, args.memory_ids):
        return Refused("gone", "It was forgotten meanwhile.")
    await services.memories.keep_proposed(effect.user_id, args.memory_ids, services.clock())
    return Done(None, {})


async def _field_before(services: ShownServices, user_id: str, args: ProfileChange) -> dict[str, Any]:
    return {"field": args.field, "value": (await services.profiles.summary(user_id)).get(args.field)}


async def _preference_before(services: ShownServices, user_id: str, args: PreferenceChange) -> dict[str, Any]:
    return {"name": args.name, "value": (await services.profiles.preferences(user_id)).get(args.name)}


def _named(after: Any, before: Any) -> list[str]:
    """Each value that is new or gone; none if items change places too, which nobody names."""
    if isinstance(after, list):
        there = [] if before is None else before
        if not isinstance(there, list) or [each for each in after if each in there] != [
            each for each in there if each in after
        ]:
            return []
        changed = [*(each for each in after if each not in there), *(each for each in there if each not in after)]
        return [text for each in changed for text in _texts(each)]
    return [] if after is None else _texts(after)


def _texts(item: Any) -> list[str]:
    return [in_words(each) for each in (item.values() if isinstance(item, dict) else [item])]


async def _shown_first_before(services: ShownServices, user_id: str, args: CardActivation) -> dict[str, Any]:
    card_id = await services.profiles.card_shown_first(user_id)
    return {"card_id": card_id or args.card_id, "active": card_id is not None}


UPDATE_PROFILE_FIELD = Action(
    tool="update_profile_field",
    kind="profile",
    effect="write",
    arguments=ProfileChange,
    seconds_to_decide=48 * HOUR,
    subject=lambda _: candidate_app.PROFILE,
    shown=PROFILE_FIELD.shown,
    preview=PROFILE_FIELD.preview,
    perform=lambda services, effect, args: services.candidate_app.set_profile_field(
        effect, args.field, plain(args.value)
    ),
    done="Your profile is changed.",
    editable=("value",),
    inverse=Inverse(
        _field_before,
        PROFILE_FIELD.is_as_done,
        named=lambda args, before, _: _named(plain(args.value), before["value"]),
    ),
    upgrades={"6268b819a20cde5cb96167cc731dbd672cbc5da4c778c858e77d60125d426593": same},
)
UPDATE_PREFERENCE = Action(
    tool="update_preference",
    kind="preference",
    effect="write",
    arguments=PreferenceChange,
    seconds_to_decide=48 * HOUR,
    subject=lambda _: candidate_app.PREFERENCES,
    shown=PREFERENCE.shown,
    preview=PREFERENCE.preview,
    perform=lambda services, effect, args: services.candidate_app.set_preference(effect, args.name, args.value),
    done="Your preferences are changed.",
    editable=("value",),
    inverse=Inverse(
        _preference_before,
        PREFERENCE.is_as_done,
        named=lambda args, before, _: _named(plain(args.value), before["value"]),
    ),
    upgrades={"4445417f9c1114a2e1a6cf5deb2ab130139e5db2865e2e0d603207153a1d5012": same},
)
PUBLISH_CARD = Action(
    tool="publish_card",
    kind="card",
    effect="outward",
    arguments=CardPublication,
    seconds_to_decide=7 * DAY,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=card_shown,
    preview=publication_preview,
    perform=lambda services, effect, args: services.candidate_app.publish_card(effect, args.card_id, args.content),
    done="Your card is published.",
)
SAVE_CARD_AS_ACTIVE = Action(
    tool="save_card_as_active",
    kind="card",
    effect="outward",
    arguments=CardActivation,
    seconds_to_decide=7 * DAY,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=card_shown,
    preview=activation_preview,
    perform=lambda services, effect, args: services.candidate_app.activate_card(
        effect, args.card_id, active=args.active
    ),
    done="Which card is shown first is changed.",
    must_exist=True,
    inverse=Inverse(
        _shown_first_before,
        is_shown_first,
        named=lambda args, _, shown: [shown["Headline"]] if args.active and shown.get("Headline") else [],
    ),
    upgrades={"1c4e57090abfacea1be8ce282ec5c04811762e5b1fbcb4ea3dd421b88eeec6e5": same},
)
DELETE_CARD = Action(
    tool="delete_card",
    kind="deletion",
    effect="destructive",
    arguments=CardName,
    seconds_to_decide=48 * HOUR,
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
    seconds_to_decide=48 * HOUR,
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
    seconds_to_decide=7 * DAY,
    subject=lambda args: candidate_app.linkedin_suggestion(args.draft_id),
    shown=LINKEDIN_ABOUT.shown,
    preview=LINKEDIN_ABOUT.preview,
    perform=lambda services, effect, args: services.candidate_app.suggest_linkedin(effect, args.draft_id, args.text),
    done="Your suggestion is kept. Nothing was sent to LinkedIn: copy it from Qwestly when you like.",
    editable=("text",),
)
KEEP_MEMORIES = Action(
    tool=KEEPS_MEMORIES,
    kind="memory",
    effect="memory",
    arguments=Keeping,
    seconds_to_decide=7 * DAY,
    subject=lambda _: "memories",
    shown=_memories_shown,
    # The proposer has read the memories and passes a preview of its own.
    preview=lambda args, shown: Preview(title="Remember something sensitive"),  # noqa: ARG005
    perform=_keep,
    done="They are remembered.",
    ours=True,
    revisable=False,
)
FORGET_MEMORIES = Action(
    tool="forget_memory",
    kind="memory",
    effect="memory",
    arguments=Forgetting,
    seconds_to_decide=HOUR,
    subject=lambda _: "memories",
    shown=_lineage_shown,
    preview=lambda args, shown: Preview(title="Forget this for good"),  # noqa: ARG005
    perform=_forget,
    done="It is forgotten for good.",
    ours=True,
    revisable=False,
    signed_in_only=True,
)
# Proposed at night, when nobody can answer within an hour.
FORGET_OUTDATED_MEMORIES = replace(FORGET_MEMORIES, tool="forget_outdated_memories", seconds_to_decide=7 * DAY)

ACTIONS: Mapping[str, Action[Any]] = {
    action.tool: action
    for action in (
        UPDATE_PROFILE_FIELD,
        UPDATE_PREFERENCE,
        PUBLISH_CARD,
        SAVE_CARD_AS_ACTIVE,
        DELETE_CARD,
        INGEST_LINKEDIN_PROFILE,
        SUGGEST_LINKEDIN_ABOUT,
        KEEP_MEMORIES,
        FORGET_MEMORIES,
        FORGET_OUTDATED_MEMORIES,
    )
}
