"""Find sentences in which people say that they are in acute trouble: in five languages, by phrases about oneself.

It errs on the side of help: a false alarm costs a person one answer, a missed one may cost more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from qwestly_agent.text.trouble.de import GERMAN
from qwestly_agent.text.trouble.en import ENGLISH
from qwestly_agent.text.trouble.es import SPANISH
from qwestly_agent.text.trouble.fr import FRENCH
from qwestly_agent.text.trouble.patterns import Language
from qwestly_agent.text.trouble.pt import PORTUGUESE

Kind: TypeAlias = Literal["self_harm", "violence", "abuse"]
"""`abuse` is what a person does to the agent; no phrase finds it."""

LANGUAGES: Sequence[Language] = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE)


@dataclass(frozen=True)
class Trouble:
    kind: Kind
    language: str
    """ISO 639-1 code."""


def find_trouble(typed: Iterable[str], language: str = "") -> Trouble | None:
    """Find acute trouble in what a person typed about themselves. `language` is that of the text, if it is known."""
    text = "\n".join(typed)
    found = [(number, trouble) for number, trouble in (_find(text, each) for each in LANGUAGES) if number]
    # Languages share phrases: the text is in the one of which it has most.
    best = max(found, key=lambda each: (each[1].language == language, each[0]), default=None)
    return best[1] if best else None


def _find(text: str, language: Language) -> tuple[int, Trouble]:
    """How many phrases the text has, and what they tell."""
    patterns = language.patterns
    sentences = [patterns["harmless"].sub(",", each) for each in language.sentences(text)]
    number = {name: sum(len(pattern.findall(each)) for each in sentences) for name, pattern in patterns.items()}
    past = 0 if number["long_ago"] else number["past"]
    kind: Kind = "self_harm" if number["self_harm"] or past else "violence"
    return number["self_harm"] + past + number["violence"], Trouble(kind, language.code)
