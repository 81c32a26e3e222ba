"""The actions that the agent may propose: each with its arguments, subject, preview and effect. The candidate app
performs them, except those on memories, which are ours.

A tool that writes only proposes an action; `approvals.execute` alone calls `perform`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationInfo,
    field_validator,
)

from qwestly_agent.approvals.end import still_proposed, still_there
from qwestly_agent.approvals.forget import ForgetServices, forget_exactly
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import CardText, Changed, Done, Outcome, Preference, ProfileField, Refused
from qwestly_agent.domain.approval import (
    KEEPS_MEMORIES,
    Change,
    Effect,
    Kind,
    Preview,
    ShownClaim,
    ShownSection,
    canonical_json,
    sha256_hex,
)
from qwestly_agent.domain.memory import Memory
from qwestly_agent.services import HasCandidateApp, HasMemories, HasProfiles
from qwestly_agent.text.clean import visible


class PerformServices(ForgetServices, HasCandidateApp, Protocol): ...


class ShownServices(HasMemories, HasProfiles, Protocol): ...


HOUR, DAY = 3600.0, 86_400.0
LINKEDIN_ABOUT = "LinkedIn About"
MOST_FORGOTTEN = 200
"""Maximum number of memories in one approval, with their lineage."""


def _clean(text: str) -> str:
    return visible(text).strip()


def _in_one_line(text: str) -> str:
    return " ".join(visible(text).split())


Line: TypeAlias = Annotated[str, AfterValidator(_in_one_line), StringConstraints(min_length=1, max_length=300)]
Text: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=5000)]
AboutText: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=2600)]
Lines: TypeAlias = Annotated[list[Line], Field(max_length=100)]
CardId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
DraftId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
MemoryIds: TypeAlias = Annotated[
    list[Annotated[str, StringConstraints(min_length=1, max_length=128)]], Field(min_length=1, max_length=100)
]
LinkedInUrl: TypeAlias = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^https://([a-z]{2,3}\.)?linkedin\.com/in/[A-Za-z0-9_%-]{1,200}/?$"),
]


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Education(_Arguments):
    school: Line
    degree: Line | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None


Value: TypeAlias = str | float | list[str] | list[Education]

_FIELDS: Mapping[str, TypeAdapter[Any]] = {
    "headline": TypeAdapter(Line),
    "location": TypeAdapter(Line),
    "summary": TypeAdapter(Text),
    "skills": TypeAdapter(Lines),
    "languages": TypeAdapter(Lines),
    "years_of_experience": TypeAdapter(Annotated[float, Field(ge=0, le=80)]),
    "education": TypeAdapter(Annotated[list[Education], Field(max_length=30)]),
    "work_mode": TypeAdapter(Line),
    "availability": TypeAdapter(Line),
    **{name: TypeAdapter(Lines) for name in ("roles", "locations", "industries", "company_sizes")},
}


def _coerced(name: str | None, value: Value) -> Value:
    """Convert the value to its field's type and remove invisible characters, so that what is done is what is shown."""
    return _FIELDS[name].validate_python(_plain(value)) if name else value


class ProfileChange(_Arguments):
    field: ProfileField
    value: Value

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value, info: ValidationInfo) -> Value:
        return _coerced(info.data.get("field"), value)


class PreferenceChange(_Arguments):
    name: Preference
    value: str | list[str]

    @field_validator("value")
    @classmethod
    def _fits(cls, value: Value, info: ValidationInfo) -> Value:
        return _coerced(info.data.get("name"), value)


class CardPublication(_Arguments):
    card_id: CardId
    draft_id: DraftId
    content: CardText


class CardName(_Arguments):
    card_id: CardId


class Ingestion(_Arguments):
    url: LinkedInUrl
    refresh: bool = False


class LinkedInAbout(_Arguments):
    draft_id: DraftId
    text: AboutText


class Keeping(_Arguments):
    memory_ids: MemoryIds
    conversation_id: str


class Forgetting(_Arguments):
    memories: Annotated[dict[str, str], Field(min_length=1, max_length=MOST_FORGOTTEN)]
    """`as_shown` of each memory by id, with the whole lineage of each."""


A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True)
class Action(Generic[A]):
    tool: str
    kind: Kind
    effect: Effect
    arguments: type[A]
    seconds_to_decide: float
    subject: Callable[[A], str]
    shown: Callable[[ShownServices, str, A], Awaitable[dict[str, str]]]
    """Read the current values of what would change; they are compared again before the effect."""
    preview: Callable[[A, Mapping[str, str]], Preview]
    perform: Callable[[PerformServices, candidate_app.Effect, A], Awaitable[Outcome]]
    done: str
    """The sentence for the user once it is done."""
    editable: tuple[str, ...] = ()
    """Arguments that a person may edit when approving."""
    must_exist: bool = False
    ours: bool = False
    """True if it changes our own data only: its subject has no version, and performing it is idempotent."""
    revisable: bool = True
    """True if a person may ask for changes: something must be able to make a new version of it."""
    signed_in_only: bool = False
    """True if it is never mailed, and is decided in the chat or the signed-in queue only."""

    @property
    def schema_digest(self) -> str:
        return sha256_hex(canonical_json(self.arguments.model_json_schema()))

    @property
    def by_link(self) -> bool:
        """True if a mailed link may decide it: only what can be undone."""
        return self.effect != "destructive" and not self.signed_in_only


# --- profile and preferences ------------------------------------------------------------------------------------------


def _plain(value: Any) -> Any:
    return TypeAdapter(Any).dump_python(value, mode="json", exclude_none=True)


def in_words(value: Any) -> str:
    match value:
        case None:
            return ""
        case list():
            return "; ".join(_item(in_words(item), ";") for item in value)
        case dict():
            return ", ".join(_item(in_words(item), ",") for item in value.values() if item is not None)
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return visible(str(value))


def _item(item: str, mark: str) -> str:
    """Quote an item that contains the separator, so that it reads as one item."""
    return f"“{item}”" if mark in item else item


def _named(name: str) -> str:
    return name.replace("_", " ")


async def _field_shown(services: ShownServices, user_id: str, args: ProfileChange) -> dict[str, str]:
    return _shown(args.field, (await services.profiles.summary(user_id)).get(args.field))


async def _preference_shown(services: ShownServices, user_id: str, args: PreferenceChange) -> dict[str, str]:
    return _shown(args.name, (await services.profiles.preferences(user_id)).get(args.name))


def _shown(name: str, value: Any) -> dict[str, str]:
    return {_named(name).capitalize(): in_words(value)} if value is not None else {}


def _set_preview(what: str, name: str, value: Any, shown: Mapping[str, str]) -> Preview:
    named = _named(name).capitalize()
    change = Change(name=named, before=shown.get(named), after=in_words(_plain(value)))
    return Preview(title=f"Change {what} {_named(name)}", changes=(change,))


# --- cards ------------------------------------------------------------------------------------------------------------


async def _card_shown(services: ShownServices, user_id: str, args: CardPublication | CardName) -> dict[str, str]:
    card = await services.profiles.card(user_id, args.card_id)
    if not card:
        return {}
    shown = {"Headline": card.get("headline", ""), "Shown first": "yes" if card.get("active") else "no"}
    for section in card.get("sections", []):
        heading = section["heading"]
        while heading in shown:  # keep sections of the same name apart, and apart from the headline
            heading += " (more)"
        shown[heading] = " · ".join(section["claims"])
    return shown


def _publication_preview(args: CardPublication, shown: Mapping[str, str]) -> Preview:
    content = args.content
    headline = Change(name="Headline", before=shown.get("Headline"), after=content.headline)
    return Preview(
        title="Publish your new version of this card" if shown else "Publish this card",
        changes=(headline,) if content.headline else (),
        sections=tuple(
            ShownSection(heading=section.heading, claims=tuple(ShownClaim(text=text) for text in section.claims))
            for section in content.sections
        ),
    )


def _card_preview(title: str) -> Callable[[CardName, Mapping[str, str]], Preview]:
    def preview(args: CardName, shown: Mapping[str, str]) -> Preview:  # noqa: ARG001
        return Preview(
            title=title,
            changes=tuple(Change(name=name, before=text, after=None) for name, text in shown.items() if text),
        )

    return preview


def _activation_preview(args: CardName, shown: Mapping[str, str]) -> Preview:  # noqa: ARG001
    first = next((text for name, text in shown.items() if name not in ("Headline", "Shown first")), "")
    name = " · ".join(filter(None, (shown.get("Headline"), first[:120]))) or "This card"
    return Preview(
        title="Show this card first", changes=(Change(name=name, before="Not shown first", after="Shown first"),)
    )


# --- LinkedIn ---------------------------------------------------------------------------------------------------------


async def _linkedin_shown(services: ShownServices, user_id: str, args: Ingestion) -> dict[str, str]:  # noqa: ARG001
    return {"LinkedIn profile": url} if (url := (await services.profiles.linkedin(user_id)).get("url")) else {}


def _ingestion_preview(args: Ingestion, shown: Mapping[str, str]) -> Preview:
    change = Change(name="LinkedIn profile", before=shown.get("LinkedIn profile"), after=args.url)
    return Preview(title="Read your LinkedIn profile and keep it", changes=(change,))


async def _suggestion_shown(services: ShownServices, user_id: str, args: LinkedInAbout) -> dict[str, str]:
    suggestion = await services.profiles.linkedin_suggestion(user_id, args.draft_id)
    return {LINKEDIN_ABOUT: text} if (text := suggestion.get("text")) else {}


def _suggestion_preview(args: LinkedInAbout, shown: Mapping[str, str]) -> Preview:
    change = Change(name=LINKEDIN_ABOUT, before=shown.get(LINKEDIN_ABOUT), after=args.text)
    return Preview(title="Keep this suggestion for your LinkedIn profile", changes=(change,))


# --- memories ---------------------------------------------------------------------------------------------------------


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


UPDATE_PROFILE_FIELD = Action(
    tool="update_profile_field",
    kind="profile",
    effect="write",
    arguments=ProfileChange,
    seconds_to_decide=48 * HOUR,
    subject=lambda _: candidate_app.PROFILE,
    shown=_field_shown,
    preview=lambda args, shown: _set_preview("your", args.field, args.value, shown),
    perform=lambda services, effect, args: services.candidate_app.set_profile_field(
        effect, args.field, _plain(args.value)
    ),
    done="Your profile is changed.",
    editable=("value",),
)
UPDATE_PREFERENCE = Action(
    tool="update_preference",
    kind="preference",
    effect="write",
    arguments=PreferenceChange,
    seconds_to_decide=48 * HOUR,
    subject=lambda _: candidate_app.PREFERENCES,
    shown=_preference_shown,
    preview=lambda args, shown: _set_preview("your preference for", args.name, args.value, shown),
    perform=lambda services, effect, args: services.candidate_app.set_preference(effect, args.name, args.value),
    done="Your preferences are changed.",
    editable=("value",),
)
PUBLISH_CARD = Action(
    tool="publish_card",
    kind="card",
    effect="outward",
    arguments=CardPublication,
    seconds_to_decide=7 * DAY,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=_card_shown,
    preview=_publication_preview,
    perform=lambda services, effect, args: services.candidate_app.publish_card(effect, args.card_id, args.content),
    done="Your card is published.",
)
SAVE_CARD_AS_ACTIVE = Action(
    tool="save_card_as_active",
    kind="card",
    effect="outward",
    arguments=CardName,
    seconds_to_decide=7 * DAY,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=_card_shown,
    preview=_activation_preview,
    perform=lambda services, effect, args: services.candidate_app.activate_card(effect, args.card_id),
    done="This card is shown first now.",
    must_exist=True,
)
DELETE_CARD = Action(
    tool="delete_card",
    kind="deletion",
    effect="destructive",
    arguments=CardName,
    seconds_to_decide=48 * HOUR,
    subject=lambda args: candidate_app.card(args.card_id),
    shown=_card_shown,
    preview=_card_preview("Delete this card for good"),
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
    shown=_linkedin_shown,
    preview=_ingestion_preview,
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
    shown=_suggestion_shown,
    preview=_suggestion_preview,
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
