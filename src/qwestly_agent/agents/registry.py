"""The designs by name. A conversation keeps the one it began with."""

from qwestly_agent.agents.base import Design
from qwestly_agent.agents.default import design as default
from qwestly_agent.base.errors import InvalidSettings

DESIGNS: dict[str, Design] = {design.name: design for design in (default.DESIGN,)}


def find_design(name: str) -> Design:
    """Return the design of this name. Raises `InvalidSettings`, which lists the known names."""
    if name not in DESIGNS:
        raise InvalidSettings(f"There is no agent design {name!r}; the known ones are: {', '.join(sorted(DESIGNS))}.")
    return DESIGNS[name]
