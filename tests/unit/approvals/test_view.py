"""The display of values and differences, and which texts are links."""

from typing import Any

import pytest

from qwestly_agent.approvals.mail import MOST_ATTEMPTS, TRY_AGAIN_SECONDS, _claim, kind_of, reminder_time
from qwestly_agent.approvals.unasked import MOST_CHARACTERS, is_short_and_typed
from qwestly_agent.approvals.view import (
    LEAST_ALIKE,
    MOST_WORDS,
    approval_view,
    diff_words,
    format_or_none,
    format_value,
    most_similar,
    public_url,
    with_differences,
)
from qwestly_agent.domain.approval import Preview, ShownClaim, ShownSection
from tests.unit.approvals.test_moves import record_of


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, ""),
        ("Porto", "Porto"),
        (["Porto", "Ulm"], "Porto; Ulm"),
        (["Porto; north", "Ulm"], "“Porto; north”; Ulm"),
        ({"school": "Ulm", "degree": None, "year": 2001}, "Ulm, 2001"),
        ({"school": "Ulm, north", "year": 2001}, "“Ulm, north”, 2001"),
        ([{"school": "Ulm", "year": 2001}], "Ulm, 2001"),
        (7.0, "7"),
        (7.5, "7.5"),
        (0.0, "0"),
        ("a\u202eb", "ab"),
    ],
)
def test_a_value_is_shown_on_one_line(value: Any, shown: str) -> None:
    assert format_value(value) == shown
    assert format_or_none(value) == (shown or None)


def test_words_are_compared_up_to_a_length_and_above_a_similarity() -> None:
    long = "word " * MOST_WORDS
    assert any(each.differs for each in diff_words(long, f"other {long[5:]}")[1])
    assert not any(each.differs for each in diff_words(f"{long}more", f"{long}less")[1])
    before, after = diff_words("a b c", "a x y z")
    assert LEAST_ALIKE > 2 / 7
    assert not any(each.differs for each in (*before, *after))
    before, after = diff_words("a b c", "a x y")
    assert LEAST_ALIKE < 2 / 6
    assert [each.text for each in before if each.differs] == ["b c"]
    assert [each.text for each in after if each.differs] == ["x y"]


@pytest.mark.parametrize(("text", "found"), [("a b c d", "a b x y"), ("a c d e", None), ("", None), ("p q", "p q")])
def test_the_most_similar_text_shares_at_least_half_of_the_words(text: str, found: str | None) -> None:
    assert most_similar(text, ["a b x y", "p q"]) == found
    assert most_similar(text, []) is None


@pytest.mark.parametrize(
    ("effect", "url", "shown"),
    [
        ("outward", "https://qwestly.example/c/1", "https://qwestly.example/c/1"),
        ("outward", "http://127.0.0.1:8000/c/1", "http://127.0.0.1:8000/c/1"),
        ("outward", "http://evil.example", None),
        ("outward", "javascript:alert(1)", None),
        ("outward", "", None),
        ("write", "https://qwestly.example/c/1", None),
    ],
)
def test_only_public_addresses_are_shown(effect: str, url: str, shown: str | None) -> None:
    record = record_of("done", effect=effect, result={"url": url} if url else {})
    assert public_url(record) == approval_view(record).link == shown


def test_a_pending_view_lists_editable_fields_unless_frozen() -> None:
    pending, done = record_of("pending", editable=("value",)), record_of("done", editable=("value",))
    assert (approval_view(pending).editable, approval_view(done).editable) == (["value"], [])
    assert (approval_view(pending, is_paused=True).status, approval_view(done, is_paused=True).status) == (
        "frozen",
        "done",
    )


def test_a_pending_view_says_why_no_mail_is_sent() -> None:
    assert "came back" in (approval_view(record_of("pending", returned_as="bounce")).mail_problem or "")
    assert "spam" in (approval_view(record_of("pending", returned_as="complaint"), is_paused=True).mail_problem or "")
    assert approval_view(record_of("done", returned_as="bounce")).mail_problem is None
    assert approval_view(record_of("pending")).mail_problem is None


def test_a_later_round_shows_which_values_and_lines_differ() -> None:
    def preview_of(*lines: str) -> Preview:
        section = ShownSection(heading="Work", claims=tuple(ShownClaim(text=each) for each in lines))
        return Preview(title="Publish", sections=(section,))

    earlier = record_of("revised", shown={"a": "1", "b": "2"}, preview=preview_of("Built boats", "Sold boats"))
    now = with_differences(preview_of("Built boats", "Sank boats"), {"a": "1", "c": "3"}, earlier)
    assert now.difference == (
        "b was “2” and is “empty” now.",
        "c was “empty” and is “3” now.",
        "New: “Sank boats”",
        "Gone: “Sold boats”",
    )


# --- mail -------------------------------------------------------------------------------------------------------------


def test_the_reminder_is_sent_after_half_of_the_time() -> None:
    record = record_of("pending", created_at=100.0, expires_at=300.0)
    assert reminder_time(record) == 200.0
    assert (kind_of(record, 199.9), kind_of(record, 200.0)) == ("questions", "reminders")


def test_a_failed_mail_is_retried_with_backoff_at_most_five_times() -> None:
    record, waits = record_of("pending"), []
    for number in range(MOST_ATTEMPTS):
        record = _claim(record, [f"l{number}"], 1_000.0)
        waits.append(record.mail_at and record.mail_at - 1_000.0)
    assert waits == [*TRY_AGAIN_SECONDS, None]
    assert (record.mails, len(record.links)) == (MOST_ATTEMPTS, MOST_ATTEMPTS)


# --- what may run unasked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_typed"),
    [
        ("", False),
        (" \n ", False),
        ("x", True),
        ("x" * MOST_CHARACTERS, True),
        (f" {'x' * MOST_CHARACTERS} ", True),
        ("x" * (MOST_CHARACTERS + 1), False),
        ("one\ntwo", True),
        ("one\n\ntwo", True),
        ("one\ntwo\nthree", False),
        ("one\n> two", False),
    ],
)
def test_only_a_short_typed_message_can_run_an_action_without_confirmation(text: str, is_typed: bool) -> None:
    assert is_short_and_typed(text) is is_typed
