"""The difference of two texts, word by word."""

from qwestly_agent.approvals.view import diff_words, most_similar


def marked(before: str, after: str) -> tuple[str, str]:
    old, new = diff_words(before, after)
    return tuple("".join(f"[{each.text}]" if each.differs else each.text for each in side) for side in (old, new))  # type: ignore[return-value]


def test_words_in_only_one_text_are_marked_and_both_stay_complete() -> None:
    assert marked("Led a team of five in Leeds", "Led a team of eight in Leeds, remote") == (
        "Led a team of [five] in [Leeds]",
        "Led a team of [eight] in [Leeds, remote]",
    )
    assert marked("Led a team", "Led  a team") == ("Led a team", "Led  a team")
    assert marked("one\ntwo three", "one\ntwo") == ("one\ntwo [three]", "one\ntwo")


def test_dissimilar_and_very_long_texts_are_not_marked() -> None:
    assert marked("Product Manager", "Builds what she plans") == ("Product Manager", "Builds what she plans")
    long = "word " * 3_000
    assert marked(long, long + "more") == (long, long + "more")


def test_the_line_with_most_common_words_is_found() -> None:
    others = ["Led a team of five", "Built the shop", "Speaks French"]
    assert most_similar("Led a team of eight", others) == "Led a team of five"
    assert most_similar("Has a degree", others) is None
    assert most_similar("Has a degree", []) is None
