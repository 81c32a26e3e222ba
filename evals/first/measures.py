"""Promises, and what to change first where one is broken (`measures.yaml`)."""

from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter

from infra.local.environment import SafeLoader

FILE = Path(__file__).parent / "measures.yaml"


class Measure(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    says: str
    change: str
    least: float | None = None


def load() -> list[Measure]:
    """Return the measures in the order in which they are mended."""
    read = yaml.load(FILE.read_text(encoding="utf-8"), SafeLoader)  # noqa: S506
    return TypeAdapter(list[Measure]).validate_python(read)
