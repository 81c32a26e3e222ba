"""Notes of the scripted model: what sentences say about their user, by a closed grammar, and how two notes relate.

A sentence outside the grammar gives no note: questions, requests to the agent, orders, and statements about others give
none.
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Object: TypeAlias = dict[str, Any]

_MONTHS = re.findall(r"\w+", "January February March April May June July August September October November December")
_X = r"(?P<x>[^?]+?)"
_VERBS = "live|work|speak|eat|drink|travel|drive|have|need"
_PAST = r"led|left|built|ran|cut|grew|won|wrote|made|took|taught|sold|sat|set|began|brought|went|\w+ed"
_WRITTEN = "(?:you write|something is written)"
_SINCE = rf"(?P<month>{'|'.join(_MONTHS)}) (?P<year>(?:19|20)\d\d)"
_STATEMENTS: Sequence[tuple[str, str, str]] = (
    (rf"I moved (?:from .+? )?to {_X} in {_SINCE}", "fact", "Lives in {x}."),
    (rf"I(?:'ve| have)? (?:moved|relocated) (?:from .+? )?to {_X}", "fact", "Lives in {x}."),
    (rf"I(?: now| currently)?(?: live|'m based| am based|'m living| am living) in {_X}", "fact", "Lives in {x}."),
    (rf"I(?: have|'ve)? decided {_X}", "decision", "Decided {x}."),
    (r"I(?: want| hope| plan| intend| would like|'d like| would love|'d love) (?P<x>to [^?]+?)", "goal", "Wants {x}."),
    (rf"I want out of {_X}", "goal", "Wants out of {x}."),
    (rf"My goal is {_X}", "goal", "Wants {x}."),
    (rf"I (?:don't|do not) want {_X}", "preference", "Does not want {x}."),
    (rf"I (?:don't|do not) like {_X}", "preference", "Does not like {x}."),
    (rf"I (?:don't|do not) (?P<v>{_VERBS}) ?(?P<x>[^?]*?)", "fact", "Does not {v} {x}."),
    (rf"I (?:can't|cannot|can not) {_X}", "constraint", "Cannot {x}."),
    (rf"I (?:won't|will not) {_X}", "constraint", "Will not {x}."),
    (rf"I need {_X}", "constraint", "Needs {x}."),
    (rf"I (?:prefer|like) {_X} when {_WRITTEN} about me", "preference", "Prefers {x} when written about."),
    (rf"I prefer {_X}", "preference", "Prefers {x}."),
    (rf"I like {_X}", "preference", "Likes {x}."),
    (rf"I love {_X}", "preference", "Loves {x}."),
    (rf"I hate {_X}", "preference", "Hates {x}."),
    (rf"I speak {_X}", "skill", "Speaks {x}."),
    (rf"I know {_X}", "skill", "Knows {x}."),
    (rf"I can {_X}", "skill", "Can {x}."),
    (rf"I work {_X}", "experience", "Works {x}."),
    (rf"I lead {_X}", "experience", "Leads {x}."),
    (rf"I manage {_X}", "experience", "Manages {x}."),
    (rf"I run {_X}", "experience", "Runs {x}."),
    (rf"I earn {_X}", "fact", "Earns {x}."),
    (rf"I rent {_X}", "fact", "Rents {x}."),
    (rf"I was {_X}", "experience", "Was {x}."),
    (rf"I have {_X}", "fact", "Has {x}."),
    (rf"(?:I am|I'm) {_X}", "fact", "Is {x}."),
    (rf"I (?P<v>{_PAST}) {_X}", "experience", "{v} {x}."),
    (rf"Ich (?:wohne|lebe) in {_X}", "fact", "Wohnt in {x}."),
    (rf"Ich arbeite {_X}", "experience", "Arbeitet {x}."),
    (rf"Ich spreche {_X}", "skill", "Spricht {x}."),
    (rf"Vivo en {_X}", "fact", "Vive en {x}."),
    (rf"Trabajo {_X}", "experience", "Trabaja {x}."),
)  # fmt: skip
_GRAMMAR = [(re.compile(pattern, re.IGNORECASE), kind, content) for pattern, kind, content in _STATEMENTS]
_OWN_THINGS = (
    "name|notice|notice period|degree|diploma|profession|trade|job|role|title|salary|visa|mother tongue|"
    "native language|first language|language|languages|birthday|dog|cat|child|children|daughter|son|wife|"
    "husband|partner|family|skills|"
    "strength|strengths|weakness|experience|background|hobby|hobbies|home|address|commute|contract|employer|team"
)
_MY = re.compile(
    rf"My (?:\w+ ){{0,2}}(?:{_OWN_THINGS})\b(?: \w+)? (?:is|are|was|were|has|have|lives?|works?|ends|runs) [^?]+", re.I
)
_OTHERWISE = re.compile(
    r"\b(?:if|should i|shall i|could i|can i|would you|could you|can you|what|why|how|whether|where do|maybe|perhaps"
    r"|joking|kidding|wish)\b|\byou\b|\?",
    re.IGNORECASE,
)
"""Questions, suppositions and words to the agent: a sentence that contains them is not noted."""
_TO_THE_AGENT = re.compile(
    r"I(?: want|'d like| would like| need)"
    r"(?: to (?:see|know|talk|speak|ask|hear|find|search|get|change|learn)\b| (?:a|an|some|my|the|help|new)\b)"
    r"|I(?:'m| am) (?:looking|searching|sorry|not sure|fine|good|ok|okay|done|back|here|afraid|asking|"
    r"wondering|curious)\b|I (?:asked|meant|said|wanted|wondered|tried) "
    r"|I have (?:a|one|another|no) (?:question|idea|interview)",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"(?:Hi|Hello|And|But|So|Also|Actually|As I said|As I told you|Please note that|By the way)(?:,|:)? (?=I\b|My\b)",
    re.I,
)
_SENSITIVE = re.compile(
    r"\b(?:earn|salary|diagnosed|diabetes|depress\w+|pregnant|illness|disab\w+|cancer|religio\w+|union)\b", re.I
)
_SAID = re.compile(
    r'(?:<asked>(?P<asked>(?:(?!<asked>).)*?)</asked>\s*)?<said id="(?P<id>[^"]*)">(?P<text>.*?)</said>', re.DOTALL
)
_NOTE = re.compile(r'<(?P<tag>new|known)(?: id="(?P<id>[^"]*)")?>(?P<text>.*?)</(?P=tag)>', re.DOTALL)
MOST_SENTENCES = 500
_ENDING = " \t\r\n.!…,;"


def note_of(sentence: str) -> Object | None:
    """Return type, content, start date and sensitivity of what a sentence says about its user; None if it says
    nothing."""
    said = _STARTS.sub("", sentence.replace("’", "'").strip().rstrip(_ENDING), count=1)
    if _OTHERWISE.search(said) or _TO_THE_AGENT.match(said):
        return None
    sensitive = bool(_SENSITIVE.search(said))
    for pattern, kind, content in _GRAMMAR:
        if found := pattern.fullmatch(said):
            names = {name: (value or "").strip() for name, value in found.groupdict().items()}
            written = " ".join(content.format(**names).replace(" .", ".").split())
            month = names.get("month", "").capitalize()
            since = f"{names['year']}-{_MONTHS.index(month) + 1:02}" if month in _MONTHS else None
            text = f"{written[:1].upper()}{written[1:]}"
            return {"type": kind, "content": text, "since": since, "sensitive": sensitive}
    if _MY.fullmatch(said):
        return {"type": "fact", "content": f"{said}.", "since": None, "sensitive": sensitive}
    return None


def extract_notes(texts: Sequence[str]) -> Object:
    """Return a note for each sentence that says something about its user, and for short answers together with their
    question."""
    return {"memories": list(_notes(texts[0]))}


def _notes(prompt: str) -> Iterator[Object]:
    for each in _SAID.finditer(prompt):
        text, asked = html.unescape(each["text"]), html.unescape(each["asked"] or "")
        defaults = {"message_id": each["id"], "importance": 0.6, "confidence": 0.9, "until": None}
        found = [(sentence, note) for sentence in sentences(text) if (note := note_of(sentence))]
        yield from ({**defaults, **note, "quote": sentence} for sentence, note in found)
        if not found and (note := _answered(asked, text)):
            yield {**defaults, **note, "quote": text.strip().rstrip(_ENDING), "confidence": 0.7}


def _answered(asked: str, said: str) -> Object | None:
    """Return what a short answer says in combination with its question."""
    answer, question = said.strip().rstrip(_ENDING), next(reversed(sentences(asked)), "")
    if "?" in said or not question.endswith("?") or len(answer.split()) > 8:
        return None
    if (place := re.search(r"Do you live in (.+)\?$", question)) and re.fullmatch(r"yes|yes, I do", answer, re.I):
        return {"type": "fact", "content": f"Lives in {place[1]}.", "since": None, "sensitive": False}
    if re.search(r"[Ww]here do you live\?$", question):
        return {
            "type": "fact",
            "content": f"Lives in {re.sub('^in ', '', answer, flags=re.I)}.",
            "since": None,
            "sensitive": False,
        }
    if thing := re.search(r"What is your (.+)\?$", question):
        return {"type": "fact", "content": f"My {thing[1]} is {answer}.", "since": None, "sensitive": False}
    return None


_ONE_OF_EACH = ("Lives in ", "Works as ", "Works at ", "Works for ", "Prefers ")


def compare_notes(texts: Sequence[str]) -> Object:
    """Return how pairs relate: the same words, or two values of which only one can be true."""
    related = [_related(known, new, pair_id) for pair_id, known, new in pairs_in(texts[0])]
    return {"verdicts": [each for each in related if each["relation"] != "other"]}


def pairs_in(prompt: str) -> Iterator[tuple[str, str, str]]:
    """Yield each pair: its id, the known note, and the new note, which precedes its known ones."""
    new = ""
    for found in _NOTE.finditer(prompt):
        text = html.unescape(found["text"])
        if found["tag"] == "new":
            new = text
        else:
            yield found["id"], text, new


def _related(known: str, new: str, number: str) -> Object:
    old, fresh = (each.strip().rstrip(_ENDING) for each in (known, new))
    relation = "same" if old.casefold() == fresh.casefold() else "other"
    if relation == "other":
        verbs = [re.match(r"Wants to (\w+) ", each) for each in (old, fresh)]
        moved = old.startswith("Lives in ") and fresh.startswith("I moved ")
        is_one = any(old.startswith(each) and fresh.startswith(each) for each in _ONE_OF_EACH)
        if moved or is_one or (verbs[0] and verbs[1] and verbs[0][1] == verbs[1][1]):
            relation = "contradicts"
    return {"id": number, "quote": old, "new_quote": fresh, "relation": relation}


def sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?…])\s+|\n+", text, maxsplit=MOST_SENTENCES)[:MOST_SENTENCES]
    return [part.strip().rstrip(_ENDING) for part in parts if part.strip(_ENDING)]


# --- wishes in a chat -------------------------------------------------------------------------------------------------


def remember(names: Mapping[str, Any]) -> Object:
    """Call `remember` with the user's statement; do nothing without one."""
    if not (statement := names.get("statement")):
        return {}
    note = note_of(statement) or {"type": "fact", "content": f"{statement}."}
    return {"remember": {"text": note["content"], "quote": names["part"], "type": note["type"]}}


def correct(names: Mapping[str, Any]) -> Object:
    """Call `correct_memory` for the memory that the message mentions; do nothing if no memory has half of its words."""
    found = names["results"].get("query_user_knowledge", {}).get("memories") or []
    said = _content_words(names["part"])
    meant = [each for each in found if _is_half_of(said, _content_words(each.get("content", "")))]
    if not (statement := names.get("statement")) or not meant:
        return {}
    note = note_of(statement) or {"content": f"{statement}."}
    return {"correct_memory": {"memory_id": meant[0]["id"], "text": note["content"], "quote": statement}}


def _is_half_of(said: frozenset[str], told: frozenset[str]) -> bool:
    return bool(told) and len(said & told) * 2 >= len(told)


_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(
    re.findall(r"\w+", "i my me that the a an of in at to for and with about everything am is are was do does")
)


def forget(names: Mapping[str, Any]) -> Object:
    """Propose to forget the memories found that contain most of the words naming them; do nothing if there are none."""
    wanted = _content_words(names.get("what", ""))
    found = names["results"].get("query_user_knowledge", {}).get("memories") or []
    meant = [each["id"] for each in found if "id" in each and _is_meant(wanted, each.get("content", ""))]
    return {"forget_memory": {"memory_ids": meant[:1]}} if meant else {}


def _is_meant(wanted: frozenset[str], content: str) -> bool:
    told = _content_words(content)
    return bool(wanted) and len(wanted & told) * 2 > len(wanted)


def _content_words(text: str) -> frozenset[str]:
    words = [each.casefold() for each in _WORD.findall(text)]
    return frozenset(re.sub(r"(?:ing|ed|es|e|s)$", "", word) for word in words if word not in _COMMON)
