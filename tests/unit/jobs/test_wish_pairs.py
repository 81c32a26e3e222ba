"""A wish and an advert as its board sends it: a match is shown, and a clear mismatch is hidden."""

import pytest

from qwestly_agent.clients.job_adverts import from_adzuna, from_jsearch
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.jobs.wishes import excluding_wish
from tests.unit.jobs.wish_pairs import PAIRS, Pair

NOW = 1_795_780_000.0


@pytest.mark.parametrize("pair", PAIRS, ids=lambda each: f"{each.advert.get('title') or each.advert.get('job_title')}")
def test_an_advert_is_shown_unless_a_wish_clearly_rules_it_out(pair: Pair) -> None:
    advert = from_adzuna(pair.advert, "de", NOW) if pair.board == "adzuna" else from_jsearch(pair.advert, NOW)
    hidden_by = "its end" if advert.has_ended(NOW) else excluding_wish(advert, JobWishes(**pair.wishes))
    assert (hidden_by is None) == pair.is_shown, hidden_by
