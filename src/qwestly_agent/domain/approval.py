"""Approvals: types, statuses, the stored record, and the levels that approvals earn."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.base.clock import to_datetime

# --- approval ---------------------------------------------------------------------------------------------------------
# Approvals: types, statuses and the stored record.


Returned: TypeAlias = Literal["bounce", "complaint"]
"""Why a mail was returned: undelivered, or reported as spam."""
Effect: TypeAlias = Literal["read", "draft", "memory", "write", "outward", "destructive"]
"""The effect of a tool call: changes nothing · creates something private within our service · changes memories ·
changes the user's saved data · is visible to others · cannot be undone."""

Level: TypeAlias = Literal["L0", "L1", "L2", "L3"]
"""How much the agent may do without asking."""
LEVEL_NAMES: Mapping[str, str] = {"L0": "Suggest", "L1": "Assist", "L2": "Supervised", "L3": "Autonomous"}
"""Names of the levels in the settings."""

NEW_USERS_LEVEL: Level = "L1"
NEW_USERS_CEILING: Level = "L3"
"""The level up to which the agent of a user who chose no level may earn its way. Each level is offered, and the user
decides."""
UNREADABLE_LEVEL: Level = "L0"
"""Used if the user's level cannot be read, because an unknown permission is no permission."""

EVERYBODY = "everybody"
"""Stands for all users in the operators' brake. No token may use it as a user id."""

Confidence: TypeAlias = Literal["low", "medium", "high"]

LONGEST_REASON_CHARACTERS = 2_000
LONGEST_VALUE = 60
"""Maximum length of a value that is shown in a single line."""

Answer: TypeAlias = Literal["run", "ask", "queue", "refuse"]
"""Do it now · wait for the user's approval · continue, and do it once the user approves · do not do it."""

# --- previews ---------------------------------------------------------------------------------------------------------


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class ShownQuote(_Frozen):
    source: str
    """Name of the source, for the user: "résumé.pdf"."""
    before: str
    quote: str
    """Verbatim."""
    after: str
    """The rest of the sentence."""


class Change(_Frozen):
    """A value before and after a change; None if there is no value."""

    name: str
    before: str | None
    after: str | None
    evidence: tuple[str, ...] = ()
    """Names of sources, for the user."""
    quotes: tuple[ShownQuote, ...] = ()
    """Quotes that support the new value."""


class ShownClaim(_Frozen):
    text: str
    quotes: tuple[ShownQuote, ...] = ()
    marks: tuple[str, ...] = ()
    """Figures and names in the text, as written, that code did not find in the quotes. They are shown underlined."""
    confirmed: bool = False
    """True if the user wrote or confirmed the claim for this purpose."""
    unchecked: bool = False
    """True if no judge was available. The text is then the user's own quoted words."""
    judged_by: str = ""
    """The model that checked the claim against its quotes; empty if none did."""
    is_detail: bool = False
    """True if the claim is a detail of the position in an earlier claim."""


class ShownSection(_Frozen):
    heading: str
    kind: str = ""
    """Kind of a card's section: "experience" is shown as a timeline, "skills" as chips."""
    markdown: str = ""
    """The whole text of a document, byte for byte as it is sent. The claims are then its sentences, with quotes."""
    claims: tuple[ShownClaim, ...] = ()


class ShownLeftOut(_Frozen):
    text: str
    why: tuple[str, ...]


class Preview(_Frozen):
    """The preview of an approval, all in plain text."""

    title: str
    """For example "Change your headline"."""
    person: str = ""
    """The name shown above a card."""
    changes: tuple[Change, ...] = ()
    sections: tuple[ShownSection, ...] = ()
    left_out: tuple[ShownLeftOut, ...] = ()
    difference: tuple[str, ...] = ()
    """Changes since the previous round."""

    @property
    def about(self) -> str:
        """The title, with the new value if there is a single short one: "Change your location to Lisbon"."""
        value = self.changes[0].after if len(self.changes) == 1 else None
        return f"{self.title} to {value}" if value and len(value) <= LONGEST_VALUE and "\n" not in value else self.title


# --- the approval record ----------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["card", "profile", "preference", "linkedin", "deletion", "memory", "autonomy", "application"]
PRIVATE: frozenset[Kind] = frozenset({"memory"})
"""Kinds whose texts are never mailed, and are removed from the record once it is decided; the title is kept."""
KEEPS_MEMORIES = "keep_memories"
"""The tool whose approvals refer to proposed memories."""
Status: TypeAlias = Literal[
    "pending",
    "approved",
    "rejected",
    "revised",
    "expired",
    "executing",
    "accepted",
    "done",
    "failed",
    "unknown",
    "changed",
]
"""Pending · decided: approved, rejected, revised or expired · executing · the result. An `accepted` effect is not yet
finished in the candidate app; it and an `unknown` one are queried until the result is known. `changed` means that
nothing was done because the subject had changed."""
SENT: frozenset[Status] = frozenset({"accepted", "unknown"})
"""Statuses of an effect that was sent but whose result is not yet known."""
FINAL: frozenset[Status] = frozenset({"rejected", "revised", "expired", "done", "failed", "changed"})
_ON_ITS_WAY: frozenset[Status] = frozenset({"executing", "accepted", "unknown", "done", "failed", "changed"})
MOVES: Mapping[Status, frozenset[Status]] = {
    "pending": frozenset({"approved", "rejected", "revised", "expired", "changed"}),
    "approved": frozenset({"executing", "failed", "changed"}),
    "executing": _ON_ITS_WAY,
    "accepted": _ON_ITS_WAY,
    "unknown": _ON_ITS_WAY,
}
"""The statuses that may follow each status; none may follow a final one."""
Verb: TypeAlias = Literal["approve", "edit", "revise", "reject"]
"""Approve · approve with other arguments · reject and request changes · reject."""
_BECOMES: Mapping[Verb, Status] = {
    "approve": "approved",
    "edit": "approved",
    "revise": "revised",
    "reject": "rejected",
}
DecidedBy: TypeAlias = Literal["chat", "words", "queue", "link", "level", "undo", "nobody"]
"""A button in the chat · a typed yes or no · the queue · a mailed link · the user's level · an undo · no one."""

MAIL_AFTER_SECONDS = 600.0
"""Delay before an approval requested in the chat is mailed, because the user may still decide it there."""
LEFT_BEHIND_SECONDS = 60.0
"""Age at which an approved or executing record counts as left behind by a dead process."""
UNDELIVERABLE_SECONDS = LEFT_BEHIND_SECONDS + 30.0
"""Age at which a sent effect can no longer arrive: the lifetime of its token plus the clock difference that the
candidate app allows."""
LOOK_SECONDS = (2.0, 5.0, 10.0, 30.0)
"""Delays after sending an effect at which its outcome is queried; the last one repeats."""
UNDO_SECONDS = 86_400.0
"""How long an effect can be undone."""
KEYS_KEPT_SECONDS = 48 * 3600.0
"""How long the candidate app keeps outcomes; see docs/candidate-app-api.yaml."""


class IllegalMove(Exception):
    """The record's status does not allow this transition: a programming error in the caller."""


class Edit(_Frozen):
    """The changed arguments with which a user approves, and their preview."""

    args: str
    args_digest: str
    schema_digest: str
    preview: Preview
    shown: Mapping[str, str]
    edited: bool


class Approval(_Frozen):
    """A question to one user, its decision and its outcome. Times are in seconds since the epoch.

    The record changes only through its methods. Each returns the next record, to be written by the store's
    compare-and-set, and raises `IllegalMove` if the transition is not allowed.
    """

    id: str
    user_id: str
    run_id: str
    conversation_id: str | None = None
    """None if it was not requested in a conversation."""
    draft_id: str | None = None
    """The draft of a workflow that waits for the decision."""
    work: str = ""
    """Name in `Services` of the store whose work waits for the decision without an execution."""

    kind: Kind
    tool: str
    effect: Effect
    args: str
    """JSON of the arguments, exactly as they are executed."""
    args_digest: str
    schema_digest: str
    """Digest of the arguments' schema when the approval was created."""
    subject: str
    version: str | None = None
    """The version of the subject that the effect may replace; None if the subject must not exist yet."""
    shown: Mapping[str, str] = Field(default_factory=dict)
    """The subject's values when the preview was made."""
    preview: Preview
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    """Other values that the same action accepts, as text."""
    confidence: Confidence | None = None
    """The proposing model's own estimate."""
    role: str = ""
    """The design whose agent proposed it; empty for a workflow."""
    variant: str | None = None
    """Tag of the trial whose counts include this approval."""
    evidence: tuple[str, ...] = ()
    """Ids of evidence."""
    editable: tuple[str, ...] = ()
    """Arguments that the user may edit when approving."""
    revisable: bool = True
    """True if the user may request changes."""

    opened: bool = False
    """True if the user decided on a page that showed the whole preview."""

    level: Level
    """The level in force: the user's own, or one that the agent earned."""
    earned: bool = False
    """True if the agent earned the level, which is then above the user's own."""
    answer: Answer
    """The gate's answer: ask, queue, or run at the user's level."""
    status: Status = "pending"
    created_at: float
    expires_at: float
    updated_at: float
    decided_at: float | None = None
    decided_by: DecidedBy | None = None
    reason: str | None = None
    """The user's reason, in their own words."""
    edited: bool = False
    """True if the user approved arguments other than the proposed ones."""
    begun_at: float | None = None
    """When the effect was last sent."""
    outcome: str | None = None
    """The outcome in a sentence for the user and the model."""
    result: Mapping[str, str] = Field(default_factory=dict)
    inverse: str = ""
    """JSON of the arguments with which the same action undoes the effect; empty if it cannot be undone."""
    undoes: str | None = None
    undone_by: str | None = None
    revises: str | None = None
    revised_by: str | None = None
    round: int = 1
    """Incremented each time the user requests changes."""
    wish: str | None = None
    """The changes that the user requested in the record that this one revises."""
    redraft_id: str | None = None
    """The draft of the workflow that writes a new version after the user requested changes."""

    task_token: str | None = Field(default=None, repr=False)
    """Encrypted token of the waiting execution; it never leaves the backend."""
    told_execution: bool = False
    """True if the execution was notified or no longer waits, if the redraft was started, or if the work was closed."""
    links: tuple[str, ...] = Field(default=(), repr=False)
    """Hashes of the tokens in mailed links."""
    mails: int = 0
    mail_at: float | None = None
    """When the next mail is due; None if there are no more mails."""
    returned_as: Returned | None = None
    """Why the mail to the user was returned; None if it was not."""
    news: bool = False
    """True if the outcome was not yet reported to the model."""
    seal: str | None = Field(default=None, repr=False)
    """The MAC of a yes (`approvals/seal.py`)."""
    audit: tuple[str, ...] = ()
    """Who did what, when and from where; oldest first."""
    revision: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        return json.loads(self.args)

    def waits(self, now: float) -> bool:
        """True if the user can still decide the approval."""
        return self.status == "pending" and self.expires_at > now

    def is_superseded_by(self, newer: "Approval") -> bool:
        """True if both approvals wait for the user, and `newer` asks about each value (or memory) that this one would
        change. For LinkedIn any suggestion by the same tool counts as the same subject, because a user has only one
        LinkedIn profile. A proposal without values (a card, an application), or about memories, is superseded only by
        one from the same tool."""
        names, newer_names = (
            {*approval.shown} if approval.kind in PRIVATE else {each.name for each in approval.preview.changes}
            for approval in (self, newer)
        )
        is_same_tool = self.tool == newer.tool
        has_subject = self.subject == newer.subject or (self.kind == "linkedin" and is_same_tool)
        has_values = names <= newer_names and (is_same_tool or (bool(names) and self.kind not in PRIVATE))
        is_older = (self.created_at, self.id) < (newer.created_at, newer.id)
        both_wait = all(each.status == "pending" and each.answer != "run" for each in (self, newer))
        return both_wait and self.kind == newer.kind and has_subject and has_values and is_older

    @property
    def waits_for_execution(self) -> bool:
        """True if an execution must still be notified of the decision."""
        return self.task_token is not None and not self.told_execution

    @property
    def is_unfinished(self) -> bool:
        """True if the status is final but a follow-up is still missing."""
        leaves = self.task_token is not None or self.kind in PRIVATE or self.redraft_id is not None or bool(self.work)
        return self.status in FINAL and leaves and not self.told_execution

    @property
    def about(self) -> str:
        """The preview's title and value. A memory's text is left out, because only its card shows it."""
        return self.preview.title if self.kind in PRIVATE else self.preview.about

    @property
    def line(self) -> str:
        """The question in one line. It includes the texts of memories, so only the signed-in user may see it:
        "Remember: lives in Porto"."""
        contents = [text.removesuffix(".") for each in self.preview.changes if (text := each.after or each.before)]
        if self.kind not in PRIVATE or not contents:
            return self.about
        return f"{'Remember' if self.tool == KEEPS_MEMORIES else 'Forget'}: {'; '.join(contents)}"

    @property
    def undo_until(self) -> float | None:
        """The time until which the user can undo the effect; None if they cannot."""
        is_undoable = self.status == "done" and self.inverse and not self.undone_by and self.begun_at
        return self.begun_at + UNDO_SECONDS if is_undoable and self.begun_at else None

    @property
    def _next_look(self) -> float:
        """The time at which the outcome is queried next; `updated_at` is the time of the last query."""
        sent = self.begun_at or self.created_at
        looks = (sent + each for each in LOOK_SECONDS)
        return next((each for each in looks if each > self.updated_at), self.updated_at + LOOK_SECONDS[-1])

    @property
    def due_at(self) -> float | None:
        """The time at which the sweep must process the record."""
        match self.status:
            case "pending":
                return min(self.expires_at, self.mail_at or self.expires_at)
            case "approved":
                return (self.decided_at or self.created_at) + LEFT_BEHIND_SECONDS
            case "executing":
                return (self.begun_at or self.created_at) + LEFT_BEHIND_SECONDS
            case "accepted" | "unknown":
                return self._next_look
            case _:
                return self.updated_at + LEFT_BEHIND_SECONDS if self.is_unfinished else None

    # --- decided, or ended without a decision ---

    def decided(
        self,
        verb: Verb,
        now: float,
        *,
        by: DecidedBy,
        where: str,
        reason: str | None = None,
        redraft_id: str | None = None,
        edit: Edit | None = None,
        opened: bool = False,
    ) -> "Approval":
        """Apply a user's decision. Its origin, `where`, is recorded in the audit."""
        after = self._copy(**dict(edit)) if edit else self
        line = f"{verb} by {by} {where}".rstrip()
        return after._decided(_BECOMES[verb], now, line, by, reason=reason, redraft_id=redraft_id, opened=opened)

    def allowed(self, level: Level, now: float) -> "Approval":
        """Decide the approval by the user's level, which lets it run without asking."""
        return self.decided("approve", now, by="level", where="", reason=level)

    def asked_instead(self, answer: Answer, mail_at: float | None) -> "Approval":
        """Ask the user about an action that was to run without approval."""
        return self._copy(answer=answer, mail_at=mail_at)

    def expired(self, now: float, outcome: str | None = None) -> "Approval":
        """End the approval without a decision. `outcome` gives the reason, unless its time ran out."""
        return self._decided("expired", now, "expired by nobody", "nobody", outcome=outcome)

    def withdrawn(self, now: float, outcome: str) -> "Approval":
        """End the approval as `changed` before anything was done."""
        return self._decided("changed", now, "changed by nobody", "nobody", outcome=outcome)

    def _decided(self, status: Status, now: float, line: str, by: DecidedBy, **changes: Any) -> "Approval":
        # Remove the texts in the same write as the decision, so that none remain if the process dies after a rejection.
        after = self.scrubbed() if self.kind in PRIVATE else self
        return after._moved(status, now, line, decided_at=now, decided_by=by, mail_at=None, **changes)

    # --- execution -----

    def begun(self, now: float, inverse: str, version: str | None) -> "Approval":
        """Mark that the effect is about to be sent to this version of the subject. `inverse` is the JSON of the
        arguments that undo it."""
        return self._moved("executing", now, begun_at=now, inverse=inverse, version=version)

    def rebased(self, version: str | None) -> "Approval":
        """Accept a new version of the subject in which none of the shown values differs."""
        return self._copy(version=version)

    def ended(self, status: Status, now: float, outcome: str, result: Mapping[str, str] | None = None) -> "Approval":
        """Set the outcome of the effect as far as it is known. A repeated status is not reported again."""
        changes = {"outcome": outcome, "result": result or {}}
        if status == self.status and status in SENT:
            return self._copy(updated_at=now, **changes)
        return self._moved(status, now, status, **changes)

    def refused_again(self, begun_at: float, now: float, outcome: str) -> "Approval":
        """Record that a repeated request was rejected while the one sent at `begun_at` may still arrive."""
        return self.ended("unknown", now, outcome)._copy(begun_at=begun_at)

    def undone(self, by: str) -> "Approval":
        """Record the approval that undid this one."""
        return self._copy(undone_by=by)

    # --- notification and mail ---

    def with_execution_notified(self, *, is_gone: bool = False) -> "Approval":
        """Record that the execution was notified or started, or no longer waits."""
        return self._copy(told_execution=True, **({"task_token": None} if is_gone else {}))

    def awaited_by(self, task_token: str | None) -> "Approval":
        """Attach the task token of another invocation of the execution's state."""
        return self._copy(task_token=task_token, told_execution=False)

    def model_told(self) -> "Approval":
        return self._copy(news=False)

    def succeeded(self, by: str) -> "Approval":
        """Record the approval that revises this one."""
        return self._copy(revised_by=by)

    def mailing(self, links: Sequence[str], mail_at: float | None) -> "Approval":
        """Record that a mail with these links is being sent. Another is due at `mail_at` unless this one is recorded as
        sent."""
        return self._copy(mails=self.mails + 1, mail_at=mail_at, links=(*self.links, *links))

    def mailed(self, mail_at: float | None, line: str | None = None) -> "Approval":
        """Set when the next mail is due, if the approval is still pending."""
        return self._copy(
            mail_at=mail_at if self.status == "pending" else None, audit=(*self.audit, *filter(None, [line]))
        )

    def mail_returned(self, how: Returned, now: float) -> "Approval":
        """Record that mail to the user was returned. No more mail is sent."""
        line = f"{to_datetime(now).isoformat()} mail came back: {how}"
        return self._copy(returned_as=how, mail_at=None, audit=(*self.audit, line))

    def with_seal(self, seal: str) -> "Approval":
        """Return the record, which claims a yes, with the seal of the function that gave the yes."""
        return self._copy(seal=seal)

    # --- removal of texts --

    def scrubbed(self) -> "Approval":
        """Return the record without texts. Its title and the number of its items are kept."""
        left = {"preview": Preview(title=self.preview.title), "shown": {}, "rationale": "", "alternatives": ()}
        return self._copy(**left, inverse="")

    def without_words(self, contains_forgotten: Callable[[str], bool], title: str) -> "Approval":
        """Return the record without texts and arguments. The user's and the outcome's texts are removed if
        `contains_forgotten` matches them; a matching title is replaced by `title`."""
        said = {name: getattr(self, name) for name in ("reason", "wish", "outcome")}
        left = {name: None if contains_forgotten(text or "") else text for name, text in said.items()}
        kept = title if contains_forgotten(self.preview.title) else self.preview.title
        return self.scrubbed()._copy(args="{}", preview=Preview(title=kept), **left)

    def shows(self, preview: Preview, shown: Mapping[str, str] | None = None) -> "Approval":
        """Return the record with a preview from which forgotten content was removed."""
        return self._copy(preview=preview, shown=self.shown if shown is None else shown)

    # --- transitions ----

    def _moved(self, status: Status, now: float, line: str | None = None, **changes: Any) -> "Approval":
        if status not in MOVES.get(self.status, ()):
            raise IllegalMove(f"{self.id}: {self.status} → {status}")
        if line:
            changes["audit"] = (*self.audit, f"{to_datetime(now).isoformat()} {line}")
            changes["news"] = self.conversation_id is not None
        return self._copy(status=status, updated_at=now, **changes)

    def _copy(self, **changes: Any) -> "Approval":
        assert changes.keys() <= type(self).model_fields.keys()  # `model_copy` accepts any name
        return self.model_copy(update=changes)


def canonical_json(args: Mapping[str, Any]) -> str:
    """Encode arguments in the canonical form that is stored, hashed and executed."""
    return json.dumps(args, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


# --- earned -----------------------------------------------------------------------------------------------------------
# Earned autonomy: after approvals of the same tool on ten different days, the user may be offered a higher level for
# it.
#
# This module only evaluates a user's records. `approvals.autonomy` offers, grants and revokes.


LADDER: Sequence[Level] = get_args(Level)
DAYS_NEEDED = 10
WITHIN_SECONDS = 90 * 86_400.0
_ON_A_CARD = ("chat", "queue")
_AGREED = ("approved", "executing", "accepted", "done")


def lower(one: Level, other: Level) -> Level:
    return LADDER[min(LADDER.index(one), LADDER.index(other))]


def higher(one: Level, other: Level) -> Level:
    return LADDER[max(LADDER.index(one), LADDER.index(other))]


class Grant(BaseModel):
    """A higher level for what one tool does, accepted by the user."""

    model_config = ConfigDict(defer_build=True, frozen=True)

    tool: str
    level: Level
    since: float
    """When it was offered, in seconds since the epoch. A rejection since then ends it."""
    schema_digest: str
    """Digest of the arguments' schema. If the schema changes, counting starts again."""
    ended_at: float | None = None
    """When it was taken back."""


@dataclass(frozen=True)
class Standing:
    """A user's levels: their own, and what the agent has earned."""

    level: Level
    """The user's own level, which applies to everything."""
    ceiling: Level
    """The highest level that the agent may earn."""
    grants: tuple[Grant, ...] = ()

    def find_grant(self, tool: str) -> Grant | None:
        return next((each for each in self.grants if each.tool == tool), None)

    def with_grant(self, grant: Grant | None) -> Level:
        """Return the effective level for this grant's tool."""
        return higher(self.level, lower(grant.level, self.ceiling)) if grant else self.level

    def offers(self, grant: Grant | None) -> Level | None:
        """Return the level to offer next, which is the ceiling; None if it is already reached, or at L0, where nothing
        is proposed."""
        return self.ceiling if self.level != "L0" and self.with_grant(grant) != self.ceiling else None


def days_of_yes(records: Iterable[Approval], schema_digest: str, zone: str) -> int:
    """Count the days in this time zone with a yes since the last no. `records` belong to one user and one tool, in any
    order."""
    days, local = set[date](), ZoneInfo(zone)
    for record in sorted(records, key=lambda each: each.decided_at or 0.0):
        if is_no(record):
            days.clear()
        elif is_yes(record) and record.schema_digest == schema_digest and record.decided_at is not None:
            days.add(datetime.fromtimestamp(record.decided_at, local).date())
    return len(days)


def is_yes(record: Approval) -> bool:
    """True for an unedited approval by the signed-in user, with the button below the whole preview."""
    agreed = record.status in _AGREED and record.decided_by in _ON_A_CARD and record.opened
    return agreed and not (record.edited or record.undone_by or record.undoes)


def is_no(record: Approval) -> bool:
    """True for a rejection, a request for changes, an edit or an undo, whether signed in or by link."""
    if record.undoes:
        return record.status in _AGREED
    return record.status in ("rejected", "revised") or record.edited


def is_standing(grant: Grant, since_then: Iterable[Approval], schema_digest: str) -> bool:
    """True if nothing has ended the grant. `since_then` are the decisions on its tool since the offer."""
    spoilt = any(is_no(each) and (each.decided_at or 0.0) >= grant.since for each in since_then)
    return grant.schema_digest == schema_digest and grant.ended_at is None and not spoilt
