"""Obvious scams and forbidden demands cause a warning in the advert's own words, and ordinary adverts cause none."""

import pytest

from infra.local.adverts import postings
from qwestly_agent.domain.job import Advert
from qwestly_agent.jobs.warnings import warnings_of
from tests.unit.jobs.advert_texts import ORDINARY, WARNED


def advert(text: str) -> Advert:
    return Advert(id="adzuna:1", title="Baker", text=text, board="adzuna")


@pytest.mark.parametrize(("kind", "sentence"), WARNED)
def test_an_obvious_scam_or_illegal_demand_is_reported_with_its_sentence(kind: str, sentence: str) -> None:
    text = f"We bake bread. {sentence} Come and see."
    told = {each.kind: each.quote for each in warnings_of(advert(text))}
    assert told[kind] == sentence
    assert all(quote in text for quote in told.values())


@pytest.mark.parametrize("sentence", ORDINARY)
def test_an_ordinary_sentence_causes_no_warning(sentence: str) -> None:
    assert warnings_of(advert(sentence)) == ()


def test_the_demo_adverts_cause_no_warnings() -> None:
    assert not [each for posting in postings() for each in warnings_of(advert(posting.text))]
