"""The contract of a tool: its effect, its label and its limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai.tools import ToolDefinition

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.domain.approval import Effect


@dataclass(frozen=True)
class Contract:
    """The rules for every call of a tool, enforced around its function."""

    effect: Effect
    label: str
    """Shown to the user while it runs: "Looking up your profile…"."""
    timeout: float
    """Seconds."""
    result_characters: int
    """Maximum length of a result as JSON; a longer one is cut, and the model is told."""
    is_untrusted: bool
    """True if other people write what it returns."""


def contracts_of(tools: Iterable[ToolDefinition]) -> dict[str, Contract]:
    """Return the contracts by the tools' names. Raises `InvalidSettings` for a tool that was not declared by `tool`."""
    contracts: dict[str, Contract] = {}
    for each in tools:
        contract = each.metadata.get("contract") if each.metadata else None
        contracts[each.name] = contract if isinstance(contract, Contract) else contract_of(each.name, each.metadata)
    return contracts


def contract_of(name: str, metadata: Mapping[str, Any] | None) -> Contract:
    """Return the tool's contract. Raises `InvalidSettings` for a tool that was not declared by `tool`."""
    contract = (metadata or {}).get("contract")
    if not isinstance(contract, Contract):
        raise InvalidSettings(f"The tool {name!r} declares no effect.")
    return contract
