"""Parts of a message that a draft's writer reads as the person's own words."""

import pytest

from qwestly_agent.text.user_text import typed_in

SAID = "We moved the archive of the county library into one catalogue. "


@pytest.mark.parametrize("length", [10, 1_600, 5_000, 19_000])
def test_a_long_answer_is_read_completely(length: int) -> None:
    answer = (SAID * (length // len(SAID) + 1)).strip()
    assert typed_in(answer) == answer


@pytest.mark.parametrize(
    "paste",
    [
        "From: Ada <ada@quill.example>\nSubject: Offer\n\n" + SAID * 40,
        "```\n" + SAID * 40 + "\n```",
        "> " + SAID * 40,
        "“" + SAID * 40 + "”",
    ],
)
def test_a_paste_is_recognized_by_its_form_at_any_length(paste: str) -> None:
    assert "catalogue" not in typed_in(paste)
