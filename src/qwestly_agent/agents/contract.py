"""The contract of a tool: its effect, its label and its limits."""

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
    """Shown to the user while it runs: "Looking up your profile…"."""
    timeout: float
    """Seconds."""
    result_characters: int
    """Maximum length of a result as JSON. A longer one is truncated, with a note for the model."""
    is_untrusted: bool
    """True if other people may have written its result."""


def contract_of(name: str, metadata: Mapping[str, Any] | None) -> Contract:
    """Return the tool's contract. Raises `InvalidSettings` for a tool that was not declared with `tool`."""
    contract = (metadata or {}).get("contract")
    if not isinstance(contract, Contract):
        raise InvalidSettings(f"The tool {name!r} declares no effect.")
    return contract
