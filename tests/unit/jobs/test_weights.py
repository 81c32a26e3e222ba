"""Weights learned from ratings, and their display."""

import random

import pytest

from qwestly_agent.domain.job import Advert, JobWishes, Verdict
from qwestly_agent.jobs.wishes import MOST, MOST_OF_ALL, describe_weights, learn, learned_weight

ENGINEER = Advert(id="1", title="Senior Backend Engineer", company="Kestrel Labs", board="adzuna", way="remote")
NURSE = Advert(id="2", title="Registered Nurse", company="Harbour Health", board="adzuna")


def test_a_rating_affects_only_similar_jobs() -> None:
    weights = learn([(ENGINEER, "up")], JobWishes())
    assert learned_weight(weights, ENGINEER) > 0
    assert learned_weight(weights, NURSE) == 0
    assert [says for says, _ in describe_weights(weights)] == [
        "More jobs at kestrel labs",
        "More remote jobs",
        "More jobs with “backend” in the title",
        "More jobs with “engineer” in the title",
    ]


def test_not_this_kind_does_not_affect_the_company() -> None:
    weights = learn([(ENGINEER, "not_this_kind")], JobWishes())
    assert set(weights) == {"title:backend", "title:engineer"}
    assert learned_weight(weights, ENGINEER) < 0


def test_no_rating_affects_the_wished_titles() -> None:
    weights = learn([(ENGINEER, "not_this_kind")], JobWishes(titles=("Engineer", "Product Manager")))
    assert set(weights) == {"title:backend"}
    assert learn([(ENGINEER, "down")], JobWishes(titles=("Backend Engineer",), remote="only")) == {
        "company:kestrel labs": -0.1
    }


@pytest.mark.thorough
def test_ratings_are_order_independent_and_bounded_per_feature_and_job() -> None:
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
