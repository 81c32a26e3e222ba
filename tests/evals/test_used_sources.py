"""How often an answer that quotes one record and retells another in other words names both, and what else it names.

Each record is a line of a user's statements or résumé, each retelling a labelled true claim based on it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evals.claims import FOLDER, UNSEEN, Case, load
from qwestly_agent.agents.tools.catalog import records_of
from qwestly_agent.agents.tools.knowledge import query_user_knowledge
from qwestly_agent.chat.used_sources import ReturnedRecord, used_sources

CLOSING = {
    "de": "Sag mir gerne, wenn du etwas ändern möchtest oder ich noch weiter suchen soll.",
    "en": "Let me know if you would like to change anything, or if I should look for something else.",
    "es": "Dime si quieres cambiar algo o si debo buscar otra cosa.",
    "fr": "Dites-moi si vous voulez changer quelque chose ou si je dois chercher autre chose.",
    "it": "Fammi sapere se vuoi cambiare qualcosa o se devo cercare altro.",
    "nl": "Laat me weten of je iets wilt veranderen of dat ik verder moet zoeken.",
    "pt": "Diga-me se quer mudar alguma coisa ou se devo procurar outra coisa.",
}
"""Common words, which must not count as a record's."""


@dataclass(frozen=True)
class Told:
    records: list[str]
    retold: set[int]
    quoted: int
    retelling: str
    closing: str

    def named(self, answer: str) -> set[int]:
        memories = [{"id": str(number), "content": line} for number, line in enumerate(self.records)]
        returned = records_of(query_user_knowledge.__name__, {"memories": memories})
        ids = used_sources(map(ReturnedRecord.of, returned), f"{answer} {self.closing}")
        return {int(each.removeprefix("memory:")) for each in ids}


def told(cases: list[Case]) -> Iterator[Told]:
    for case in cases:
        records = [line.strip() for each in case.sources.values() for line in re.split(r"\n|(?<=[.!?])\s", each.text)]
        records = [line for line in records if len(line) >= 20]
        quotes = [each.text.strip() for each in case.statement.quotes]
        retold = {n for n, line in enumerate(records) if any(each in line or line in each for each in quotes)}
        others = [n for n in range(len(records)) if n not in retold]
        if case.true and retold and len(others) >= 2:
            quoted = others[len(case.statement.text) % len(others)]
            yield Told(records, retold, quoted, case.statement.text, CLOSING[case.statement.language])


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize("folder", [FOLDER, UNSEEN], ids=["claims", "unseen"])
def test_an_answer_names_a_retold_record_besides_the_quoted_one(folder: Path) -> None:
    missed = wrong = named = missed_alone = wrong_alone = 0
    answers = list(told(load(folder)))
    for each in answers:
        both = each.named(f"{each.records[each.quoted]}. {each.retelling}")
        assert each.quoted in both
        missed += not each.retold <= both
        wrong += len(both - each.retold - {each.quoted})
        named += len(both)
        alone = each.named(each.retelling)
        missed_alone += not each.retold <= alone
        wrong_alone += len(alone - each.retold)
    assert missed <= 0.18 * len(answers), "does not name what it retells beside a quote"
    assert wrong <= 0.21 * named, "names what it does not use"
    # 37 of the 406 claims and 197 of the 2,505 unseen ones: their retelling has no word of one of its records.
    assert missed_alone <= 0.095 * len(answers), "does not name what it retells, and quotes nothing"
    assert wrong_alone <= 1.2 * len(answers), "names what it does not use, and quotes nothing"
