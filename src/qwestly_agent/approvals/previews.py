"""Previews of an action's changes, for the user."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from qwestly_agent.approvals.word_difference import most_similar
from qwestly_agent.domain.approval import Approval, Change, Preview
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.text.clean import visible

A = TypeVar("A")


@dataclass(frozen=True)
class Replacement(Generic[A]):
    """Preview of an action that replaces one value by another."""

    title: Callable[[A], str]
    name: Callable[[A], str]
    current: Callable[[Services, str, A], Awaitable[str | None]]
    new: Callable[[A], str | None]

    async def is_unchanged(self, services: Services, user_id: str, args: A) -> bool:
        """True if the current value is the one that the action wrote with these arguments."""
        return await self.current(services, user_id, args) == self.new(args)

    async def read_current(self, services: Services, user_id: str, args: A) -> dict[str, str]:
        current = await self.current(services, user_id, args)
        return {} if current is None else {self.name(args): current}

    def preview(self, args: A, shown: Mapping[str, str]) -> Preview:
        name = self.name(args)
        change = Change(name=name, before=shown.get(name), after=self.new(args))
        return Preview(title=self.title(args), changes=(change,))


def format_value(value: Any) -> str:
    match value:
        case None:
            return ""
        case list():
            return "; ".join(_item(format_value(item), ";") for item in value)
        case dict():
            return ", ".join(_item(format_value(item), ",") for item in value.values() if item is not None)
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return visible(str(value))


def _item(item: str, mark: str) -> str:
    """Quote an item that contains the separator."""
    return f"“{item}”" if mark in item else item


def readable_name(name: str) -> str:
    return name.replace("_", " ")


def format_or_none(value: Any) -> str | None:
    return format_value(value) or None


# --- drafted texts ----------------------------------------------------------------------------------------------------


def with_draft(own: Preview, drafted: Preview | None) -> Preview:
    """Add the drafted text with its quotes, and the left-out claims, to an action's own preview."""
    if drafted is None:
        return own
    return own.model_copy(update={"sections": drafted.sections, "left_out": drafted.left_out})


async def with_person(profiles: Profiles, user_id: str, preview: Preview) -> Preview:
    """Add the name shown above a card."""
    if not preview.sections:
        return preview
    return preview.model_copy(update={"person": (await profiles.get_mail_recipient(user_id)).name})


def refresh_preview(earlier: Approval, was_own: Preview, own: Preview) -> Preview:
    """Return the action's current preview, with the proposer's sections in place of the action's own. `was_own` is the
    action's own preview at the time of `earlier`."""
    if earlier.preview.sections == was_own.sections:
        return own
    changes = own.changes if earlier.preview.changes else ()
    return earlier.preview.model_copy(update={"changes": changes, "difference": ()})


# --- differences from the previous round ------------------------------------------------------------------------------


def with_differences(preview: Preview, shown: Mapping[str, str], earlier: Approval) -> Preview:
    """Add the differences from the previous approval."""
    difference = (*_differences(earlier.shown, shown), *_rewritten(earlier.preview, preview))
    return preview.model_copy(update={"difference": difference})


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """Describe the differences between two sets of shown values, in sentences."""
    names = dict.fromkeys((*before, *now))
    return tuple(
        f"{name} was “{before.get(name) or 'empty'}” and is “{now.get(name) or 'empty'}” now."
        for name in names
        if before.get(name) != now.get(name)
    )


def _rewritten(before: Preview, now: Preview) -> Iterator[str]:
    """Describe the claims that differ from the earlier preview, in sentences."""
    gone, new = diff_claims(before, now)
    yield from (f"New: “{text}”" for text in new)
    yield from (f"Gone: “{text}”" for text in gone)


def diff_claims(before: Preview, now: Preview) -> tuple[list[str], list[str]]:
    """Return the lines only in the earlier preview, and those only in the current one."""
    old, new = (
        dict.fromkeys(claim.text for section in preview.sections for claim in section.claims)
        for preview in (before, now)
    )
    return [text for text in old if new and text not in new], [text for text in new if old and text not in old]


def pair_reworded(before: Preview, now: Preview) -> tuple[list[tuple[str, str]], list[str]]:
    """Pair lines that were reworded since the earlier preview, and return the remaining sentences of the difference."""
    gone, new = diff_claims(before, now)
    pairs: list[tuple[str, str]] = []
    for text in new:
        if other := most_similar(text, gone):
            gone.remove(other)
            pairs.append((other, text))
    told = {sentence for one, other in pairs for sentence in (f"Gone: “{one}”", f"New: “{other}”")}
    return pairs, [each for each in now.difference if each not in told]
