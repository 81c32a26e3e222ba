"""Approvals: types, statuses and the stored record."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from qwestly_agent.base.clock import to_datetime

Effect: TypeAlias = Literal["read", "draft", "memory", "write", "outward", "destructive"]
"""The effect of a tool's call: changes nothing · makes something private to us · changes memories · changes the user's
saved data · is visible to others · cannot be undone."""

Level: TypeAlias = Literal["L0", "L1", "L2", "L3"]
"""How much the agent may do without asking."""
LEVEL_NAMES: Mapping[str, str] = {"L0": "Suggest", "L1": "Assist", "L2": "Supervised", "L3": "Autonomous"}
"""Names of the levels in the settings."""

NEW_USERS_LEVEL: Level = "L1"
UNREADABLE_LEVEL: Level = "L0"
"""Used if the user's level cannot be read, because an unknown permission is none."""

EVERYBODY = "everybody"
"""Stands for all users in the operators' brake. No token may name it."""

Confidence: TypeAlias = Literal["low", "medium", "high"]

LONGEST_REASON_CHARACTERS = 2_000
LONGEST_VALUE = 60
"""Maximum characters of a value that is quoted in a line."""

Answer: TypeAlias = Literal["run", "ask", "queue", "refuse"]
"""Do it now · wait for the user's yes · go on, and do it once the user says yes · do not."""

# --- what a person is shown -------------------------------------------------------------------------------------------


class _Frozen(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class ShownQuote(_Frozen):
    source: str
    """Name of the source for a person: "résumé.pdf"."""
    before: str
    quote: str
    """Verbatim."""
    after: str
    """The rest of its sentence."""


class Change(_Frozen):
    """A value before and after a change; None if there is none."""

    name: str
    before: str | None
    after: str | None
    evidence: tuple[str, ...] = ()
    """Names of sources for a person."""
    quotes: tuple[ShownQuote, ...] = ()
    """Quotes that support the new value."""


class ShownClaim(_Frozen):
    text: str
    quotes: tuple[ShownQuote, ...] = ()
    arithmetic: tuple[str, ...] = ()
    """Steps by which its figures follow from quoted ones."""
    confirmed: bool = False
    """True if the person wrote or confirmed it for this purpose."""
    unchecked: bool = False
    """True if no judge has checked yet that its quotes support it."""
    judged_by: str = ""
    """The model that read it against its quotes; empty if none did."""
    is_detail: bool = False
    """True if it is a detail of the position in an earlier claim."""


class ShownSection(_Frozen):
    heading: str
    kind: str = ""
    """The kind of a card's section: "experience" is shown as a timeline, "skills" as chips."""
    claims: tuple[ShownClaim, ...]


class ShownLeftOut(_Frozen):
    text: str
    why: tuple[str, ...]


class Preview(_Frozen):
    """The preview of an approval. Plain text throughout."""

    title: str
    """For example "Change your headline"."""
    person: str = ""
    """The name above a card."""
    changes: tuple[Change, ...] = ()
    sections: tuple[ShownSection, ...] = ()
    left_out: tuple[ShownLeftOut, ...] = ()
    difference: tuple[str, ...] = ()
    """What changed since the previous round."""


# --- the approval record ----------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["card", "profile", "preference", "linkedin", "deletion", "memory", "autonomy", "application"]
PRIVATE: frozenset[Kind] = frozenset({"memory"})
"""Kinds whose texts are never mailed, and are removed from the record once it is decided; the title stays."""
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
"""Pending · decided: yes, no, changes wanted, expired · executing · the result. `accepted` will be done, or fail, by
itself; it and `unknown` are queried until the result is known. `changed` means that the subject had changed since, so
that nothing was done."""
SENT: frozenset[Status] = frozenset({"accepted", "unknown"})
"""Statuses of an effect that was sent, and whose end is not known yet."""
FINAL: frozenset[Status] = frozenset({"rejected", "revised", "expired", "done", "failed", "changed"})
_ON_ITS_WAY: frozenset[Status] = frozenset({"executing", "accepted", "unknown", "done", "failed", "changed"})
MOVES: Mapping[Status, frozenset[Status]] = {
    "pending": frozenset({"approved", "rejected", "revised", "expired", "changed"}),
    "approved": frozenset({"executing", "failed", "changed"}),
    "executing": _ON_ITS_WAY,
    "accepted": _ON_ITS_WAY,
    "unknown": _ON_ITS_WAY,
}
"""The statuses that may follow each one; none follows a final one."""
Verb: TypeAlias = Literal["approve", "edit", "revise", "reject"]
"""Yes · yes, with other arguments · no, but with changes · no."""
_BECOMES: Mapping[Verb, Status] = {
    "approve": "approved",
    "edit": "approved",
    "revise": "revised",
    "reject": "rejected",
}
DecidedBy: TypeAlias = Literal["chat", "queue", "link", "level", "undo", "nobody"]

MAIL_AFTER_SECONDS = 600.0
"""Delay of the mail about an approval asked for in the chat, which the user may still decide there."""
LEFT_BEHIND_SECONDS = 60.0
"""Time after which an approved or begun record was left behind by a process that died."""
UNDELIVERABLE_SECONDS = LEFT_BEHIND_SECONDS + 30.0
"""Time after which a begun effect can no longer arrive: the life of its token, and the difference of clocks that the
candidate app allows."""
LOOK_SECONDS = (2.0, 5.0, 10.0, 30.0)
"""Delays after sending an effect at which its outcome is queried; the last one repeats."""
UNDO_SECONDS = 86_400.0
"""Time in which an effect can be undone."""
KEYS_KEPT_SECONDS = 48 * 3600.0
"""How long the candidate app keeps outcomes: docs/candidate-app-api.yaml."""


class IllegalMove(Exception):
    """A record cannot take this step from its status: a mistake of the code that asks for it."""


class Edit(_Frozen):
    """Other arguments with which a person approves, and what they say."""

    args: str
    args_digest: str
    schema_digest: str
    preview: Preview
    shown: Mapping[str, str]
    edited: bool


class Approval(_Frozen):
    """One question to one person, and all its results. Moments are seconds since the epoch.

    Its methods are its only changes: each returns the next record, which the store's compare-and-set writes, and raises
    `IllegalMove` where none may follow.
    """

    id: str
    user_id: str
    run_id: str
    conversation_id: str | None = None
    """None if it was not asked in a conversation."""
    draft_id: str | None = None
    """The draft of a workflow that waits for the decision."""

    kind: Kind
    tool: str
    effect: Effect
    args: str
    """JSON, exactly as it is executed."""
    args_digest: str
    schema_digest: str
    """Digest of the arguments' schema when the approval was created."""
    subject: str
    version: str | None
    """The subject's version; None if it must be new."""
    shown: Mapping[str, str] = Field(default_factory=dict)
    """The subject's values when it was shown."""
    preview: Preview
    rationale: str = ""
    alternatives: tuple[str, ...] = ()
    """Other values that the same action accepts, as text."""
    confidence: Confidence | None = None
    """The proposer's estimate."""
    role: str = ""
    """The design whose agent proposed it; empty for a workflow."""
    variant: str | None = None
    """The tag of the trial's counts to which it belongs."""
    evidence: tuple[str, ...] = ()
    """Ids of evidence."""
    editable: tuple[str, ...] = ()
    """Arguments that a person may edit when approving."""
    revisable: bool = True
    """True if the person may ask for changes."""

    wished: bool = False
    """True if the user typed each new value in their newest message."""

    level: Level
    """The level in force: the user's, or one that the agent earned."""
    earned: bool = False
    """True if the agent earned the level, above the user's own."""
    answer: Answer
    """The gate's answer: asked, queued, or run at the user's level."""
    status: Status = "pending"
    created_at: float
    expires_at: float
    updated_at: float
    decided_at: float | None = None
    decided_by: DecidedBy | None = None
    reason: str | None = None
    """The person's own text."""
    edited: bool = False
    """True if the person approved other arguments than the proposed ones."""
    begun_at: float | None = None
    """When its effect was last sent."""
    outcome: str | None = None
    """The outcome in a sentence for the person and the model."""
    result: Mapping[str, str] = Field(default_factory=dict)
    inverse: str = ""
    """JSON of the arguments with which the same action undoes this; empty if it cannot be undone."""
    undoes: str | None = None
    undone_by: str | None = None
    revises: str | None = None
    revised_by: str | None = None
    round: int = 1
    """Incremented each time the person asks for changes."""
    wish: str | None = None
    """The changes that the person asked for in the record that this one revises."""
    redraft_id: str | None = None
    """The draft of the workflow that makes a new version, because the person asked for changes."""

    task_token: str | None = Field(default=None, repr=False)
    """Sealed token of the waiting execution; it never leaves the backend."""
    told_execution: bool = False
    """True if the execution was notified or no longer waits; for a redraft, if it was started."""
    links: tuple[str, ...] = Field(default=(), repr=False)
    """Hashes of the tokens in the links that were mailed."""
    mails: int = 0
    mail_at: float | None = None
    """When the next mail is due; None for no more."""
    news: bool = False
    """True if the model has not been told the outcome yet."""
    audit: tuple[str, ...] = ()
    """Who did what, when, from where; oldest first."""
    revision: int = 0

    @property
    def arguments(self) -> dict[str, Any]:
        return json.loads(self.args)

    def waits(self, now: float) -> bool:
        """True if its user can decide it."""
        return self.status == "pending" and self.expires_at > now

    @property
    def waits_for_execution(self) -> bool:
        """True if an execution must still be notified of the decision."""
        return self.task_token is not None and not self.told_execution

    @property
    def is_unfinished(self) -> bool:
        """True if a follow-up is still missing."""
        leaves = self.task_token is not None or self.kind in PRIVATE or self.redraft_id is not None
        return self.status in FINAL and leaves and not self.told_execution

    @property
    def about(self) -> str:
        """The title, with the value if it is one short text: "Change your location to Lisbon"; never that of a memory,
        which only its card shows."""
        title, changes = self.preview.title, self.preview.changes
        value = changes[0].after if len(changes) == 1 and self.kind not in PRIVATE else None
        return f"{title} to {value}" if value and len(value) <= LONGEST_VALUE and "\n" not in value else title

    @property
    def undo_until(self) -> float | None:
        """Until when the user can undo it; None if they cannot."""
        is_undoable = self.status == "done" and self.inverse and not self.undone_by and self.begun_at
        return self.begun_at + UNDO_SECONDS if is_undoable and self.begun_at else None

    @property
    def _next_look(self) -> float:
        """When its outcome is queried next; `updated_at` is the last time."""
        sent = self.begun_at or self.created_at
        looks = (sent + each for each in LOOK_SECONDS)
        return next((each for each in looks if each > self.updated_at), self.updated_at + LOOK_SECONDS[-1])

    @property
    def due_at(self) -> float | None:
        """When the sweep must process it."""
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
    ) -> "Approval":
        """Apply a person's decision; `where` it came from is for the audit."""
        after = self._copy(**dict(edit)) if edit else self
        line = f"{verb} by {by} {where}".rstrip()
        return after._decided(_BECOMES[verb], now, line, by, reason=reason, redraft_id=redraft_id)

    def expired(self, now: float, outcome: str | None = None) -> "Approval":
        """End it without a decision; `outcome` is the reason, unless its time is over."""
        return self._decided("expired", now, "expired by nobody", "nobody", outcome=outcome)

    def withdrawn(self, now: float, outcome: str) -> "Approval":
        """End it as `changed`, before anything was done."""
        return self._decided("changed", now, "changed by nobody", "nobody", outcome=outcome)

    def _decided(self, status: Status, now: float, line: str, by: DecidedBy, **changes: Any) -> "Approval":
        # The texts go in the write of the decision: a process that dies after a rejection must not leave them.
        after = self.scrubbed() if self.kind in PRIVATE else self
        return after._moved(status, now, line, decided_at=now, decided_by=by, mail_at=None, **changes)

    # --- carried out ---

    def begun(self, now: float, inverse: str) -> "Approval":
        """Mark that its effect is sent from now on; `inverse` are the arguments that undo it."""
        return self._moved("executing", now, begun_at=now, inverse=inverse)

    def rebased(self, version: str | None) -> "Approval":
        """Its subject has another version, of which nothing differs that was shown."""
        return self._copy(version=version)

    def ended(self, status: Status, now: float, outcome: str, result: Mapping[str, str] | None = None) -> "Approval":
        """What became of the effect, as far as it is known; the same status again is no news."""
        changes = {"outcome": outcome, "result": result or {}}
        if status == self.status and status in SENT:
            return self._copy(updated_at=now, **changes)
        return self._moved(status, now, status, **changes)

    def refused_again(self, begun_at: float, now: float, outcome: str) -> "Approval":
        """A repeated request was refused, while the one that was begun at `begun_at` may still arrive."""
        return self.ended("unknown", now, outcome)._copy(begun_at=begun_at)

    def undone(self, by: str) -> "Approval":
        """Name the approval that undid it."""
        return self._copy(undone_by=by)

    # --- told ---

    def execution_told(self, *, is_gone: bool = False) -> "Approval":
        """Its execution was notified or started, or no longer waits."""
        return self._copy(told_execution=True, **({"task_token": None} if is_gone else {}))

    def awaited_by(self, task_token: str | None) -> "Approval":
        """Another delivery of its execution's state waits for it."""
        return self._copy(task_token=task_token, told_execution=False)

    def model_told(self) -> "Approval":
        return self._copy(news=False)

    def succeeded(self, by: str) -> "Approval":
        """Name the approval that revises it."""
        return self._copy(revised_by=by)

    def mailing(self, links: Sequence[str], mail_at: float | None) -> "Approval":
        """A mail with these links is being sent, and again at that time unless it is noted as sent."""
        return self._copy(mails=self.mails + 1, mail_at=mail_at, links=(*self.links, *links))

    def mailed(self, mail_at: float | None, line: str | None = None) -> "Approval":
        """The next mail is due at that time; none is, if it was decided meanwhile."""
        return self._copy(
            mail_at=mail_at if self.status == "pending" else None, audit=(*self.audit, *filter(None, [line]))
        )

    # --- texts taken out ---

    def scrubbed(self) -> "Approval":
        """Without texts; its title and the number of its items stay."""
        left = {"preview": Preview(title=self.preview.title), "shown": {}, "rationale": "", "alternatives": ()}
        return self._copy(**left, inverse="")

    def without_words(self, tells: Callable[[str], bool], title: str) -> "Approval":
        """Without texts and arguments, and without what a person or the outcome said where that `tells`; `title` takes
        the place of one that does."""
        said = {name: getattr(self, name) for name in ("reason", "wish", "outcome")}
        left = {name: None if tells(text or "") else text for name, text in said.items()}
        kept = title if tells(self.preview.title) else self.preview.title
        return self.scrubbed()._copy(args="{}", preview=Preview(title=kept), **left)

    def shows(self, preview: Preview, shown: Mapping[str, str] | None = None) -> "Approval":
        """The same question without something that was forgotten."""
        return self._copy(preview=preview, shown=self.shown if shown is None else shown)

    # --- how it moves ---

    def _moved(self, status: Status, now: float, line: str | None = None, **changes: Any) -> "Approval":
        if status not in MOVES.get(self.status, ()):
            raise IllegalMove(f"{self.id}: {self.status} → {status}")
        if line:
            changes["audit"] = (*self.audit, f"{to_datetime(now).isoformat()} {line}")
            changes["news"] = self.conversation_id is not None
        return self._copy(status=status, updated_at=now, **changes)

    def _copy(self, **changes: Any) -> "Approval":
        assert changes.keys() <= type(self).model_fields.keys()  # `model_copy` takes any name
        return self.model_copy(update=changes)


def canonical_json(args: Mapping[str, Any]) -> str:
    """Encode arguments in the one form that is stored, hashed and executed."""
    return json.dumps(args, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256_hex(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
