"""The thresholds of reconciliation on the set that they were tuned on."""

from pathlib import Path

import pytest
import yaml

from infra.local.model_brain import embedding
from qwestly_agent.clients.embeddings import DIMENSIONS
from qwestly_agent.memory.checking import hash_of
from qwestly_agent.memory.extraction import Kept
from qwestly_agent.memory.forgetting import hashed, names_to_keep, was_forgotten
from qwestly_agent.memory.model import Memory, Source
from qwestly_agent.memory.reconciliation import is_grey
from qwestly_agent.settings import Settings
from qwestly_agent.stores.memories import Near, Tombstone

PAIRS = yaml.safe_load((Path(__file__).parent / "matters.yaml").read_text())
SETTINGS = Settings("mongodb://127.0.0.1", "none")


def cosine(one: str, other: str) -> float:
    return sum(x * y for x, y in zip(embedding(one, DIMENSIONS), embedding(other, DIMENSIONS), strict=True))


def is_asked_about(one: str, other: str) -> bool:
    found = Kept(
        type="fact",
        content=other,
        quote=other,
        trust="user_said",
        importance=0.5,
        confidence=1,
        sensitive=False,
        said_at=0,
        source=Source(),
    )
    near = Near(Memory(id="m", type="fact", content=one), cosine(one, other))
    return is_grey(found, near, SETTINGS.memory_grey_from)


@pytest.mark.parametrize(("one", "other"), PAIRS["same"] + PAIRS["changed"])
def test_what_may_be_one_matter_is_asked_about(one: str, other: str) -> None:
    assert is_asked_about(one, other)


@pytest.mark.parametrize(("one", "other"), PAIRS["apart"])
def test_what_is_plainly_another_matter_is_not(one: str, other: str) -> None:
    assert not is_asked_about(one, other)


def of(text: str, candidate: str) -> bool:
    """Whether the candidate is what the text was, which is forgotten."""
    names = hashed("u", names_to_keep(text, ()))
    stone = Tombstone("t", hash_of(text), names, cosine(text, candidate))
    return was_forgotten("u", candidate, [stone], SETTINGS.memory_forgotten_from)


@pytest.mark.parametrize(("one", "other"), [*PAIRS["changed"], *PAIRS["apart"]])
def test_forgetting_one_matter_forgets_no_other(one: str, other: str) -> None:
    assert of(one, one)
    assert not of(one, other)
