"""Answers of the scripted model that need code: to typed requests (`FUNCTIONS`), and in chats for intents (`CHATS`)."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from infra.local.model_interview import interviewer, onboard, write_interview
from infra.local.model_jobs import compare_jobs, cover_advert
from infra.local.model_learning import OF_LEARNING, agree, decline, guide, restart
from infra.local.model_memory import compare_notes, correct, extract_notes, forget, remember
from infra.local.model_resumes import parse_resume
from qwestly_agent.text.language import content_stems


def _tell_decisions(names: Mapping[str, Any]) -> str:
    """Summarize the decisions, in a turn that only reports decisions."""
    news = re.sub(r"</?approval_news>", "\n", names["news"])
    lines = [line.removeprefix("- ") for line in news.splitlines() if line.startswith("- ")]
    return " ".join(map(_decision, lines))


_CONDITION = re.compile(
    r"\b(?:(?:fully|good|any|new|open|well[- ]paid|full[- ]?time|part[- ]?time|\w+[- ]days?(?:[- ]a)?[- ]?week|or|with"
    r"|remote\w*)\b[, ]*)+",
    re.IGNORECASE,
)
"""Words that a query to a board leaves out."""
_REMOTE = re.compile(r"\bremot\w*|\bhome ?office\b|\bteletrabajo\b|\bfrom home\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|near|around|bei|en) (?P<place>(?!remot)[^\W\d_]{3,})", re.IGNORECASE)
_TOLD_OF_JOBS: Mapping[str, tuple[str, str, str]] = {
    "english": (
        "On the boards now:",
        "None of this demo's invented adverts fits that.",
        "I searched by {how} alone: hours, pay and other wishes are no filter, so look for them in the advert. Under "
        "**Jobs** you see what speaks for and against each, and can have a résumé written for it.",
    ),
    "german": (
        "Jetzt auf den Stellenbörsen:",
        "Von den erfundenen Anzeigen dieser Demo passt keine dazu.",
        "Gesucht habe ich nur nach {how}: Arbeitszeit, Gehalt und anderes kann ich nicht filtern, das steht in der "
        "Anzeige. Unter **Jobs** siehst du, was für und gegen jede spricht.",
    ),
    "spanish": (
        "Ahora en los portales:",
        "Ninguno de los anuncios inventados de esta demo encaja.",
        "He buscado solo por {how}: horario, sueldo y lo demás no los puedo filtrar, están en el anuncio. En **Jobs** "
        "ves qué habla a favor y en contra de cada uno.",
    ),
}
"""Texts by language: above results, without results, and for the query."""


def _find_jobs(names: Mapping[str, Any]) -> str | dict[str, Any]:
    """Search for the jobs that the user named, or else for their own occupation. Then report the results, and the
    wishes that a search cannot take into account."""
    results, message = names["results"], names["message"]
    searched, profile = results.get("search_jobs"), results.get("get_user_profile")
    query = _CONDITION.sub("", names.get("query", "")).strip()
    if not query and profile is None and searched is None:
        return {"get_user_profile": {}}
    query = query or _title_of((profile or {}).get("profile") or {})
    place = re.sub(r"[,.]? *\bremote\w*.*$", "", names.get("place", ""), flags=re.IGNORECASE).strip()
    if not place and (named := _PLACE.search(message)):
        place = named["place"]
    remote = bool(_REMOTE.search(message))
    if searched is None:
        found = {"query": query, "place": place, "remote_only": remote}
        return {"search_jobs": {name: value for name, value in found.items() if value}} if query else {}
    if "adverts" not in searched:
        return {}
    above, nothing, below = _TOLD_OF_JOBS[names["language"]]
    jobs = [f"- **{each['title']}**, {each['company']}, {each.get('place', '')}" for each in searched["adverts"][:3]]
    how = ", ".join(filter(None, (f"“{query}”", place, "remote" if remote else "")))
    return "\n".join([*([above, "", *jobs] if jobs else [nothing]), "", below.format(how=how)])


def _title_of(profile: Mapping[str, Any]) -> str:
    """Return the user's current job, as their profile names it."""
    jobs = [each["title"] for each in profile.get("employment") or () if isinstance(each, dict) and each.get("title")]
    return (jobs[0] if jobs else str(profile.get("headline") or "").partition(",")[0]).strip()


def _change_list(names: Mapping[str, Any]) -> dict[str, Any]:
    """Propose the user's skills or languages with one more, or one less; nothing if none was named."""
    profile, value = names["results"].get("get_user_profile"), names.get("value")
    if not value:
        return {}
    if profile is None:
        return {"get_user_profile": {}}
    field = "languages" if names.get("field", "").lower().startswith("lang") else "skills"
    known = [each for each in (profile.get("profile") or {}).get(field) or () if isinstance(each, str)]
    others = [each for each in known if each.casefold() != value.casefold()]
    changed = others if names.get("less") else [*others, f"{value[:1].upper()}{value[1:]}"]
    if changed == known:
        return {}
    return {"update_profile_field": {"field": field, "value": changed, "rationale": "You asked for it."}}


def _decision(line: str) -> str:
    if line.startswith("The user said no"):
        return "All right, I leave it as it is."
    if line.startswith("The user wants"):
        wrote = re.search(r"They wrote: “(.+)”", line)
        if "drafted anew" in line:
            return "I am drafting it anew, and will ask you again."
        return (
            f"Noted: “{wrote[1]}”. Give me the words, and I propose them." if wrote else "What should it say instead?"
        )
    outcome = re.search(r"\)\. ([^“]+?)(?: As they put it| They wrote|$)", line)
    return f"Thank you. {outcome[1].strip()}" if outcome else "Thank you, I have noted that."


# --- the second reader: proves how a judge is asked and heeded, nothing about how well a real one reads ---------------

_OWN_WORDS = "Their own words about themselves"
_STATEMENTS = re.compile(r"<statements>(?P<json>.*)</statements>", re.DOTALL)
_WORD = re.compile(r"[^\W_]{4,}")
_STEM = 4


def _judge(texts: Sequence[str]) -> dict[str, Any]:
    """Accept a statement if its words, except the first, are in its quotes and code found all its figures and names
    there; and a user's own words that are not a question."""
    found = _STATEMENTS.search(texts[0])
    return {"verdicts": [_verdict(each) for each in json.loads(found["json"])] if found else []}


def _verdict(asked: dict[str, Any]) -> dict[str, Any]:
    quotes = [each["quote"] for each in asked["quotes"]]
    if asked["statement"].startswith(_OWN_WORDS):
        asks = "?" in quotes[0]
        return {"id": asked["id"], **({"why": "That is a question."} if asks else {"span": quotes[0][:1_000]})}
    letters = "".join(" ".join([*quotes, *_known(asked)]).split())
    # This judge cannot read marks that occur only in another script.
    if marks := [mark for mark in asked.get("look_at", ()) if "".join(mark.split()) not in letters]:
        return {"id": asked["id"], "why": f"Its quotes do not say “{marks[0]}”."}
    known = {stem for text in (*quotes, *_known(asked)) for stem in _stems(text)}
    # The first word is the writer's own verb: "Lives in Lisbon" for "I moved to Lisbon".
    rest = asked["statement"].partition(" ")[2]
    strange = [word for word in _WORD.findall(rest) if word[:_STEM].lower() not in known]
    if strange:
        return {"id": asked["id"], "why": f"Its quotes do not speak of “{strange[0]}”."}
    around = " ".join(each.get("sentence", each["quote"]) for each in asked["quotes"])
    if bool(_NOT.search(asked["statement"])) != bool(_NOT.search(" ".join([*quotes, around]))):
        return {"id": asked["id"], "why": "One of the statement and its quotes says “not”, the other does not."}
    figures = {_plain(each) for each in _FIGURE.findall(" ".join([*quotes, *_known(asked)]))}
    more = [each for each in _FIGURE.findall(asked["statement"]) if _plain(each) not in figures]
    if more and not _NUMBER_WORD.search(around):
        return {"id": asked["id"], "why": f"Its quotes do not say “{more[0]}”."}
    # Code found each mark's letters in these, with other spaces between them.
    meant = [_written(mark, [*quotes, *_known(asked)]) for mark in asked.get("look_at", ())]
    return {"id": asked["id"], "span": _span_in(quotes[0]), **({"as": meant} if meant else {})}


def _span_in(quote: str) -> str:
    """Return its first three words, or all of them if those have no content."""
    words = " ".join(quote.split()[:3])
    return words if content_stems(words) else quote[:1_000]


def _written(mark: str, texts: Sequence[str]) -> str:
    """Return the mark as written in one of the texts; "" if it spans two of them."""
    letters = re.compile(r"\s*".join(map(re.escape, "".join(mark.split()))))
    return next((found[0] for text in texts if (found := letters.search(text))), "")


_NOT = re.compile(
    r"\b(?:not|no(?!,)|never|without|cannot|nor|nicht|kein\w*|nie|ohne|ne|pas|jamais|sans|nunca|sin|jamás|não)\b|n['’]t\b",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBER_WORD = re.compile(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|hundred|thousand|million|half|dozen|"
    r"zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|\w+zig|hundert|tausend)\b|[kKM%]\b",
    re.IGNORECASE,
)


def _plain(figure: str) -> str:
    return re.sub(r"[.,]", "", figure)


def _known(asked: dict[str, Any]) -> list[str]:
    return [value for each in asked["quotes"] for value in each.get("source", {}).values()]


def _stems(text: str) -> set[str]:
    return {word[:_STEM].lower() for word in _WORD.findall(text)}


_SAID = re.compile(r"<said>(?P<text>.*)</said>", re.DOTALL)
_ASKS = re.compile(
    r"(?:^|[.!,:]\s*|\b(?:please|pls|bitte|you) )"
    r"(?:set|change|update|make|put|add|remove|use|show|switch|replace|mach|setz|nimm|ajoute|mets|cambia|pon)\b",
    re.IGNORECASE,
)
_TAKES_BACK = re.compile(r"\?|\b(?:not|don['’]t|never|if|would|nicht|pas|nunca)\b", re.IGNORECASE)


def _wish(texts: Sequence[str]) -> dict[str, Any]:
    """Accept a plain request."""
    found = _SAID.search(texts[0])
    said = html.unescape(found["text"]).strip() if found else ""
    return {"quote": said if _ASKS.search(said) and not _TAKES_BACK.search(said) else ""}


# --- a section of a career document -----------------------------------------------------------------------------------

_EVIDENCE = re.compile(r'<evidence id="(?P<id>[^"]*)"[^>]*>(?P<text>.*?)</evidence>', re.DOTALL)
_BEFORE = re.compile(r"So it was written last:\n<\w+>(?P<text>.*?)</\w+>", re.DOTALL)
_INSTEAD = re.compile(r"\b(?:say|write|use|make it|call me) [“\"]?(?P<what>[^”\".!;]+)", re.IGNORECASE)
_WISH = re.compile(r"<wish>(?P<text>.*?)</wish>", re.DOTALL)
_SECTION = re.compile(r"Section “(\w+)”")
_LEAVE_OUT = re.compile(
    r"\b(?:leave out|drop|remove|delete|omit|without|do not mention|don['’]t mention) "
    r"(?:the |my |any |anything about )?(?P<what>[^.!,;]+)",
    re.IGNORECASE,
)
_FIRST = re.compile(
    r"\b(?:begin|start|lead|open) with (?:the |my )?(?P<one>[^.!,;]+)|\bput (?:the |my )?(?P<other>[^.!,;]+?) first\b",
    re.IGNORECASE,
)
_SHORTER = re.compile(r"\b(?:short|shorter|concise|briefer|brief|crisper|less text|half)\b", re.IGNORECASE)
_FORM = re.compile(
    r"\b(?:short\w*|brief\w*|concise|crisp\w*|long\w*|bullet\w*|friendl\w*|formal|casual|warm\w*|simpl\w*|plain\w*|"
    r"punch\w*|better|(?:first|third) person|(?:in )?(?:english|german|french|spanish|portuguese))\b",
    re.IGNORECASE,
)
"""Words about the form of a text: such a request states no fact."""
_MENTION = re.compile(r"mention (?:that )?(?:I )?(?P<what>[^.]+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d,.-])\d{1,3}\b(?![,.-]?\d)")
_SENT_BACK = ("answer it whole again", "the second reader refused these claims")
_REFUSED = re.compile(r"(?:^|>)(?P<number>\d+)\. ", re.MULTILINE)
_TIME = re.compile(r"(?:[A-Z][a-z]+ )?\d{4}(?: – .*)?")
_MOST = {
    "headline": 1,
    "summary": 4,
    "skills": 16,
    "education": 6,
    "preferences": 6,
    "about": 8,
    "headlines": 3,
    "letter": 8,
}

Claim = dict[str, Any]


def _write_section(texts: Sequence[str]) -> dict[str, Any]:
    """Write a section from the evidence by rules, with quotes. Add an invented claim if the request or the evidence
    says to exaggerate, and withdraw it once it is rejected, unless the request insists."""
    words, told = texts[0], texts[0].lower()
    asked_again = any(sent_back in text for sent_back in _SENT_BACK for text in texts)
    exaggerates = "exaggerate" in told and (not asked_again or "insist" in told)
    written = _section(words, exaggerates=exaggerates)
    _, is_refused, refused = words.partition(_SENT_BACK[1])
    if not is_refused:
        return written
    # It does not replace a rejected claim, except by the same false claims.
    lies = written["claims"] if exaggerates else []
    numbers = [int(match["number"]) for match in _REFUSED.finditer(refused)]
    return {"claims": [{**lie, "number": number} for number, lie in zip(numbers, lies, strict=False)]}


def _section(words: str, *, exaggerates: bool) -> dict[str, Any]:
    found = _SECTION.search(words)
    kind = found[1] if found else "summary"
    evidence = {match["id"]: html.unescape(match["text"]) for match in _EVIDENCE.finditer(words)}
    lies = _lies(kind, evidence) if exaggerates else ()
    mentioned = _mentioned(words, evidence) if kind in ("summary", "about") else ()
    is_profile = kind.startswith("profile_")
    said = _as_before(words, evidence) if is_profile else _claims(kind, evidence)
    claims = [*lies, *said, *mentioned]
    wishes = [html.unescape(each) for each in _WISH.findall(words)]
    # The first message of a workflow is included as a change request, too.
    for wish in wishes[-1:] if is_profile else wishes:
        claims = _wished(wish, kind, claims)
        claims = _reworded(wish, evidence, claims) if is_profile else claims
    return {"heading": "", "claims": claims[: _MOST.get(kind, 12)]}


def _wished(wish: str, kind: str, claims: Sequence[Claim]) -> list[Claim]:
    """Apply a request to leave something out, to move something to the front, or to shorten; ignore others."""
    if found := _LEAVE_OUT.search(wish):
        what = found["what"].strip()
        return [] if kind in what.lower() else [each for each in claims if not _speaks_of(each, what)]
    if found := _FIRST.search(wish):
        return sorted(claims, key=lambda each: not _speaks_of(each, found["one"] or found["other"]))
    return list(claims[: max(1, (len(claims) + 1) // 2)] if _SHORTER.search(wish) else claims)


def _as_before(words: str, evidence: Mapping[str, str]) -> list[Claim]:
    """Return the field's current lines, each with its supporting evidence."""
    found = _BEFORE.search(words)
    lines = [line.rpartition(" [")[0].strip() for line in html.unescape(found["text"]).splitlines()] if found else []
    sources = {line: [name for name, text in evidence.items() if line and line in text] for line in lines}
    return [_claim(line, names[0], line) for line, names in sources.items() if names]


def _reworded(wish: str, evidence: Mapping[str, str], claims: Sequence[Claim]) -> list[Claim]:
    """Replace lines as requested; shorten a single claim to its first comma if requested."""
    if (found := _INSTEAD.search(wish)) and not _FORM.search(found["what"]):
        what = found["what"].strip()
        return [_claim(what, name, what) for name, text in _of(evidence, "person") if what in text][-1:]
    if len(claims) == 1 and _SHORTER.search(wish):
        [claim] = claims
        return [{**claim, "text": re.split(r", | at | and ", claim["text"])[0]}]
    return list(claims)


def _speaks_of(claim: Claim, what: str) -> bool:
    return bool(_stems(what) & _stems(claim["text"]))


def _claims(kind: str, evidence: Mapping[str, str]) -> Iterator[Claim]:
    match kind:
        case "headline" | "headlines":
            for name, text in _of(evidence, "profile") if kind == "headline" else ():
                yield from (
                    _claim(line.removeprefix("Headline: "), name) for line in text.splitlines() if "Headline: " in line
                )
            for name, text in _of(evidence, "employment"):
                yield _claim(_role(text), name, text.splitlines()[0])
        case "summary" | "about":
            for name, text in _of(evidence, "profile"):
                yield from (_claim(line, name) for line in text.splitlines() if ":" not in line)
        case "experience":
            for name, text in _of(evidence, "employment"):
                role, *more = text.splitlines()
                time = more.pop(0) if more and _TIME.fullmatch(more[0]) else ""
                yield _claim(f"{_role(role)}, {time}" if time else _role(role), name, f"{role}\n{time}".strip())
                yield from (_claim(line, name) for line in more)
            if not _of(evidence, "employment"):
                for name, text in [each for each in _of(evidence, "resume") if ":work" in each[0]]:
                    header, _, details = text.partition("\n\n")
                    yield _claim(", ".join(header.splitlines()), name, header)
                    yield from (
                        _claim(line.strip("-•*· "), name) for line in details.splitlines() if line.strip("-•*· ")
                    )
        case "achievements":
            for name, text in _of(evidence, "interview"):
                yield from (_claim(_of_person(each), name, each) for each in _sentences(text) if _tells(each))
            for name, text in [*_of(evidence, "document"), *_of(evidence, "memory")]:
                yield from (_claim(sentence, name) for sentence in _sentences(text) if _counts(sentence))
        case "skills":
            for name, text in _of(evidence, "skills"):
                yield from (_claim(each, name) for each in text.removeprefix("Skills: ").split(", "))
        case "positions":
            for name, text in _of(evidence, "employment"):
                yield from (_claim(line, name) for line in text.splitlines()[1:] if not _TIME.fullmatch(line))
            for name, text in _of(evidence, "resume"):  # after the words that name the position
                yield from (_claim(line, name) for line in text.partition("\n\n")[2].splitlines())
        case "letter":
            for name, text in _of(evidence, "employment"):
                yield _claim(f"I work as {_role(text)}" if "present" in text else f"I was {_role(text)}", name, text)
            for name, text in [*_of(evidence, "document"), *_of(evidence, "memory")]:
                yield from (_claim(sentence, name) for sentence in _sentences(text) if _counts(sentence))
        case "education":
            yield from (_claim(text.splitlines()[0], name) for name, text in _of(evidence, "education"))
        case "preferences":
            for name, text in _of(evidence, "preferences"):
                yield from (_claim(_phrase(line), name, line) for line in text.splitlines())


def _lies(kind: str, evidence: Mapping[str, str]) -> Iterator[Claim]:
    """Yield invented claims, with quotes that exist but do not support them."""
    stints = _of(evidence, "employment")
    match kind:
        case "experience":
            for name, text in stints[:1]:
                role, time = text.splitlines()[:2]
                year = int(re.findall(r"\d{4}", time)[0])
                yield _claim("Senior Product Manager at Globex", name, role)
                yield _claim(f"{_role(text)} since {year - 5}", name, "\n".join(text.splitlines()[:2]))
        case "achievements":
            for each, text in [*_of(evidence, "memory"), *_of(evidence, "document")]:
                for sentence in filter(_counts, _sentences(text)):
                    yield _claim(_NUMBER.sub(r"\g<0>0", sentence, count=1), each, sentence)
                    return
        case "skills":
            yield from (_claim("Expert in Kubernetes", each, text) for each, text in _of(evidence, "skills"))
        case "education":
            for each, text in _of(evidence, "education"):
                yield _claim("PhD in Economics, University of Lagos", each, text)


_WISHED = re.compile(
    r"Would like: (?P<form>to work as|to work in|to work|the industries|companies of|to begin) (?P<what>.+)"
)


def _phrase(line: str) -> str:
    """Return "Lisbon or Porto" for "Would like: to work in Lisbon, Porto"."""
    if not (found := _WISHED.match(line)):
        return line.removeprefix("Would like: ")
    form, what = found["form"], found["what"]
    match form:
        case "to work":
            return what[:1].upper() + what[1:]
        case "companies of":
            return f"Companies of {what}"
        case "to begin":
            return f"From {what} on"
        case _:
            return " or ".join(what.split(", "))


def _mentioned(words: str, evidence: Mapping[str, str]) -> list[Claim]:
    notes = _of(evidence, "person")
    wishes = [found["what"].strip() for wish in _WISH.findall(words) if (found := _MENTION.search(html.unescape(wish)))]
    return [_claim(what[:1].upper() + what[1:], notes[-1][0], what) for what in wishes[-1:] if notes]


def _of(evidence: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    return [(name, text) for name, text in evidence.items() if name.partition(":")[0] == kind and text.strip()]


def _role(text: str) -> str:
    title, _, rest = text.splitlines()[0].partition(", ")
    company = rest.partition(", ")[0]
    return f"{title} at {company}" if company else title


def _sentences(text: str) -> list[str]:
    return [sentence.strip("-•* ") for sentence in re.split(r"(?<=[.!?])\s+|\n", text) if sentence.strip("-•* ")]


def _tells(sentence: str) -> bool:
    return len(sentence.split()) > 4 and not sentence.endswith("?")


def _of_person(sentence: str) -> str:
    """Return "Led a team" for "I led a team"."""
    told = re.sub(r"^I (?=[a-z])", "", sentence)
    return f"{told[:1].upper()}{told[1:]}"


def _counts(sentence: str) -> bool:
    """True if the sentence contains a number that is not a year."""
    return bool(_NUMBER.search(sentence)) and len(sentence.split()) > 4


def _claim(text: str, name: str, quote: str = "") -> Claim:
    """Return a claim. Without a quote, its text is its quote."""
    return {"text": text.strip()[:400], "quotes": [f"{name} {quote.strip()[:600]}".strip()]}


_EARLIER = re.compile(r"<earlier_conversation>(?P<json>.*)</earlier_conversation>", re.DOTALL)
_FIRST_SENTENCE = re.compile(r"[^.!?\n]{3,250}[.!?]?")


def _sum_up(texts: Sequence[str]) -> dict[str, Any]:
    """Return the first sentence of each message, verbatim."""
    found = _EARLIER.search(texts[0])
    messages = json.loads(found["json"]) if found else []
    lines = [(each["message_id"], _FIRST_SENTENCE.match(each["text"])) for each in messages]
    return {"lines": [{"message_id": id_, "text": first[0], "quote": first[0]} for id_, first in lines if first][:8]}


def _name_conversation(texts: Sequence[str]) -> dict[str, Any]:
    found = _SAID.search(texts[0])
    words = re.findall(r"[\w'’-]+", html.unescape(found["text"])) if found else []
    return {"title": " ".join(words[:6])}


FUNCTIONS: dict[str, Callable[[Sequence[str]], Any]] = {
    "You write one section of a career document": _write_section,
    "You name a conversation": _name_conversation,
    "You are the second reader": _judge,
    "An assistant wants to change one thing": _wish,
    "You read a person's résumé": parse_resume,
    "You compare job adverts": compare_jobs,
    "You compare what one job advert asks for": cover_advert,
    "You compare notes about one person": compare_notes,
    "You note what is worth remembering about a person": extract_notes,
    "You sum up the older part of a conversation": _sum_up,
    "You write the draft of an interview": write_interview,
    **OF_LEARNING,
}
"""The answers to typed requests, by how their instructions begin. Their argument: the messages' texts,
the prompt first."""

CHATS: dict[str, Callable[[Mapping[str, Any]], str | dict[str, Any]]] = {
    "agree": agree,
    "change_list": _change_list,
    "correct": correct,
    "decline": decline,
    "find_jobs": _find_jobs,
    "forget": forget,
    "guide": guide,
    "interviewer": interviewer,
    "onboard": onboard,
    "remember": remember,
    "restart": restart,
    "tell_decisions": _tell_decisions,
}
"""The functions of intents. Their argument: all values that placeholders can have, by name."""
