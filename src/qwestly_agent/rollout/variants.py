"""The variants that can be tried. An operator starts a trial with `qwestly-agent rollout begin NAME`.

A variant stays here, and its prompts in its design, as long as conversations use it; `qwestly-agent rollout show`
counts them. Without it they continue with the base.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True)
class Variant:
    name: str
    since: date
    """The first day (UTC) on which it may be tried."""
    design: str = "default"
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Prompt versions by role, known to the design's setting `prompts`."""
    models: Mapping[str, str] = field(default_factory=dict)
    """`provider:name` by tier, instead of the configured models. Applies to turns, not to workflows."""
    roles: tuple[str, ...] = ("chat",)
    """Conversations with other roles are not part of the trial."""
    share: int = 10
    """Percent of users at the start."""


VARIANTS: tuple[Variant, ...] = (Variant(name="brief", since=date(2026, 11, 24), prompts={"chat": "default-12-brief"}),)
