"""Weights learned from thumbs, and their display."""

import random

import pytest

from qwestly_agent.domain.job import Advert, JobWishes, Verdict
from qwestly_agent.jobs.wishes import MOST, MOST_OF_ALL, describe_weights, learn, learned_weight

ENGINEER = Advert(id="1", title="Senior Backend Engineer", company="Kestrel Labs", board="adzuna", way="remote")
NURSE = Advert(id="2", title="Registered Nurse", company="Harbour Health", board="adzuna")


def test_a_thumb_moves_what_is_like_it_and_nothing_else() -> None:
    weights = learn([(ENGINEER, "up")], JobWishes())
    assert learned_weight(weights, ENGINEER) > 0
    assert learned_weight(weights, NURSE) == 0
    assert [says for says, _ in describe_weights(weights)] == [
        "More jobs at kestrel labs",
        "More remote jobs",
        "More jobs with “backend” in the title",
        "More jobs with “engineer” in the title",
    ]


def test_not_this_kind_says_nothing_of_the_company() -> None:
    weights = learn([(ENGINEER, "not_this_kind")], JobWishes())
    assert set(weights) == {"title:backend", "title:engineer"}
    assert learned_weight(weights, ENGINEER) < 0


def test_no_thumb_teaches_anything_about_the_titles_that_one_looks_for() -> None:
    weights = learn([(ENGINEER, "not_this_kind")], JobWishes(titles=("Engineer", "Product Manager")))
    assert set(weights) == {"title:backend"}
    assert learn([(ENGINEER, "down")], JobWishes(titles=("Backend Engineer",), remote="only")) == {
        "company:kestrel labs": -0.1
    }


@pytest.mark.thorough
def test_thumbs_teach_the_same_in_any_order_and_no_feature_and_no_job_moves_by_more_than_its_bound() -> None:
    chance = random.Random(1)
    verdicts: list[Verdict] = ["up", "down", "not_this_kind"]
    every: list[tuple[Advert, Verdict]] = [(advert, verdict) for advert in (ENGINEER, NURSE) for verdict in verdicts]
    for count in range(200):
        given = chance.choices(every, k=count)
        weights = learn(given, JobWishes())
        assert weights == learn(chance.sample(given, count), JobWishes())
        assert all(0 < abs(each) <= MOST for each in weights.values())
        assert abs(learned_weight(weights, ENGINEER)) <= MOST_OF_ALL
    assert learn([(ENGINEER, "up"), (ENGINEER, "down")], JobWishes()) == {}
