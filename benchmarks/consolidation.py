"""Measure what the nightly consolidation of one user costs.

`python -m benchmarks.consolidation [--json FILE]`, on Linux. Of all memories 200 are new, the most that a night
compares, and half of these repeat others. Measured is the CPU time, user and system, of the process that consolidates
(plan and apply as the handlers run them, reading included) and, apart from it, of the local database; and how long it
took. The scripted model answers "same" to what was planted. How fast a real one answers is not measured.
"""

import argparse
import asyncio
import json
import math
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infra.local import model_server
from infra.local.model_server import ModelServer
from infra.mongo.indexes import INDEXES
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.memory.apply import apply
from qwestly_agent.memory.consolidation_state import ConsolidationState
from qwestly_agent.memory.duplicates import Candidates, Floats, candidates_of, vectors_of
from qwestly_agent.memory.plan import plan
from qwestly_agent.services import ModelServices
from qwestly_agent.stores import journal, memories
from qwestly_agent.stores.merges import Held
from qwestly_agent.stores.ranks import to_binary
from qwestly_agent.stores.search import Document
from tests.comparing import Judge
from tests.servers import mongo_server, settings_for

SIZES = (1_000, 3_000, 10_000)
NEW, REPEATS = 200, 100
ALIKE = 0.3
"""The cosine of any two that one person told: of short sentences about careers real embeddings have as much."""
NOISE = 0.05, 0.9
"""How far a repetition is from what it repeats: cosines from 0.999 to 0.74."""
NOW = 1_800_000_000.0


@dataclass(frozen=True)
class Told:
    """Texts of one user's memories: the last ones are new, and the last of these repeat the first."""

    contents: Sequence[str]
    vectors: Floats

    @classmethod
    def of(cls, number: int) -> "Told":
        chance = np.random.default_rng(number)
        contents = [f"{_word(n)} {_word(n * 7 + 3)} {n}" for n in range(number - REPEATS)]
        vectors = _length_1(
            math.sqrt(ALIKE) * _length_1(chance.standard_normal((1, DIMENSIONS), dtype=np.float32))
            + math.sqrt(1 - ALIKE) * _length_1(chance.standard_normal((number - REPEATS, DIMENSIONS), dtype=np.float32))
        )
        noise = _length_1(chance.standard_normal((REPEATS, DIMENSIONS), dtype=np.float32))
        again = _length_1(vectors[:REPEATS] + noise * chance.uniform(*NOISE, (REPEATS, 1)).astype(np.float32))
        return cls([*contents, *(f"Again {each}" for each in contents[:REPEATS])], np.concatenate([vectors, again]))

    def documents(self, user_id: str) -> Iterator[Document]:
        for number, (content, vector) in enumerate(zip(self.contents, self.vectors, strict=True)):
            yield {
                "_id": f"{user_id}:{number}",
                "user_id": user_id,
                "type": "fact",
                "content": content,
                "status": "active",
                "hash": str(number),
                "key": str(number),
                "quote": content,
                "count": 1,
                "created": NOW + number,
                "created_at": to_datetime(NOW + number),
                "content_embedding": to_binary(vector.tolist()),
                "consolidated": number < len(self.contents) - NEW,
            }

    def held(self) -> list[Held]:
        new_from = len(self.contents) - NEW
        return [
            Held(str(n), content, "user_said", 1, NOW + n, NOW + n, 0.5, None, None, new=n >= new_from)
            for n, content in enumerate(self.contents)
        ]


def _word(number: int) -> str:
    """One of seven thousand, so that some memories share words."""
    return f"w{number % 7_000}"


def _length_1(vectors: Any) -> Floats:
    return vectors_of(bytearray(vectors.tobytes()), len(vectors))


class Repeated(Judge):
    def relation(self, known: str, new: str) -> str:
        return "same" if re.sub("^Again ", "", known) == re.sub("^Again ", "", new) else "other"


class Stopwatch:
    """The CPU of this process and of the database's, in seconds since it was made."""

    def __init__(self, database_pid: int) -> None:
        # The CPU clock of another process, numbered as clock_getcpuclockid(3) does: /proc tells whole ticks of 10 ms.
        self._database = (~database_pid << 3) | 2
        self._began = self._now()

    def _now(self) -> tuple[float, float, float]:
        return time.process_time(), time.clock_gettime(self._database), time.monotonic()

    def seconds(self) -> tuple[float, ...]:
        return tuple(now - before for now, before in zip(self._now(), self._began, strict=True))


async def consolidated(services: ModelServices, told: Told, database_pid: int) -> dict[str, Any]:
    """A night of one user. The scripted model answers in this process too."""
    user_id = f"auth0|benchmark-{len(told.contents)}"
    collection, documents = services.memories.database[memories.COLLECTION], list(told.documents(user_id))
    for at in range(0, len(documents), 500):
        await collection.insert_many(documents[at : at + 500])
    del documents
    watch = Stopwatch(database_pid)
    async for _ in services.merges.each_held(user_id):
        pass
    reading, _, _ = watch.seconds()
    watch = Stopwatch(database_pid)
    planned = await plan(services, ConsolidationState(user_id=user_id, run_id="benchmark"))
    applied = await apply(services, planned)
    own, of_database, passed = watch.seconds()
    return {
        "cpu_s": own,
        "reading_cpu_s": reading,
        "database_cpu_s": of_database,
        "seconds": passed,
        "planned": applied.planned,
        "merged": applied.merged,
    }


def compared(told: Told) -> dict[str, Any]:
    """Finding the pairs alone, and how many of the repetitions are candidates."""
    held = told.held()
    began = time.process_time()
    found = candidates_of(held, told.vectors, grey_from=0.4)
    cost = time.process_time() - began
    return {"pairs_cpu_s": cost, "asked": len(found.asked), "repetitions_asked": _repetitions(held, found) / REPEATS}


def _repetitions(held: Sequence[Held], found: Candidates) -> int:
    return sum(held[pair.newer].content == f"Again {held[pair.older].content}" for pair in found.asked)


async def measure(sizes: Sequence[int]) -> list[dict[str, Any]]:
    judge, model_server.think = model_server.think, Repeated()
    with mongo_server() as (uri, process), ModelServer() as model:
        services = await bootstrap_models(settings_for(uri, model.base_url, f"qwestly_bench_{os.getpid()}"))
        try:
            for name in (memories.COLLECTION, journal.COLLECTION):
                await services.memories.database[name].create_indexes(INDEXES[name])
            # A first one warms up: what is imported and opened is no part of it.
            await consolidated(services, Told.of(500), process.pid)
            rows = []
            for size in sizes:
                told = Told.of(size)
                rows.append({"memories": size, **await consolidated(services, told, process.pid), **compared(told)})
            return rows
        finally:
            model_server.think = judge
            await services.close()


COLUMNS = {
    "seconds": "passed",
    "cpu_s": "own CPU",
    "reading_cpu_s": "reading",
    "pairs_cpu_s": "pairs",
    "database_cpu_s": "database",
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"Seconds; {NEW} memories are new, and {REPEATS} of these repeat others.",
        f"{'memories':>10}"
        + "".join(f"{title:>12}" for title in COLUMNS.values())
        + f"{'asked':>8}{'repeated':>10}{'planned':>9}{'merged':>8}",
    ]
    for row in rows:
        seconds = "".join(f"{row[name]:12.3f}" for name in COLUMNS)
        counts = f"{row['asked']:8}{row['repetitions_asked']:10.0%}{row['planned']:9}{row['merged']:8}"
        lines.append(f"{row['memories']:>10}{seconds}{counts}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="memories of the user, the least first")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.sizes))
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
