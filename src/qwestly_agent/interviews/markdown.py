"""The draft of an interview as Markdown, the differences between versions, and the closing list."""

from collections.abc import Mapping

from qwestly_agent.domain.interview import DraftSentence, Interview

_COVERED: Mapping[str, tuple[str, str]] = {
    "de": ("Was besprochen ist", "Was offen bleibt"),
    "es": ("Lo que está hablado", "Lo que queda abierto"),
    "fr": ("Ce qui est dit", "Ce qui reste ouvert"),
    "pt": ("O que foi dito", "O que fica em aberto"),
}
_IN_ENGLISH = ("What is covered", "What is still open")


def draft_markdown(interview: Interview, version: int | None = None) -> str:
    """Render the newest or an older version: a heading for each topic, a line for each statement."""
    at = interview.version if version is None else version
    there = [each for each in interview.statements if each.since <= at and (each.until is None or each.until > at)]
    lines = list[str]()
    for topic in dict.fromkeys(each.topic for each in there):
        lines += ["", f"## {topic}", "", *(f"- {each.text}" for each in there if each.topic == topic)]
    head = ["---", f"version: {at}", f"topics: {len(interview.topics)}", f"completeness: {interview.completeness:.0%}"]
    return "\n".join([*head, "---", *lines, ""])


def difference(interview: Interview, version: int) -> tuple[list[DraftSentence], list[DraftSentence]]:
    """Return the statements that this version added, and those that it dropped or replaced."""
    added = [each for each in interview.statements if each.since == version]
    return added, [each for each in interview.statements if each.until == version]


def covered_so_far(interview: Interview) -> list[dict[str, object]]:
    """Return each aspect that is not open, with its quotes."""
    return [
        {"topic": topic.title, "aspect": aspect.name, "quotes": [each.text for each in aspect.quotes]}
        for topic in interview.topics
        for aspect in topic.aspects
        if aspect.status != "open"
    ]


def closing_list(interview: Interview, language: str) -> str:
    """List the covered aspects with a quote each, and the open ones; empty if nothing was talked about."""
    covered, still_open = _COVERED.get(language, _IN_ENGLISH)
    told = [
        f"- *{topic.title}*, {aspect.name}: “{aspect.quotes[0].text}”"
        for topic in interview.topics
        for aspect in topic.aspects
        if aspect.status != "open" and aspect.quotes
    ]
    missing = [f"- *{topic.title}*: {aspect.name}" for topic in interview.topics for aspect in topic.open_aspects]
    parts = [(covered, told), (still_open, missing)]
    return "\n\n".join(f"**{heading}**\n\n" + "\n".join(lines) for heading, lines in parts if lines)
