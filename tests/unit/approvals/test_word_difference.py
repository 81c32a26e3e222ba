"""The difference of two texts, word by word."""

from qwestly_agent.approvals.view import diff_words, most_similar


def marked(before: str, after: str) -> tuple[str, str]:
    old, new = diff_words(before, after)
    return tuple("".join(f"[{each.text}]" if each.differs else each.text for each in side) for side in (old, new))  # type: ignore[return-value]


def test_the_words_that_only_one_text_has_are_marked_and_both_stay_whole() -> None:
    assert marked("Led a team of five in Leeds", "Led a team of eight in Leeds, remote") == (
        "Led a team of [five] in [Leeds]",
        "Led a team of [eight] in [Leeds, remote]",
    )
    assert marked("Led a team", "Led  a team") == ("Led a team", "Led  a team")
    assert marked("one\ntwo three", "one\ntwo") == ("one\ntwo [three]", "one\ntwo")


def test_texts_with_little_in_common_and_very_long_ones_have_no_marks() -> None:
    assert marked("Product Manager", "Builds what she plans") == ("Product Manager", "Builds what she plans")
    long = "word " * 3_000
    assert marked(long, long + "more") == (long, long + "more")


def test_the_line_that_has_most_words_in_common_is_found() -> None:
    others = ["Led a team of five", "Built the shop", "Speaks French"]
    assert most_similar("Led a team of eight", others) == "Led a team of five"
    assert most_similar("Has a degree", others) is None
    assert most_similar("Has a degree", []) is None
