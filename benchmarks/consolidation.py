"""What the nightly consolidation of one user costs, and what of the duplicates it finds.

`python -m benchmarks.consolidation [--json FILE]`, on Linux. All memories are new, as on the first night: the longest
there is. Measured is the CPU time, user and system, of the process that consolidates (plan and apply as the doors run
them, reading included) and, apart from it, of the local database. Comparing all pairs by brute force is what the plan
is held against: how many of the planted duplicates that it finds are in the plan before the cap, and what it costs.
"""

import argparse
import asyncio
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infra.mongo.indexes import INDEXES
from qwestly_agent.bootstrap import House, bootstrap_without_models
from qwestly_agent.clients.embeddings import DIMENSIONS
from qwestly_agent.clock import to_datetime
from qwestly_agent.memory.consolidation import Step, apply, plan
from qwestly_agent.memory.neighbours import LEAST_COSINE, Vectors, by_comparing, merges_of, near, vectors_of
from qwestly_agent.stores import journal, memories
from qwestly_agent.stores.memories import Held
from qwestly_agent.stores.search import Document, to_binary
from tests.servers import mongo_server, settings_for

SIZES = (1_000, 3_000, 10_000)
TARGET_EXPONENT, TARGET_FOUND = 1.2, 0.99
DUPLICATES = 0.1
"""Of all memories."""
ALIKE = 0.3
"""The cosine of any two that one person told: of short sentences about careers real embeddings have as much."""
NOISE = 0.05, 0.42
"""How far a duplicate is from what it repeats: cosines from 0.999 to the threshold."""
SUBJECTS = ("Ran", "Visited", "Organised", "Photographed", "Reviewed", "Translated", "Funded", "Repaired")
NOW = 1_800_000_000.0


@dataclass(frozen=True)
class Told:
    """What one user told, with a tenth of it told twice."""

    contents: Sequence[str]
    vectors: Vectors

    @classmethod
    def of(cls, number: int) -> "Told":
        chance, twins = np.random.default_rng(number), int(number * DUPLICATES)
        contents = [f"{SUBJECTS[n % len(SUBJECTS)]} the project number {n}" for n in range(number - twins)]
        vectors = _length_1(
            math.sqrt(ALIKE) * _length_1(chance.standard_normal((1, DIMENSIONS), dtype=np.float32))
            + math.sqrt(1 - ALIKE) * _length_1(chance.standard_normal((number - twins, DIMENSIONS), dtype=np.float32))
        )
        noise = _length_1(chance.standard_normal((twins, DIMENSIONS), dtype=np.float32))
        again = _length_1(vectors[:twins] + noise * chance.uniform(*NOISE, (twins, 1)).astype(np.float32))
        return cls(
            [*contents, *(f"The user {each.lower()}" for each in contents[:twins])], np.concatenate([vectors, again])
        )

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
                "consolidated": False,
            }

    def held(self) -> list[Held]:
        return [
            Held(str(number), content, "fact", "user_said", 1, NOW + number, None, new=True)
            for number, content in enumerate(self.contents)
        ]


def _length_1(vectors: Any) -> Vectors:
    return vectors_of(bytearray(vectors.tobytes()), len(vectors))


class Stopwatch:
    """The CPU of this process and of the database's, in seconds since it was made."""

    def __init__(self, database_pid: int) -> None:
        # The CPU clock of another process, numbered as clock_getcpuclockid(3) does: /proc tells whole ticks of 10 ms.
        self._database = (~database_pid << 3) | 2
        self._began = self._now()

    def _now(self) -> tuple[float, float]:
        return time.process_time(), time.clock_gettime(self._database)

    def seconds(self) -> tuple[float, float]:
        (own, database), (own_before, database_before) = self._now(), self._began
        return own - own_before, database - database_before


async def consolidated(house: House, told: Told, database_pid: int) -> dict[str, Any]:
    """A night of one user."""
    user_id = f"auth0|benchmark-{len(told.contents)}"
    collection, documents = house.memories.database[memories.COLLECTION], list(told.documents(user_id))
    for at in range(0, len(documents), 500):
        await collection.insert_many(documents[at : at + 500])
    del documents
    watch = Stopwatch(database_pid)
    async for _ in house.memories.each_held(user_id):
        pass
    reading, _ = watch.seconds()
    watch = Stopwatch(database_pid)
    planned = await plan(house, Step(user_id=user_id, run_id="benchmark"))
    applied = await apply(house, planned)
    own, of_database = watch.seconds()
    return {
        "cpu_s": own,
        "reading_cpu_s": reading,
        "database_cpu_s": of_database,
        "planned": applied.planned,
        "merged": applied.merged,
    }


def compared(told: Told) -> dict[str, Any]:
    """By neighbourhood and by brute force."""
    new = np.ones(len(told.contents), np.bool_)
    began = time.process_time()
    found = list(near(told.vectors, new))
    by_neighbourhood = time.process_time() - began
    began = time.process_time()
    exact = list(by_comparing(told.vectors, new))
    by_force = time.process_time() - began
    planned = {frozenset((merge.survivor, merge.member)) for merge in merges_of(told.held(), told.vectors)}
    pairs = {frozenset((str(one), str(other))) for one, other, _ in exact}
    return {
        "duplicates": len(pairs),
        "near_found": len({pair[:2] for pair in found} & {pair[:2] for pair in exact}) / len(exact),
        "in_the_plan": len(planned & pairs) / len(pairs),
        "neighbourhood_cpu_s": by_neighbourhood,
        "all_pairs_cpu_s": by_force,
    }


async def measure(sizes: Sequence[int]) -> list[dict[str, Any]]:
    with mongo_server() as (uri, process):
        house = await bootstrap_without_models(settings_for(uri, "http://127.0.0.1:9", f"qwestly_bench_{os.getpid()}"))
        try:
            for name in (memories.COLLECTION, journal.COLLECTION):
                await house.memories.database[name].create_indexes(INDEXES[name])
            # A first one warms up: what is imported and opened is no part of it.
            await consolidated(house, Told.of(500), process.pid)
            rows = []
            for size in sizes:
                told = Told.of(size)
                rows.append({"memories": size, **await consolidated(house, told, process.pid), **compared(told)})
            return rows
        finally:
            await house.close()


def exponent(rows: Sequence[dict[str, Any]], name: str) -> float:
    """How the cost grows from the least to the most memories: 1 is in proportion, 2 is all pairs."""
    first, last = rows[0], rows[-1]
    return math.log(last[name] / first[name]) / math.log(last["memories"] / first["memories"])


COLUMNS = {
    "cpu_s": "whole run",
    "reading_cpu_s": "reading",
    "neighbourhood_cpu_s": "neighbours",
    "all_pairs_cpu_s": "all pairs",
    "database_cpu_s": "database",
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        f"Seconds of CPU; duplicates have a cosine of {LEAST_COSINE} or more.",
        f"{'memories':>10}"
        + "".join(f"{title:>12}" for title in COLUMNS.values())
        + f"{'near found':>12}{'in the plan':>12}{'merged':>8}",
    ]
    for row in rows:
        seconds = "".join(f"{row[name]:12.3f}" for name in COLUMNS)
        shares = f"{row['near_found']:12.2%}{row['in_the_plan']:12.2%}{row['merged']:8}"
        lines.append(f"{row['memories']:>10}{seconds}{shares}")
    lines.append(f"{'exponent':>10}" + "".join(f"{exponent(rows, name):12.2f}" for name in COLUMNS))
    lines.append(
        f"To be: an exponent of the whole run of at most {TARGET_EXPONENT:g}, and {TARGET_FOUND:.0%} of the duplicates "
        "in the plan before the cap."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="memories of the user, the least first")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.sizes))
    print(table(rows))
    if options.json:
        exponents = {name: exponent(rows, name) for name in COLUMNS}
        targets = {"exponent": TARGET_EXPONENT, "found": TARGET_FOUND}
        options.json.write_text(json.dumps({"rows": rows, "exponents": exponents, "targets": targets}, indent=2) + "\n")


if __name__ == "__main__":
    main()
