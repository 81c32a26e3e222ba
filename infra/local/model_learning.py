"""A rule-based learning guide and lesson writer for the scripted model; it uses the library's own sentences."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qwestly_agent.learning.phrases import extract_name
from qwestly_agent.learning.tree import SHORTEST_NEAR

_STATE = re.compile(r"<learning>(?P<text>.*?)</learning>", re.DOTALL)
_SUBJECT = re.compile(r"(?P<subject>[^;()]+) \((?P<topics>[^()]*)\)")
_PAGE = re.compile(
    r"^\[(?P<id>[a-z0-9-]+/[a-z0-9-]+)\][^\n]*\n(?P<text>.*?)(?=^\[[a-z0-9-]+/|</known>|\Z)", re.M | re.S
)
_SAID = re.compile(r"<said>(?P<text>.*?)</said>", re.DOTALL)
_NUMBERED = re.compile(r"^(?P<number>\d+)\. (?P<text>.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?](?=\s|$)")
_ASKS = re.compile(r"\b(?:ask for|require|need|expect|looking for|you have|you bring)\b", re.IGNORECASE)
_LONGEST = 180
_MOST_A_POINT = 4
_QUESTIONS = (
    "What would you like to learn?",
    "Which skill would help you this week?",
    "Is there something that you would like to do better?",
    "Name a field or a skill, and we look at what there is.",
)

Object = dict[str, Any]


def guide(texts: Sequence[str]) -> Any:
    """Offer the topic that the user names; ask which topic for a subject; otherwise ask what to learn."""
    said, _, rest = texts[0].partition("<learning>")
    name = extract_name(said)
    if not name or "They name nothing to learn" in rest:
        return _QUESTIONS[(len(texts) - 1) % len(_QUESTIONS)]
    state = _STATE.search(texts[0])
    for found in _SUBJECT.finditer(state["text"].partition("library:")[2] if state else ""):
        subject, topics = found["subject"].strip(), [each.strip() for each in found["topics"].split(",")]
        if name == subject.casefold():
            return f"{subject} is broad. Which part of it: {', '.join(topics)}?"
        for topic in topics:
            if name == topic.casefold() or (len(name) >= SHORTEST_NEAR and name in topic.casefold()):
                return {"confirm_with_user": {"about": topic, "question": f"Shall we begin with “{topic}”?"}}
    about = name.capitalize()
    question = f"The library has nothing on “{about}”. Shall I write what is generally known of it?"
    return {"confirm_with_user": {"about": about, "question": question}}


def read_granularity(texts: Sequence[str]) -> Object:
    found = _SAID.search(texts[0])
    name = extract_name(found["text"]) if found else ""
    return {
        "granularity": "topic" if name else "nothing",
        "understood_as": name,
        "reason": "It sounds like one skill." if name else "It names nothing to learn.",
    }


def outline_lesson(texts: Sequence[str]) -> Object:
    """Return the headings of the first page."""
    [(_, text), *_] = [*_pages(texts[0]), ("", "")]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return {"points": ["What it is for", *headings][:5] if headings else ["What it is for", "How it is done"]}


def write_lesson(texts: Sequence[str]) -> Object:
    """Return the sentences of the first page verbatim, each under its heading."""
    [(page, text), *_] = [*_pages(texts[0]), ("", "")]
    written = [
        {"point": point, "text": each, "quotes": [{"source": page, "text": each}]}
        for point, part in enumerate(re.split(r"^## .+$", text, flags=re.MULTILINE))
        for each in _sentences(part)[:_MOST_A_POINT]
        if point < 5
    ]
    unknown = (
        "It is a field of its own, with words of its own.",
        "A first step is to explain it to somebody else.",
        "A second step is to use it once within a week.",
    )
    return {"sentences": written or [{"point": n % 2, "text": each} for n, each in enumerate(unknown)]}


def ask_about_lesson(texts: Sequence[str]) -> Object:
    sentences = [(int(each["number"]), each["text"]) for each in _NUMBERED.finditer(texts[0])]
    step = max(1, len(sentences) // 3)
    questions = [
        {
            "text": f"What does the lesson say? (“{' '.join(text.split()[:3])} …”)",
            "options": [[text, "The opposite of it.", "Nothing of the kind."][(place + n) % 3] for place in range(3)],
            "right": -n % 3,
            "sentence": number,
        }
        for n, (number, text) in enumerate(sentences[::step][:3])
    ]
    return {"questions": questions}


def find_gaps(texts: Sequence[str]) -> Object:
    """Return the first sentences of three pages of different topics."""
    pages = {page.partition("/")[0]: (page, text) for page, text in reversed([*_pages(texts[0])])}
    gaps = [
        {
            "title": topic.replace("-", " ").capitalize(),
            "topic": topic.replace("-", " "),
            "need": sentence,
            "need_quotes": [{"source": page, "text": sentence}],
        }
        for topic, (page, text) in reversed(pages.items())
        for sentence in _sentences(text)[:1]
    ]
    asked = _sentences(html.unescape(texts[0].partition("<adverts>")[2].partition("</adverts>")[0]))
    wanted = [each for each in asked if _ASKS.search(each)]
    if asked:  # a gap for each requirement of the posting
        gaps = [
            {**gap, "requirement": sentence, "requirement_quote": sentence}
            for gap, sentence in zip(gaps, wanted, strict=False)
        ]
    return {"gaps": gaps[:3]}


def _pages(prompt: str) -> Iterator[tuple[str, str]]:
    known = prompt.partition("<known>")[2]
    yield from ((each["id"], each["text"]) for each in _PAGE.finditer(known))


def _sentences(text: str) -> list[str]:
    plain = (re.sub(r"^(?:[-*]|\d+\.) +", "", line) for line in text.splitlines() if not line.startswith("#"))
    found = (each.group().strip() for line in plain for each in _SENTENCE.finditer(line))
    return [each for each in found if 20 < len(each) <= _LONGEST and "*" not in each]


OF_LEARNING: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "ask_about_lesson": ask_about_lesson,
    "find_gaps": find_gaps,
    "guide": guide,
    "outline_lesson": outline_lesson,
    "read_granularity": read_granularity,
    "write_lesson": write_lesson,
}
