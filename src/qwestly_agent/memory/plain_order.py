"""Recognize a message that is nothing but an order to remember something: "Remember that I live in Porto."

One closed grammar over the whole message, in English, German, Spanish, French, Portuguese and Italian. What it does not
know is no plain order, and is then asked about where the window has text by others.
"""

from qwestly_agent.base.patterns import pattern
from qwestly_agent.text.user_text import holds_others_words, words_of

LONGEST_ORDER = 400
_PLEASE = r"(?:please|pls|bitte|por favor|s['’]il (?:te|vous) pla[iî]t|stp|per favore)"
_ORDERS = (
    r"(?:can|could|will|would) you (?:please )?remember|remember|note|make a note|take note|keep in mind|bear in mind"
    r"|(?:do not|don['’]t) forget",
    r"merke? dir|notiere? (?:dir|bitte)|notiere?|behalte?(?: im kopf)?|denke? daran|vergiss (?:bitte )?nicht"
    r"|kannst du dir merken",
    r"recuerda|acu[eé]rdate(?: de)?|no (?:te )?olvides(?: de)?|ten en cuenta|ap[uú]nta(?:te)?|an[oó]ta(?:te)?"
    r"|toma nota(?: de)?",
    r"souviens[- ]toi|rappelle[- ]toi|retiens|retenez|note(?: bien)?|notez|n['’]oublie(?:z)? pas"
    r"|garde en (?:t[eê]te|m[eé]moire)",
    r"lembra[- ]te(?: de)?|lembre(?:-se)?(?: de)?|lembra|anota|anote|guarda|toma nota(?: de)?|tem em conta"
    r"|n[aã]o (?:te )?esque[cç]as(?: de)?|n[aã]o (?:se )?esque[cç]a(?: de)?",
    r"ricorda(?:ti)?(?: di)?|non dimenticare|annota|tieni a mente|prendi nota",
)
_THAT = r"(?:that|dass|daß|que|qu['’]|che)"
_ORDER = pattern(
    rf"(?is)(?:{_PLEASE},?\s+)?(?:{'|'.join(_ORDERS)})(?:\s+{_PLEASE})?(?:\s*[:,]\s*|\s+)"
    rf"(?:{_THAT}(?:\s+|(?<=['’]))|:\s*)?(?P<what>[^?？]+)"
)


def is_plain_order(message: str) -> bool:
    """True if the user typed the whole message, and it orders to remember something of one paragraph."""
    text = message.strip()
    if len(text) > LONGEST_ORDER or "\n" in text or holds_others_words(text):
        return False
    found = _ORDER.fullmatch(text)
    return bool(found) and len(words_of(found["what"])) > 1
