"""A deterministic scheduler: runs coroutines as processes on a virtual clock, and lets what they call go wrong.

Every call to the outside goes through `Scheduler.call`. Numbers from `Choices` decide which calls are slow, fail before
or after their effect, are delivered twice or never answered, and at which a process dies. The same numbers lead to the
same run. Nothing here knows what the processes do.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


# --- choices ----------------------------------------------------------------------------------------------------------


class Choices:
    """Numbers from a row of bytes, and zeros from its end on; `code` repeats them."""

    LENGTH = 256
    """Bytes: more than a schedule takes."""

    def __init__(self, numbers: bytes) -> None:
        self._numbers = iter(numbers)
        self.taken: list[int] = []

    @classmethod
    def of(cls, seed: str) -> "Choices":
        """Return the choices of a number, or of the code of an earlier run, which begins with x."""
        code = bytes.fromhex(seed[1:]) if seed.startswith("x") else random.Random(int(seed)).randbytes(cls.LENGTH)
        return cls(code)

    def number(self, below: int) -> int:
        """Return a number below 256 at most."""
        self.taken.append(next(self._numbers, 0) % below)
        return self.taken[-1]

    def one(self, items: Sequence[T]) -> T:
        return items[self.number(len(items))]

    @property
    def code(self) -> str:
        return f"x{bytes(self.taken).rstrip(bytes(1)).hex()}"


# --- time -------------------------------------------------------------------------------------------------------------


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop that never sleeps: when nothing is ready, its clock moves to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._selector = self

    def time(self) -> float:
        return self._now

    def select(self, timeout: float | None) -> tuple[()]:
        assert timeout is not None, "every task waits for another one"
        self._now += timeout
        return ()

    def _process_events(self, event_list: Any) -> None:
        """Do nothing: there are no sockets."""

    def _write_to_self(self) -> None:
        """Do nothing: there are no other threads."""

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        done = self.create_future()
        done.set_result(func(*args))
        return done


# --- faults -----------------------------------------------------------------------------------------------------------

FOREVER = 1e9


@dataclass(frozen=True)
class Fault:
    """The fault of one call."""

    name: str
    before: bool = False
    """Slow before its effect."""
    after: bool = False
    """Slow after its effect."""
    arrives: bool = True
    answers: bool = True
    """False: an error comes instead of the answer."""
    is_silent: bool = False
    """Nothing comes instead of the answer."""
    repeats: bool = False
    """Delivered a second time, later."""
    is_busy: bool = False
    """Refused for now, without effect."""
    dies: bool = False

    @property
    def is_only_slow(self) -> bool:
        return self.arrives and self.answers and not (self.is_silent or self.repeats or self.is_busy or self.dies)


NONE = Fault("")
SLOW_BEFORE = Fault("was slow before its effect", before=True)
SLOW_AFTER = Fault("was slow after its effect", after=True)
LATE = Fault("failed, and took effect later", before=True, answers=False)
LATE_AND_DEAD = Fault("died, and it took effect later", before=True, dies=True)
FAILED = Fault("failed before its effect", arrives=False, answers=False)
FAILED_AFTER = Fault("failed after its effect", answers=False)
DIED_AFTER = Fault("died after the effect", dies=True)
FAULTS = (
    SLOW_BEFORE,
    SLOW_AFTER,
    LATE,
    LATE_AND_DEAD,
    FAILED,
    FAILED_AFTER,
    Fault("died before the effect", arrives=False, dies=True),
    DIED_AFTER,
    Fault("was never answered, without effect", arrives=False, is_silent=True),
    Fault("was never answered, after its effect", is_silent=True),
)
"""Faults of any call."""
TWICE = Fault("was delivered twice", repeats=True)
BUSY = Fault("was refused for now", is_busy=True)
MOST_FAULTS, LONGEST_SKIP = 9, 24
READS_A_COUNT = 3
"""One in so many reads can fail; every write can."""


@dataclass(frozen=True)
class Kind:
    """The faults of one kind of calls."""

    error: Callable[[], Exception]
    """Made for a call without an answer."""
    refused: Callable[[], Exception]
    """Made for a call that surely has no effect."""
    slow: Sequence[float] = (0.05, 0.5, 2.0)
    """Seconds."""
    patience: float = FOREVER
    """Seconds until `error` comes for a call that has no answer."""
    weight: int = 1
    """Relative frequency of faults in its writes."""
    faults: Sequence[Fault] = FAULTS
    busy: Callable[[], Any] = lambda: None
    """The answer that refuses a call for now."""


# --- processes --------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Process(Generic[T]):
    """A function's run in a process of its own: it dies alone, and its clock may be wrong."""

    name: str
    number: int
    begun: float
    skew: float
    caller: "Process[Any] | None" = None
    """The process that asked for it."""
    task: "asyncio.Task[None]" = field(init=False)
    over: "asyncio.Future[None]" = field(init=False)
    """Done once it ended or died."""
    ended: float = -1.0
    """Time when it ended by itself; negative if it did not."""
    is_dead: bool = False
    faults: int = 0
    """Number of its failed calls, not counting slow ones."""
    result: T | None = None
    error: BaseException | None = None

    def has_made(self, new_id: str) -> bool:
        """True if the id is one of `new_id` of its services."""
        return new_id.startswith(f"{self.number}-")

    def die(self) -> None:
        self.is_dead = True
        self._end()

    def end(self, now: float) -> None:
        self.ended = now
        self._end()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


_running: ContextVar[Process[Any] | None] = ContextVar("_running", default=None)
EXPECTED_SKEWS = (0.0, 0.0, 0.0, 0.5, -0.5, 2.0, -2.0)
LATENCIES = (*(0.001, 0.004, 0.010) * 5, 0.060, 0.150)
"""Seconds of one way; now and then a call takes so long that others' come in between."""


class Scheduler:
    def __init__(self, choices: Choices, skews: Sequence[float] = EXPECTED_SKEWS) -> None:
        self.choices, self.skews, self.loop = choices, skews, VirtualLoop()
        self.processes: list[Process[Any]] = []
        self.script: list[str] = []
        self.is_quiet = self.is_over = False
        """Quiet: no further faults. Over: what is left is abandoned."""
        self._faults = choices.number(MOST_FAULTS + 1)
        self._skip = choices.number(LONGEST_SKIP)
        self._latencies = itertools.cycle(random.Random(choices.number(256)).choices(LATENCIES, k=997))
        self._reads = itertools.count(choices.number(READS_A_COUNT))
        self.placed: dict[tuple[str, str, int], tuple[Fault, float]] = {}
        """Faults of a script, in place of random ones: by the first word of the process's name, the name of the call
        and its number among those; with seconds."""
        self._seen = Counter[tuple[str, str]]()

    @property
    def now(self) -> float:
        return self.loop.time()

    @property
    def running(self) -> Process[Any] | None:
        """The process that asks."""
        return _running.get()

    @property
    def is_in_dead(self) -> bool:
        """True in a process that is dead."""
        return (process := _running.get()) is not None and process.is_dead

    def note(self, line: str) -> None:
        process = _running.get()
        self.script.append(f"{self.now:12.3f}  {f'#{process.number} ' if process else ''}{line}")

    def start(self, name: str, work: "Callable[[Process[T]], Coroutine[Any, Any, T]]", *, limit: float) -> Process[T]:
        """Start a process, which is killed after `limit` seconds."""
        skew = 0.0 if self.is_quiet else self.choices.one(self.skews)
        process = Process[T](name, len(self.processes), self.now, skew)
        process.over = self.loop.create_future()
        self.processes.append(process)

        async def run() -> None:
            _running.set(process)
            self.note(f"{name}{f', whose clock is {skew:+} s wrong' if skew else ''}")
            try:
                process.result = await work(process)
            except Exception as error:
                process.error = error
                self.note(f"raises {error!r}")
            process.end(self.now)

        # The context of whoever starts it must not make it a part of another process.
        process.task = self.loop.create_task(run(), context=Context())
        self.loop.call_later(limit, self._kill, process)
        return process

    def _kill(self, process: Process[Any]) -> None:
        if not process.over.done():
            process.die()
            self.note(f"#{process.number} is killed at its time limit")

    async def settled(self) -> None:
        """Wait until every process has ended or died."""
        while running := [each.over for each in self.processes if not each.over.done()]:
            await asyncio.wait(running)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run it to its end, then abandon what is left."""
        try:
            return self.loop.run_until_complete(main)
        finally:
            self.is_over = True
            left = asyncio.all_tasks(self.loop)
            for each in left:
                each.cancel()
            if left:
                self.loop.run_until_complete(asyncio.wait(left))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.close()

    async def sleep_of(self, process: Process[Any], seconds: float) -> None:
        """Sleep in a task that belongs to this process, and for ever once it is dead."""
        _running.set(process)
        await asyncio.sleep(seconds)
        if process.is_dead or self.is_over:
            await self.loop.create_future()

    # --- calls ---

    async def call(self, name: str, effect: Callable[[], T], kind: Kind, *, writes: bool = True) -> T:
        """Call the outside: `effect` happens there in one step, at another time than the answer arrives here."""
        process = _running.get()
        if self.is_over:
            raise asyncio.CancelledError
        answer: asyncio.Future[T] = self.loop.create_future()
        if process and process.is_dead:
            return await answer
        fault, slow = self._next_fault(name, kind, writes=writes)
        if fault is not NONE:
            if process and not fault.is_only_slow:
                process.faults += 1
            self.note(f"{name} {fault.name}{f' ({slow} s)' if fault.before or fault.after or fault.repeats else ''}")
        if fault.dies and process:
            process.die()
        if fault is NONE:
            self.loop.call_later(self._latency(), self._at_once, process, answer, effect)
            return await answer
        arrives_in = self._latency() + slow * fault.before
        answers_in = arrives_in + self._latency() + slow * fault.after

        def arrive() -> None:
            try:
                result = kind.busy() if fault.is_busy else effect()
            except Exception as error:
                self._answer(process, answer, error=error, seconds=answers_in - arrives_in)
            else:
                if fault.answers and not fault.is_silent:
                    self._answer(process, answer, result, seconds=answers_in - arrives_in)

        if fault.arrives:
            self.loop.call_later(arrives_in, arrive)
        if fault.repeats:
            self.loop.call_later(arrives_in + slow, self._repeat, effect)
        if not fault.answers:
            error = kind.error() if fault.arrives else kind.refused()
            self._answer(process, answer, error=error, seconds=self._latency())
        elif fault.is_silent or answers_in > kind.patience:
            self._answer(process, answer, error=kind.error(), seconds=kind.patience)
        return await answer

    def _at_once(self, process: Process[Any] | None, answer: "asyncio.Future[T]", effect: Callable[[], T]) -> None:
        """Take effect and answer. The way back takes no time, as the next call takes some to arrive."""
        try:
            result = effect()
        except Exception as error:
            if not (answer.done() or (process and process.is_dead)):
                answer.set_exception(error)
        else:
            if not (answer.done() or (process and process.is_dead)):
                answer.set_result(result)

    def _answer(
        self,
        process: Process[Any] | None,
        answer: "asyncio.Future[Any]",
        result: Any = None,
        *,
        error: Exception | None = None,
        seconds: float,
    ) -> None:
        def come() -> None:
            if answer.done() or (process and process.is_dead):
                return
            if error:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        self.loop.call_later(seconds, come)

    def _repeat(self, effect: Callable[[], Any]) -> None:
        # The second answer finds nobody.
        try:
            effect()
        except Exception as error:
            self.note(f"the second delivery raises {error!r}")

    def _next_fault(self, name: str, kind: Kind, *, writes: bool) -> tuple[Fault, float]:
        """The fault, and how many seconds it takes."""
        if self.placed:
            call = self.running.name.split()[0] if self.running else "", name
            self._seen[call] += 1
            return self.placed.get((*call, self._seen[call]), (NONE, 0.0))
        counts = writes or next(self._reads) % READS_A_COUNT == 0
        if self.is_quiet or self._faults == 0 or not counts:
            return NONE, 0.0
        self._skip -= kind.weight if writes else 1
        if self._skip >= 0:
            return NONE, 0.0
        self._faults -= 1
        self._skip = self.choices.number(LONGEST_SKIP)
        return self.choices.one(kind.faults), self.choices.one(kind.slow)

    def _latency(self) -> float:
        return next(self._latencies)
