"""Messages written by somebody who had not read the grammar, and how the code decides them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from evals.plain_words import failures, is_done

WORDS = Path(__file__).parents[2] / "evals" / "words"


def cases_of(kind: str) -> list[dict[str, Any]]:
    return yaml.safe_load((WORDS / f"{kind}.yaml").read_text())


@pytest.mark.parametrize("kind", ["unclear", "story"])
def test_an_unclear_text_decides_nothing_and_a_story_stops_nothing(kind: str) -> None:
    assert failures(cases_of(kind), kind) == []


def test_95_of_100_plain_answers_are_decisive() -> None:
    cases = cases_of("plain")
    assert len(failures(cases, "plain")) <= len(cases) * 0.05


def test_unclear_orders_are_not_executed_and_80_of_100_plain_ones_are() -> None:
    done = {plain: [is_done(each) for each in cases_of("orders") if each["plain"] is plain] for plain in (True, False)}
    assert not any(done[False])
    assert sum(done[True]) >= len(done[True]) * 0.8
