"""What a user's sentence wishes: that something be forgotten, or remembered. A wish begins as one: in doubt there is
none, and the user is asked.
"""

import re
from collections.abc import Iterator

from qwestly_agent.memory.typed import sentences, words_of

_NEGATED = r"(?:don['’]?t|do not|never)"
_FORGET = (
    r"(?:forget|unlearn|vergiss|vergessen sie|oublie[rz]?|olvid[ae]|esque(?:ce|cer|ça)"
    rf"|(?:{_NEGATED}|no longer|stop) (?:ever |please )?"
    r"(?:remember\w*|(?:know|keep|sav|stor|not)\w*(?= (?:that|this|it|anything|what|the fact)\b)))"
)
_DELETE = (
    r"(?:delete|remove|erase|drop|wipe|clear|scrub|l[öo]sch\w*|entfern\w*|efface[rz]?|supprime[rz]?|borra|elimina|apag\w*)"
    r"(?=\s+(?:that (?:i|my|we)\b|the fact that\b|dass\b|que\b|(?:(?:the|your|all|any|every|my) )*memor(?:y|ies)\b"
    r"|.*\b(?:from|in|out of|aus) (?:your|the|deinem|dem) (?:memor(?:y|ies)|mind|ged[äa]chtnis)\b"
    r"|.*\byou (?:know|remember|have (?:noted|stored|saved|remembered))\b))"
    r"(?!.*\b(?:from|in|on|off|out of) (?:(?:the|my|this|our|a) )+(?:\w+ ){0,3}?(?:cv|card|headline|r[ée]sum[ée]"
    r"|profile|draft|letter|page|summary|list|document|section|website|calendar)\b)"
)
"""Of memory and nothing else: there is much that somebody may want deleted."""
_REMEMBER = (
    rf"(?:remember|note(?: down)?|keep in mind|{_NEGATED} (?:ever )?forget|memori[sz]e|save|store|merke? dir|notiere?"
    r"|rappelle-toi|retiens|recuerda|anota|guarda|lembr[ea]\w*)"
    r"(?! (?:to|nothing|none|no|not|nicht|if|whether|when|how|why|what|who|where|which|me|us)\b)"
)
_LEAD = (
    r"^\W*(?:(?:please|ok(?:ay)?|and|then|now|so|well|also|thanks|thank you|hi|hello|hey|oh|actually|sorry|just|kindly"
    r"|yes|all ?right|but|first|next|qwestly|bitte|por favor|s['’]il (?:te|vous) pla[iî]t)\W+)*+"
)
_REQUEST = r"(?:(?:can|could|would) you\W+|i(?:['’]d| would)? (?:like|want|need|wish) you to\W+)"
_KINDLY = r"(?:(?:please|also|now|just|kindly)\W+)*+"
_NOT_AFTER_ALL = r"(?!\W+(?:\w+\W+)?(?:not|never|nicht|nie|niemals|pas|jamais)\b)"
_WANTS_FORGOTTEN = re.compile(
    rf"{_LEAD}{_REQUEST}?{_KINDLY}(?P<verb>{_FORGET}|{_DELETE})\b{_NOT_AFTER_ALL}", re.IGNORECASE | re.DOTALL
)
_WANTS_KEPT = re.compile(
    rf"{_LEAD}(?:{_REQUEST}{_KINDLY}{_REMEMBER}\W+(?:that|this|it|my)\b|{_KINDLY}{_REMEMBER}\b)"
    r"|[,;–—]\s*(?:and |so )?(?:please )?(?:remember|note|keep in mind|save) (?:that|this|it)\W*$",
    re.IGNORECASE,
)
_ASKS_YOU_TO = re.compile(_LEAD + _REQUEST, re.IGNORECASE)
_SAID_BEFORE = re.compile(
    r"\W*(?:about |all (?:of )?)?(?:it|that|this|these|those|what i (?:just )?(?:said|wrote|told you))"
    r"(?:\W+(?:please|again|for good|at once|now|immediately))*\W*$",
    re.IGNORECASE,
)
_DO_NOT_FORGET = re.compile(rf"^.*?\b{_NEGATED} (?:ever )?forget(?: that)?\b[\s,:]*+(?!\W*$)", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:but|except|apart from|other than|besides)\b.*", re.IGNORECASE | re.DOTALL)
_AFTER_A_COLON = re.compile(r":[ \t]*\n.*", re.DOTALL)
"""What is to be translated, or written to somebody."""
_DOES_NOT = re.compile(
    rf"\b(?:{_NEGATED}|not to|won['’]?t|nicht|nunca|n[ãa]o|no)\s+(?:ever\s+|te\s+|me\s+)?"
    r"(?:forget|vergiss\w*|vergessen|olvid\w*|esque[çc]\w*)\b",
    re.IGNORECASE,
)
_MAY_WANT_FORGOTTEN = re.compile(
    r"\b(?:forget|unlearn|vergiss|oublie[rz]?|olvid[ae]|esque(?:ce|ça))\b"
    r"|\b(?:(?:do|did|would|should|must)(?:n['’]?t| not)|never|no longer|stop|rather not) (?:\w+ )?"
    r"(?:remember|sav|stor|note\b|noting|keep|memori)"
    r"|\b(?:remember|save|note|keep|store) (?:nothing|none|no)\b",
    re.IGNORECASE,
)


def wishes_to_forget(typed: str) -> Iterator[str]:
    """What each sentence that asks for it asks to be forgotten."""
    before = ""
    for sentence in _asking(typed):
        found = _WANTS_FORGOTTEN.match(sentence)
        if found and (not _is_question(sentence) or _ASKS_YOU_TO.match(sentence)):
            asked = sentence[found.end("verb") :]
            if _SAID_BEFORE.match(asked):
                asked = "" if _is_question(before) else before
            if words_of(asked := _EXCEPT.sub("", asked)):
                yield asked
        before = sentence


def wishes_to_remember(typed: str) -> Iterator[tuple[str, str]]:
    """Each sentence that asks for it, and as it tells what is to be remembered: "Could you remember that I live in
    Porto?" asks nothing else, and "don't forget" denies nothing."""
    for sentence in _asking(typed):
        if _wants_kept(sentence):
            yield sentence, _DO_NOT_FORGET.sub("", sentence).replace("?", ".")


def _asking(typed: str) -> list[str]:
    return [each for each in sentences(_AFTER_A_COLON.sub(":", typed)) if words_of(each)]


def _wants_kept(sentence: str) -> bool:
    return bool(_WANTS_KEPT.search(sentence)) and (not _is_question(sentence) or bool(_ASKS_YOU_TO.match(sentence)))


def may_want_forgotten(typed: str) -> bool:
    """In doubt it does: what is not remembered can be told again."""
    return bool(_MAY_WANT_FORGOTTEN.search(_DOES_NOT.sub(" ", typed))) or any(wishes_to_forget(typed))


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("*_ \"'”’)!").endswith("?")
