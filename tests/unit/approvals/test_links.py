"""Rate limits of the pages."""

import pytest

from qwestly_agent.approvals import links
from qwestly_agent.approvals.links import Limits, LinkRateExceeded


def test_each_link_and_each_source_is_counted_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_A_MINUTE", 3)
    limits = Limits()
    for number in range(3):
        limits.count(0, f"link {number}", "from one")
    with pytest.raises(LinkRateExceeded):
        limits.count(0, "link 4", "from one")
    limits.count(0, "link 4", "from two")


def test_the_limit_resets_every_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_A_MINUTE", 1)
    limits = Limits()
    limits.count(59.9, "link")
    with pytest.raises(LinkRateExceeded):
        limits.count(59.9, "link")
    limits.count(60, "link")


def test_the_limiters_memory_is_bounded_and_late_sources_share_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "MOST_REMEMBERED", 10)
    monkeypatch.setattr(links, "MOST_A_MINUTE", 100)
    limits = Limits()
    for number in range(110):
        limits.count(0, f"from {number}")
    assert len(limits.asked) == 11
    with pytest.raises(LinkRateExceeded):
        limits.count(0, "from 111")
    limits.count(0, "from 3")
