"""The actions on published cards: publish, feature and delete a card. The candidate app executes them."""

from collections.abc import Mapping
from typing import Any

from qwestly_agent.action import Action, Arguments, CardId, DraftId, Inverse, keep_arguments
from qwestly_agent.clients import candidate_app
from qwestly_agent.clients.candidate_app import CardText
from qwestly_agent.domain.approval import Change, Preview, ShownClaim, ShownSection
from qwestly_agent.services import Services


class CardPublication(Arguments):
    card_id: CardId
    draft_id: DraftId
    content: CardText


class CardName(Arguments):
    card_id: CardId


class CardActivation(CardName):
    active: bool = True
    """False to feature no card."""


async def card_shown(services: Services, user_id: str, args: CardPublication | CardName) -> dict[str, str]:
    card = await services.profiles.card(user_id, args.card_id)
    if not card:
        return {}
    shown = {"Headline": card.get("headline", ""), "Shown first": "yes" if card.get("active") else "no"}
    for section in card.get("sections", []):
        heading = section["heading"] or "Without a heading"
        while heading in shown:  # keep sections with the same name apart, and apart from the headline
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
    """True if the card is still featured (or not featured) as the action with these arguments left it."""
    return bool((await services.profiles.card(user_id, args.card_id)).get("active")) == args.active


def activation_preview(args: CardActivation, shown: Mapping[str, str]) -> Preview:
    first = next((text for name, text in shown.items() if name not in ("Headline", "Shown first")), "")
    name = " · ".join(filter(None, (shown.get("Headline"), first[:120]))) or "This card"
    before, after = ("Not shown first", "Shown first") if args.active else ("Shown first", "Not shown first")
    title = "Show this card first" if args.active else "Show no card first"
    return Preview(title=title, changes=(Change(name=name, before=before, after=after),))


async def _shown_first_before(services: Services, user_id: str, args: CardActivation) -> dict[str, Any]:
    card_id = await services.profiles.card_shown_first(user_id)
    return {"card_id": card_id or args.card_id, "active": card_id is not None}


PUBLISH_CARD = Action(
    tool="publish_card",
    kind="card",
    effect="outward",
    hours=168,
    arguments=CardPublication,
    subject=lambda args: candidate_app.card_subject(args.card_id),
    read_current=card_shown,
    preview=publication_preview,
    perform=lambda services, effect, args: services.candidate_app.publish_card(effect, args.card_id, args.content),
    done_message="Your card is published.",
    published=("content",),
)
SAVE_CARD_AS_ACTIVE = Action(
    tool="save_card_as_active",
    kind="card",
    effect="outward",
    hours=168,
    arguments=CardActivation,
    subject=lambda args: candidate_app.card_subject(args.card_id),
    read_current=card_shown,
    preview=activation_preview,
    perform=lambda services, effect, args: services.candidate_app.activate_card(
        effect, args.card_id, active=args.active
    ),
    done_message="Which card is shown first is changed.",
    must_exist=True,
    inverse=Inverse(_shown_first_before, is_shown_first),
    upgrades={"1c4e57090abfacea1be8ce282ec5c04811762e5b1fbcb4ea3dd421b88eeec6e5": keep_arguments},
)
DELETE_CARD = Action(
    tool="delete_card",
    kind="deletion",
    effect="destructive",
    hours=48,
    arguments=CardName,
    subject=lambda args: candidate_app.card_subject(args.card_id),
    read_current=card_shown,
    preview=deletion_preview,
    perform=lambda services, effect, args: services.candidate_app.delete_card(effect, args.card_id),
    done_message="The card is deleted.",
    must_exist=True,
)
