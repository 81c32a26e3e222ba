"""What the scripted model makes of people's memories: wishes to remember, forget, correct and explain; what it finds in
a conversation that has ended; and whether two statements are one.

An honest and simple reader, by rule: sentences that a person says of themselves, in English, with "I" or "my".
"""

import html
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Json = Any

REMEMBER, FORGET, CORRECT, EXPLAIN = "remember", "forget_memory", "correct_memory", "explain_memory"
SEARCH = "search_user_memories"
TOOLS = {REMEMBER, FORGET, CORRECT, EXPLAIN}

IS_TO_EXTRACT = "You note what is worth remembering about a person"
IS_TO_COMPARE = "You compare new notes about one person"
"""How requests to extract and to reconcile begin."""

# --- wishes -----------------------------------------------------------------------------------------------------------

_PLEASE = r"^\W*(?:please |could you |can you |would you )*"
_REMEMBER = re.compile(
    rf"{_PLEASE}(?:remember|note|don'?t forget|keep in mind|memori[sz]e)(?: again)?(?: this| that|,|:)*\s+(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_FORGET = re.compile(
    rf"{_PLEASE}forget(?: about| that| the fact that| everything about| what i (?:said|told you|wrote) about)?\s+"
    r"(?P<what>.+)",
    re.IGNORECASE | re.DOTALL,
)
_NEVER_MIND = re.compile(rf"{_PLEASE}forget (?:it|that|this)\W*$", re.IGNORECASE)
_EXPLAIN = re.compile(
    r"\b(?:why|how come|how|where|since when) (?:do|did|would) you (?:know|think|remember|believe|say|have)\b"
    r"(?: (?:that|about))?(?P<what>[^?]*)",
    re.IGNORECASE,
)
_CORRECT = re.compile(
    r"^\W*(?:(?P<what>.*?)\s*\b(?:is|was|are|'s) (?:wrong|not right|not true|incorrect|outdated|no longer true)"
    r"|correct (?:that|this|it|what you know))\W+(?P<new>(?:i|my)\b.+)",
    re.IGNORECASE | re.DOTALL,
)


def call_in(words: str, tools: Collection[str], results: Sequence[tuple[str, str]]) -> dict[str, Any] | None:
    """The next call that a wish asks for, after what was called for it already."""
    words = words.replace("’", "'")
    called = [name for name, _ in results]
    if (found := _CORRECT.search(words)) and CORRECT in tools:
        return _correction(found, called, results)
    if called:
        return None
    for name, arguments in _wishes(words):
        if name in tools:
            return {"name": name, "arguments": arguments}
    return None


def _wishes(words: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if found := _REMEMBER.search(words):
        yield REMEMBER, {"text": _as_content(found["what"])}
    elif (found := _FORGET.search(words)) and not _NEVER_MIND.search(words):
        yield FORGET, {"about": found["what"].strip(" .!")[:500]}
    if found := _EXPLAIN.search(words):
        yield EXPLAIN, {"about": found["what"].strip(" .,!")[:500] or words[:500]}


def _correction(
    found: re.Match[str], called: Sequence[str], results: Sequence[tuple[str, str]]
) -> dict[str, Any] | None:
    """What is wrong is looked for first: only its id says which of all memories is meant."""
    if not called:
        what = "" if (found["what"] or "").lower() in ("that", "this", "it") else found["what"] or ""
        return {"name": SEARCH, "arguments": {"query": f"{what} {found['new']}".strip()[:500]}}
    if called != [SEARCH]:
        return None
    text = _as_content(found["new"])
    for memory in _object_in(results[0][1]).get("memories", []):
        return {"name": CORRECT, "arguments": {"memory_id": memory["id"], "text": text}}
    return {"name": REMEMBER, "arguments": {"text": text}}


def _as_content(words: str) -> str:
    sentence = next(iter(_sentences(words)), words.strip())
    read = _read(sentence)
    return read.content if read else sentence[:1].upper() + sentence[1:]


# --- what became of them ----------------------------------------------------------------------------------------------


def answer_in(name: str, result: str) -> str:
    """What the user is told of a call's result."""
    told = _object_in(result)
    if "error" in told or not told:
        return str(told.get("error") or "That could not be done.")
    if name == FORGET:
        gone = " ".join(f"“{content}”" for content in told.get("forgotten", []))
        return f"Forgotten for good: {gone} What you wrote stays in our conversations until you delete them."
    if name == EXPLAIN:
        return "\n\n".join(map(_why, told.get("memories", []))) or "Nothing is remembered about that."
    return f"I will remember: {told.get('remembered', {}).get('content', 'that')}"


def _why(memory: Mapping[str, Json]) -> str:
    where = f" in “{memory['conversation']}”" if memory.get("conversation") else ""
    said = f" On {memory['said_on']}{where} you wrote: “{memory['quote']}”." if memory.get("said_on") else ""
    return f"“{memory['content']}”{said}{in_full(memory)}"


def in_full(memory: Mapping[str, Json]) -> str:
    """Since when it holds, and what was so before."""
    since = f" Since {memory['since']}." if memory.get("since") else ""
    return since + "".join(f" Before that: “{each['content']}”" for each in memory.get("before", []))


def _object_in(result: str) -> dict[str, Any]:
    found = re.search(r"\{.*\}", result, re.DOTALL)
    try:
        told = json.loads(found[0]) if found else {}
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


# --- reading what a person says of themselves -------------------------------------------------------------------------


class Read(NamedTuple):
    type: str
    content: str


_PAST = (
    "led managed built founded studied graduated mentored ran launched shipped grew reduced worked taught wrote "
    "designed organised organized left quit joined started finished completed sold bought published won cut raised "
    "negotiated hired trained coached volunteered lived"
).replace(" ", "|")
_IMPORTANCE = {
    "goal": 0.8,
    "decision": 0.75,
    "constraint": 0.7,
    "preference": 0.6,
    "experience": 0.6,
    "fact": 0.5,
    "skill": 0.5,
}
_I = r"^(?:(?:hi|hello|hey)[,!]? |and |but |so |also,? |actually,? |well,? |now,? |today,? |yes,? |no,? )*i"
_LATELY = r"(?: (?:just|recently|now|currently|really|also|still|always|only|mostly|finally|have just))*"


def _rule(pattern: str, kind: str, begins: str) -> tuple[re.Pattern[str], str, str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), kind, begins


_RULES = (
    _rule(
        rf"{_I}(?:'ve| have)?{_LATELY} (?:moved|relocated)\b.*? to (?P<rest>.+?)(?: (?:in|since) [^.]*\d{{4}})?[.!]*$",
        "fact",
        "Lives in",
    ),
    _rule(rf"{_I}(?:(?:'m| am){_LATELY} (?:based|living)|{_LATELY} live) in (?P<rest>.+)", "fact", "Lives in"),
    _rule(rf"{_I}(?:'ve| have)?{_LATELY} decided (?P<rest>.+)", "decision", "Decided"),
    _rule(rf"{_I}(?:'d| would) (?:like|love) (?P<rest>to .+)", "goal", "Wants"),
    _rule(rf"{_I}{_LATELY} (?:want|hope|plan|aim|wish|intend) (?P<rest>.+)", "goal", "Wants"),
    _rule(r"^my goal is (?P<rest>to .+)", "goal", "Wants"),
    _rule(
        rf"{_I}(?:'d| would)? ?{_LATELY} (?:do not|don't) (?P<rest>(?:like|want|enjoy)\b.+)",
        "preference",
        "Does not",
    ),
    _rule(rf"{_I}{_LATELY} (?:can't|cannot|can not) (?P<rest>.+)", "constraint", "Cannot"),
    _rule(rf"{_I}{_LATELY} (?:won't|will not) (?P<rest>.+)", "constraint", "Will not"),
    _rule(rf"{_I}{_LATELY} (?:do not|don't) (?P<rest>.+)", "constraint", "Does not"),
    _rule(rf"{_I}{_LATELY} need (?P<rest>.+)", "constraint", "Needs"),
    *(
        _rule(rf"{_I}{_LATELY} {verb} (?P<rest>.+)", "preference", f"{verb.title()}s")
        for verb in ("prefer", "like", "love", "enjoy", "hate", "dislike")
    ),
    _rule(rf"{_I}{_LATELY} can (?P<rest>.+)", "skill", "Can"),
    *(
        _rule(rf"{_I}{_LATELY} {verb} (?P<rest>.+)", "skill", f"{verb.title()}s")
        for verb in ("speak", "know", "understand")
    ),
    _rule(rf"{_I}(?:'m| am){_LATELY} (?P<rest>(?:learning|fluent)\b.+)", "skill", "Is"),
    *(
        _rule(rf"{_I}{_LATELY} {verb} (?P<rest>.+)", "experience", third)
        for verb, third in (
            ("earn", "Earns"),
            ("work", "Works"),
            ("lead", "Leads"),
            ("manage", "Manages"),
            ("study", "Studies"),
        )
    ),
    _rule(rf"{_I}(?:'ve| have)?{_LATELY} (?P<rest>(?:{_PAST})\b.*)", "experience", ""),
    _rule(rf"{_I}(?:'ve| have){_LATELY} been (?P<rest>.+)", "experience", "Has been"),
    _rule(rf"{_I}(?:'ve got|{_LATELY} have) (?P<rest>.+)", "fact", "Has"),
    _rule(rf"{_I}(?:'m| am) (?P<rest>.+)", "fact", "Is"),
    _rule(rf"{_I} was (?P<rest>.+)", "experience", "Was"),
    _rule(r"^my (?P<rest>.+? (?:is|are|was|were) .+)", "fact", ""),
)
_TO_THE_AGENT = re.compile(r"\byou(?:r|'re)?\b|\b(?:a|the|my) (?:qwestly )?card\b", re.IGNORECASE)
"""What it wants of the agent now is no goal in life."""
_OF_THEM = (
    (re.compile(r"\bi'm\b|\bi am\b", re.IGNORECASE), "they are"),
    (re.compile(r"\bi've\b|\bi have\b", re.IGNORECASE), "they have"),
    (re.compile(r"\bi\b", re.IGNORECASE), "they"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "their"),
    (re.compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    (re.compile(r"\bme\b", re.IGNORECASE), "them"),
)


def _read(sentence: str) -> Read | None:
    plain = sentence.replace("’", "'").strip(" \"'*_-•")
    for pattern, kind, begins in _RULES:
        if found := pattern.search(plain):
            said = f"{begins} {found['rest'].strip(' .!,;')}".strip()
            for word, instead in _OF_THEM:
                said = word.sub(instead, said)
            return Read(kind, f"{said[:1].upper()}{said[1:]}.")
    return None


def _sentences(text: str) -> list[str]:
    """Those of a text; what is joined by "and I" is two."""
    parts = re.split(r"(?<=[.!?])\s+|\n+|;\s+|,? (?:and|but) (?=[Ii](?:'|\b))", text.strip())
    return [part.strip() for part in parts if part.strip()]


# --- a conversation that has ended ------------------------------------------------------------------------------------

_ASKED_OR_SAID = re.compile(
    r'<(?:asked\b[^>]*>(?P<asked>.*?)</asked|said id="(?P<id>[^"]*)"[^>]*>(?P<said>.*?)</said)>', re.DOTALL
)
_DOCUMENT = re.compile(r"<document\b.*?</document>", re.DOTALL)
_YES = re.compile(r"^\W*(?:yes|yeah|yep|yup|right|correct|exactly|true|that's right|i do|i am)\W*$", re.IGNORECASE)
_NO = re.compile(r"^\W*(?:no|nope|not|never|none|nothing|i don't|skip)\b", re.IGNORECASE)
_SHORT_WORDS = 6
_MONTHS = re.findall(r"\w+", "january february march april may june july august september october november december")
_SINCE = re.compile(
    rf"\b(?:since|in) (?:(?P<month>{'|'.join(_MONTHS)}) )?(?P<year>(?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"\b(?:diabet|depress|cancer|illness|disab|pregnan|therap|adhd|migraine|burnout|muslim|christian|jewish|catholic|"
    r"hindu|buddhis|religio|gay|lesbian|bisexual|queer|transgender|union|salary|earn|party member|vote|refugee|asylum|"
    r"convict|prison)",
    re.IGNORECASE,
)


def found_in(words: str) -> list[dict[str, Any]]:
    """What is worth remembering in a request to extract."""
    found: list[dict[str, Any]] = []
    question = ""
    for part in _ASKED_OR_SAID.finditer(words):
        if part["asked"] is not None:
            question = _last_question(html.unescape(part["asked"]))
            continue
        text = _DOCUMENT.sub("\n", html.unescape(part["said"])).strip()
        found += _found_in_message(part["id"], text, question)
        question = ""
    return found


def _found_in_message(message_id: str, text: str, question: str) -> Iterator[dict[str, Any]]:
    stated = [(sentence, read) for sentence in _sentences(text) if (read := _stated(sentence))]
    if not stated and question and len(text.split()) <= _SHORT_WORDS and (read := _answered(question, text)):
        yield _found(read, text, message_id, 0.7)
    for sentence, read in stated:
        yield _found(read, sentence, message_id, 0.9)


def _found(read: Read, quote: str, message_id: str, confidence: float) -> dict[str, Any]:
    since = _SINCE.search(quote)
    return {
        "type": read.type,
        "content": read.content,
        "quote": quote,
        "message_id": message_id,
        "importance": _IMPORTANCE[read.type],
        "confidence": confidence,
        "sensitive": bool(_SENSITIVE.search(quote)),
        **({"since": _moment(since)} if since else {}),
    }


def _moment(since: re.Match[str]) -> str:
    if not since["month"]:
        return since["year"]
    return f"{since['year']}-{_MONTHS.index(since['month'].lower()) + 1:02}"


def _stated(sentence: str) -> Read | None:
    if sentence.endswith("?") or _TO_THE_AGENT.search(sentence.replace("’", "'")):
        return None
    return _read(sentence)


def _last_question(text: str) -> str:
    questions = [each for each in _sentences(text) if each.endswith("?")]
    return questions[-1] if questions else ""


_QUESTIONS = (
    (re.compile(r"^(?:do|did) you (?P<rest>.+)\?", re.IGNORECASE), "I {rest}"),
    (re.compile(r"^are you (?P<rest>.+)\?", re.IGNORECASE), "I am {rest}"),
    (re.compile(r"^have you (?P<rest>.+)\?", re.IGNORECASE), "I have {rest}"),
    (re.compile(r"^(?P<verb>can|would) you (?P<rest>.+)\?", re.IGNORECASE), "I {verb} {rest}"),
)
_OPEN_QUESTIONS = (
    (re.compile(r"^where do you live\b", re.IGNORECASE), "I live in {answer}"),
    (re.compile(r"^where do you work\b", re.IGNORECASE), "I work at {answer}"),
    (re.compile(r"^what(?:'s| is) your (?P<what>[^?]+)\?", re.IGNORECASE), "My {what} is {answer}"),
)


def _answered(question: str, answer: str) -> Read | None:
    """What a short answer says together with its question. "Yes" says nothing by itself, and "no" nothing at all."""
    if _NO.search(answer) or answer.endswith("?"):
        return None
    if _YES.search(answer):
        for pattern, statement in _QUESTIONS:
            if found := pattern.search(question):
                return _read(statement.format(**found.groupdict()))
        return None
    short = re.sub(r"^(?:in|at) ", "", answer.strip(" .!"), flags=re.IGNORECASE)
    for pattern, statement in _OPEN_QUESTIONS:
        if found := pattern.search(question):
            return _read(statement.format(answer=short, **found.groupdict()))
    return None


# --- the grey zone ----------------------------------------------------------------------------------------------------

_NEW_OR_KNOWN = re.compile(r'<(?P<kind>new|known) id="(?P<id>[^"]*)"[^>]*>(?P<text>.*?)</(?P=kind)>', re.DOTALL)
_REPLACING = re.compile(
    r"^(?P<what>lives in|works (?:at|for|as)|wants to (?:be|become|lead|work as)|is called|prefers|earns|is based in"
    r"|notice period is|is (?:a|an))\b",
    re.IGNORECASE,
)
_EMPTY = frozenset(re.findall(r"\w+", "a an the in at to of for and is are was be on with as their they them has have"))
_ALMOST_ALL = 0.75


def verdicts_on(words: str) -> list[dict[str, str]]:
    """What becomes of each new statement beside the known ones that it was paired with."""
    verdicts: list[dict[str, str]] = []
    new: tuple[str, str] | None = None
    for part in _NEW_OR_KNOWN.finditer(words):
        text = html.unescape(part["text"]).strip()
        if part["kind"] == "new":
            new = (part["id"], text)
        elif new:
            verdict = _verdict(new[1], text)
            verdicts.append({"id": new[0], "known_id": part["id"], "verdict": verdict})
    return verdicts


def _verdict(new: str, known: str) -> str:
    one, other = _meaning(new), _meaning(known)
    if one == other or (len(one & other) >= _ALMOST_ALL * max(len(one), len(other), 1)):
        return "reinforce"
    mine, theirs = _REPLACING.search(new), _REPLACING.search(known)
    if mine and theirs and mine["what"].lower() == theirs["what"].lower():
        return "supersede"
    return "add"


def _meaning(text: str) -> frozenset[str]:
    return frozenset(word.rstrip("s") for word in re.findall(r"\w+", text.lower())) - _EMPTY
