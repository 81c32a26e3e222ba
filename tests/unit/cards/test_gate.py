"""What a card says must be said by the evidence that it cites."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import create_autospec

import pytest
import yaml
from aws_lambda_powertools import Logger
from hypothesis import example, given
from hypothesis import strategies as st

from qwestly_agent.cards import gate
from qwestly_agent.cards.gate import NOT_CHECKED, check_card, check_claim
from qwestly_agent.cards.model import Card, Claim, Evidence, Section, Verdict
from qwestly_agent.cards.passages import Passage
from qwestly_agent.observability import make_logger

TODAY = date(2026, 11, 21)
HERE = Path(__file__).parent


def _told(file: str) -> list[dict[str, Any]]:
    return yaml.safe_load((HERE / file).read_text())


OURS = _told("true_claims.yaml")
UNSEEN = _told("unseen_claims.yaml")
"""Written by somebody who had not read the checker."""
OTHER_TRADES = _told("other_trades.yaml")
"""Written before the checker was asked about them."""
MORE_TRADES = _told("more_trades.yaml")
PEOPLE = OURS + UNSEEN + OTHER_TRADES + MORE_TRADES


class Case(NamedTuple):
    claim: Claim
    evidence: dict[str, Evidence]


class Falsehood(NamedTuple):
    case: Case
    text: str
    named: str


def _people() -> Iterator[tuple[Case, list[list[str]]]]:
    for person in PEOPLE:
        evidence = {name: Evidence(id=name, source=name, **said) for name, said in person["evidence"].items()}
        for told in person["claims"]:
            yield Case(Claim(text=told["claim"], evidence=tuple(told["cites"])), evidence), told.get("lies", [])


TRUE = [case for case, _ in _people()]
FALSE = [
    Falsehood(case, case.claim.text.replace(str(old), str(new), 1), str(named))
    for case, changes in _people()
    for old, new, named in changes
]


def verdict(text: str, *said: str, **kinds: Any) -> Verdict:
    """On a claim that cites everything that is said here."""
    evidence = {
        str(index): Evidence.model_validate(
            {"id": str(index), "kind": "memory", "trust": "user_said", "source": "chat", "text": words, **kinds}
        )
        for index, words in enumerate(said)
    }
    return check_claim(Claim(text=text, evidence=tuple(evidence)), evidence, TODAY)


def test_the_sample_is_as_large_as_was_promised() -> None:
    assert len(TRUE) >= 60 + 40 + 25 + 12
    assert len(FALSE) >= 100 + 60
    assert [sum(len(person["claims"]) for person in people) for people in (UNSEEN, OTHER_TRADES)] == [40, 25]
    assert all(lie.text != lie.case.claim.text for lie in FALSE)


@pytest.mark.thorough
@pytest.mark.parametrize("case", TRUE, ids=lambda case: case.claim.text)
def test_what_is_true_is_not_refused(case: Case) -> None:
    assert check_claim(case.claim, case.evidence, TODAY).missing == ()


@pytest.mark.parametrize("lie", FALSE, ids=lambda lie: lie.text)
def test_what_is_changed_in_one_place_is_refused_for_that(lie: Falsehood) -> None:
    changed = lie.case.claim.model_copy(update={"text": lie.text})
    assert lie.named.lower() in " ".join(check_claim(changed, lie.case.evidence, TODAY).missing).lower()


def _numbers_in(text: str) -> list[re.Match[str]]:
    return list(re.finditer(r"(?<![\w.,-])\d+(?:[.,]\d+)*", text))


@pytest.mark.thorough
@given(st.data())
def test_a_number_ten_times_too_big_is_refused_wherever_it_stands(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([case for case in TRUE if _numbers_in(case.claim.text)]))
    number = data.draw(st.sampled_from(_numbers_in(case.claim.text)))
    tenfold = number.group().replace(",", "") + "0" if "." not in number.group() else f"{float(number.group()) * 10:g}"
    text = case.claim.text[: number.start()] + tenfold + case.claim.text[number.end() :]
    assert check_claim(case.claim.model_copy(update={"text": text}), case.evidence, TODAY).missing


@pytest.mark.thorough
@given(st.data())
def test_a_name_that_nobody_told_is_refused_wherever_it_stands(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(TRUE))
    letters = st.text("bdfgkmpvwxz", min_size=2, max_size=4)
    name = f"{data.draw(letters)}o{data.draw(letters)}x".capitalize()
    words = case.claim.text.split(" ")
    place = data.draw(st.integers(0, len(words)))
    claim = case.claim.model_copy(update={"text": " ".join([*words[:place], name, *words[place:]])})
    assert name in " ".join(check_claim(claim, case.evidence, TODAY).missing)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Led the Atlas project", "I did not lead the Atlas project, I only helped with the tests."),
        ("Knows Rust", "I would like to learn Rust."),
        ("Java developer", "I have no experience with Go, Rust or Java."),
        ("Head of Sales since 2020", "I wanted to be Head of Sales in 2020."),
        ("Holds a PhD from TUM", "I began a PhD at TUM but dropped out."),
        ("Has an MBA", "Took an MBA course but never finished the degree."),
    ],
)
def test_what_was_denied_or_wished_for_supports_nothing(claim: str, said: str) -> None:
    assert verdict(claim, said).missing


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Built the payment service", "We built the payment service."),
        ("Led the redesign", "My manager led the redesign and I took notes."),
        ("Managed the project", "The project was managed by Anna Berg."),
        ("Senior engineer", "Engineer, reported to the senior engineer"),
        ("Sole author of the guide", "Helped write the guide"),
        ("Founder of Acme", "Early employee at Acme"),
    ],
)
def test_what_others_did_is_not_the_persons_own(claim: str, said: str) -> None:
    assert verdict(claim, said).missing


def test_who_says_we_took_part() -> None:
    assert verdict("Helped build the payment service", "We built the payment service.").supported


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("12 people", "120 people"),
        ("Grew MRR to €900k", "Grew MRR to €90k"),
        ("Raised sales by 12%", "12 people raised sales"),
        ("Saved $2m", "Saved €2m"),
        ("Finished 3 months early", "Finished 3 weeks early"),
        ("Over 5,000 customers", "over 500 customers"),
        ("3 million users", "nearly 3 million users"),
        ("4.6 million users", "4.5 million users"),
        ("Increased revenue tenfold", "Revenue doubled"),
        ("30 patients an hour", "30 patients a day"),
    ],
)
def test_quantities_keep_magnitude_unit_and_direction(claim: str, said: str) -> None:
    assert verdict(claim, said).missing


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("Twelve people", "a dozen people"),
        ("€4.5m in sales", "sales of 4,500,000 euros"),
        ("Doubled revenue", "Revenue went from €1m to €2m"),
        ("Nearly 3 million users", "2,940,000 users"),
        ("18 months in Rome", "one and a half years in Rome: 1.5 years"),
        ("2.1 million users", "2,104,611 users"),
    ],
)
def test_numbers_may_be_written_and_rounded_otherwise(claim: str, said: str) -> None:
    assert verdict(claim, said).missing == ()


OTHER_WORDS = _told("other_words.yaml")


@pytest.mark.parametrize(
    ("claim", "said"),
    [(told["is"], told["said"]) for told in OTHER_WORDS if "is" in told],
)
def test_what_is_said_in_other_words_is_not_refused(claim: str, said: str) -> None:
    assert verdict(claim, said).missing == ()


@pytest.mark.parametrize(
    ("claim", "said"),
    [(lie, told["said"]) for told in OTHER_WORDS for lie in told.get("is_not", ())],
)
def test_other_words_let_no_lie_through(claim: str, said: str) -> None:
    assert verdict(claim, said).missing


@pytest.mark.parametrize(
    ("claim", "said", "why"),
    [
        ("Reached grade 4", "Grade 3 in maths, 4 brothers", "The evidence says Grade 3, not grade 4."),
        ("Panels of 400 amps", "Panels up to 400A", "The evidence says at most 400A, not 400 amps."),
        ("Taught 40 pupils", "Years 7 to 13 in 4 rooms", "No cited source says 40 pupils."),
        ("Costs fell by 16 points", "14 cooks, costs fell", "No cited source says 16 points."),
        ("30 patients an hour", "30 patients a day", "No cited source says 30 patients per hour."),
        ("Two internships", "GPA 3.8, one internship", "No cited source says Two internships."),
    ],
)
def test_the_reason_names_what_is_missing_and_quotes_no_other_number(claim: str, said: str, why: str) -> None:
    assert verdict(claim, said).missing == (why,)


def test_the_reason_says_what_the_evidence_says_instead() -> None:
    assert verdict("Led 120 people", "Led 12 people").missing == ("The evidence says 12 people, not 120 people.",)
    assert verdict("Worked at Globex", "Worked at Acme").missing == ('No cited source names "Globex".',)


def test_a_year_counts_for_the_employer_it_stands_with() -> None:
    cv = "Engineer at Acme GmbH, 2010–2015.\nEngineer at Globex Inc., 2016–2019."
    assert verdict("Engineer at Globex, 2016–2019", cv).supported
    assert verdict("Engineer at Globex, 2010–2015", cv).missing


def test_how_long_something_lasts_is_measured_to_the_day_that_is_given() -> None:
    evidence = {
        "e": Evidence(id="e", kind="profile", trust="tool", source="profile", text="Nurse, Leeds, 2020 to present")
    }
    claim = Claim(text="Nurse for six years", evidence=("e",))
    assert check_claim(claim, evidence, date(2026, 6, 1)).supported
    assert not check_claim(claim, evidence, date(2024, 6, 1)).supported


@pytest.mark.parametrize("trust", ["inferred", "external"])
def test_guesses_and_strangers_alone_support_nothing(trust: str) -> None:
    assert "supports nothing by itself" in verdict("Knows Go", "Knows Go", trust=trust).missing[0]


def test_a_guess_beside_what_was_said_adds_nothing() -> None:
    evidence = {
        "said": Evidence(id="said", kind="memory", trust="user_said", source="chat", text="Engineer at Acme"),
        "guess": Evidence(id="guess", kind="memory", trust="inferred", source="chat", text="Knows Kubernetes"),
    }
    claim = Claim(text="Acme engineer with Kubernetes", evidence=("said", "guess"))
    assert 'No cited source names "Kubernetes".' in check_claim(claim, evidence, TODAY).missing


def test_a_claim_must_cite_evidence_that_exists_and_speaks_of_it() -> None:
    assert check_claim(Claim(text="Engineer"), {}, TODAY).missing == ("It cites no evidence.",)
    assert '"x9"' in check_claim(Claim(text="Engineer", evidence=("x9",)), {}, TODAY).missing[0]
    assert verdict("Enjoys long walks", "Repairs bicycles").missing == ("Nothing in the cited sources speaks of this.",)


def test_what_a_person_confirmed_supports_the_claim_and_is_marked() -> None:
    assert verdict("Led 12 people", "I led 12 people", kind="person", trust="confirmed").confirmed_by == ("0",)
    assert verdict("Led 12 people", "I led 12 people").confirmed_by == ()


def test_a_card_keeps_what_is_supported_and_tells_what_was_left_out_and_why() -> None:
    cv = Evidence(
        id="cv",
        kind="document",
        trust="user_document",
        source="résumé.pdf",
        text="Engineer at Acme, 2016–2019. Built a shop in Python for 12 customers. BSc Physics, Leeds, 2015.",
    )

    def claim(text: str) -> Claim:
        return Claim(text=text, evidence=("cv",))

    true = claim("Built a shop for 12 customers in Python")
    invented = {
        "Globex": claim("Engineer at Globex"),
        "120": claim("Built a shop in Python for 120 customers"),
        "2014": claim("Engineer at Acme, 2014–2019"),
        "PhD": claim("PhD in Physics, Leeds, 2015"),
        "Kubernetes": claim("Built a shop with Kubernetes"),
    }
    card = Card(
        style="standard",
        headline=claim("Engineer"),
        sections=(
            Section(kind="experience", heading="Experience", claims=(true, *invented.values())),
            Section(kind="awards", heading="Awards", claims=(claim("Won the Turing Award"),)),
            Section(kind="education", heading="Ten years at Harvard", claims=(claim("BSc Physics"),)),
        ),
    )
    checked = check_card(card, {"cv": cv}, TODAY, make_logger("CRITICAL"))
    assert [(s.heading, s.claims) for s in checked.card.sections] == [
        ("Experience", (true,)),
        ("Education", (claim("BSc Physics"),)),
    ]
    why = {left.claim.text: " ".join(left.why) for left in checked.left_out}
    assert all(named in why[claim.text] for named, claim in invented.items())
    assert {"Won the Turing Award", "Ten years at Harvard"} <= set(why)
    assert checked.card.headline == claim("Engineer")


@given(st.text(alphabet="0125 '’\u2018,.%$-–:/#+kmJuly and ten a", max_size=30))
@example("July '17")
@example("'22, 60 covers")
def test_no_text_around_digits_and_apostrophes_breaks_the_check(text: str) -> None:
    verdict(text, text)
    verdict(f"Led 60 people {text}", f"{text} 60 people")


def test_a_claim_whose_check_fails_is_left_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    check_names = gate.check_names

    def broken(part: Passage, known: Sequence[Passage]) -> Iterator[str]:
        if "Leeds" in part.text:
            raise IndexError(part.text)
        return iter(check_names(part, known))

    monkeypatch.setattr(gate, "check_names", broken)
    cv = Evidence(id="cv", kind="document", trust="user_document", text="Lived in Leeds. BSc Physics.", source="CV")
    leeds, physics = Claim(text="Lived in Leeds", evidence=("cv",)), Claim(text="BSc Physics", evidence=("cv",))
    card = Card(
        style="standard",
        headline=leeds,
        sections=(Section(kind="education", heading="Education in Leeds", claims=(leeds, physics)),),
    )
    logger = create_autospec(Logger)
    checked = check_card(card, {"cv": cv}, TODAY, logger)
    [education] = checked.card.sections
    assert (checked.card.headline, education.heading, education.claims) == (None, "Education", (physics,))
    assert {left.why for left in checked.left_out} == {(NOT_CHECKED,)}
    logged = str(logger.error.call_args_list)
    assert "IndexError" in logged
    assert "Leeds" not in logged


@pytest.mark.thorough
def test_the_same_claim_gets_the_same_verdict_each_time() -> None:
    once = [check_claim(case.claim, case.evidence, TODAY) for case in TRUE]
    assert once == [check_claim(case.claim, case.evidence, TODAY) for case in TRUE]


def test_each_skill_of_a_list_must_be_spoken_of() -> None:
    assert verdict("Skilled in wound care", "Wound care on a surgical ward").supported
    lie = verdict("Skilled in wound care and puppetry", "Wound care on a surgical ward")
    assert lie.missing == ('No cited source speaks of "puppetry".',)


def test_the_end_of_one_time_is_not_the_start_of_another() -> None:
    assert verdict("At Acme since 2010", "At Acme since 2010").supported
    assert "2010–2015" in verdict("At Acme since 2015", "At Acme from 2010 to 2015").missing[0]


def test_a_year_counts_for_the_deed_it_stands_with() -> None:
    told = "Teacher in Kassel since 2011. Head of the history department since 2020."
    assert verdict("Head of the history department since 2020", told).supported
    assert "2011" in verdict("Head of the history department since 2011", told).missing[0]
