"""The user's own data at Qwestly: profile, preferences, job wishes, LinkedIn, and the actions that change them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationInfo, field_validator
from typing_extensions import TypeIs

from qwestly_agent.action import (
    Action,
    Arguments,
    DraftId,
    FieldValues,
    Inverse,
    Line,
    Redraft,
    keep_arguments,
    to_json_types,
)
from qwestly_agent.approvals.view import Replacement, format_or_none, format_value, readable_name
from qwestly_agent.base.errors import NotFound
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import Done, Outcome
from qwestly_agent.domain.approval import Approval, Change, Preview, ShownQuote
from qwestly_agent.domain.candidate import Preference, ProfileField, WrittenField, position_order
from qwestly_agent.domain.card import CheckedCard, Claim, Evidence, Section, SectionDraft, person_said
from qwestly_agent.domain.job import Wish, wishes_as_fields, with_wishes
from qwestly_agent.grounding.model import GroundingVerdict
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.stores.drafts import Draft, DraftKind, Drafts, pipeline_id_of
from qwestly_agent.stores.jobs import JobSearches
from qwestly_agent.stores.messages import Messages
from qwestly_agent.text.clean import is_pasted, one_line, visible

# --- values -----------------------------------------------------------------------------------------------------------
# Values of profile fields, preferences and job wishes, as arguments of the actions that change them.


def _clean(text: str) -> str:
    return visible(text).strip()


Text: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=5000)]
AboutText: TypeAlias = Annotated[str, AfterValidator(_clean), StringConstraints(min_length=1, max_length=2600)]
MOST_POSITIONS = 60
Lines: TypeAlias = Annotated[list[Line], Field(max_length=100)]
PositionLine: TypeAlias = Annotated[str, AfterValidator(one_line), StringConstraints(min_length=1, max_length=2_000)]
LinkedInUrl: TypeAlias = Annotated[
    str,
    StringConstraints(max_length=300, pattern=r"^https://([a-z]{2,3}\.)?linkedin\.com/in/[A-Za-z0-9_%-]{1,200}/?$"),
]


class Position(Arguments):
    title: Line | None = None
    company: Line | None = None
    location: Line | None = None
    start: Line | None = None
    """As written, of a calendar date 2021, 2021-03 or 2021-03-15."""
    end: Line | None = None
    """`present` if it goes on; None if unknown."""
    lines: Annotated[tuple[PositionLine, ...], Field(max_length=60)] = ()


def _latest_first(positions: list[Position]) -> list[Position]:
    if not all(each.title or each.company for each in positions):
        raise ValueError("a position has a title or a company")
    return sorted(positions, key=lambda each: position_order(each.model_dump()), reverse=True)


class Education(Arguments):
    school: Line
    degree: Line | None = None
    year: Annotated[int, Field(ge=1900, le=2100)] | None = None


Value: TypeAlias = str | float | list[str] | list[Education]
ChangedField: TypeAlias = WrittenField | Wish


def _adapter(shape: Any) -> TypeAdapter[Any]:
    """Return the adapter, which is only built the first time such a field is changed."""
    return TypeAdapter(shape, config=ConfigDict(defer_build=True))


_FIELDS: Mapping[str, TypeAdapter[Any]] = {
    "headline": _adapter(Line),
    "location": _adapter(Line),
    "summary": _adapter(Text),
    "skills": _adapter(Lines),
    "languages": _adapter(Lines),
    "years_of_experience": _adapter(Annotated[float, Field(ge=0, le=80)]),
    "education": _adapter(Annotated[list[Education], Field(max_length=30)]),
    "positions": _adapter(Annotated[list[Position], Field(max_length=MOST_POSITIONS), AfterValidator(_latest_first)]),
    "work_mode": _adapter(Line),
    "availability": _adapter(Line),
    **{name: _adapter(Lines) for name in ("roles", "locations", "industries", "company_sizes")},
    "remote": _adapter(Literal["only", "no"]),
    "pay": _adapter(Annotated[str, StringConstraints(pattern=r"^[0-9]{1,8} [A-Z]{3}$")]),
    "never": _adapter(Annotated[list[Annotated[Line, StringConstraints(max_length=100)]], Field(max_length=50)]),
}


def is_wish(field: ChangedField) -> TypeIs[Wish]:
    return field in get_args(Wish)


def _coerced(value: Any, info: ValidationInfo) -> Any:
    """Convert the value to its field's type and remove invisible characters, so that the value shown is the one that is
    written."""
    name = info.data.get("field") or info.data.get("name")
    return value if value is None or name is None else _FIELDS[name].validate_python(to_json_types(value))


class FieldChange(Arguments):
    field: ChangedField
    value: Value | list[Position] | None = None
    """None removes it."""

    _fits = field_validator("value")(_coerced)


class ProfileChange(Arguments):
    field: ProfileField
    value: Value | None = None
    """None removes it."""

    _fits = field_validator("value")(_coerced)


class ProfileChanges(Arguments):
    """Several fields of the profile, preferences and job wishes at once, each at most once."""

    changes: Annotated[tuple[FieldChange, ...], Field(min_length=1, max_length=len(_FIELDS))]
    quotes: Mapping[ChangedField, tuple[ShownQuote, ...]] = {}
    """Evidence of the user for each new value."""

    @field_validator("changes")
    @classmethod
    def _are_of_different_fields(cls, changes: tuple[FieldChange, ...]) -> tuple[FieldChange, ...]:
        if len({each.field for each in changes}) < len(changes):
            raise ValueError("a field can be changed once only")
        return changes

    @property
    def values(self) -> dict[ChangedField, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes}

    @property
    def of_candidate_app(self) -> dict[WrittenField, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes if not is_wish(each.field)}

    @property
    def wishes(self) -> dict[Wish, Any]:
        return {each.field: to_json_types(each.value) for each in self.changes if is_wish(each.field)}


class PreferenceChange(Arguments):
    name: Preference
    value: str | list[str] | None = None
    """None removes it."""

    _fits = field_validator("value")(_coerced)


class Ingestion(Arguments):
    url: LinkedInUrl
    refresh: bool = False


class LinkedInAbout(Arguments):
    draft_id: DraftId
    text: AboutText


# --- fields -----------------------------------------------------------------------------------------------------------
# Several fields of the profile, preferences and job wishes, changed with one approval.
#
# The candidate app writes its fields in one step; job wishes are our own data and are stored afterwards.


FIELD_NAMES: Mapping[str, str] = {
    "roles": "Role you want",
    "locations": "Where you want to work",
    "work_mode": "Way to work",
    "availability": "When you can begin",
    "remote": "Remote jobs",
    "pay": "Least pay a year",
    "never": "Never show me jobs with",
}
"""Names for fields whose label would otherwise equal that of a profile field."""


def format_field(field: ChangedField, value: Any) -> str | None:
    """Return the value as text, with a paragraph per position; None if there is no value."""
    if field != "positions" or not value:
        return format_or_none(value)
    return "\n\n".join(map(_paragraph, value))


def _paragraph(position: Mapping[str, Any]) -> str:
    heading, time = (
        between.join(str(position[name]) for name in names if position.get(name))
        for between, names in ((", ", ("title", "company", "location")), (" – ", ("start", "end")))
    )
    return visible("\n".join(filter(None, (heading, time, *(f"• {line}" for line in position.get("lines", ()))))))


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
    """True if the fields still have the values that the action wrote with these arguments."""
    return await _fields(services, user_id, args) == {
        name: format_field(name, value) for name, value in args.values.items()
    }


async def _fields(services: Services, user_id: str, args: ProfileChanges) -> dict[str, str | None]:
    now = await read_fields(services.profiles, services.job_searches, user_id)
    return {each.field: format_field(each.field, now.get(each.field)) for each in args.changes}


def fields_preview(args: ProfileChanges, shown: Mapping[str, str]) -> Preview:
    changes = (
        Change(
            name=_name_of(each),
            before=shown.get(_name_of(each)),
            after=format_field(each.field, to_json_types(each.value)),
            quotes=args.quotes.get(each.field, ()),
        )
        for each in args.changes
    )
    is_profile = args.values.keys() <= {*get_args(ProfileField), "positions"}
    title = "Change your profile" if is_profile else "Change your profile and what you look for"
    if len(args.changes) == 1:
        title = f"Change your {_name_of(args.changes[0]).lower()}"
    return Preview(title=title, changes=tuple(changes))


async def inverse_fields(services: Services, user_id: str, args: ProfileChanges) -> dict[str, Any]:
    now = await read_fields(services.profiles, services.job_searches, user_id)
    return {"changes": [{"field": each.field, "value": now.get(each.field)} for each in args.changes]}


async def set_fields(services: Services, effect: candidate_app.Effect, args: ProfileChanges) -> Outcome:
    """Set the candidate app's fields in one step. The job wishes are stored afterwards."""
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


# --- redraft ----------------------------------------------------------------------------------------------------------
# Draft a profile text again when the user asks for changes: start the workflow that drafts it from the evidence and the
# change request, and then requests approval again.
#
# The draft's id is derived from the approval, so that processing the same decision twice starts only one execution. For
# the workflow, the approval counts as the first round.


ROUND = 2


async def start_redraft(services: Services, approval: Approval, section: str) -> None:
    """Start the workflow that drafts this section again. Raises `Unavailable`."""
    draft = await _draft(services, approval, approval.redraft_id or "", section)
    await services.drafts.add(draft)
    given = {"user_id": draft.user_id, "draft_id": draft.id, "run_id": draft.run_id}
    await services.workflows.start(
        "generate_card", pipeline_id_of(draft.id), {**given, "round": ROUND, "revises": approval.id}
    )


async def _draft(services: Services, approval: Approval, draft_id: str, section: str) -> Draft:
    kind: DraftKind = "about" if section == "about" else "profile_text"
    earlier, now = await _earlier(services.drafts, approval), services.clock()
    before = _before(earlier, approval, section)
    return Draft(
        id=draft_id,
        user_id=approval.user_id,
        run_id=approval.run_id,
        conversation_id=approval.conversation_id,
        kind=kind,
        style=earlier.style if earlier else "standard",
        label="Drafting it as you want it",
        round=ROUND,
        created_at=now,
        updated_at=now,
        parts={
            "evidence": [each.model_dump(mode="json") for each in await _requests(services.messages, approval)],
            "revisions": [approval.id],
            "section": section,
            f"section_{section}": before.model_dump(mode="json"),
        },
    )


async def _earlier(drafts: Drafts, approval: Approval) -> Draft | None:
    try:
        return await drafts.get(approval.user_id, approval.draft_id or "")
    except NotFound:  # drafts expire earlier than approvals, and many proposals have none
        return None


def _before(earlier: Draft | None, approval: Approval, kind: str) -> SectionDraft:
    """Return the text that the user saw, with quotes if it was drafted."""
    if earlier and "card" in earlier.parts:
        claims = CheckedCard.model_validate(earlier.parts["card"]["checked"]).card.claims
    else:
        value = approval.arguments.get("text") or approval.arguments.get("value") or ""
        claims = tuple(Claim(text=each) for each in ([value] if isinstance(value, str) else value))
    section = Section(kind=kind, heading="", claims=claims)
    return SectionDraft(section=section, verdicts=(GroundingVerdict(outcome="supported"),) * len(claims), done=True)


async def _requests(messages: Messages, approval: Approval) -> list[Evidence]:
    """Return the user's original request and their change request."""
    message = await messages.find_question_of_run(approval.user_id, approval.run_id)
    said = []
    if message and message.content and not message.withheld and not is_pasted(message.content):
        said.append(person_said(1, message.content, "your message"))
    return [*said, person_said(ROUND, approval.reason or "")]


# --- actions ----------------------------------------------------------------------------------------------------------
# The actions that change a user's profile, preferences, job wishes and LinkedIn data. The candidate app performs them,
# except for job wishes, which are our own data.


TEXTS, LISTS = ("headline", "summary", "location"), ("skills", "languages")
"""Profile fields that can be drafted again. The others contain figures and dates that only the user knows."""
MOST_ITEMS = 20
"""Maximum number of list entries that can be drafted again: the writer returns them in one answer."""


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
    """Return the added and removed values; empty if the order of items also changes, which no user would name."""
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
    upgrades=dict.fromkeys(
        (
            "a67eefd2b56ad378dda399aff6f469c47560cd2ed353ee665150d6b6a5a894de",
            "15f3b1ec0706273909d9608dd9789c63dace0d1f878ea0f33a9abf6cb300bf4b",
        ),
        keep_arguments,
    ),
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
