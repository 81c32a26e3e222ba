"""A rule-based interviewer, so that the scripted model can interview new users locally."""

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from qwestly_agent.text.language import language_of

ASPECTS: Mapping[str, tuple[str, str]] = {
    "your part": ("What was your own part in it?", r"\bI (?:led|built|wrote|ran|designed|managed|was|made|did|took)\b"),
    "team": ("How many people were you?", r"\b(?:team|people|colleagues|with (?:two|three|four|five|six|\d+))\b"),
    "what was hard": ("What was the hardest part?", r"\b(?:[Hh]ard|hardest|[Dd]ifficult|problem|struggl\w+|fail\w*)\b"),
    "result": ("What came of it?", r"\b(?:cut|grew|saved|won|shipped|result\w*|faster|fewer|percent|%)|%"),
    "when": ("When was that?", r"\b(?:19|20)\d\d\b|\b(?:last|this) year\b"),
}
AGENDA: Mapping[str, tuple[str, str]] = {
    "current role": (
        "What do you do at present?",
        r"\b(?:I am|I['’]m|I work as) (?:an? )?(?!good|proud)\w+ .*\b(?:at|for|in)\b",
    ),
    "years of experience": ("How many years of experience do you have?", r"\byears of experience\b"),
    "where you live": ("Where do you live?", r"\bI live in\b"),
    "what you are proud of": ("What are you proud of?", r"\bproud\b"),
    "main skills": ("What are you good at?", r"\b(?:good at|skill\w*|I know)\b"),
    "languages": ("Which languages do you speak?", r"\bI speak\b"),
    "school and degree": ("Where did you study, and what?", r"\b(?:studied|degree|school|university)\b"),
    "role you want": ("What would you like to work as?", r"\b(?:would like|want) to (?:be|work as|become)\b"),
    "where you want to work": ("Where would you like to work?", r"\b(?:would like|want) to work in [A-Z]"),
    "way to work": ("Remote, or in an office?", r"\b(?:remote\w*|hybrid|office|home)\b"),
    "when you can begin": ("When could you begin?", r"\b(?:begin|start|notice)\b"),
    "what you do not want": ("What do you not want?", r"\b(?:do not|don['’]t|never) want\b"),
}
QUESTIONS = {**ASPECTS, **AGENDA}
"""Aspects, each with its question and a pattern of sentences that answer it."""

_IN_GERMAN: Mapping[str, str] = {
    "your part": "Was war dein eigener Anteil daran?",
    "team": "Wie viele wart ihr?",
    "what was hard": "Was war das Schwierigste?",
    "result": "Was ist dabei herausgekommen?",
    "when": "Wann war das?",
    "current role": "Was machst du zurzeit?",
    "years of experience": "Wie viele Jahre Erfahrung hast du?",
    "where you live": "Wo wohnst du?",
    "what you are proud of": "Worauf bist du stolz?",
    "main skills": "Was kannst du gut?",
    "languages": "Welche Sprachen sprichst du?",
    "school and degree": "Wo hast du was gelernt oder studiert?",
    "role you want": "Als was möchtest du arbeiten?",
    "where you want to work": "Wo möchtest du arbeiten?",
    "way to work": "Von zu Hause oder im Büro?",
    "when you can begin": "Wann könntest du anfangen?",
    "what you do not want": "Was möchtest du nicht?",
}

_STATE = re.compile(r"<interview>(?P<text>.*?)</interview>", re.DOTALL)
_SAID = re.compile(r"<said>(?P<json>.*)</said>", re.DOTALL)
_BEFORE = re.compile(r"<before>(?P<text>.*?)</before>", re.DOTALL)
_LINE = re.compile(r"^(?P<place>\d+)\. \[(?P<topic>[^\]]*)\] (?P<text>.+)$", re.MULTILINE)
_PLACE = re.compile(r"\b(?:at|for|with|founded) (?P<name>[A-Z][\w&]*(?: [A-Z][\w&]*)*)")
_NOTHING_TO_TELL = re.compile(
    r"[^.!?\n]*\b(?:skip(?: (?:that|this|it))?|next (?:one|question)|nächste Frage|überspring\w*|"
    r"weiß (?:ich )?nicht|keine Ahnung|(?:do not|don['’]t) (?:know|remember)|no idea|nothing to (?:say|tell))"
    r"[^.!?\n]*|^\W*(?:(?:maybe|perhaps|ask me) )?later(?:,? please)?(?=[.!\n]|$)",
    re.IGNORECASE,
)
_REFUSES = re.compile(
    r"(?:^|[.!?,;] *)(?:ok(?:ay)?,? |no,? |nein,? )?(?:"
    + "|".join(
        (
            r"(?:pass|next|skip|weiter|nächste|paso|siguiente|passe|suivante?|próxima|passo|no comment)(?: please)?",
            r"(?:i['’]?d |i would )?(?:rather|prefer) not\b.*|absolutely not|none of your\b.*",
            r".*\b(?:don['’]?t|do not|not going to|won['’]?t|will not|not) (?:(?:want|like) to |wanna )?"
            r"(?:talk|speak|discuss|answer|say|tell|naming|name|go into|get into|share)\b.*",
            r".*\b(?:lieber nicht|(?:möchte|will|sage?) ich nicht|geht (?:dich|sie) nichts an).*",
            r".*\b(?:prefiero no|no quiero hablar|no voy a (?:decir|hablar)|no lo sé|no sé).*",
            r".*\b(?:je préfère (?:ne )?pas|je ne veux pas|je ne sais pas).*",
            r".*\b(?:prefiro não|não quero falar|não vou dizer|não sei).*",
        )
    )
    + r")[.!]*\s*$",
    re.IGNORECASE,
)
_LEAVES = (
    r"(?:i )?(?:have|need|got|gotta|['’]?ve got|must|should|better)(?: to)? (?:go|run|leave|stop|head \w+|dash)",
    r"i['’]?m off",
    r"ich muss (?:jetzt |leider |nun )*(?:los|weg|gehen|aufhören|schluss machen)",
    r"me (?:tengo que ir|voy|marcho)|(?:ya )?debo irme",
    r"je dois (?:y aller|partir|filer|vous laisser)",
    r"(?:eu )?(?:tenho (?:de|que) (?:ir|sair)(?: embora)?|preciso (?:de )?ir)",
)
_IS_DONE = (
    r"(?:that['’]?s|that is|this is) (?:it|all|enough)(?: (?:for|from) .*)?|enough(?: for (?:today|now))?",
    r"(?:i['’]?m|i am|we['’]?re|we are) (?:done|finished|through)(?: (?:here|now|for today))?|that will do",
    r"i['’]?ve had enough",
    r"(?:das (?:reicht|war['’]?s|genügt)|schluss|feierabend|fertig|genug)(?: .{0,20})?|ich bin (?:fertig|durch)",
    r"(?:basta|ya está|es todo|suficiente|hasta aquí)(?: (?:ya|por hoy|gracias))*",
    r"(?:ça suffit|c['’]est tout|stop|terminé)(?: pour aujourd['’]hui)?|je n['’]ai plus rien à (?:ajouter|dire)",
    r"(?:chega|é tudo|para|já chega)(?: por hoje)?",
    r"(?:nada más|mais nada|nichts mehr|nothing (?:more|else))(?: .{0,25})?",
)
_ENDS = (
    r"(?:no|keine|sin|pas de|sem) (?:more |weiteren |más |autres |mais )?(?:questions?|fragen|preguntas|perguntas)",
    r"(?:i['’]?d like to |i want to |i would like to |can we |could we |let['’]?s |please |shall we |we can )"
    r"(?:please )?(?:stop|end|finish|quit|wrap (?:this )?up|leave it|call it a day|close)"
    r"(?: (?:this|it|the interview|here|now|there|for today|at this point))*",
    r"i don['’]?t want to (?:answer (?:any )?more.*|continue|go on)|stop(?: it| now| asking)*",
    r".*\b(?:gespräch|interview|entrevista|conversa|conversación)\b.*\b(?:beenden|abbrechen|terminar|acabar|encerrar)",
    r"(?:lass uns |ich (?:möchte|will) )(?:hier |jetzt |nun )*(?:aufhören|schluss machen|stoppen|abbrechen)",
    r".*\bmettre fin\b.*|(?:prefiero|quiero|prefiro|quero|podemos) (?:terminar|parar|acabar|dejarlo)(?: .{0,30})?",
    r".*\b(?:another time|some other time|ein ander(?:es|mal)|otro día|otra vez|une autre fois|outro dia)",
    r".*\b(?:continue|resume|pick (?:this|it) up|go on) .*(?:later|tomorrow|again|another day)|morgen weiter.*",
)
_CALLED_AWAY = (
    r".*\b(?:bus|train|taxi|ride|break|shift|boss|kid|baby|zug|bahn|chef(?:in)?|kleine|autobús|tren|jef[ea]|ônibus"
    r"|autocarro|comboio|trem|chefe|bebé|bebê|métro|patronne?)\b.{0,20}\b(?:here|over|up|awake|calling|waiting|arriv\w*"
    r"|coming|fährt|da|kommt|ruft|vorbei|aufgewacht|llega|llegó|llamando|va|chegou|vindo|acordou|appelle|là)\b.*",
)
_STOPS = re.compile(
    r"(?:.*[.!?,;:] *)?(?:(?:ok(?:ay)?|so|well|right|ya|voilà|bon)[, ]+)*(?:"
    + "|".join((*_LEAVES, *_IS_DONE, *_ENDS, *_CALLED_AWAY))
    + r")(?:[, ]+(?:thanks?|thank you|please|bye|danke|bitte|tschüss|gracias|chao|merci|désolée?|obrigad[oa]|tchau|fui"
    r"|bonne \w+|muchas|now|here|for today|then|cheers))*[ .!?…)]*",
    re.IGNORECASE,
)
"""Requests to stop in five languages, as far as the script knows them."""
_OWN = re.compile(r"\b(?:I|I['’]\w+|my|we|our|ich|mein\w*|wir|yo|mi|je|j['’]|mon|ma|eu|meu|minha)\b", re.IGNORECASE)
_TOPIC = re.compile(
    r"\b(?:talk|speak|ask me) about (?P<topic>[^.!?]+)|(?:reden|sprechen) wir (?:lieber )?über (?P<german>[^.!?]+)",
    re.IGNORECASE,
)
_GO_ON = re.compile(
    r"(?:ok(?:ay)?,? )?(?:let['’]?s (?:go on|continue)|(?:can|shall|could) we (?:go on|continue)|go on|continue"
    r"|i(?:['’]m| am) back|lass uns weitermachen|sigamos|on continue|continuons|vamos continuar)[ .!?]*",
    re.IGNORECASE,
)
_GREETS = re.compile(
    r"(?:hi|hello|hey|hallo|moin|guten (?:tag|morgen)|hola|buenas|bonjour|salut|olá|oi|thanks?|thank you|danke"
    r"|gracias|merci|obrigad[oa]|interview me|help me set up my profile)(?: there| you)?[ .!]*",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|no|never|nicht|nie|ne|pas|não|nunca)\b|n['’]t\b", re.IGNORECASE)
_BARE_YES = re.compile(r"(?:ok(?:ay)?|yes|ja|sí|oui|sim|sure|great)[ .!]*", re.IGNORECASE)
_LONGEST_STOP = 14
"""Maximum number of words."""
_KINDS: Mapping[str, str] = {
    "stop the interview": "stop",
    "the draft": "small_talk",
    "why do you ask": "question",
    "how many questions": "question",
}
"""The orchestrator's kinds, by the intents of `intents/interview.yaml`."""
_CORRECTS = re.compile(r"^(?:sorry|no,|actually|i meant)\b", re.IGNORECASE)
_TO_US = re.compile(
    r"^(?:let['’]s|let us|show|please|can you|could you|that['’]s (?:enough|all)|thanks|hello|hi\b|no\b|why\b|you\b|"
    r"(?:just )?(?:write|put|say|add|tell|make|stop|end|give|ask)\b|i (?:won['’]?t|will not|refuse)\b|none of your\b)",
    re.I,
)
_FEWEST_WORDS = 4

Object = dict[str, Any]


def interviewer(names: Mapping[str, Any]) -> str:
    """Return the reply to a counter-question, if any, and the question that the interview's state requires."""
    said, context = names["message"], names["context"]
    state, task = context.rpartition("</interview>")[0], _task(names)
    topic = _line(state, "topic")
    told = next(filter(_tells, _sentences(said)), "")
    language = language_of(" ".join(typed.partition("<interview>")[0] for typed in names["said"][-3:]))
    if "is over" in task:
        why = re.search(r"because (.+?)\. In their language", task)
        reason = why and why[1].replace("they asked", "you asked").replace("their answers", "your answers")
        return f"We stop here, because {reason}. Thank you for your time." if reason else "Thank you for your time."
    aside = next((words for begins, words in _ASIDE.items() if begins in task), "")
    if names["reply"] or aside:
        names = {**names, "reply": names["reply"] or aside}
        return f"{names['reply']} {_asks(state, task, topic, names['answered'], told, language)}"
    question = _asks(state, task, topic, names["answered"], told, language)
    heard = "Verstanden" if language == "de" else "I understand"
    return f"{heard}: “{told}” {question}" if told and "about “" in task else question


_ASIDE: Mapping[str, str] = {
    "They asked you something": "What you tell stays yours: you see all of it, and decide what others see.",
    "They do not want to tell": "All right, we leave that.",
    "They correct something": "I have changed that.",
}
"""The remark before the question, by the beginning of the task."""


def _task(names: Mapping[str, Any]) -> str:
    """Return the current instruction: that of the newest tool result, or else the end of the message."""
    told = [result["now"] for result in names["results"].values() if "now" in result]
    return told[-1] if told else names["context"].rpartition("</interview>")[2]


_ANYTHING_ELSE = (
    "What else would you like others to know of?",
    "Which other piece of work comes to mind?",
    "What should nobody miss?",
    "What would you tell a new colleague?",
    "How did you go about that?",
    "What would others say of that?",
    "Is there anything that we left out?",
    "What would you add?",
)


def _asks(state: str, task: str, topic: str, answered: Sequence[str], told: str, language: str) -> str:
    if "No topic is chosen" in task:
        if told:
            return _fresh(("What was your own part in that?", "What came of that?", "What else is there?"), answered)
        parked = _line(state, "parked topics")
        opening = "What did you do that you would like others to know of?"
        return (
            "What else is there?" if parked else _fresh((opening, "Which piece of work shall we begin with?"), answered)
        )
    if "All topics are told" in task:
        return _fresh(_ANYTHING_ELSE, answered)
    if "Sum up" in task:
        told_of_it = "; ".join(f"“{each}”" for each in _line(state, "told of this topic").split("; ")[:3])
        missing = (f"What is missing of “{topic}”?", f"Is there more to say of “{topic}”?", *_ANYTHING_ELSE)
        return f"Of “{topic}” I have: {told_of_it}. {_fresh(missing, answered)}"
    if "to tell first" in task:
        return "I remember what you told me before. What else would you like to tell me first?"
    asked = re.search(r"one question, about (?:the first of )?“(.+?)”(?:, “(.+?)”)?(?:, “(.+?)”)?", html.unescape(task))
    if asked and asked[2]:
        open_ = [each for each in asked.groups() if each]
        untold = [each for each in open_ if not re.search(QUESTIONS.get(each, ("", r"\0"))[1], told)]
        return _fresh([QUESTIONS[each][0] for each in untold or open_ if each in QUESTIONS], answered)
    if not asked:
        return _fresh(("What else is there to tell?", "Is there anything else about it?"), answered)
    missing = asked[1]
    if told and re.search(QUESTIONS.get(missing, ("", r"\0"))[1], told):  # just answered: the state is a message behind
        others = [each for each in _line(state, "not yet told").split("; ") if each in QUESTIONS and each != missing]
        missing = next((each for each in others if not re.search(QUESTIONS[each][1], told)), missing)
    question = QUESTIONS.get(missing, (f"And what about this: {missing}?", ""))[0]
    if language == "de" and missing in _IN_GERMAN:
        question = _IN_GERMAN[missing]
    again = (f"Once more on {missing}: is there anything that you can tell?", f"In a few words: {missing}?")
    return _fresh(again if "use other words" in task else (question, *again), answered)


def _fresh(questions: Sequence[str], answered: Sequence[str]) -> str:
    """Return the first question that was not asked verbatim before."""
    before = "\n".join(answered)
    return next((each for each in questions if each not in before), questions[-1])


def _line(state: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*)$", html.unescape(state), re.MULTILINE)
    return found[1].strip() if found else ""


_LEARNT: Mapping[str, str] = {
    "headline": r"\bI(?: am|['’]m| work as) (?:an? )?(?P<value>[a-z][\w -]*? (?:at|for) [A-Z][\w&]*(?: [A-Z][\w&]*)*)",
    "location": r"\bI live in (?P<value>[A-Z][\w-]*(?: [A-Z][\w-]*)*)",
    "years_of_experience": r"\b(?P<value>\d+) years of experience",
    "languages": r"\bI speak (?P<value>[A-Z]\w+(?:(?:, | and )[A-Z]\w+)*)",
    "skills": r"\bI(?: am|['’]m) good at (?P<value>[^.!?\n]+)",
    "education": r"\bI studied (?P<degree>[\w ]+?) at (?:the )?(?P<value>[A-Z][\w ]*)",
    "roles": r"\b(?:would like|want) to (?:be|work as|become) (?:an? )?(?P<value>[^.,!?\n]+)",
    "locations": r"\b(?:would like|want) to work in (?P<value>[A-Z][\w-]*(?:(?:, | and | or | )[A-Z][\w-]*)*)",
    "work_mode": r"(?i:\b(?P<value>remote(?:ly)?|hybrid|in (?:the|an) office|from home)\b)",
    "availability": r"\b(?:begin|start) (?P<value>(?:in|on|next|from|right|at)\b[^.!?\n]*)",
    "never": r"\b(?:do not|don['’]t|never) want (?:to )?(?P<value>[^.!?\n]+)",
}


def propose_profile(names: Mapping[str, Any]) -> str | Object:
    """Call `propose_profile` with the values that messages state literally; if there are none, continue or end the
    interview."""
    fields: list[Object] = []
    for name, pattern in _LEARNT.items():
        for text in reversed(names["said"]):
            for sentence in _sentences(text.partition("<interview>")[0]):
                if (found := re.search(pattern, sentence)) and name not in [each["field"] for each in fields]:
                    fields.append({"field": name, "value": _value(name, found), "quotes": [sentence]})
    return {"propose_profile": {"fields": fields}} if fields else interviewer(names)


def onboard(names: Mapping[str, Any]) -> str | Object:
    """Ask the next question; once the onboarding is over, propose the profile and thank the user."""
    if "interview is over" not in _task(names):
        return interviewer(names)
    if "propose_profile" in names["results"]:
        return "That is all I need: thank you. Your profile waits for your yes, field by field."
    return propose_profile(names)


def _value(name: str, found: re.Match[str]) -> Any:
    match name:
        case "headline":
            return f"{found['value'][:1].upper()}{found['value'][1:]}"
        case "languages" | "skills" | "roles" | "locations" | "never":
            return [each.strip() for each in re.split(r", | and | or ", found["value"])]
        case "years_of_experience":
            return int(found["value"])
        case "education":
            return [{"degree": found["degree"].strip(), "school": found["value"].strip()}]
        case _:
            return found["value"]


def _kind(text: str, asked: str, meant: Callable[[str], str]) -> str:
    """Return the kind of a message, by rule; `meant` names the intent that it certainly has, if any."""
    few = len(text.split()) <= _LONGEST_STOP
    if _GO_ON.fullmatch(text.strip()):
        return "go_on"
    if few and _STOPS.fullmatch(text.strip()):
        return "stop"
    if few and not _NOT.search(text) and (intent := _KINDS.get(meant(text))):
        return intent
    if _TOPIC.search(text):
        return "topic"
    if all(_GREETS.fullmatch(each) for each in _sentences(text)):
        return "small_talk"
    told = [each for each in _sentences(text) if _tells(each) and not _REFUSES.search(each)]
    if "?" in text or text.strip(" .!").lower() in ("why", "what", "how so", "warum", "wieso", "por qué", "pourquoi"):
        return "answer" if any(map(_OWN.search, told)) else "question"
    if (_REFUSES.search(text) or _NOTHING_TO_TELL.search(text)) and not any(map(_OWN.search, told)):
        return "refusal"
    return "correction" if _CORRECTS.match(text) and asked not in AGENDA else "answer"


def _next(topics: Sequence[Object], opened: Sequence[str], asked: str, kind: str, text: str) -> Object:
    """Return an open topic and aspect to ask about, other than those that the message answers."""
    if kind not in ("answer", "refusal") and asked:
        return {}
    active = [each for each in topics if each["status"] == "active"]
    others = [each for each in topics if each["status"] == "backlog" and {*each["aspects"]} & {*AGENDA}]
    for topic in [*active, *others]:
        left = [name for name, status in topic["aspects"].items() if status == "open" and name != asked]
        if kind == "answer":
            left = [each for each in left if not re.search(QUESTIONS.get(each, ("", r"\0"))[1], text)]
        if left:
            return {"topic": topic["title"], "aspect": left[0]}
    left = [each for each in ASPECTS if not re.search(ASPECTS[each][1], text)]
    return {"topic": opened[0], "aspect": left[0]} if opened and not active and left else {}


def lead_interview(texts: Sequence[str], meant: Callable[[str], str]) -> Object:
    """Classify the newest message, open a topic for each named place, and choose what to ask next."""
    state = _state(texts[0])
    topics: list[Object] = state.get("topics", [])
    newest = next((each for each in reversed(_messages(texts[0])) if each["by"] == "the person"), None)
    if newest is None:
        return {}
    text, asked = newest["text"], state.get("asked", "")
    kind = _kind(text, asked, meant)
    names = [match["name"] for match in _PLACE.finditer(text)] if kind in ("answer", "correction") else []
    if not topics and not names and kind == "answer":
        names = ["My work"]
    known = {each["title"].casefold() for each in topics}
    opened = [
        {"title": name, "aspects": [*ASPECTS], "priority": 5}
        for name in dict.fromkeys(names)
        if name.casefold() not in known
    ]
    bare = [
        {"title": each["title"], "aspects": [*ASPECTS]}
        for each in topics
        if not each["aspects"] and each["status"] != "completed"
    ]
    active = next((each for each in topics if each["status"] == "active"), None)
    skipped = _NOTHING_TO_TELL.search(text)
    closed: list[Object] = []
    if active and asked in active["aspects"] and skipped and kind == "answer":
        quote = skipped[0].strip()
        closed = [{"topic": active["title"], "aspect": asked, "message_id": newest["message_id"], "quote": quote}]
    after = _next(topics, [each["title"] for each in opened], asked, kind, text)
    if kind == "topic" and (named := _TOPIC.search(text)):
        after = {"topic": (named["topic"] or named["german"]).strip()[:80]}
    reasoning = f"Others would want to know this of “{after['topic']}”: {after['aspect']}." if "aspect" in after else ""
    found = {"kind": kind, "topics": [*opened, *bare], "closed": closed, "reasoning": reasoning, **after}
    return {**found, **({"quote": text[:600]} if kind in ("stop", "refusal", "topic") else {})}


def write_interview(texts: Sequence[str]) -> Object:
    """Write each sentence about the user as a statement in their own words."""
    before = _BEFORE.search(texts[0])
    draft = list(_LINE.finditer(html.unescape(before["text"]))) if before else []
    topics: dict[str, list[str]] = _state(texts[0]).get("topics", {})
    written: list[Object] = []
    asked = ""
    for message in _messages(texts[0]):
        if message["by"] != "the person":
            asked = _asked_in(message["text"])
            continue
        for sentence in _sentences(message["text"]):
            text = re.sub(r"^(?:Sorry|No|Actually)[,:] ", "", sentence)
            text = re.sub(r"^I (?=[a-z])", "", text)
            text = f"{text[:1].upper()}{text[1:]}"
            if not (_tells(sentence) or _answers(sentence, asked)) or any(text in each["text"] for each in draft):
                continue
            told = _told(topics, sentence, asked)
            named = [each for each in topics if each in sentence] or [each for each, names in told.items() if names]
            topic = (named or [each["topic"] for each in draft[-1:]] or [*topics, ""])[0]
            names = told.get(topic, [])
            corrected = [
                int(each["place"])
                for each in draft
                if _CORRECTS.match(sentence) and any(re.search(QUESTIONS[name][1], each["text"]) for name in names)
            ]
            quotes = [{"message_id": message["message_id"], "text": sentence}]
            new = {"topic": topic, "aspects": names, "text": text, "quotes": quotes, "replaces": corrected[:6]}
            written.append(new)
    return {"statements": written[:12]}


def _asked_in(question: str) -> str:
    """Return the aspect that a question is about; empty if the question is not one of ours."""
    told = question.rstrip()
    known = {name: asks for name, (asks, _) in QUESTIONS.items()}
    for name in known:
        again = (f"Once more on {name}:", f"In a few words: {name}?")
        if told.endswith((known[name], _IN_GERMAN.get(name, "\0"))) or any(each in told for each in again):
            return name
    return ""


def _answers(sentence: str, asked: str) -> bool:
    """True if these words can answer a question, however few they are."""
    if _BARE_YES.fullmatch(sentence):
        return False
    to_us = _TO_US.match(sentence) and not re.match(r"no \w", sentence, re.IGNORECASE)
    return asked in QUESTIONS and not (sentence.endswith("?") or to_us or _NOTHING_TO_TELL.search(sentence))


def _told(topics: Mapping[str, Sequence[str]], sentence: str, asked: str) -> dict[str, list[str]]:
    """Return the aspects of each topic that a sentence answers: those it mentions, otherwise the aspect that was asked
    about."""
    told = {
        topic: [each for each in names if each in QUESTIONS and re.search(QUESTIONS[each][1], sentence)]
        for topic, names in topics.items()
    }
    if not any(told.values()) and not (asked == "years of experience" and re.search(r"\b(?:19|20)\d\d\b", sentence)):
        told |= {topic: [asked] for topic, names in topics.items() if asked in names}
    return told


def _tells(sentence: str) -> bool:
    asks = sentence.endswith("?") or _TO_US.match(sentence) or _NOTHING_TO_TELL.match(sentence)
    return not asks and len(sentence.split()) >= _FEWEST_WORDS


def _state(prompt: str) -> Object:
    found = _STATE.search(prompt)
    return json.loads(html.unescape(found["text"])) if found else {}


def _messages(prompt: str) -> list[Object]:
    found = _SAID.search(prompt)
    messages = json.loads(found["json"]) if found else []
    return [{**each, "text": html.unescape(each["text"])} for each in messages]


def _sentences(text: str) -> Iterator[str]:
    return (each.strip() for each in re.findall(r"[^.!?\n]+[.!?]?", text) if each.strip())
