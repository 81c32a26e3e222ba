"""A typed LinkedIn address is parsed completely or not at all."""

import pytest

from qwestly_agent.agents.tools.changes import _typed


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("(https://linkedin.com/in/ok-1).", "https://linkedin.com/in/ok-1"),
        ("https://www.linkedin.com/in/ok2/?x=1 yes", "https://www.linkedin.com/in/ok2"),
        ("mine is https://www.linkedin.com/in/josé-garcia", None),
        ("https://www.linkedin.com/in/max.mustermann", None),
        ("https://evil.example/?r=https://linkedin.com/in/mallory", None),
        ("https://linkedin.com/in/a" + "b" * 250, None),
        ("https://linkedin.com/in/anna@evil", None),
    ],
)
def test_a_typed_address_is_parsed_completely_or_not_at_all(text: str, address: str | None) -> None:
    assert _typed((text,)) == address
