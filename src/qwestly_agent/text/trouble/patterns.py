r"""Compile a language's phrases for `find_trouble`.

They are for text that `plain` folded: lower case, without accents, one space between words, a comma for
whatever separates clauses. A list has one phrase a line (a line that is
indented further goes on with it), a regular expression of whole words, in which

- `{name}` is any of the language's `words` of that name, which are separated by commas;
- `*` after letters is any ending;
- `~` is up to four words that go on speaking of oneself (none of `others`), and `~~` up to nine;
- `I` is the first person, or (not before `~`) a beginning of a clause that leaves it out;
- `\.` is the end of a clause.

Every language has its own phrases and those of `families`.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from qwestly_agent.text.trouble import families
from qwestly_agent.text.trouble.shorthand import SHORTHAND

_SENTENCE = re.compile(r"[.!?…;¡¿\n]+")
_APOSTROPHE = re.compile(r"['’‘`´]")
_CLAUSE = re.compile(r"\s*[,:()\[\]–—/\"«»“”„]+\s*|\s+-+\s+")
_OTHER = re.compile(r"[^\w,]+|_")
_LONG = re.compile(r"([a-z])\1{2,}")
_LIST = re.compile(r",\s+|\n\s*")
_END = "(?= ,|$)"


def plain(text: str, apostrophe: str) -> list[str]:
    """The sentences of a text, folded."""
    folded = "".join(each for each in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(each))
    folded = _LONG.sub(r"\1", _APOSTROPHE.sub(apostrophe, folded.replace("ß", "ss")))
    sentences = (_CLAUSE.sub(" , ", sentence) for sentence in _SENTENCE.split(folded))
    return [words for each in sentences if (words := " ".join(_OTHER.sub(" ", each).split()).strip(" ,"))]


@dataclass(frozen=True)
class Language:
    """How people say in one language that they are in trouble."""

    code: str
    apostrophe: str
    """What stands for an apostrophe: nothing, or a space where it joins words."""
    first_person: str
    """A pattern of what `I` stands for, before the gap."""
    begins: str
    """Words with which a clause may begin that leaves out `I`."""
    others: str
    """Words that begin to speak of somebody else, or of work."""
    words: Mapping[str, str]
    self_harm: str
    violence: str
    past: str
    """Phrases of self-harm that do not count in a message with one of `long_ago`."""
    long_ago: str
    harmless: str
    """Phrases that are taken out before the others are looked for: idioms, and what belongs to professions."""

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, folded, without shorthand."""
        words = SHORTHAND[self.code]
        return [self._shorthand.sub(lambda found: words[found[0]], each) for each in plain(text, self.apostrophe)]

    @cached_property
    def _shorthand(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\S)(?:{'|'.join(SHORTHAND[self.code])})(?!\S)")

    @cached_property
    def patterns(self) -> Mapping[str, re.Pattern[str]]:
        names = ("self_harm", "violence", "past", "long_ago", "harmless")
        shared = {"self_harm": families.SELF_HARM, "violence": families.VIOLENCE, "past": families.PAST}
        return {name: self._any_of(getattr(self, name) + shared.get(name, "")) for name in names}

    def _any_of(self, phrases: str) -> re.Pattern[str]:
        joined = phrases.replace("\n" + " " * 12, "")
        lines = [self._expanded(line.strip()) for line in joined.splitlines() if line.strip()]
        return re.compile(rf"(?<!\S)(?:{'|'.join(lines)})(?!\S)")

    def _expanded(self, phrase: str) -> str:
        words = {**families.WORDS[self.code], **self.words}
        for _ in range(3):  # words may be made of words
            phrase = re.sub(r"\{([a-z_]+)\}", lambda found: _group(words[found[1]]), phrase)
        phrase = re.sub(r"(?<=[a-z])(?<!\\w)\*", r"\\w*", phrase).replace(r"\.", _END)
        word = rf"(?!{_group(self.others)}\b)[\w,]+ "
        begins = rf"(?:^|, )(?:{_group(self.begins)} ){{0,3}}"
        phrase = re.sub(r"(?<!\S)I ~", lambda _: f"{_group(self.first_person)} ~", phrase)
        phrase = re.sub(r"(?<!\S)I ", lambda _: f"(?:{begins}|{_group(self.first_person)} ~~ )", phrase)
        phrase = phrase.replace(" # ", r" (?:[\w,]+ ){0,10}?")
        return phrase.replace("~~ ", f"(?:{word}){{0,9}}?").replace("~ ", f"(?:{word}){{0,4}}?")


def _group(words: str) -> str:
    joined = words.replace("\n" + " " * 16, "")
    return f"(?:{'|'.join(filter(None, _LIST.split(joined.strip())))})"
