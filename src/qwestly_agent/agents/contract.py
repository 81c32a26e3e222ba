"""The contract of a tool: its effect, its label and its bounds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.domain.approval import Effect


@dataclass(frozen=True)
class Contract:
    """The rules for every call of a tool, enforced around its function."""

    effect: Effect
    label: str
    """What the user reads while it runs, as "Looking up your profile…"."""
    timeout: float
    """Seconds."""
    result_characters: int
    """So much of a result, as JSON, is shown to the model; what is cut off is said."""
    outside: bool
    """Whether others than the user wrote what it returns."""


def contract_of(name: str, metadata: Mapping[str, Any] | None) -> Contract:
    """Raises `InvalidSettings` for a tool that was not declared by `tool`: nobody could say what its calls may do."""
    contract = (metadata or {}).get("contract")
    if not isinstance(contract, Contract):
        raise InvalidSettings(f"The tool {name!r} declares no effect.")
    return contract
