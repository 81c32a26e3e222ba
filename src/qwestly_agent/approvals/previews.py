"""Read the values that an action would change, and preview the change for the user."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from qwestly_agent.approvals.arguments import (
    CardActivation,
    CardName,
    CardPublication,
    Ingestion,
    LinkedInAbout,
    PreferenceChange,
    ProfileChange,
    plain,
)
from qwestly_agent.approvals.word_difference import most_alike
from qwestly_agent.domain.approval import Approval, Change, Preview, ShownClaim, ShownSection
from qwestly_agent.services import Services
from qwestly_agent.stores.profiles import Profiles
from qwestly_agent.text.clean import visible

A = TypeVar("A")


@dataclass(frozen=True)
class Replacement(Generic[A]):
    """A value that an action replaces, as text."""

    title: Callable[[A], str]
    name: Callable[[A], str]
    current: Callable[[Services, str, A], Awaitable[str | None]]
    new: Callable[[A], str | None]

    async def is_as_done(self, services: Services, user_id: str, args: A) -> bool:
        """True if the value is the one that the action wrote with these arguments."""
        return await self.current(services, user_id, args) == self.new(args)

    async def shown(self, services: Services, user_id: str, args: A) -> dict[str, str]:
        current = await self.current(services, user_id, args)
        return {} if current is None else {self.name(args): current}

    def preview(self, args: A, shown: Mapping[str, str]) -> Preview:
        name = self.name(args)
        change = Change(name=name, before=shown.get(name), after=self.new(args))
        return Preview(title=self.title(args), changes=(change,))


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


def named(name: str) -> str:
    return name.replace("_", " ")


# --- one value --------------------------------------------------------------------------------------------------------


async def _field(services: Services, user_id: str, args: ProfileChange) -> str | None:
    return value_in_words((await services.profiles.summary(user_id)).get(args.field))


async def _preference(services: Services, user_id: str, args: PreferenceChange) -> str | None:
    return value_in_words((await services.profiles.preferences(user_id)).get(args.name))


def value_in_words(value: Any) -> str | None:
    return in_words(value) or None


async def _linkedin_url(services: Services, user_id: str, _: Ingestion) -> str | None:
    return (await services.profiles.linkedin(user_id)).get("url") or None


async def _linkedin_about(services: Services, user_id: str, args: LinkedInAbout) -> str | None:
    return (await services.profiles.linkedin_suggestion(user_id, args.draft_id)).get("text") or None


PROFILE_FIELD = Replacement[ProfileChange](
    title=lambda args: f"Change your {named(args.field)}",
    name=lambda args: named(args.field).capitalize(),
    current=_field,
    new=lambda args: value_in_words(plain(args.value)),
)

# --- other values of the user -----------------------------------------------------------------------------------------

PREFERENCE = Replacement[PreferenceChange](
    title=lambda args: f"Change your preference for {named(args.name)}",
    name=lambda args: named(args.name).capitalize(),
    current=_preference,
    new=lambda args: value_in_words(plain(args.value)),
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


# --- cards ------------------------------------------------------------------------------------------------------------


async def card_shown(services: Services, user_id: str, args: CardPublication | CardName) -> dict[str, str]:
    card = await services.profiles.card(user_id, args.card_id)
    if not card:
        return {}
    shown = {"Headline": card.get("headline", ""), "Shown first": "yes" if card.get("active") else "no"}
    for section in card.get("sections", []):
        heading = section["heading"] or "Without a heading"
        while heading in shown:  # keep sections of the same name apart, and apart from the headline
            heading += " (more)"
        shown[heading] = " · ".join(section["claims"])
    return shown


def publication_preview(args: CardPublication, shown: Mapping[str, str]) -> Preview:
    content = args.content
    headline = Change(name="Headline", before=shown.get("Headline"), after=content.headline)
    return Preview(
        title="Publish your new version of this card" if shown else "Publish this card",
        changes=(headline,) if content.headline else (),
        sections=tuple(
            ShownSection(
                heading=section.heading,
                kind=section.kind,
                claims=tuple(ShownClaim(text=text) for text in section.claims),
            )
            for section in content.sections
        ),
    )


def deletion_preview(args: CardName, shown: Mapping[str, str]) -> Preview:  # noqa: ARG001
    return Preview(
        title="Delete this card for good",
        changes=tuple(Change(name=name, before=text, after=None) for name, text in shown.items() if text),
    )


async def is_shown_first(services: Services, user_id: str, args: CardActivation) -> bool:
    """True if the card is still shown first, or not, as the action with these arguments made it."""
    return bool((await services.profiles.card(user_id, args.card_id)).get("active")) == args.active


def activation_preview(args: CardActivation, shown: Mapping[str, str]) -> Preview:
    first = next((text for name, text in shown.items() if name not in ("Headline", "Shown first")), "")
    name = " · ".join(filter(None, (shown.get("Headline"), first[:120]))) or "This card"
    before, after = ("Not shown first", "Shown first") if args.active else ("Shown first", "Not shown first")
    title = "Show this card first" if args.active else "Show no card first"
    return Preview(title=title, changes=(Change(name=name, before=before, after=after),))


# --- the text that was drafted ----------------------------------------------------------------------------------------


def with_draft(own: Preview, drafted: Preview | None) -> Preview:
    """Add the drafted text with its quotes, and what was left out, to an action's own preview."""
    if drafted is None:
        return own
    return own.model_copy(update={"sections": drafted.sections, "left_out": drafted.left_out})


async def with_person(profiles: Profiles, user_id: str, preview: Preview) -> Preview:
    """Add the name that stands above a card."""
    if not preview.sections:
        return preview
    return preview.model_copy(update={"person": (await profiles.contact(user_id)).name})


def shown_again(earlier: Approval, was_own: Preview, own: Preview) -> Preview:
    """The action's own preview as it is now, with what its proposer had shown in place of the action's own sections.

    `was_own`: the action's own preview when `earlier` was asked."""
    if earlier.preview.sections == was_own.sections:
        return own
    changes = own.changes if earlier.preview.changes else ()
    return earlier.preview.model_copy(update={"changes": changes, "difference": ()})


# --- what changed since it was shown before --------------------------------------------------------------------------


def with_differences(preview: Preview, shown: Mapping[str, str], earlier: Approval) -> Preview:
    """Add the differences from the previous question."""
    difference = (*_differences(earlier.shown, shown), *_rewritten(earlier.preview, preview))
    return preview.model_copy(update={"difference": difference})


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """List the differences from the values shown before, as sentences."""
    names = dict.fromkeys((*before, *now))
    return tuple(
        f"{name} was “{before.get(name) or 'empty'}” and is “{now.get(name) or 'empty'}” now."
        for name in names
        if before.get(name) != now.get(name)
    )


def _rewritten(before: Preview, now: Preview) -> Iterator[str]:
    """List the lines that differ from the earlier preview, as sentences."""
    gone, new = gone_and_new(before, now)
    yield from (f"New: “{text}”" for text in new)
    yield from (f"Gone: “{text}”" for text in gone)


def gone_and_new(before: Preview, now: Preview) -> tuple[list[str], list[str]]:
    """Return the lines that only the earlier preview has, and those that only the present one has."""
    old, new = (
        dict.fromkeys(claim.text for section in preview.sections for claim in section.claims)
        for preview in (before, now)
    )
    return [text for text in old if new and text not in new], [text for text in new if old and text not in old]


def reworded(before: Preview, now: Preview) -> tuple[list[tuple[str, str]], list[str]]:
    """Pair the lines that are said in other words than in the earlier preview, and list the sentences of the difference
    that are left."""
    gone, new = gone_and_new(before, now)
    pairs: list[tuple[str, str]] = []
    for text in new:
        if other := most_alike(text, gone):
            gone.remove(other)
            pairs.append((other, text))
    told = {sentence for one, other in pairs for sentence in (f"Gone: “{one}”", f"New: “{other}”")}
    return pairs, [each for each in now.difference if each not in told]
