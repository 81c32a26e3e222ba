"""Plain résumés of different layouts, as the scripted model reads them."""

import html

import pytest

from infra.local.demo.person import EMPLOYMENT
from infra.local.environment import ROOT
from infra.local.model_resumes import parse_resume

HEADED = """
JANE SMITH
London | [email]

Work Experience

Acme Ltd
Senior Accountant
January 2019 - Present
• Moved settlement from nightly to hourly

Beta plc
Accountant
2015 - 2018
• Prepared tax returns for 40 clients

Education
University of Leeds
BSc Accounting, 2014

Hobbies
Climbing
"""
GERMAN = """
Anna Müller
Pflegefachkraft
Hamburg

Berufserfahrung
03/2018 – heute  Stationsleiterin, Klinikum Nord, Hamburg
- Team von 14 Pflegenden
2012 – 2018  Pflegefachkraft, St. Georg

Sprachen
Deutsch, Englisch
"""
BEHIND = """
Peter Jones
Software Developer
[email] | [phone]

EMPLOYMENT HISTORY
Software Developer at Initech (2020 - present)
Built the billing API
Junior Developer at Hooli (2017 - 2020)
Maintained the web shop
"""
SPANISH = """
Carla Gómez
Enfermera | Madrid | [email]

Experiencia profesional
Hospital La Paz — Enfermera — 2019 - actualidad
* Turno de noche
Clínica Sol — Auxiliar — 2016 - 2019

Idiomas: español, inglés
"""
MARKDOWN = """
# Lucía Peña
Diseñadora de producto

## Experiencia

### Diseñadora de producto, Ayuntamiento Abierto
*enero de 2020 – actualidad*

- Rediseñé el padrón en línea para 300.000 vecinos.
"""
SPACED = "\n\n".join(BEHIND.split("\n"))


def read(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Title, employer, beginning and the lines of each position; each quote stands in the text."""
    resume = parse_resume([f"<resume>\n{html.escape(text)}\n</resume>"])
    for each in resume["work"]:
        fields = [value for name, value in each.items() if name != "highlights"]
        assert all(found["quote"] in text for found in (*fields, *each["highlights"]))
    return [
        (
            each["position"]["value"],
            each["name"]["value"],
            each["startDate"]["value"],
            [found["value"] for found in each["highlights"]],
        )
        for each in resume["work"]
    ]


@pytest.mark.parametrize(
    ("text", "positions"),
    [
        (
            HEADED,
            [
                ("Senior Accountant", "Acme Ltd", "January 2019", ["Moved settlement from nightly to hourly"]),
                ("Accountant", "Beta plc", "2015", ["Prepared tax returns for 40 clients"]),
            ],
        ),
        (
            GERMAN,
            [
                ("Stationsleiterin", "Klinikum Nord", "03/2018", ["Team von 14 Pflegenden"]),
                ("Pflegefachkraft", "St. Georg", "2012", []),
            ],
        ),
        (
            BEHIND,
            [
                ("Software Developer", "Initech", "2020", ["Built the billing API"]),
                ("Junior Developer", "Hooli", "2017", ["Maintained the web shop"]),
            ],
        ),
        (
            SPANISH,
            [
                ("Enfermera", "Hospital La Paz", "2019", ["Turno de noche"]),
                ("Auxiliar", "Clínica Sol", "2016", []),
            ],
        ),
        (
            MARKDOWN,
            [
                (
                    "Diseñadora de producto",
                    "Ayuntamiento Abierto",
                    "enero de 2020",
                    ["Rediseñé el padrón en línea para 300.000 vecinos."],
                )
            ],
        ),
        (
            SPACED,
            [
                ("Software Developer", "Initech", "2020", ["Built the billing API"]),
                ("Junior Developer", "Hooli", "2017", ["Maintained the web shop"]),
            ],
        ),
    ],
    ids=["two lines", "dates before", "dates behind", "dashes", "markdown", "blank lines"],
)
def test_positions_are_read_in_every_layout(text: str, positions: list[tuple[str, str, str, list[str]]]) -> None:
    assert read(text) == positions


def test_the_demo_persons_resume_is_read_as_in_her_profile() -> None:
    told = read((ROOT / "infra/local/demo/resume.txt").read_text("utf-8"))
    assert [name.casefold() for _, name, _, _ in told] == [each["company"].casefold() for each in EMPLOYMENT]
    assert [title for title, _, _, _ in told] == [each["title"] for each in EMPLOYMENT]


def test_a_demo_resume_omits_text_that_fits_no_field() -> None:
    assert "Climbing" not in str(parse_resume([f"<resume>{HEADED}</resume>"]))
