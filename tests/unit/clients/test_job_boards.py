"""What an advert of a board may carry to a person."""

import pytest

from qwestly_agent.clients.job_boards import _advert


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://jobs.example/1?a=b", True),
        ("http://jobs.example:8080/1", True),
        ("http://qwestly.com@evil.example/", False),
        ("https://user:pass@evil.example/1", False),
        ("https://evil.example\\@jobs.example/", False),
        ("https:///1", False),
        ("https://[::1", False),
        ("javascript:alert(1)", False),
        (None, False),
    ],
)
def test_a_link_is_a_web_address_without_a_user_name(url: str | None, kept: bool) -> None:
    advert = _advert("adzuna", id="1", title="Baker", text="We bake.", url=url, now=0.0)
    assert advert.url == (url if kept else "")
