"""Notes (candidate memories): when two are equal, when one is sensitive, and the decision on each."""

import hashlib
import re
import unicodedata
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from qwestly_agent.base.patterns import pattern
from qwestly_agent.domain.memory import Memory, MemorySource, MemoryStatus, MemoryType, Trust
from qwestly_agent.grounding.figures import figures
from qwestly_agent.grounding.model import Quote, QuotedSource
from qwestly_agent.grounding.quotes import QUOTATION_MARKS, find_quote
from qwestly_agent.text.clean import mask_secrets
from qwestly_agent.text.language import content_stems, language_of, tokens_of
from qwestly_agent.text.user_text import holds_others_words, words_of

# --- equality ---------------------------------------------------------------------------------------------------------
# Compare memories for equality in code: ignoring case, whitespace, quotation marks and final punctuation.
#
# A sign next to a digit or within a word counts: "C" is not "C++", "-5" not "5", "5'" not "5". Other similar memories
# are compared by a model (`judges.py`).


_MARKS = f"[{re.escape(QUOTATION_MARKS)}]"
_AROUND_A_WORD = pattern(rf"(?<![\w]){_MARKS}+(?!\d)|(?<!\d){_MARKS}+(?!\w)")
_APOSTROPHE = pattern(rf"(?<!\d){_MARKS}")
_END = pattern(r"(?:(?<=[^\W\d])[.!?…。！？]+|(?<=\d)\.)\s*$")


def normalize_content(content: str) -> str:
    # NFC, because NFKC turns "10²" into "102"; `lower`, because `casefold` turns "Maße" into "Masse".
    text = unicodedata.normalize("NFC", content).lower()
    text = _APOSTROPHE.sub("'", _AROUND_A_WORD.sub("", text))
    return " ".join(_END.sub("", text.strip()).split())


def hash_of(content: str) -> str:
    """Return the SHA-256 (hex) of the normalized content, which is the same for equal memories."""
    return hashlib.sha256(normalize_content(content).encode()).hexdigest()


# --- sensitive --------------------------------------------------------------------------------------------------------
# Find sensitive content, which is stored only after approval, and credentials, which are never stored.
#
# The model that makes a note flags sensitive ones. In addition, a few words that are unambiguous in a sentence about a
# career always make a note sensitive.


def is_credential(text: str) -> bool:
    """True if the text contains credentials, or account or phone numbers, which are never stored, even on request."""
    return mask_secrets(text) != text or bool(_CREDENTIAL.search(text))


def is_sensitive(*texts: str) -> bool:
    """True if one of these words shows that the text concerns health, religion, sexuality or convictions."""
    plain = unicodedata.normalize("NFKD", " ".join(texts).replace("’", "'"))
    return bool(_SENSITIVE.search("".join(letter for letter in plain if not unicodedata.combining(letter))))


_CREDENTIAL = pattern(
    r"\b(?:pass ?words?|pass ?code|pass ?phrase|passwort|kennwort|mot de passe|contrase[ñn]a|senha|log-?in code"
    r"|security code|secret (?:key|word|answer)|api key|access key|pin(?: code| number)?|cvv|cvc|iban|account number"
    r"|card number|social security(?: number)?|ssn|passport number|id number|(?:phone|mobile) number|handynummer"
    r"|telefonnummer)\b[^.!?]{0,40}?(?:\b(?:is|are|ist|lautet|est|es)\b|:|=|\d)"
    r"|\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,}|\+?\d(?:[ /()-]{0,2}\d){9,}",
    re.IGNORECASE,
)
"""Passwords, PINs, and account, card and phone numbers."""

_SENSITIVE = pattern(
    r"\b(?:(?:am|is|i'm) pregnant|schwanger|embarazada|gravida|incinta|miscarriage|hiv[- ]?positiv[eoa]?"
    r"|on antidepressants|alcoholics anonymous|lesbian|lesbisch|lesbiana|lesbienne|bisexual|homosexual|homosexuell"
    r"|schwul|trans (?:wo)?man|atheist|jehovah's witness|vorbestraft|ex-convict)\b",
    re.IGNORECASE,
)
"""Matched without accents."""


# --- notes ------------------------------------------------------------------------------------------------------------
# Notes (candidate memories), the decision on each, and the reasons to skip one.


LONGEST_CONTENT_CHARACTERS = 300
LONGEST_QUOTE_CHARACTERS = 600
LETTERS = 4
"""A word of a note and a typed word count as the same if their stems agree in this many initial letters: “pendelt”,
“pendle”."""


class DropReason(StrEnum):
    """The reason why a note is not stored."""

    NOTHING = "nothing"
    TOO_LONG = "too_long"
    NOT_SAID = "not_said"
    DOCUMENT = "document"
    CREDENTIAL = "credential"
    NOT_MEANT = "not_meant"
    ASKED_NOT_TO = "asked_not_to"
    FORGOTTEN = "forgotten"
    ASKED_BEFORE = "asked_before"
    LESS_TRUSTED = "less_trusted"
    OLDER = "older"
    NOT_CHECKED = "not_checked"


class Note(BaseModel):
    """A candidate memory whose quote was found."""

    model_config = ConfigDict(frozen=True)

    type: MemoryType
    content: str
    quote: str
    """Verbatim from the user's text."""
    context: str
    """The quote with the typed text around it."""
    question: str = ""
    """The question that the quote may answer; a note that needs it has the trust `inferred`."""
    trust: Trust
    importance: float
    confidence: float
    sensitive: bool
    about_writing: bool = False
    since: str | None = None
    """An ISO date, as is `until`."""
    until: str | None = None
    said_at: float
    """Seconds since the epoch."""
    source: MemorySource
    corrects: str = ""
    """The content of the memory that it corrects, whose words count as the user's."""
    is_asked_for: bool = False
    """True if a chat tool made it; then only words that the user typed are stored at once."""
    is_adopted: bool = False
    """True if the content is the line that the assistant had put to the user, who ordered to remember it."""
    is_doubtful: bool = False
    """True if the user must approve it, because code cannot verify that they typed it, or that it states what they
    typed."""
    is_checked: bool = False
    """True if a judge supported it."""
    memory_id: str | None = None
    """Id of the unchecked memory made from it, if there is one."""
    tries: int = 0
    """How often the judge was unavailable for it."""

    @property
    def hash(self) -> str:
        return hash_of(self.content)

    @property
    def sentence(self) -> str:
        """The user's own sentence, verbatim; the quote if the sentence is too long."""
        found = find_quote(Quote(source="", text=self.quote), {"": QuotedSource(id="", text=self.context)})
        sentence = found.sentence if found else ""
        return sentence if 0 < len(sentence) <= LONGEST_CONTENT_CHARACTERS else self.quote

    def memory(self, memory_id: str, status: MemoryStatus, **more: Any) -> Memory:
        """Return the memory, with these further fields."""
        kept = {"type", "content", "quote", "question", "trust", "importance", "confidence", "sensitive"}
        kept |= {"about_writing", "source"} | ({"context", "tries", "is_doubtful"} if status == "unchecked" else set())
        return Memory(
            id=memory_id, status=status, **{"last_seen": self.said_at, **self.model_dump(include=kept)} | more
        )

    @property
    def foreign_words(self) -> tuple[str, ...]:
        """Its content words that begin like none that the user typed, or that stood in the memory that it corrects.
        Figures are not among them: the reader of figures compares those."""
        own = {each[:LETTERS] for each in content_stems(f"{self.sentence} {self.quote} {self.corrects}")}
        text = self.content
        for figure in figures(text, language_of(text)):
            text = text.replace(figure.text, " ")
        return tuple(
            word for word in tokens_of(text) if not own.issuperset(each[:LETTERS] for each in content_stems(word))
        )


Verb: TypeAlias = Literal["add", "reinforce", "wait", "skip"]


class NoteDecision(BaseModel):
    """The decision on a note."""

    model_config = ConfigDict(frozen=True)

    verb: Verb
    """Add a memory · reinforce an existing one · add it as unchecked · skip."""
    note: Note
    target: str | None = None
    """Id of the memory to reinforce; `#3` is the memory made by the fourth decision of the batch."""
    supersedes: tuple[str, ...] = ()
    """Ids of the memories that it replaces."""
    ask: bool = False
    """True if the user must approve it first."""
    retells: tuple[str, ...] = ()
    """Ids of tombstones that it may repeat."""
    reason: str | None = None
    """The reason for skipping it."""


# --- plain order ------------------------------------------------------------------------------------------------------
# Recognize a message that is nothing but an order to remember something: "Remember that I live in Porto."
#
# One closed grammar matches the whole message, in English, German, Spanish, French, Portuguese and Italian. A message
# that it does not match is not a plain order and needs approval if the window has text by others.


LONGEST_ORDER = 400
_PLEASE = r"(?:please|pls|bitte|por favor|s['’]il (?:te|vous) pla[iî]t|stp|per favore)"
_ORDERS = (
    r"(?:can|could|will|would) you (?:please )?remember|remember|note|make a note|take note|keep in mind|bear in mind"
    r"|(?:do not|don['’]t) forget",
    r"merke? dir|notiere? (?:dir|bitte)|notiere?|behalte?(?: im kopf)?|denke? daran|vergiss (?:bitte )?nicht"
    r"|kannst du dir merken",
    r"recuerda|acu[eé]rdate(?: de)?|no (?:te )?olvides(?: de)?|ten en cuenta|ap[uú]nta(?:te)?|an[oó]ta(?:te)?"
    r"|toma nota(?: de)?",
    r"(?:souviens|rappelle)[- ]toi|retiens|retenez|note(?: bien|z)?|n['’]oubliez? pas|garde en (?:t[eê]te|m[eé]moire)",
    r"lembr(?:a[- ]te|a|e-se|e)(?: de)?|anote|guarda|tem em conta|n[aã]o (?:[ts]e )?esque[cç]as?(?: de)?",
    r"ricorda(?:ti)?(?: di)?|non dimenticare|annota|tieni a mente|prendi nota",
)
_THAT = r"(?:that|dass|daß|que|qu['’]|che)"
_START = rf"(?:{_PLEASE},?\s+)?(?:{'|'.join(_ORDERS)})"
_ORDER = pattern(
    rf"(?is){_START}(?:\s+{_PLEASE})?(?:\s*[:,]\s*|\s+)(?:{_THAT}(?:\s+|(?<=['’]))|:\s*)?(?P<what>[^?？]+)"
)


_QUOTED_ORDER = pattern(
    rf"(?i){_START}\b[^:?？\n“”„«»\"]{{0,60}}:\s*{_MARKS}+\s*(?P<what>[^“”„«»\"\n]+?)\s*{_MARKS}+\s*[.!]?"
)
_ADOPTION = pattern(rf"(?i)(?:[^,.!?？\n]{{1,40}}[,.!]\s+)?{_START}\b[^:?？\n]{{0,60}}")
_IT = r"(?:this|that|it|any of (?:this|that)|das|dies|es|ça|cela|esto|eso|isto|isso|questo|ciò)"
_NEVER = pattern(
    rf"(?is)(?:{_PLEASE},?\s+)?(?:(?:do not|don['’]t) (?:remember|note|save|store|keep) {_IT}|{_IT} (?:bitte )?"
    rf"(?:nicht|nirgends) (?:merken|notieren|speichern|behalten)|(?:merke?|notiere?|speichere?|behalte?) (?:dir )?{_IT}"
    rf" (?:bitte )?nicht|n(?:e |['’])(?:retiens?|note[sz]?|garde[sz]?|enregistre[sz]?) pas {_IT}|no (?:recuerd|apunt"
    rf"|anot|guard)es {_IT}|n[aã]o (?:lembr|anot|guard)[ea]s? {_IT}|non (?:ricordare|annotare|salvare|tenere) {_IT})"
    rf"(?:,?\s+{_PLEASE})?\s*[.!]*"
)


def is_plain_refusal(message: str) -> bool:
    """True if the whole message is a request not to remember something: “Don't remember that.”"""
    return bool(_NEVER.fullmatch(message.strip()))


def without_request(sentence: str) -> str:
    """Return the part of a sentence that follows an order to remember; other sentences unchanged."""
    found = _ORDER.fullmatch(sentence.strip())
    return found["what"].strip() if found and len(words_of(found["what"])) > 1 else sentence


def ordered_quotation(message: str) -> str:
    """Return the text that the whole message orders the agent to remember verbatim: “Remember this word for word:
    “…””."""
    found = _QUOTED_ORDER.fullmatch(message.strip()) if len(message) <= LONGEST_ORDER else None
    return found["what"] if found else ""


def is_adoption(message: str) -> bool:
    """True if the message is an order to remember, after at most one short clause: “Good, remember that line.”"""
    return bool(_ADOPTION.fullmatch(message.strip())) and not holds_others_words(message)


def is_plain_order(message: str) -> bool:
    """True if the user typed the whole message and it is an order to remember something, in a single paragraph."""
    text = message.strip()
    if ordered_quotation(text):
        return True
    if len(text) > LONGEST_ORDER or "\n" in text or holds_others_words(text):
        return False
    found = _ORDER.fullmatch(text)
    return bool(found) and len(words_of(found["what"])) > 1
