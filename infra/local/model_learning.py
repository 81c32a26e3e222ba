"""A rule-based learning guide and lesson writer for the scripted model; it uses the library's own sentences."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from qwestly_agent.learning.tree import folded
from qwestly_agent.text.language import content_stems

_PAGE = re.compile(
    r"^\[(?P<id>[a-z0-9-]+/[a-z0-9-]+)\][^\n]*\n(?P<text>.*?)(?=^\[[a-z0-9-]+/|</known>|\Z)", re.M | re.S
)
_SAID = re.compile(r"<said>(?P<text>.*?)</said>", re.DOTALL)
_NUMBERED = re.compile(r"^(?P<number>\d+)\. (?P<text>.+)$", re.MULTILINE)
_MUST_SAY = re.compile(r"^must say: (.+)$", re.MULTILINE)
_LISTED = re.compile(r"^\[([^\]\n]+)\] (.+)$", re.MULTILINE)
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


def guide(names: Mapping[str, Any]) -> str | Object:
    """Search for the topic that the user names, offer it, and have the lesson written after a yes; without a topic, ask
    for one."""
    context, said, results = names["context"], names["message"], names["results"]
    if "generate_content" in results:
        return _written(results["generate_content"])
    if "decline_to_teach" in results:
        return f"{NOT_TAUGHT} {_fresh(names['answered'])}"
    if _is_dangerous(said):
        return {"decline_to_teach": {"reason": NOT_TAUGHT}}
    if "offered: " in context and names.get("agrees"):
        return {"generate_content": {}}
    if names.get("names_nothing") or not (name := _name_in(said)):
        return _greeted(context, _fresh(names["answered"]))
    if "search_topics" not in results:
        return {"search_topics": {"query": name}, "detect_granularity": {"phrase": name}}
    found = results.get("detect_granularity", {})
    name = found.get("understood_as") or name
    match found.get("granularity"):
        case "nothing":
            return _greeted(context, _fresh(names["answered"]))
        case "subject":
            topics = found.get("topics") or KNOWN.get(name.casefold(), ())
            parts = f": {', '.join(topics)}, or another one?" if topics else ": the basics, or one part of it?"
            return _greeted(context, f"{name[:1].upper()}{name[1:]} is broad. Which part of it{parts}")
        case granularity:
            about = found.get("parent") or name if granularity == "module" else name
    if "confirm_with_user" in results:
        return _greeted(context, str(results["confirm_with_user"].get("asked", f"Shall we begin with “{about}”?")))
    exact = any(each.get("exact") for each in results["search_topics"].get("topics", ()))
    known = exact or found.get("by") == "library"
    question = f"Shall we begin with “{about}”?"
    general = f"The library has nothing on “{about}”. Shall I write what is generally known of it, which nobody checks?"
    return {"confirm_with_user": {"about": about, "question": question if known else general}}


def agree(names: Mapping[str, Any]) -> str | Object:
    """Have the offered lesson written; without an offer, ask."""
    return guide({**names, "agrees": True, "names_nothing": "offered: " not in names["context"]})


def decline(names: Mapping[str, Any]) -> str | Object:
    """Decline topics close to what is not taught, unless they are about preventing it."""
    if _PROTECTS.search(names["message"]):
        return guide(names)
    return guide(names) if "decline_to_teach" in names["results"] else {"decline_to_teach": {"reason": NOT_TAUGHT}}


def restart(names: Mapping[str, Any]) -> str | Object:
    """Ask what the user would like to learn, in other words each time."""
    return _greeted(names["context"], _fresh(names["answered"]))


def _written(lesson: Mapping[str, Any]) -> str:
    checked = " It is general knowledge that nobody checked." if "nobody checked" in str(lesson.get("note")) else ""
    return f"Your lesson on {lesson.get('topic', 'it')} is being written; it takes a minute.{checked}"


def _greeted(context: str, text: str) -> str:
    first = "This is your first answer" in context
    return f"Good day, and welcome to your learning guide. {text}" if first else text


def _fresh(answered: Sequence[str]) -> str:
    before = "\n".join(answered)
    return next((each for each in _QUESTIONS if each not in before), _QUESTIONS[len(answered) % len(_QUESTIONS)])


_BEFORE = re.compile(
    r"(?:please|can you|could you|would you|(?:no |actually )?i (?:meant|ment|mean)|i (?:want|wanna|would like)(?: to)?"
    r"(?: know| learn| lern)?|i'd like(?: to)?(?: learn)?|(?:too? )?lea?rn|teach(?: me)?|tech me"
    r"|tell me(?: more)? about|let'?s(?: try| do)?|try|pick|show me|give me|how about|what about|about|actuall?y|rather"
    r"|no|nein|non|não|fuck|damn|help me (?:with|learn)|a lesson (?:on|about)|(?:i'?m )?interested in|start|some"
    r"|the (?:field|subject|topic) of|the (?:topic|subject)|the|beginn?er'?s?|ich (?:möchte|will)|bitte|bring mir bei"
    r"|bring mir|zeig mir|erklär mir|eigentlich|über|je (?:veux|voudrais) apprendre|apprends moi|plutôt|quiero aprender"
    r"|me gustaría aprender|enséñame|mejor|por favor|quero aprender|gostaria de aprender|ensina me)(?: |$)"
)
_BEHIND = re.compile(
    r"(?:^| )(?:please|pls|instead|then|now|today|thanks|thank you|rather|part|is what i meant|for beginners|skills"
    r"|bitte|lernen|bei|stattdessen|für anfänger|s'il te plaît|por favor|en su lugar|em vez disso)$"
)
_NOTHING = re.compile(
    r"(?:any|some)thing(?: (?:else|new|different|other|fresh))?|(?:a |an )?(?:new|other|another|different)"
    r"(?: (?:one|topics?|things))?|else|next|more|continue|go (?:on|ahead)|again|restart|surprise me|whatever"
    r"|you (?:choose|decide)|i don't know|not sure|nothing|hello|hi|hey|thanks|yes|ok|okay|(?:etwas|was) (?:neues"
    r"|anderes)|andere themen|weiter|irgendwas|quelque chose de nouveau|autre chose|continuer|algo (?:nuevo|diferente"
    r"|novo)|otra cosa|otros temas|outra coisa|outros temas"
)


def _name_in(said: str) -> str:
    """Return the named topic without the phrases around it; empty if there is none."""
    name, before = folded(said.replace("-", " ")), ""
    while name != before and not _NOTHING.fullmatch(name):
        before, name = name, _BEHIND.sub("", _BEFORE.sub("", name, count=1) if _BEFORE.match(name) else name).strip()
    return "" if _NOTHING.fullmatch(name) else name


NOT_TAUGHT = "That would help to harm somebody, so it is not taught here."
_HARMS = re.compile(
    r"\b(?:pipe bombs?|bombas?|bombes?|rohrbomben?|(?:build|make|construct)\w* .*\b(?:bomb|gun|explosive)s?"
    r"|(?:cook|make|making)\w* (?:crystal )?meth|metanfetamina|stalk(?:en|ing)?|slurs"
    r"|arma que no se pueda|falsos|fälsch\w+|erpresst|erpressen|blackmail\w*"
    r"|(?:valgono|valen|valem|valent) meno?s?|inférieurs?|inferior[ei]s?|an allem schuld|picchiare|untermenschen)\b",
    re.IGNORECASE,
)
_PROTECTS = re.compile(
    r"\b(?:prevent\w*|prevenção|prävention|harm reduction|i'?m an?|je suis|sou|soy|sono|ich bin"
    r"|mon (?:cours|nouveau poste)|moder\w+|modérer|prüfung|recogni\w+|reconnaître|atende)\b",
    re.IGNORECASE,
)


def _is_dangerous(text: str) -> bool:
    """A stand-in for a model's judgment: some words of harm, without any about preventing it."""
    return bool(_HARMS.search(text)) and not _PROTECTS.search(text)


KNOWN: Mapping[str, Sequence[str]] = {
    "physics": ("mechanics", "electricity", "quantum mechanics"),
    "astrophysics": ("stars", "galaxies", "cosmology"),
    "chemistry": ("organic chemistry", "analytical chemistry"),
    "mathematics": ("algebra", "geometry", "statistics"),
    "biology": ("genetics", "ecology"),
    "economics": ("markets", "money and banks"),
    "psychology": ("motivation", "memory"),
    "history": ("antiquity", "the twentieth century"),
    "philosophy": ("ethics", "logic"),
    "law": ("contracts", "labor law"),
    "computer science": ("algorithms", "databases"),
    "leadership": ("giving feedback", "delegation"),
    "marketing": ("positioning", "pricing"),
    "music": ("harmony", "rhythm"),
}
"""Broad fields, each with its topics. Anything else that is named is one topic."""
_ALSO_CALLED: Mapping[str, str] = {
    **dict.fromkeys(("maths", "math", "mathe", "mathematik", "matemáticas"), "mathematics"),
    **dict.fromkeys(("physik", "física", "physique"), "physics"),
    **dict.fromkeys(("chemie", "química", "chimie"), "chemistry"),
    **dict.fromkeys(("führung", "liderazgo", "leadership skills"), "leadership"),
    **dict.fromkeys(("astrophysik", "astrofísica"), "astrophysics"),
    **dict.fromkeys(("quantenphysik", "física cuántica"), "quantum physics"),
    **dict.fromkeys(("quantenmechanik", "mecánica cuántica"), "quantum mechanics"),
    "teilchenphysik": "particle physics",
}
_TOPICS = ("quantum mechanics", "quantum physics", "particle physics", "the physics of particles", "active listening")
_PARENTS = {
    "schrödinger": "quantum mechanics",
    "schrodinger": "quantum mechanics",
    "maxwell": "electricity",
    "bayes": "statistics",
}
_PART = re.compile(r"\b(?:equations?|eqations?|theorem|ecuación|gleichung|formula|lemma|principle)\b", re.IGNORECASE)


def read_granularity(texts: Sequence[str]) -> Object:
    """Return how broad a name is: a known field is a subject, an equation a module of its topic, and anything else a
    topic."""
    found = _SAID.search(texts[0])
    name = _name_in(html.unescape(found["text"])) if found else ""
    if not name:
        return {"granularity": "nothing", "understood_as": "", "reason": "It names nothing to learn."}
    if parent := next((topic for word, topic in _PARENTS.items() if word in name and _PART.search(name)), ""):
        return {
            "granularity": "module",
            "understood_as": name,
            "parent": parent,
            "reason": f"It is a part of {parent}.",
        }
    names = {**{each: each for each in (*KNOWN, *_TOPICS)}, **_ALSO_CALLED}
    spelled = get_close_matches(name, names, n=1, cutoff=0.72)
    understood = names[spelled[0]] if spelled else name
    if understood in KNOWN:
        return {"granularity": "subject", "understood_as": understood, "reason": "It is a field with many topics."}
    return {"granularity": "topic", "understood_as": understood, "reason": "It sounds like one skill."}


def outline_lesson(texts: Sequence[str]) -> Object:
    """Return the headings of the first page, or the reason why the topic is not taught."""
    if _is_dangerous(html.unescape(texts[0].partition("<known>")[0])):
        return {"not_taught": NOT_TAUGHT}
    [(_, text), *_] = [*_pages(texts[0]), ("", "")]
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return {"points": ["What it is for", *headings][:5] if headings else ["What it is for", "How it is done"]}


def write_lesson(texts: Sequence[str]) -> Object:
    """Return the sentences of the first page verbatim, each under its heading."""
    [(page, text), *_] = [*_pages(texts[0]), ("", "")]
    must_say = {*_MUST_SAY.findall(html.unescape(texts[0]))}
    written = [
        {"point": point, "text": each, "quotes": [{"source": page, "text": each}]}
        for point, part in enumerate(re.split(r"^## .+$", text, flags=re.MULTILINE)[:5])
        for place, each in enumerate(_sentences(part))
        if place < _MOST_A_POINT or each in must_say
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


def explain_answer(texts: Sequence[str]) -> Object:
    """Return other sentences of the lesson with the same words; for an example, start with one of the user's
    records."""
    lesson = dict(_LISTED.findall(html.unescape(texts[0].partition("<lesson>")[2].partition("</lesson>")[0])))
    answered = re.search(r"answered by: (\S+)", texts[0])
    about = lesson.pop(answered[1], "") if answered else ""
    near = sorted(lesson.items(), key=lambda each: -len({*content_stems(each[1])} & {*content_stems(about)}))
    of_them = html.unescape(texts[0].partition("<evidence>")[2].partition("</evidence>")[0])
    works = [(name, said) for name, text in _LISTED.findall(of_them) for said in _sentences(text)[:1]]
    example = [*works[:1], (answered[1], about)] if works and answered else []
    told = example if "<evidence>" in texts[0] else near[:2]
    return {"sentences": [{"text": text, "quotes": [{"source": name, "text": text}]} for name, text in told]}


def find_gaps(texts: Sequence[str]) -> Object:
    """Return the first sentences of three pages on different topics."""
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
    "You write 3 questions on a lesson": ask_about_lesson,
    "You explain to one person why": explain_answer,
    "You find what is between a person": find_gaps,
    "You plan a lesson": outline_lesson,
    "You decide how broad": read_granularity,
    "You write a lesson": write_lesson,
}
"""Answers by the beginning of the instructions."""
