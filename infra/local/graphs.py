"""The state machines as graphs for the page: states in the order of their definition, with their successors."""

from pathlib import Path
from typing import Any

from infra.local.environment import ROOT
from infra.machines import SUFFIX, read_machine


def graphs(folder: Path = ROOT / "statemachines") -> list[dict[str, Any]]:
    return [_graph(path) for path in sorted(folder.glob(f"*{SUFFIX}"))]


def _graph(path: Path) -> dict[str, Any]:
    return {"machine": path.name.removesuffix(SUFFIX), "states": _states(read_machine(path), depth=0)}


def _states(definition: dict[str, Any], depth: int) -> list[dict[str, Any]]:
    """Return each state, followed by the states of its Map if it has one."""
    found: list[dict[str, Any]] = []
    for name, state in definition["States"].items():
        found.append({"name": name, "type": state["Type"], "depth": depth, "next": _next(state)})
        if inner := state.get("ItemProcessor") or state.get("Iterator"):
            found += _states(inner, depth + 1)
    return found


def _next(state: dict[str, Any]) -> list[str]:
    """Return the possible next states, except those reached by catching an error."""
    following = [state.get("Next"), *(choice["Next"] for choice in state.get("Choices", ())), state.get("Default")]
    return list(dict.fromkeys(name for name in following if name))
