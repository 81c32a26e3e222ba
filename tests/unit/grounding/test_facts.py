"""Look 2: compare the figures of a statement with those of its quotes."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from infra.local.environment import SafeLoader
from qwestly_agent.grounding.facts import Facts, check_facts
from qwestly_agent.grounding.figures import MONTHS_BY_NAME, figures
from qwestly_agent.grounding.model import Quote, QuotedSource, Statement
from qwestly_agent.grounding.quotes import find_quote

CLAIMS = sorted((Path(__file__).parents[3] / "evals" / "claims").glob("*.yaml"))


def facts(statement: str, quote: str, language: str = "en", source: str = "", **fields: str) -> Facts:
    given_source = QuotedSource(id="s", text=source or quote, language=language, fields=fields)
    found = find_quote(Quote(source="s", text=quote), {"s": given_source})
    assert found
    return check_facts(Statement(text=statement, language=language), [found])


def _figures(found: Facts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return found.missing, found.unread


def facts_of(statement: str, quotes: list[str]) -> Facts:
    sources = {str(n): QuotedSource(id=str(n), text=text, language="en") for n, text in enumerate(quotes)}
    found = [each for n, text in enumerate(quotes) if (each := find_quote(Quote(source=str(n), text=text), sources))]
    assert len(found) == len(quotes)
    return check_facts(Statement(text=statement, language="en"), found)


@pytest.mark.parametrize(
    ("statement", "quote", "language"),
    [
        ("Budget of €80,000", "budget 80k €", "en"),
        ("Budget von 1.200 €", "1200 Euro Budget", "de"),
        ("Sales of R$ 3,500", "vendas de R$ 3,5 mil", "pt"),
        ("Led twenty-one people", "team of 21", "en"),
        ("A 12-month project", "took 1 year", "en"),
        ("Since March 2019", "since 03/2019", "en"),
        ("In 2019", "since March 2019", "en"),
        ("July 2017", "july '17", "en"),
        ("In the band from 2016 to 2019", "2016–19", "en"),
        ("From April 2012", "Apr – Jul 2012", "en"),
        ("Hauls 2,000 kg", "hauls 2 t", "en"),
        ("Ventes de 1 200 €", "1 200 € de ventes", "fr"),
        ("A plot of 5,000 square metres", "plot: 0.5 hectares", "en"),
        ("Ships 1,200 litres", "ships 12 hl", "en"),
        ("Granja de 300.000 m²", "30 hectareas", "es"),
        ("Opened in the second quarter of 2016", "opened Q2/16", "en"),
        ("En el tercer trimestre de 2017", "3T17", "es"),
        ("In the 1980s", "since 1984", "en"),
        ("En los años noventa", "desde 1996", "es"),
        ("On 2 April", "2/4/2018", "en"),
        ("Am 2. April 2018", "02.04.18", "de"),
        ("Im Juni 2018", "seit 06/18", "de"),
        ("Works 4 days", "a four-day week", "en"),
        ("Within a tenth of a second", "within 0.1 s", "en"),
        ("Von 8 bis 16 Uhr", "8:00-16:00", "de"),
        ("Entre 2011 y 2013", "del 2011 al 2013", "es"),
        ("Trente pour cent", "30 %", "fr"),
        ("Concluído em maio de 2013", "concluído em maio/2013", "pt"),
        ("Seit Januar 2023", "seit 15. Jänner 2023", "de"),
        ("Depuis septembre 2018", "depuis le 12/09/2018", "fr"),
        ("A £240,000 investment", "cost us 240k quid", "en"),
        ("Um 25 % auf 310 dt", "Kartoffeln 310 dt, plus 25 %", "de"),
        ("9 000 de moins qu'en 2023", "9 000 de moins qu'en 2023\n\nun tiers à l'export", "fr"),
        ("On Tuesdays", "first tuesday of the month", "en"),
        ("8 Wochen", "acht Wochen", "de"),
        ("Neuf ans d'atelier", "9 ans d'atelier", "fr"),
        ("Seit der Spielzeit 2014/15", "seit 2014/15", "de"),
        ("In the season 2014/15", "from 2014 to 2015", "en"),
        ("Desde octubre de 2012", "alta el 1-10-2012", "es"),
        ("Del 4 al 1,2 por ciento", "4 % cuando entré, ahora 1,2 %", "es"),
        ("Until April 2017", "2013 – 04/2017", "en"),
        ("Para 98 Cent", "0,98 €", "de"),
        ("94 milhões de dólares", "US$ 94 mi", "pt"),
        ("Séptimo de 312", "7os de 312", "es"),
        ("Desde julio de 2018", "desde 1-VII-2018", "es"),
        ("In zwei Jahren von 1,4 auf 0,8 Prozent", "von 1,4% auf 0,8% runter in 2 jahren", "de"),
        ("Rs. 14,50,000", "INR 1,450,000", "en"),
        ("Seit März 2021", "2021.03–heute", "de"),
        ("90 Sekunden", "90 Sek. statt 7 Minuten", "de"),
        ("In January 2018", "Jan/2018 - present", "en"),
        ("Desde mayo de 2018", "desde 2018/05", "es"),
        ("Vanaf maart 2018", "mrt 2018", "nl"),
        ("Planta de 0,25 MWp", "planta de 250 kWp", "es"),
        ("9 000 € d'économies", "neuf mille euros d'économies", "fr"),
        ("Une équipe de neuf mille personnes", "9000 personnes", "fr"),
        ("29 clients", "vingt neuf clients", "fr"),
        ("In acht Jahren", "in 8 Jahren", "de"),
        ("Cinco miligramos", "5 mg", "es"),
        ("87,5 pontos", "oitenta e sete pontos e meio", "pt"),
        ("7,5 años", "siete años y medio", "es"),
        ("6.2 miles", "6,2 millas", "es"),
    ],
)
def test_a_figure_in_another_form_is_the_same_figure(statement: str, quote: str, language: str) -> None:
    assert _figures(facts(statement, quote, language)) == ((), ())


@pytest.mark.parametrize(
    ("statement", "quote", "language"),
    [
        ("Budget of €90,000", "budget 80k €", "en"),
        ("Budget of $80,000", "budget 80k €", "en"),
        ("Lifts 5 kg", "lifts 5 lbs", "en"),
        ("Worked 5 years", "worked 5 months", "en"),
        ("Cut waste by 53 %", "cut waste by 35 %", "en"),
        ("Since April 2019", "since March 2019", "en"),
        ("Since March 2019", "since 2019", "en"),
        ("Led 80 people", "led 800 people", "en"),
        ("12,000 orders a minute", "12,000 orders per hour", "en"),
        ("Fell to 3 %", "from 8 % to 5 %", "en"),
        ("Fell by 60 %", "went from 50 to 30", "en"),
        ("Farms 9 acres", "farms 9 hectares", "en"),
        ("Lifts 5 pounds", "lifts 5 kg", "en"),
        ("In the first quarter of 2016", "opened Q2 2016", "en"),
        ("In the 1980s", "since 1994", "en"),
        ("On 3 April", "on 2 April", "en"),
        ("Opened in October", "opened on 3 September", "en"),
        ("A five-day week", "works 4 days", "en"),
        ("Shuts at 6:30 pm", "19:30 closing", "en"),
        ("Ran 90 miles", "ran nearly 120 miles", "en"),
        ("Nearly 90 miles", "130 miles", "en"),
        ("Python 3.14", "Python 3.13", "en"),
        ("40 guests daily", "40 guests a week", "en"),
        ("Up 20 %, from 96 to 120", "from 96 to 120", "en"),
        ("Cut by 25 %", "went from 120 to 96", "en"),
        ("On Thursdays", "first tuesday of the month", "en"),
        ("13,5 ares", "13,5 ha", "fr"),
        ("249 MWp", "249 kWp", "en"),
        ("Saves 280 litres a day", "1,100 litres a week before, 820 now", "en"),
        ("Um acht Prozentpunkte", "von 11 auf sieben Prozent", "de"),
        ("Sees 9 patients an hour", "9 patients per shift", "en"),
        ("122 shows a month", "110 shows and 12 concerts a season", "en"),
        ("33.80 fr. par nuit", "33.80 fr. par heure", "fr"),
        ("A 20 % discount for two pets", "10% off for who brings two", "en"),
        ("20 pies", "20 mts", "es"),
        ("Every June", "each July", "en"),
        ("96 000 US dollars", "R96 000", "en"),
        ("45.000 Euro", "45.000 DM damals", "de"),
        ("Seit April 2021", "2021.03–heute", "de"),
        ("En 2:34:19", "2h 34min 18s", "es"),
        ("Years of experience: 20", "12 years of experience", "en"),
        ("18 millions en décembre", "en décembre 15 millions", "fr"),
        ("Led 40 people, March 2019", "led 30 people, March 2019", "en"),
        ("Finished it in May", "finished it in March", "en"),
        ("Trabalha cinco dias por semana", "trabalho do meu pai, quatro dias por semana do ano", "pt"),
        ("La note est de 4,8", "crash : 0,3 % ; note 4,5", "fr"),
        ("Neuf personnes à l'atelier", "trois personnes à l'atelier", "fr"),
        ("Dirige neuf cuisiniers", "dirige huit cuisiniers", "fr"),
        ("Sono in sei", "siamo in sette", "it"),
        ("Guida sei cuochi", "guida sette cuochi", "it"),
        ("Arbeitete in acht Filialen", "arbeitete in neun Filialen", "de"),
        ("In acht winkels", "in negen winkels", "nl"),
        ("Types 110 wpm", "100wpm", "en"),
        ("Nueve años y medio", "siete años y medio", "es"),
        ("110.000 Meilen im Jahr", "Unos 110.000 km al año", "de"),
    ],
)
def test_a_different_figure_date_or_unit_is_rejected_or_marked(statement: str, quote: str, language: str) -> None:
    found = facts(statement, quote, language)
    assert found.missing or found.unread


@pytest.mark.parametrize(
    ("statement", "quote"),
    [
        ("Budget of €90,000", "budget 80k €"),
        ("Cut waste by 53 %", "cut waste by 35 %"),
        ("Since April 2019", "since March 2019"),
        ("Led 80 people", "led 800 people"),
        ("Led nine engineers", "led 8 engineers"),
    ],
)
def test_a_statement_contradicting_the_quotes_only_figure_is_rejected(statement: str, quote: str) -> None:
    assert facts(statement, quote).missing


@pytest.mark.parametrize(
    ("statement", "quotes"),
    [
        ("Cut waste by 35 %", ["waste went 80k -> 52k"]),
        ("Cut the time by 19 minutes", ["from 48 to 29 minutes"]),
        ("Up eight percentage points", ["rose from 88 % to 96 %"]),
        ("Grew sales 3x", ["10k → 30k"]),
        ("Spent four years on a PhD", ["PhD, Sept 2019 - Jan 2024"]),
        ("There for three years", ["2016 to 2019"]),
        ("There for five years", ["Lead, Jun 2021 – present"]),
        (
            "Has built ships for over eight years",
            ["Jul 2018-May 2021", "Jun 2021-present"],
        ),
        ("Led 12 engineers", ["7 engineers in Lyon", "5 engineers in Graz"]),
    ],
)
def test_a_figure_derivable_in_one_arithmetic_step_is_marked(statement: str, quotes: list[str]) -> None:
    found = facts_of(statement, quotes)
    assert found.missing == ()
    assert found.unread


@pytest.mark.parametrize(
    ("statement", "quotes"),
    [
        ("Spent three years on a PhD", ["PhD, Sept 2019 - Jan 2024"]),  # and not until today
        ("There for nine years", ["Account manager, Jan 2017 - Dec 2022"]),
        ("There for ten years", ["since 2016"]),  # nobody says that it continues
        ("Brought the ward to 41 beds", ["14 beds to 31 in ten days"]),
        ("Looks after 132 accounts", ["32 accounts; 100% renewals"]),
        ("Teaches eight students", ["groups of 3 to 5 students"]),
        ("Teaches two students fewer", ["groups of 5 to 3 students"]),
        ("Fifteen years of experience", ["11 years, four of which in NY"]),
        ("Fifteen years of experience", ["11 years in sales", "of these four years in NY"]),
        ("Twenty-two years", ["11 years in sales", "11 years of selling"]),
        ("Cut the time from 48 to 19 minutes", ["from 48 to 29 minutes"]),
        ("Saves 28k a week", ["cut from 80k to 52k a month"]),
        ("Saves 28k", ["80k to 52k a month"]),
        ("Runs five of them", ["3 shops in Graz", "2 cooks in Lyon"]),
        ("An accuracy of 99.9 percent", ["3,500 orders a day, accuracy 99.4%"]),
        # A word of approximation does not make a wrong step right.
        ("Cut the time by about 19 minutes", ["from 48 to 32 minutes"]),
        ("Cut waste by nearly 35 %", ["waste 80k -> 60k"]),
        ("There for over eight years", ["Lead, Apr 2020 - present"]),
        ("Led about 12 engineers", ["7 engineers in Lyon", "3 engineers in Graz"]),
        ("There for six years", ["Jan 2017 - Aug 2022"]),
        ("Grew sales 2x", ["10k → 15k"]),
        ("Won 3 times", ["sales from 10k to 30k"]),
        # A range, opening hours and a chain are not a change from one end to the other.
        ("Raised it by two students", ["groups from 3 to 5 students"]),
        ("Raised it by two students", ["groups from 3 up to 5 students"]),
        ("Longer by eight hours, up eight hours", ["open from 9:00 to 17:00"]),
        ("Less by 16 hours", ["open from 22:00 to 6:00"]),
        ("Grew by 100 %", ["10k -> 20k -> 30k"]),
        ("Five cooks fewer", ["from 12 to 7 nurses"]),
        # The months of two years, and the other century.
        ("There for nine months", ["Nov – Feb 2012"]),
        ("There for 96 years", ["1998–02"]),
        # The same place, the same rank, the same years, the same team later.
        ("Runs five shops in Graz", ["3 shops in Graz", "2 cooks in Graz"]),
        ("Leads 12 senior people", ["7 senior nurses", "5 senior cooks"]),
        ("Fifteen years", ["11 years in sales", "4 years in NY"]),
        ("Received 50,000 euros", ["an oven of 38,000 euros", "a grant of 12,000 euros"]),
        ("Led 19 engineers", ["7 engineers in 2019", "12 engineers now"]),
    ],
)
def test_a_figure_combining_unrelated_figures_is_marked(statement: str, quotes: list[str]) -> None:
    found = facts_of(statement, quotes)
    assert found.missing == ()
    assert found.unread


@pytest.mark.parametrize(
    ("statement", "quote", "language"),
    [
        ("Saved €500,000", "saved half a million euros", "en"),
        ("Zwei Jahre dort", "zweieinhalb Jahre dort", "de"),
        ("In 2021", "in twenty twenty-one", "en"),
        ("Douze entretiens", "une douzaine d’entretiens", "fr"),
        ("Dix-huit mois", "un an et demi", "fr"),
    ],
)
def test_a_figure_code_cannot_fully_parse_is_left_to_the_judge(statement: str, quote: str, language: str) -> None:
    found = facts(statement, quote, language)
    assert found.missing == ()
    assert found.unread


@pytest.mark.parametrize(
    ("statement", "quote", "language"),
    [
        ("Well over 300 guests", "330 guests in the hall", "en"),
        ("Fast 50 Betten", "47 betten", "de"),
        ("Sold 1,300 jars", "sold 1,287 jars", "en"),
        ("Took almost 11 years", "2011-2023", "en"),
        ("Number two of the club", "second in command, 12 members", "en"),
        ("The two branches", "both branches, 14 people", "en"),
        ("Runs a team of four", "with three others", "en"),
        ("Five languages", "Greek, Turkish, Arabic, French and English. All with 100 pupils", "en"),
        ("Fitted them in two summers", "did 8 last summer, 4 this one", "en"),
        ("One in five came back", "20 % came back", "en"),
        ("1.200 Stunden im Einsatz", "100 Stunden im Monat", "de"),
        ("Married in 2015", "started 2014, married a year later", "en"),
        ("In 2019", "started 2016, three years there", "en"),
        ("Aged 35", "born 1991", "en"),
        ("€120,000 of sales", "sales: 120k", "en"),
        ("Half of it, 37.5 %, is let", "3 rooms let, 5 empty", "en"),
        ("Twelve months", "a year there, 8 people", "en"),
        ("4 million readers", "4m readers", "en"),
        ("Mehr als eine Million Euro", "1,2 Mio. €", "de"),
        ("500.000 Euro", "eine halbe Mio.", "de"),
        ("122 shows a month", "110 shows and 12 concerts", "en"),
        ("23 of the hours are lessons", "26 hours, 3 of them for the timetable", "en"),
        ("54 of the 60 crowns", "60 crowns, 9 in 10 of them zirconia", "en"),
        ("115 turns at night", "230 turns, nights = half", "en"),
        ("Six mois par an", "de mai à octobre", "fr"),
        ("Eine 15-minütige Runde", "jeden Montag eine Viertelstunde", "de"),
        ("Trois quarts d'heure", "45 min", "fr"),
        ("Beschäftigt drei Leute", "zwei, und einen Gesellen", "de"),
        ("Paid 10.750 euros", "21.500 €, the other half of it was a grant", "en"),
        ("28 pupils in a group", "4 groups, 112 pupils", "en"),
        ("2.5m words", "around 2.5 million words", "en"),
        ("De R$ 19 mil a R$ 48 mil", "R$ 48 mil por mês, em 2012 eram 19", "pt"),
        ("For nine years", "qualified Aug 2017, there ever since. Lead from 2023", "en"),
        ("Plantões de 12 por 36 horas", "plantão 12x36", "pt"),
        ("On Wednesdays", "open Tuesday to Thursday", "en"),
        ("In spring 2017", "in April 2017", "en"),
        ("Übertraf den Plan um 0,3 Millionen", "umsatz 7,8 mio, plan war 7,5", "de"),
        ("In einem Team von fünf", "wir sind zu fünft", "de"),
        ("Casi el 90 %", "de los 19 siguieron 17", "es"),
        ("About £49 a week", "about 140 miles a week, and they pay 35p a mile", "en"),
        ("A 10 % export", "direct sales 60 %, restaurants 30 %, the rest is export", "en"),
        ("168 pupils", "58 in Form 1, 61 in Form 2 and 49 in Form 3", "en"),
        ("Is 59 years old", "I turn 60 in June next year", "en"),
        ("Between 8:30 a.m. and 2:30 p.m.", "between eight-thirty and two-thirty", "en"),
        ("Dez horas", "saímos às quatro da madrugada e voltamos às duas da tarde", "pt"),
        ("A dépassé le million d'écoutes", "1,3M d'écoutes", "fr"),
        ("1 800 000 dirhams", "1,8 MDH", "fr"),
        ("In January 2005", "in January of two thousand five", "en"),
        ("Ab Juli 2027", "ab 2. Hj. 2027", "de"),
        ("Ein Team von vierzehn", "wir waren seit 2019 ein Vierzehnerteam", "de"),
        ("Open six days a week", "open mon to sat", "en"),
        ("Abre seis dias por semana", "aberto de seg. a sáb.", "pt"),
        ("On 14 September 2026", "back on 14 sept.", "en"),
        ("Until early March 2027", "free from mid-March at the earliest", "en"),
        ("Hasta las ocho y media", "de 17.00 a 20.30", "es"),
        ("Travaille à 50 %", "un mi-temps", "fr"),
        ("Trois fois par mois", "3 par semaine, 1h45 chacune", "fr"),
        # An approximate figure is never contradicted exactly.
        ("More than 10 years there", "15 years there", "en"),
        ("Mehr als zehn Jahre dort", "15 Jahre dort", "de"),
        ("At least 100 guests", "150 guests", "en"),
        ("Over 1 million euros", "2.4 million euros", "en"),
        # The remainder of a hundred, and the time since a date.
        ("20 % of the clients are abroad", "80 % of the clients are local", "en"),
        ("Seit 15 Jahren Schlepperführer", "seit april 2011 auf schleppern, vorher 4 jahre zur see", "de"),
        ("Levou nove anos até gerente", "entrei em dois mil e quatro, com dezessete anos", "pt"),
        # A figure in a name.
    ],
)
def test_implied_and_two_step_figures_are_left_to_the_judge(statement: str, quote: str, language: str) -> None:
    found = facts(statement, quote, language)
    assert found.missing == ()
    assert found.unread


@pytest.mark.parametrize(
    ("statement", "quote"),
    [
        ("Looked after 120 families", "12 families; 9 in 10 stayed"),  # a slipped zero, or ten times as many
        ("Since 2018", "15-18 at Bosch"),
    ],
)
def test_a_figure_that_may_be_a_typo_is_left_to_the_judge(statement: str, quote: str) -> None:
    found = facts(statement, quote)
    assert found.missing == ()
    assert found.unread


def test_one_percent_sign_is_enough_for_two_percentages() -> None:
    assert facts("Food cost fell by seven percentage points", "food cost was 38%, i got it to 31").missing == ()


def test_a_quote_that_truncates_a_figure_does_not_support_it() -> None:
    assert facts("Led 80 people", "led 80", source="led 80,000 people").unread == ("80",)


@pytest.mark.parametrize("behind", ["\nJul. 2011 – Dec. 2016: first pilot", "\ndepuis l'an dernier je partage"])
def test_a_figure_does_not_continue_on_the_next_line(behind: str) -> None:
    assert _figures(facts("A crew of 6", "crew of 6", source=f"crew of 6{behind}")) == ((), ())


def test_a_figure_next_to_the_quote_must_be_quoted_too() -> None:
    [why] = facts("Led 8 people", "9 people in York", source="Led 8 people in Leeds; 9 people in York").missing
    assert why == "“8” stands beside its quotes and not in them: quote it too."


def test_figures_in_a_quoted_sources_fields_are_supported() -> None:
    assert facts("Cook from 2016 to 2019", "Cook", **{"from": "2016", "to": "2019-04"}).unread == ()


HOSTILE = [
    "½",
    "½½",
    "'",
    "\u200b",
    "\u202e",
    "\ud800",
    "٣",
    "٢٠١٩",
    "9" * 40,
    "9" * 5000,
    "+4" * 30,
    "ſ",
    "ı",
    "İ",
    "²",
    "Ⅷ",
]
WORDS = [
    *HOSTILE,
    " ",
    "-",
    "/",
    "%",
    "€",
    "the ",
    "ten",
    "half",
    "2019",
    "'19",
    "3T21",
    "6 pm",
    *["€", "%", "km", "kg", "months", "Jahre", "semaines", "h", "£", "k", "Mio"],
    *MONTHS_BY_NAME,
]


@pytest.mark.thorough
@given(
    st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=10).map("".join)),
    st.one_of(st.text(max_size=40), st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)),
    st.sampled_from(["en", "de", "es", "fr", "pt", "it", "nl", ""]),
)
@example("9" * 5000, "+49 " * 2000, "en")
@example("5 ſ, 3 mİn, 2 Auguſt 2019", "a tenth of a ſecond", "en")
@example("\ud800 5 kg", "٥ kg", "de")
def test_hostile_text_does_not_raise(text: str, quoted: str, language: str) -> None:
    for figure in figures(text, language):
        assert 0 <= figure.start < figure.end <= len(text)
    source = QuotedSource(id="s", text=f"x {quoted} x", language=language)
    quote = find_quote(Quote(source="s", text=source.text), {"s": source})
    assert quote
    check_facts(Statement(text=text, language=language), [quote])


@pytest.mark.thorough
@given(
    st.text(alphabet="0125 '’,.%$€-–:/#+kmhJuly and half ten zwei a\n½", max_size=40),
    st.sampled_from(["en", "de", "fr", ""]),
)
@example("July '17", "en")
@example("'22, 60 covers", "en")
def test_no_text_raises(text: str, language: str) -> None:
    for figure in figures(text, language):
        assert 0 <= figure.start < figure.end <= len(text)
    source = QuotedSource(id="s", text=f"x {text} x", language=language)
    quote = find_quote(Quote(source="s", text=f"x {text} x"), {"s": source})
    assert quote
    check_facts(Statement(text=f"{text} 5 years", language=language), [quote])


@given(st.integers(2, 10**9), st.sampled_from(["en", "de", "es", "fr", "pt"]))
def test_a_number_is_the_same_with_and_without_digit_groups(number: int, language: str) -> None:
    for grouped in (f"{number:,}", f"{number:,}".replace(",", "."), f"{number:,}".replace(",", "\u202f")):
        assert _figures(facts(f"x {number} x", f"x {grouped} x", language)) == ((), ())


@pytest.mark.thorough
def test_every_labelled_quote_is_found_and_no_claim_raises() -> None:
    for person in people():
        sources = {each["id"]: source_of(each) for each in person["sources"]}
        for claim in person["claims"]:
            quotes = [find_quote(Quote(**quote), sources) for quote in claim["quotes"]]
            assert None not in quotes, claim
            check_facts(Statement(text=claim["text"], language=claim["language"]), [q for q in quotes if q])


def people() -> list[dict[str, Any]]:
    return [person for file in CLAIMS for person in yaml.load(file.read_text(encoding="utf-8"), SafeLoader)]


def source_of(given_source: dict[str, Any]) -> QuotedSource:
    fields = {name: str(given_source[name]) for name in ("employer", "title", "from", "to") if name in given_source}
    return QuotedSource(
        id=given_source["id"], text=given_source["text"], language=given_source["language"], fields=fields
    )
