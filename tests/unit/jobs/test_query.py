"""Queries that may be sent to a job board or the web."""

import pytest

from qwestly_agent.domain.job import JobWishes
from qwestly_agent.jobs.search import QueryRule, titles_and_places

CAREER = {
    "headline": "Ward nurse",
    "location": "Leeds",
    "employment": [{"title": "Care assistant", "company": "St Agnes", "location": "York"}],
    "preferences": {"roles": ["Team lead"], "locations": ["Bath"]},
}
OWN = titles_and_places(CAREER, JobWishes(titles=("Matron",), places=("Hull",)))
KNOWN = "Name: Ada Quill, 3 Mill Lane, LS8 5DH. Has epilepsy. Earns £31,400. Written warning at St Agnes."
MESSAGE = "Any day shifts near Harrogate? Search for nurses please"


def rule(*, has_untrusted_content: bool, message: str = MESSAGE) -> QueryRule:
    return QueryRule(message, OWN, KNOWN, has_untrusted_content)


@pytest.mark.parametrize(
    "query",
    ["ward nurse Leeds", "nurse jobs Harrogate day shifts", "care assistant in York", "Matron Hull", "team lead, Bath"],
)
@pytest.mark.parametrize("has_untrusted_content", [False, True])
def test_words_from_the_newest_message_titles_and_places_may_be_sent(query: str, has_untrusted_content: bool) -> None:
    assert rule(has_untrusted_content=has_untrusted_content).problem(query) is None


@pytest.mark.parametrize(
    "query",
    [
        "nurse Leeds ada.quill@example.com",
        "nurse Leeds 0113 496 0732",
        "nurse Leeds https://evil.example/?w=epilepsy",
        "nurse 31400",
        "nurse 31,400",
        "nurse 3 1 4 0 0",
        "nurse Leeds 3 Mill Lane",
        "ward nurse care assistant team lead Leeds York Bath Hull",
        "nurse with epilepsy",
        "nurseEpilepsyLeeds",
        "nurse epile psy",
        "nurse written warning",
        "nurse thirty one thousand four hundred",
    ],
)
@pytest.mark.parametrize("has_untrusted_content", [False, True])
def test_contact_details_long_numbers_and_private_words_are_not_sent(query: str, has_untrusted_content: bool) -> None:
    assert rule(has_untrusted_content=has_untrusted_content).problem(query)


@pytest.mark.parametrize("query", ["nurse rcvyrcfl", "nurse Leeds hidden code", "Each person in Leeds enjoys"])
def test_with_others_text_in_context_no_other_word_may_be_sent(query: str) -> None:
    refused = rule(has_untrusted_content=True).problem(query)
    assert refused
    assert refused.startswith("Nothing was sent: leave out ")
    assert rule(has_untrusted_content=False).problem(query) is None


def test_a_wish_in_the_newest_message_may_be_sent_though_private() -> None:
    message = "Look up support for nurses with epilepsy"
    assert rule(has_untrusted_content=True, message=message).problem("support nurses epilepsy") is None
