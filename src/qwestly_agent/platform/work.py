"""Records that a workflow processes: each one begins, is in progress, and ends, with an event and a sentence for its
user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from qwestly_agent.domain.activity import ActivityEvent, Role, Severity
from qwestly_agent.domain.approval import Approval, Status
from qwestly_agent.platform.records import Record, Records, compare_and_set

MOST_UNDER_WAY = 20
BEGUN = "begun"
"""The verb of the first status in its event type. Every other status is its own verb."""


@dataclass(frozen=True)
class Stage:
    """The event of a status."""

    title: str
    severity: Severity = "info"


class Work(Records[Record]):
    """A store of work. Its models have `run_id`, `status`, `label` (a sentence for the user), `created_at` and
    `updated_at`."""

    subject: ClassVar[str]
    """The name of one record in ids and event types: "lesson" in `lesson_id` and `lesson.ready`."""
    role: ClassVar[Role]
    stages: ClassVar[Mapping[str, Stage]]
    """The stage of each status, beginning with the first one. A status without a stage has no event."""
    under_way: ClassVar[frozenset[str]]
    """Statuses in which an execution is processing the record and waits for no person."""
    try_again: ClassVar[str]
    """The label of a failure that has no label of its own."""
    alive_seconds: ClassVar[float] = 7 * 3_600.0
    """Longer than an execution can take to wait for slots and retry in all its states."""
    waits_as: ClassVar[str] = ""
    """The status in which the work waits for its approval."""
    closed_by: ClassVar[Mapping[Status, tuple[str, str]]] = {}
    """The status and label of the work once its approval has ended, by the approval's status."""

    def describe(self, record: Record) -> str:  # noqa: ARG002
        """Return the title of work in progress."""
        return self.stages[self.first_status].title

    def events_of(self, before: Record | None, after: Record) -> Sequence[ActivityEvent]:
        is_news = after.status in self.stages and (before is None or before.status != after.status)
        return [self._event(after)] if is_news else []

    @classmethod
    def ended_types(cls) -> list[str]:
        """Return the event types of ended work."""
        return [f"{cls.subject}.{status}" for status in cls.stages if status not in cls.under_way]

    def as_seen(self, record: Record, now: float) -> Record:
        """Return the record as its user sees it. It counts as failed if its execution must have ended without recording
        anything, because a process died between storing the record and starting the execution."""
        if record.status not in self.under_way or now < record.created_at + self.alive_seconds:
            return record
        return record.model_copy(update={"status": "failed", "label": self.try_again})

    async def list_under_way(self, user_id: str, now: float) -> list[Record]:
        """List the work in progress, newest first."""
        since = {"$gt": now - self.alive_seconds}
        return await self.newest(user_id, MOST_UNDER_WAY, status={"$in": sorted(self.under_way)}, created_at=since)

    async def move(self, user_id: str, record_id: str, now: float, status: str, label: str, **parts: Any) -> bool:
        """Set status, label and these parts. Returns False, without a change, if the work has already ended. Raises
        `NotFound`."""
        changes = {**parts, "status": status, "label": label, "updated_at": now}

        def change(before: Record) -> Record | None:
            is_open = before.status in self.under_way or before.status == self.waits_as
            return before.model_copy(update=changes) if is_open else None

        async def write(before: Record, after: Record) -> Record | None:
            return after if await self.write(before, after, status=before.status) else None

        return (await compare_and_set(lambda: self.get(user_id, record_id), change, write))[1]

    async def close(self, approval: Approval, now: float) -> None:
        """End the work that waits for this approval, if the approval has ended (idempotent). In the feed, the
        approval's event takes the place of the work's."""
        if approval.status in self.closed_by:
            status, label = self.closed_by[approval.status]
            changes = {"status": status, "label": label, "updated_at": now}
            for each in await self.newest(approval.user_id, 0, approval_id=approval.id, status=self.waits_as):
                await self.set_fields(each.user_id, each.id, changes, status=self.waits_as)

    async def move_approval(self, user_id: str, approval_id: str, new_id: str) -> None:
        """Make the work wait for another approval instead."""
        for each in await self.newest(user_id, 0, approval_id=approval_id):
            await self.set_fields(user_id, each.id, {"approval_id": new_id})

    @property
    def first_status(self) -> str:
        """The status of work whose execution has just begun."""
        return next(iter(self.stages))

    def _event(self, record: Record) -> ActivityEvent:
        status, stage = record.status, self.stages[record.status]
        approval_id = getattr(record, "approval_id", None)
        return ActivityEvent(
            id=f"{record.id}:{status}",
            user_id=record.user_id,
            at=record.updated_at,
            type=f"{self.subject}.{BEGUN if status == self.first_status else status}",
            role=self.role,
            severity=stage.severity,
            title=stage.title,
            run_id=record.run_id,
            data={f"{self.subject}_id": record.id, **({"approval_id": approval_id} if approval_id else {})},
        )
