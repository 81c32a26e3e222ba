"""The journal of a run: measurements and costs, so that a killed run can resume where it left off.

JSON Lines. A line is written before anything relies on it: a request's highest price before it is sent, its price
before its answer is complete, a unit's outcomes once all of them are known.
"""

import fcntl
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evals.outcomes import Outcome


class InUse(Exception):
    """Another run writes to this journal."""


@dataclass(frozen=True)
class Found:
    """The result of a unit."""

    outcomes: Sequence[Outcome] = ()
    notes: Sequence[str] = ()
    """Lines of Markdown for the page."""


@dataclass
class Journal:
    """Can be used from any thread. `with Journal(file)` locks the file; raises `InUse`."""

    file: Path
    units: dict[str, Found] = field(default_factory=dict)
    """Finished units, by key."""
    failed: dict[str, str] = field(default_factory=dict)
    """Units that ended with an error, and the error; another run retries them."""
    wanting: dict[str, str] = field(default_factory=dict)
    """Steps that could not run, and what they need."""
    revisions: dict[str, str] = field(default_factory=dict)
    """The date by revision of the code."""
    minutes: float = 0.0
    """Minutes of all runs together."""
    spent_usd: float = 0.0
    """Prices of answered requests, and the highest price of each unanswered one."""
    by_step: Counter[str] = field(default_factory=Counter)
    """Dollars by step."""
    requests: int = 0
    _unsettled: dict[int, tuple[str, float]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __enter__(self) -> Self:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._open = self.file.open("a+b")
        try:
            fcntl.flock(self._open, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._open.close()
            raise InUse from None
        self._open.seek(0)
        whole, _, torn = self._open.read().rpartition(b"\n")
        if torn:  # the process was killed while it wrote this line
            self._open.truncate(len(whole) + bool(whole))
        for line in filter(None, whole.split(b"\n")):
            self._read(json.loads(line))
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def reserve(self, step: str, most_usd: float, ceiling_usd: float) -> int | None:
        """Return a number for a request that may cost this much; None if the ceiling does not allow it."""
        with self._lock:
            if self.spent_usd + most_usd > ceiling_usd:
                return None
            number = self.requests + 1
            self._write({"request": number, "step": step, "most_usd": most_usd})
            return number

    def settle(self, number: int, usd: float) -> None:
        """Replace a request's highest price by its price."""
        with self._lock:
            if number in self._unsettled:
                self._write({"answered": number, "usd": usd})

    def finish(self, unit: str, found: Found) -> None:
        outcomes = [each.model_dump(mode="json", exclude_defaults=True) for each in found.outcomes]
        self._write({"unit": unit, "outcomes": outcomes, "notes": list(found.notes)})

    def fail(self, unit: str, why: str) -> None:
        self._write({"failed": unit, "why": why})

    def want(self, step: str, needs: str) -> None:
        """Record why the step cannot run; an empty text means that it can."""
        if self.wanting.get(step, "") != needs:
            self._write({"wanting": step, "needs": needs})

    def begin(self, date: str, revision: str) -> None:
        self._write({"begun": date, "revision": revision})

    def add_minutes(self, minutes: float) -> None:
        self._write({"minutes": minutes})

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._lock:
            self._open.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self._open.flush()
            self._read(line)

    def _read(self, line: Mapping[str, Any]) -> None:
        match line:
            case {"request": number, "step": step, "most_usd": most}:
                self._unsettled[number] = step, most
                self.requests = max(self.requests, number)
                self._count(step, most)
            case {"answered": number, "usd": usd}:
                step, most = self._unsettled.pop(number)
                self._count(step, usd - most)
            case {"unit": unit, "outcomes": outcomes, "notes": notes}:
                self.units[unit] = Found([Outcome.model_validate(each) for each in outcomes], notes)
                self.failed.pop(unit, None)
            case {"failed": unit, "why": why}:
                self.failed[unit] = why
            case {"wanting": step, "needs": needs}:
                self.wanting[step] = needs
            case {"begun": date, "revision": revision}:
                self.revisions.setdefault(revision, date)
            case {"minutes": minutes}:
                self.minutes += minutes
            case _:
                raise ValueError(f"{self.file} has a line of another program: {line!r}.")

    def _count(self, step: str, usd: float) -> None:
        self.spent_usd += usd
        self.by_step[step] += usd  # type: ignore[assignment]
