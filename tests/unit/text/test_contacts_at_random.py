"""Contact details, dates and periods in many formats, drawn with a fixed seed: rates for the nightly run.

Numbers come from phonenumbers' plans of 46 countries, which nothing in `src` uses.
"""

import random
from collections.abc import Iterator
from itertools import islice

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from qwestly_agent.text.contacts import contacts_in, without_contacts

PLACEMENTS, DATES = 1_000, 2_000
COUNTRIES = """GB IE US CA AU NZ IN DE AT CH FR BE NL ES MX PT BR IT PL SE NO DK FI CZ HU RO GR TR UA RU IL AE SA EG MA
CN HK TW JP KR ZA NG SG PH TH VN ID""".split()  # noqa: SIM905 # a list would take a page
LABELS = {
    "DE": "Telefon:|Mobil|Tel.:", "FR": "Tél. :|Tél.", "ES": "Móvil|Teléfono:", "RU": "тел.|Телефон:|моб.",
    "UA": "Тел.:",
    "CN": "手机：|电话:|联系电话：", "TW": "電話：|手機", "JP": "電話番号：|携帯 ", "KR": "연락처 |전화번호: ",
    "IL": "טל׳ |נייד: |טלפון:",
    "AE": "هاتف: |جوال ", "SA": "جوال: ", "EG": "الهاتف: ", "GR": "Τηλ. ", "FI": "Puh. ",
    "IT": "Cellulare:|Tel.", "PT": "Telemóvel ",
}  # fmt: skip
PLACES = (
    "Ines Falk\n{}\nNurse", "Ines Falk | {} | Bristol", "Ines Falk · {}\n\nExperience\n2015 - 2019 Nurse",
    "Ines Falk\tNurse\t{}\n2008 – 2012", "{}, Bristol", "({})\nNurse since 2019",
    "Ines Falk\n05/2008 - 04/2012\n{}\n2014",
)  # fmt: skip
BORN = """Date of birth: |DOB |Born |Geburtsdatum: |geb. |Fecha de nacimiento: |Date de naissance : |née le
Data di nascita: |nato il |nata il |Data de nascimento: |nascida em |Geboortedatum: |geboren op |Data urodzenia: |ur.
Дата рождения: |родился |родилась |出生日期：|出生年月：|生年月日：
생년월일: |תאריך לידה: |تاريخ الميلاد: |Doğum tarihi: |Födelsedatum: |Fødselsdato:
Date of birth (DD/MM/YYYY): |Дата народження: |Data nașterii: |Datum narození: """.replace("\n", " |").split("|")
MONTHS = """January May September Jan Sept Januar März Dezember enero septiembre février août décembre maggio dicembre
maio março mei augustus maja grudnia мая декабря января Mayıs Ağustos Μαΐου מאי בדצמבר مايو ديسمبر toukokuu
května""".split()  # noqa: SIM905 # a list would take a page
JOINS = (
    " - ",
    "-",
    "–",
    " – ",
    " — ",
    "—",
    " / ",
    "~",
    " ~ ",
    "～",
    " to ",
    " bis ",
    "－",
    "‑",
    " − ",
    " до ",
    " au ",
    " ",
)
SHAPES = (
    "{y}", "{m}/{y}", "{mm}/{y}", "{mm}.{y}", "{m}.{y}", "{mm}-{y}", "{y}-{mm}", "{y}/{mm}", "{y}.{mm}",
    "{y}. {m}.", "{y}年{m}月",
    "{y}년 {m}월", "{dd}.{mm}.{y}", "{d}/{m}/{y}", "{dd}-{mm}-{y}", "{y}-{mm}-{dd}", "{y}. {m}. {d}.",
    "{dd}. {mm}. {y}", "{name} {y}",
    "{d} {name} {y}", "{d}. {name} {y}", "{name} {d}, {y}", "{y} {name}", "{mm} / {y}", "{mm} {y}",
    "{y}{mm}{dd}", "{y}{mm}", "{d} {m} {y}",
)  # fmt: skip
SHORT = ("{mm}/{yy}", "{m}/{yy}", "{mm}.{yy}", "{dd}.{mm}.{yy}")
EASTERN = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
WIDE = str.maketrans("0123456789-()+", "０１２３４５６７８９－（）＋")


def _number(chance: random.Random) -> str:
    country = chance.choice(COUNTRIES)
    kind = chance.choice((PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE))
    example = phonenumbers.example_number_for_type(country, kind)
    assert example is not None
    assert example.national_number is not None
    digits = str(example.national_number)
    while True:
        drawn = int(digits[:-4] + f"{chance.randrange(10_000):04}")
        number = phonenumbers.PhoneNumber(
            country_code=example.country_code, national_number=drawn, italian_leading_zero=example.italian_leading_zero
        )
        if phonenumbers.is_valid_number(number):
            break
    style = chance.choice((PhoneNumberFormat.NATIONAL, PhoneNumberFormat.INTERNATIONAL, PhoneNumberFormat.E164))
    written = phonenumbers.format_number(number, style)
    if style == PhoneNumberFormat.INTERNATIONAL:
        written = written.replace(" ", chance.choice((" ", "-", ".", "\u00a0", "‑")))
    if country in ("AE", "SA", "EG") and chance.random() < 0.4:
        written = written.translate(EASTERN)
    if country in ("CN", "TW", "JP") and chance.random() < 0.3:
        written = written.translate(WIDE)
    labels = LABELS.get(country, "Tel.|Phone:|Mobile ").split("|")
    label = chance.choice(labels) if chance.random() < 0.5 else ""
    return f"{label}{'' if not label or label[-1] in ' ：' else ' '}{written}"


def _date(chance: random.Random, shapes: tuple[str, ...], year: int) -> str:
    day, month = chance.randint(1, 28), chance.randint(1, 12)
    shape = chance.choice(shapes)
    return shape.format(
        y=year, yy=f"{year % 100:02}", m=month, mm=f"{month:02}", d=day, dd=f"{day:02}", name=chance.choice(MONTHS)
    )


def _birth(chance: random.Random) -> str:
    shapes = (
        "{dd}.{mm}.{y}",
        "{d}/{m}/{y}",
        "{dd}-{mm}-{y}",
        "{y}-{mm}-{dd}",
        "{y}/{mm}/{dd}",
        "{d} {name} {y}",
        "{y}年{m}月{d}日",
    )
    written = _date(chance, shapes, chance.randint(1950, 2006))
    return chance.choice(BORN) + (written.translate(EASTERN) if chance.random() < 0.05 else written)


def _placements() -> Iterator[str]:
    chance = random.Random(84)
    for number in range(PLACEMENTS):
        user, host = (
            chance.choice(("ines.falk", "i_falk+cv", "falk99")),
            chance.choice(("example.org", "mail.example.co")),
        )
        if number % 10 == 0:
            yield chance.choice(PLACES[:5]).format(f"{user}@{host}")
        elif number % 10 == 1:
            yield chance.choice(PLACES[:5]).format(f"https://{host}/{user}")
        else:
            yield chance.choice(PLACES).format((_number if number % 10 < 7 else _birth)(chance))


def _periods() -> Iterator[str]:
    chance = random.Random(2084)
    while True:
        start = chance.randint(1965, 2024)
        end = chance.randint(start, min(start + 20, 2029))
        shapes = SHAPES if chance.random() < 0.9 else SHORT
        same = (chance.choice(shapes),) if chance.random() < 0.8 else shapes
        joins = JOINS if shapes is SHAPES else JOINS[:4]
        first, last = _date(chance, same, start), _date(chance, same, end)
        each = chance.choice((first, *(f"{first}{chance.choice(joins)}{last}",) * 4))
        if chance.random() < 0.1:
            each = f"{each}\n{each}"
        if chance.random() < 0.1:
            each = f"({each})"
        each = each.translate(chance.choice((EASTERN, WIDE))) if chance.random() < 0.05 else each
        yield chance.choice(("{}", "Nurse\n{}\nBristol", "Nurse, {}", "{} Nurse", "Nurse\t{}")).format(each)


def contacts_left() -> list[str]:
    """Return those of `PLACEMENTS` of which something remains."""
    left = list[str]()
    for text in _placements():
        got, found = without_contacts(text)
        kinds = {"phone", "email", "url", "birth date"} & set(found)
        rest = got.replace("2015 - 2019", "").replace("2008 – 2012", "").replace("05/2008 - 04/2012", "")
        rest = rest.replace("2019", "").replace("\n2014", "")
        if not kinds or any(each.isdigit() for each in rest):
            left.append(f"{text!r}: {got!r}")
    return left


def dates_taken() -> list[str]:
    """Return those of `DATES` that are mistaken for contact details."""
    texts = islice(_periods(), DATES)
    return [f"{text!r}: {[each.words for each in found]}" for text in texts if (found := contacts_in(text))]


@pytest.mark.thorough
@pytest.mark.nightly
def test_no_contact_detail_remains_at_any_of_a_thousand_places() -> None:
    assert contacts_left() == []


@pytest.mark.thorough
@pytest.mark.nightly
def test_none_of_two_thousand_dates_and_periods_is_taken_as_a_phone_number() -> None:
    assert dates_taken() == []
