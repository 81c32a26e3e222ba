"""Check that a query to a job board or the web carries nothing private of the person.

A model that obeys somebody else's text could write any fact from its prompt into a query. A query is short, without
contact details and long numbers. Once other people's text is in the window, it consists of words of the person's newest
message, their titles and their places; before that, it may not contain other words of what is known about them.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.domain.job import JobWishes
from qwestly_agent.grounding.figures import is_number_word
from qwestly_agent.text.clean import mask_secrets
from qwestly_agent.text.contacts import contacts_in
from qwestly_agent.text.language import content_stems, stems_of, tokens_of

MOST_WORDS = 8
FEWEST_LETTERS_INSIDE = 5
"""Length from which a private word is also looked for inside other words."""
_THOUSANDS = re.compile(r"(?<=\d)[.,'’ \u00a0\u202f](?=\d{3}(?!\d))")
_LONG_NUMBER = re.compile(r"\d{5}|(?:(?<!\d)\d[\W_]+){3}\d(?!\d)")
"""Five digits, or four of them written apart."""
_SEARCH_STEMS = frozenset(
    stems_of(
        "job jobs vacancy stelle stellen stellenangebote emploi emplois offre offres empleo trabajo oferta ofertas vaga"
        " vagas emprego lavoro offerte vacature vacatures remote review reviews salary"
    )
)
"""Words of searching itself, which say nothing about anybody."""


@dataclass(frozen=True)
class QueryRule:
    """What a query may contain in a turn."""

    message: str
    """The person's newest message."""
    titles_and_places: str
    known: str
    """What the model was given about the person."""
    has_untrusted_content: bool
    """True if other people's text is in the window."""

    def problem(self, query: str) -> str | None:
        """Return why the query is not sent, in a sentence for the model; None if it may leave."""
        plain = unicodedata.normalize("NFKC", query)
        if mask_secrets(plain) != plain or contacts_in(plain):
            return "Nothing was sent: a query contains no contact details and no addresses. Leave them out."
        if _LONG_NUMBER.search(_THOUSANDS.sub("", plain)):
            return "Nothing was sent: a query contains no number with more than four digits. Leave it out."
        if len(tokens_of(plain)) > MOST_WORDS:
            return f"Nothing was sent: a query has at most {MOST_WORDS} words. Shorten it."
        if refused := [*dict.fromkeys(self._refused(plain))]:
            own = "the user's newest message, their titles and their places"
            return f"Nothing was sent: leave out {', '.join(refused)}. Use only words of {own}."
        return None

    def _refused(self, query: str) -> Iterator[str]:
        allowed = _SEARCH_STEMS | {*stems_of(f"{self.message}\n{self.titles_and_places}")}
        known = {*content_stems(self.known)} - allowed
        long = [each for each in known if len(each) >= FEWEST_LETTERS_INSIDE]
        for word in tokens_of(query):
            if allowed.issuperset(stems := content_stems(word)):
                continue
            is_known = not known.isdisjoint(stems) or any(each in word for each in long)
            if self.has_untrusted_content or is_known or is_number_word(word):
                yield word


def titles_and_places(career: Mapping[str, Any], wishes: JobWishes) -> str:
    """Return the person's titles and places, as a text of words."""
    preferences = career.get("preferences") or {}
    stints = [each for each in career.get("employment") or () if isinstance(each, Mapping)]
    named = [career.get("headline"), career.get("location"), preferences.get("roles"), preferences.get("locations")]
    named += [each.get(name) for each in stints for name in ("title", "location")]
    return "\n".join([*wishes.titles, *wishes.places, *_texts(named)])


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []
