"""The name at the top of a résumé."""

import pytest

from qwestly_agent.domain.resume import ReadField, ResumeRecord
from qwestly_agent.resumes.model import person_name


def resume(text: str, *mails: str, label: str = "Plumber") -> ResumeRecord:
    field = ReadField(path="/basics/label", value=label, original=label, quote=label, start=0, end=0, is_checked=True)
    return ResumeRecord(
        id="r", user_id="u", run_id="run", name="cv.pdf", label="Read", text=text, contacts={"email": mails},
        read=(field,), created_at=1.0, updated_at=1.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "mails", "name"),
    [
        ("Rasmus Holm\nPlumber, Aarhus", (), "Rasmus Holm"),
        ("GRETA LINDQVIST  |  Malmö  |  [email]", (), "GRETA LINDQVIST"),
        ("Curriculum Vitae\n\nPaulo de Sá\nPlumber", ("paulo.sa@example.org",), "Paulo de Sá"),
        ("Lebenslauf\nName: Käthe Brandt", (), "Käthe Brandt"),
        ("Plumber\nIdris Okeke\n[email]", ("okeke99@example.org",), "Idris Okeke"),
        ("Мария Иванова\nСантехник", (), "Мария Иванова"),
        ("Jean-Luc O’Hara\nLyon", (), "Jean-Luc O’Hara"),
    ],
)
def test_the_persons_name_is_found(text: str, mails: tuple[str, ...], name: str) -> None:
    assert person_name(resume(text, *mails)) == name


@pytest.mark.parametrize(
    "text",
    ["Plumber\nAarhus", "Work Experience\nHolm & Sons", "I repair pipes and boilers", "Résumé", "", "2014"],
)
def test_an_uncertain_name_is_not_used(text: str) -> None:
    assert person_name(resume(text)) == ""
