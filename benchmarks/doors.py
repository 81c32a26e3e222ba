"""Measure what each handler costs to import, from the layer alone, in a fresh process of Lambda's Python.

Doors that call no model build their AWS clients too. What pydantic-ai and FastAPI take by themselves stands beside.
"""

import platform
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.figures import Row, Target
from infra.sizes import BASE, build_layer, import_costs, lambda_python, unpacked_size

RUNS = 9
CHAT = "chat/app"
COMPARED_WITH = (BASE,)
MOST_SECONDS, MOST_TIMES, MOST_MB = 0.4, 1.25, 100


def measure() -> dict[str, Any]:
    python = lambda_python()
    with tempfile.TemporaryDirectory() as folder:
        packages = build_layer(Path(folder), python, platform.machine())
        costs = import_costs(packages, python, RUNS)
        size = unpacked_size(packages)
    return {"layer_mb": size / 1e6, "doors": {each.handler: asdict(each) for each in costs}}


def by_cost(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Each with its seconds of CPU, the dearest last."""
    return sorted(((name, each["cpu_seconds"]) for name, each in found["doors"].items()), key=lambda each: each[1])


def rows(found: dict[str, Any]) -> Iterator[Row]:
    base = found["doors"][BASE]["cpu_seconds"]
    for name, seconds in by_cost(found):
        door = found["doors"][name]
        target = None
        if name == CHAT:
            target = Target(f"of {BASE}", seconds / base, at_most=MOST_TIMES)
        elif not door["calls_model"]:
            target = Target("seconds", seconds, at_most=MOST_SECONDS)
        yield Row(f"import of {name}", "s", seconds, None, target)
    for name in (BASE, CHAT, "approve/pages"):
        yield Row(f"memory of {name} when imported", "MB", found["doors"][name]["rss_mb"])
    yield Row("layer, unpacked", "MB", found["layer_mb"], None, Target("MB", found["layer_mb"], at_most=MOST_MB))
