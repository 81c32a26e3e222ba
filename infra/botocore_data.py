"""Reduce botocore's data to the operations we call: `python infra/botocore_data.py <folder> ssm:GetParameters …`.

The first client of a process reads the endpoints of every AWS service, and each client reads all operations of its
service: megabytes, although a cold start needs only a few operations.
"""

import gzip
import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DESCRIPTIONS = ("service-2", "endpoint-rule-set-1")
"""Files of a service that are kept; the others are for waiters, pagination and examples."""


def prune(data: Path, operations: Mapping[str, set[str]]) -> None:
    """Delete all operations but these. Raises `KeyError` for an unknown operation."""
    for folder in [each for each in data.iterdir() if each.is_dir() and each.name not in operations]:
        shutil.rmtree(folder)
    prefixes = {_prune_service(data / service, names) for service, names in operations.items()}
    endpoints = json.loads((data / "endpoints.json").read_bytes())
    for partition in endpoints["partitions"]:
        partition["services"] = {name: each for name, each in partition["services"].items() if name in prefixes}
    (data / "endpoints.json").write_text(json.dumps(endpoints))


def _prune_service(folder: Path, names: set[str]) -> str:
    """Prune one service to its newest version, which clients use. Returns its name in endpoints.json."""
    *older, version = sorted(folder.iterdir())
    for each in older:
        shutil.rmtree(each)
    for file in list(version.iterdir()):
        if not file.name.startswith(DESCRIPTIONS):
            file.unlink()
    packed = version / "service-2.json.gz"
    service = json.loads(gzip.decompress(packed.read_bytes()))
    service["operations"] = {name: service["operations"][name] for name in sorted(names)}
    service["shapes"] = _reachable(service["shapes"], service["operations"])
    # A file this small is faster to read uncompressed.
    packed.with_suffix("").write_text(json.dumps(_undocumented(service)))
    packed.unlink()
    return service["metadata"]["endpointPrefix"]


def _reachable(shapes: Mapping[str, Any], operations: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    waiting = [*_shapes_in(operations)]
    while waiting:
        if (name := waiting.pop()) not in found:
            found[name] = shapes[name]
            waiting += _shapes_in(shapes[name])
    return found


def _shapes_in(described: Any) -> Iterator[str]:
    match described:
        case {"shape": str(name)}:
            yield name
        case dict():
            for each in described.values():
                yield from _shapes_in(each)
        case list():
            for each in described:
                yield from _shapes_in(each)


def _undocumented(described: Any) -> Any:
    match described:
        case dict():
            kept = {name: each for name, each in described.items() if name != "documentation" or isinstance(each, dict)}
            return {name: _undocumented(each) for name, each in kept.items()}
        case list():
            return [_undocumented(each) for each in described]
        case _:
            return described


if __name__ == "__main__":
    called: defaultdict[str, set[str]] = defaultdict(set)
    for each in sys.argv[2:]:
        service, _, operation = each.partition(":")
        called[service].add(operation)
    prune(Path(sys.argv[1]), called)
