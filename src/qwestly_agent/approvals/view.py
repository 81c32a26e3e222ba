"""An approval as shown to its user (in previews and in the API) and to operators (in traces)."""

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from qwestly_agent.base.clock import Moment, Page, with_iso_moments
from qwestly_agent.base.traces import Traces, child_span
from qwestly_agent.domain.activity import Role, role_of
from qwestly_agent.domain.approval import (
    Approval,
    Change,
    Confidence,
    DecidedBy,
    Effect,
    Kind,
    Preview,
    Returned,
    Status,
)
from qwestly_agent.services import Services
from qwestly_agent.stores.candidate_data import Profiles
from qwestly_agent.text.clean import visible

# --- word difference --------------------------------------------------------------------------------------------------
# Compare two texts word by word, for the user who decides on the change.


MOST_WORDS = 2_000
LEAST_ALIKE = 0.3
"""Similarity below which differences are not marked, because nearly everything would be."""
HALF = 0.5
_WORDS = re.compile(r"\S+\s*")


@dataclass(frozen=True)
class DifferencePart:
    text: str
    differs: bool


def diff_words(before: str, after: str) -> tuple[list[DifferencePart], list[DifferencePart]]:
    """Return the parts of both texts in order; parts in only one text differ."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [DifferencePart(before, differs=False)], [DifferencePart(after, differs=False)]
    compared = SequenceMatcher(None, [each.strip() for each in old], [each.strip() for each in new], autojunk=False)
    if compared.ratio() < LEAST_ALIKE:
        return [DifferencePart(before, differs=False)], [DifferencePart(after, differs=False)]
    steps = compared.get_opcodes()
    return (
        list(_parts(("".join(old[a:b]), step != "equal") for step, a, b, _, _ in steps)),
        list(_parts(("".join(new[a:b]), step != "equal") for step, _, _, a, b in steps)),
    )


def most_similar(text: str, others: Sequence[str]) -> str | None:
    """Return the text that shares the most words with this one; None if none shares half of them."""
    words = text.split()[:MOST_WORDS]
    alike = {each: SequenceMatcher(None, each.split()[:MOST_WORDS], words, autojunk=False).ratio() for each in others}
    best = max(alike, key=lambda each: alike[each], default=None)
    return best if best is not None and alike[best] >= HALF else None


def _parts(found: Iterator[tuple[str, bool]]) -> Iterator[DifferencePart]:
    """Drop empty parts; the blank after a differing part belongs to the next part."""
    for text, differs in found:
        words = text.rstrip() if differs else text
        if words:
            yield DifferencePart(words, differs)
        if blank := text[len(words) :]:
            yield DifferencePart(blank, differs=False)


# --- previews ---------------------------------------------------------------------------------------------------------
# Previews of an action's changes, for the user.


A = TypeVar("A")


@dataclass(frozen=True)
class Replacement(Generic[A]):
    """Preview of an action that replaces one value with another."""

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
    """Add the drafted text with its quotations, and the left-out claims, to an action's own preview."""
    if drafted is None:
        return own
    return own.model_copy(update={"sections": drafted.sections, "left_out": drafted.left_out})


async def with_person(profiles: Profiles, user_id: str, preview: Preview) -> Preview:
    """Add the name shown above a card."""
    if not preview.sections:
        return preview
    return preview.model_copy(update={"person": (await profiles.get_mail_recipient(user_id)).name})


def refresh_preview(earlier: Approval, was_own: Preview, own: Preview) -> Preview:
    """Return the action's current preview, with the proposer's sections replacing the action's own. `was_own` is the
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


# --- view -------------------------------------------------------------------------------------------------------------
# The API's view of an approval, without task token and link hashes.


MAIL_PROBLEMS: Mapping[Returned, str] = {
    "bounce": "Your mail came back, so please decide here. Is the address in your profile right?",
    "complaint": "Our mail was reported as spam, so we send no more to your address. Please decide here.",
}
OPEN = ("pending", "frozen")


class ApprovalView(BaseModel):
    approval_id: str
    kind: Kind
    tool: str
    effect: Effect
    status: Status | Literal["frozen"]
    """`frozen`: pending, but cannot be decided while the brake is on."""
    line: str
    """What is asked, in a line with its value: "Change your location to Lisbon", "Remember: lives in Porto"."""
    source: Role
    """Who asks: the agent in a conversation (chat), drafting (cards), with memories (memory), and so on."""
    preview: Preview
    args: dict[str, Any]
    args_digest: str
    """Send it with a decision: it identifies the version that was seen."""
    editable: list[str]
    """Arguments that can be edited when approving."""
    revisable: bool
    """True if changes can be requested."""
    rationale: str
    alternatives: list[str]
    confidence: Confidence | None
    conversation_id: str | None
    created_at: Moment
    expires_at: Moment
    decided_at: Moment | None
    decided_by: DecidedBy | None
    reason: str | None
    outcome: str | None
    mail_problem: str | None
    """Why the user gets no mail about it; null if there is no problem."""
    link: str | None
    """Public address of the result; null if it is not public."""
    undo_until: Moment | None
    """Until when it can be undone; null if it cannot."""
    undoes: str | None
    undone_by: str | None
    revises: str | None
    revised_by: str | None
    round: int
    """Counts from 1; a change request starts the next round."""
    wish: str | None
    """The user's change request of the previous round."""
    redraft_id: str | None
    """The draft made after a change request; `revised_by` names the approval it leads to."""


class ApprovalList(Page[ApprovalView]):
    pass


def approval_view(approval: Approval, *, is_paused: bool = False) -> ApprovalView:
    status = "frozen" if is_paused and approval.status == "pending" else approval.status
    return ApprovalView(
        **approval.model_dump(
            include=ApprovalView.model_fields.keys()
            - {"args", "alternatives", "editable", "line", "link", "mail_problem", "preview", "source", "status"}
            - {"undo_until"}
        ),
        approval_id=approval.id,
        status=status,
        line=approval.line,
        source=role_of(approval),
        link=public_url(approval),
        mail_problem=MAIL_PROBLEMS[approval.returned_as] if approval.returned_as and status in OPEN else None,
        undo_until=approval.undo_until,
        preview=approval.preview,
        args=with_iso_moments(approval.arguments),
        alternatives=list(approval.alternatives),
        editable=list(approval.editable) if status == "pending" else [],
    )


def text_or_approval_titles(content: str, asked: Sequence[ApprovalView]) -> str:
    """Return the answer's text or, if there is none, the titles of the approvals it requests."""
    return content or "\n\n".join(f"For your decision: {each.preview.title}" for each in asked)


def public_url(approval: Approval) -> str | None:
    """Return the public address of the result; None if it is not public."""
    url = approval.result.get("url", "")
    return url if approval.effect == "outward" and url.startswith(("https://", "http://127.0.0.1:")) else None


def approval_list(found: list[Approval], limit: int, *, is_paused: bool) -> ApprovalList:
    """Return a page of approvals. `found` was read with `limit` + 1, to detect whether there are more."""
    return ApprovalList.of(found, limit, partial(approval_view, is_paused=is_paused), lambda each: each.created_at)


# --- trace ------------------------------------------------------------------------------------------------------------
# Spans of an approval's mail, decision and effect, below the span of its run.


def approval_span(traces: Traces | None, name: str, approval: Approval, **more: str) -> AbstractContextManager[None]:
    given = {"tool": approval.tool, "approval_id": approval.id, "status": approval.status, **more}
    return child_span(traces, name, approval.run_id, {f"qwestly.{key}": value for key, value in given.items()})
