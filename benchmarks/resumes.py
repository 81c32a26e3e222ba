"""Résumés: the text of two pages of PDF, in the process of its own that opens them

Two full pages, as `open_file` has them opened; the median of seven rounds, and the most memory of one of
these processes.
"""

import asyncio
import statistics
import time
from collections.abc import Iterator, Mapping

from benchmarks.figures import Row, Target
from qwestly_agent.grounding.quotes import find_span
from qwestly_agent.resumes.open_file import open_file
from tests.resume_files import MAYA, long, used_by_opener

ROUNDS = 7
MOST_SECONDS, MOST_MB = 3.0, 512.0


def measure() -> dict[str, float]:
    seconds, missed = asyncio.run(_rounds())
    used, _ = used_by_opener(long(MAYA, 2))
    return {"seconds": statistics.median(seconds), "memory_mb": used / 2**20, "missed": missed}


async def _rounds() -> tuple[list[float], int]:
    content, seconds, text = long(MAYA, 2), list[float](), ""
    for _ in range(ROUNDS):
        began = time.perf_counter()
        text = await open_file(content)
        seconds.append(time.perf_counter() - began)
    return seconds, sum(find_span(said, text) is None for said in MAYA.said)


def rows(found: Mapping[str, float]) -> Iterator[Row]:
    yield Row("text of two pages", "s", found["seconds"], None, Target("", found["seconds"], at_most=MOST_SECONDS))
    memory = Target("", found["memory_mb"], at_most=MOST_MB)
    yield Row("most memory of a process that opens one", "MB", found["memory_mb"], None, memory)
    yield Row("quotes that are not found", "", found["missed"], None, Target("", found["missed"], at_most=0))
