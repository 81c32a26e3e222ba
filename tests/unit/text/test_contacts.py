"""Contact details that are masked in a résumé before a model reads it."""

import re

import pytest

from qwestly_agent.text.contacts import without_contacts
from tests.counts import everyday


@pytest.mark.parametrize(
    ("text", "masked", "kind", "found"),
    [
        ("maya@example.org, Lisbon", "[email], Lisbon", "email", "maya@example.org"),
        ("+351 912 345 678 | Lisbon", "[phone] | Lisbon", "phone", "+351 912 345 678"),
        ("See https://maya.dev/work?a=1.", "See [url].", "url", "https://maya.dev/work?a=1"),
        ("linkedin.com/in/maya-lopes · Lisbon", "[url] · Lisbon", "url", "linkedin.com/in/maya-lopes"),
        ("de.linkedin.com/in/maya", "[url]", "url", "de.linkedin.com/in/maya"),
        ("LinkedIn: maya-lopes | Porto", "LinkedIn: [url] | Porto", "url", "maya-lopes"),
        ("GitHub: mayalopes\nNurse", "GitHub: [url]\nNurse", "url", "mayalopes"),
        ("Twitter @maya_l", "Twitter [url]", "url", "@maya_l"),
        ("github.com/maya, www.maya.dev", "[url], [url]", "url", "github.com/maya"),
        ("Date of birth: 4 May 1990", "Date of birth: [birth date]", "birth date", "4 May 1990"),
        ("born on May 4, 1990 in Porto", "born on [birth date] in Porto", "birth date", "May 4, 1990"),
        ("geb. 04.05.1990", "geb. [birth date]", "birth date", "04.05.1990"),
        ("Geburtsdatum: 04.05.1990", "Geburtsdatum: [birth date]", "birth date", "04.05.1990"),
        (
            "Fecha de nacimiento: 4 de mayo de 1990",
            "Fecha de nacimiento: [birth date]",
            "birth date",
            "4 de mayo de 1990",
        ),
        ("12 Harbour View Road, Leeds LS1 4AB", "[street], Leeds LS1 4AB", "street", "12 Harbour View Road"),
        ("Torstraße 12a, 10119 Berlin", "[street], 10119 Berlin", "street", "Torstraße 12a"),
        ("Alte Schönhauser Str. 5, Berlin", "[street], Berlin", "street", "Alte Schönhauser Str. 5"),
        ("Calle de Alcalá 45, Madrid", "[street], Madrid", "street", "Calle de Alcalá 45"),
        ("14 rue de Rivoli, Paris", "[street], Paris", "street", "14 rue de Rivoli"),
    ],
)
def test_contact_details_are_masked_and_kept(text: str, masked: str, kind: str, found: str) -> None:
    got, kept = without_contacts(text)
    assert got == masked
    assert kept[kind][0] == found


@pytest.mark.parametrize(
    "number",
    [
        "138 0013 8000", "手机：13800138000", "联系电话: 138-0013-8000", "8 (912) 345-67-89", "8 912 345 67 89",
        "тел. 345-67-89",
        "電話番号：０３－１２３４－５６７８", "טל׳ 03-612-3456", "هاتف: ٠٤ ١٢٣ ٤٥٦٧", "연락처 010-1234-5678",
        "(312) 555-2012", "6123 1900", "412 34 567", "9 8765 4321", "71 123 4567", "600123456", "2012 3456 78",
        "0171 - 234 56 78", "(0)20 7946 0958", "020 1946 2012", "98765 43210",
        "Mobile No: 9876543210", "612 345 678", "555-0148", "08-12 89 86", "Mobile 08-12 53 04\n2008 – 2012",
        "Falk\t08-12 51 94\n2008 – 2012", "\uf095 6123 1900", "532.123.45.67",
        "+44 20 1946-2012", "070-123 45 67", "22 12 34 56", "0532 123 45 67", "Tel. 0171 2345678 2008 - 2012",
        "40 61 98 02\n2008 – 2012", "085 012 2070\n2014",
    ],
)  # fmt: skip
def test_phone_numbers_of_many_countries_are_masked_completely(number: str) -> None:
    got, found = without_contacts(f"Ines Falk\n{number}\nNurse")
    assert len(found["phone"]) == 1
    assert set(re.findall(r"\d+", got)) <= {"2008", "2012", "2014"}, got


@pytest.mark.parametrize(
    "numbers",
    [
        "020 7946 0958,07700 900123", "9876543210 / 9123456789", "Tel. 0171 2345678 / 0172 1234567",
        "(02) 9876 5432  0412 345 678", "0171 2345678 0341 998877", "0341 / 99 88 776 - 0171 2345678",
        "ines@example.org · 70 123 456 | 020 7946 0958",
    ],
)  # fmt: skip
def test_two_phone_numbers_in_a_line_are_both_masked(numbers: str) -> None:
    got, found = without_contacts(f"Ines Falk\n{numbers}\nNurse")
    assert len(found["phone"]) == 2
    assert not re.search(r"\d", got), got


@pytest.mark.parametrize(
    "born",
    [
        "Data di nascita: 4 maggio 1990", "nata il 04/05/1990", "Data de nascimento: 4 de maio de 1990",
        "geboren op 04-05-1990",
        "Geboortedatum: 4 mei 1990", "Data urodzenia: 04.05.1990", "Дата рождения: 4 мая 1990 г.",
        "родилась 04.05.1990",
        "出生日期：1990年5月4日", "出生年月：1990.05", "生年月日 平成2年5月4日", "생년월일: 1990. 5. 4.",
        "תאריך לידה: 04.05.1990",
        "تاريخ الميلاد: ٠٤/٠٥/١٩٩٠", "Doğum tarihi: 04.05.1990", "Födelsedatum: 1990-05-04",
        "geb. am 4. Mai 1990",
        "Date of birth (DD/MM/YYYY): 04/05/1990", "Date of birth\n4th May 1990", "née le 1er mai 1990",
    ],
)  # fmt: skip
def test_birth_dates_with_labels_in_many_languages_are_masked(born: str) -> None:
    got, found = without_contacts(f"Ines Falk\n{born}\nNurse")
    assert list(found) == ["birth date"]
    assert not re.search(r"\d", got), got


@pytest.mark.parametrize(
    ("header", "gone", "kept"),
    [
        (
            "Ines Falk\n14 Harbour Row, Flat 3, Bristol BS1 4QD • +44 20 7946 0958 • ines.falk@example.org\n"
            "\nNurse since 2019",
            "14|Harbour|Flat|BS1|4QD|7946|falk@",
            "Ines Falk|Bristol|Nurse since 2019",
        ),
        (
            "Jürgen Weiß\nLindenstraße 8a, 04109 Leipzig\nTel.: 0341 / 99 88 776\n"
            "j.weiss (at) posteo (punkt) de\n\nSeit 2018 Projektleiter",
            "Linden|04109|88|posteo",
            "Jürgen Weiß|Leipzig|Seit 2018 Projektleiter",
        ),
        (
            "Aoife Byrne | 3 Seapoint Mews, Bray, Co. Wicklow A98 X2K7 | 087 123 4567 | aoife@byrne.ie "
            "Manager since 2019, 12 people",
            "Seapoint|A98|X2K7|087|byrne.ie",
            "Bray|Manager since 2019, 12 people",
        ),
        (
            "María Ruiz\nC/ Serrano 41, 3º B\n28001 Madrid\nMóvil 612 345 678 — maria.ruiz@correo.es\n"
            "Enfermera, 2015 - 2021",
            "Serrano|3º|28001|612|correo",
            "Madrid|Enfermera, 2015 - 2021",
        ),
        (
            "Dev Patel\n221B Maple Court, Apt 9\nSpringfield, IL 62704\n(217) 555-0148\ndev@patel.io\n\n"
            "Engineer with 9 years at Acme",
            "221B|Maple|Apt|62704|555|patel.io",
            "Springfield, IL|Engineer with 9 years at Acme",
        ),
        (
            "Camille Roux, 12 bis rue des Lilas, 69003 Lyon, 06 45 23 12 78, camille.roux@orange.fr\nCheffe, 2016-2023",
            "Lilas|69003|06 45|orange.fr",
            "Lyon|Cheffe, 2016-2023",
        ),
        (
            "Ana Prado · Rua Augusta 12, 1100-053 Lisboa · 912 345 678 · anaprado.pt\n10 Years Experience\n"
            "2019 Kestrel Labs, lead",
            "Augusta|1100|912|anaprado.pt",
            "Ana Prado|Lisboa|10 Years Experience|2019 Kestrel Labs, lead",
        ),
    ],
)
def test_a_letterheads_streets_and_postcodes_are_masked_but_not_name_or_town(header: str, gone: str, kept: str) -> None:
    got, _ = without_contacts(header)
    assert [each for each in gone.split("|") if each in got] == []
    assert [each for each in kept.split("|") if each not in got] == []


@pytest.mark.parametrize(
    "text",
    [
        "Built services in Node.js, ASP.NET and Vue.js for amazon.com",
        "2015 - 2019 and 2019-2023, 04/2021 – today",
        "Cook, Harbour Inn\n1997 - 2003",
        "10/2009 - 02/2014 and 10/2009-02/2014, 10.2009 – 02.2014",
        "2009/10 - 2014/02, 2009-10 – 2014-02, 7/96 - 11/01",
        "01.10.2009 – 28.02.2014, 2009-10-01 - 2014-02-28",
        "1997-03, 2003–08",
        "2008. 05. - 2012. 04., 2008 05 - 2012 04, 12. 5. 2008 - 3. 4. 2012",
        "2008 2009 2010, 2008-2009-2010, 20080512-20120403, 200805 - 201204, 2008～2012",
        "Signal 2008 - 2012, Mobile 05/2008 - 04/2012, ٠٥/٢٠٠٨ - ٠٤/٢٠١٢",
        "08/82\n08/82, 10 000 - 25 000, 1.200.000 - 1.500.000",
        "LinkedIn: Ads and posts, GitHub: Actions, Twitter: bots for 2 brands",
        "Led 12 engineers on Wall Street and 3 at Kestrel Labs",
        "Born leader of 5 teams since 1990",
        "From 04.05.2019 to 06.07.2021 at Meridian Rail",
        "Version 1.2.3 of github flavoured tooling",
        "Worked 10 Road shows a year",
        "Raised 45 million in Avenue A",
        "Engineer at Booking.com, later at amazon.de",
        "Sold 450 000 000 units, 1.250.000 of them abroad, GPA 3.8/4.0 2012",
        "EUR 65.000 – 75.000, $120,000 - $150,000, 4 500 000 EUR, 1'250'000 CHF, 12 345 678,90, 6 000-8 000 PLN",
        "12 345 - 15 678\n7 000 000 000\n1,234,567,890\n₹ 12,00,000\n1 234 567 890 rows",
        "ISBN 0-306-40615-2, ISSN 2049-3630, ORCID 0000-0002-1825-0097, PMID 123456789, ID 123456789",
        "doi 10.1145/3292500.3330701, arXiv:1706.03762, RFC 2616 7231 9110, US10123456, EP 1 234 567",
        "Version 10.15.7.2023, 192.168.100.200, 192.168.10.20, 10.0.0.0/8, Covid-19 2020 2021 2022",
        "ISO 9001 2015, ISO 27001:2013, SQL Server 2019 2008, DIN 18800-7, Room 1234 2012",
        "2019-05-04T12:30:00, 04.05.2019 12:30, UTC+01:00 2012-2014, 08.00 - 16.00, 08:00 - 16:00",
        "02-1989 ~ 2. août 2009\n200608 17 mei 2024\n12. 08. 2016 21. Mayıs 2016\n(01 1978‑6. January 1988)",
        "06/15 07/18\n2012-13, 2013-14\n1998/99 - 2002/03\n03/2012 - 07/2015 (3 years)\n1990 2000 2010",
        "10 - 50 - 100 - 200\n250 000\n500-1000\n160 170 180 190\n7 8 9 10 8 7 9\n52.520008 13.404954",
        "License no. 12345678, Grade 85/100 2012, 3.14159265, 0.9999999, Order 2021-000123",
        "IBAN DE89 3704 0044 0532 0130 00, SIRET 732 829 320 00074, ABN 51 824 753 556",
        "IBAN checks, ISBN 978-3-16-148410-0, PO 10115 Berlin Marathon",
    ],
)
def test_a_text_without_contact_details_stays_unchanged(text: str) -> None:
    assert without_contacts(text) == (text, {})


@pytest.mark.parametrize(
    "hostile",
    everyday(
        6,
        [
            "1",
            "12 ",
            "1234567 ",
            "- ",
            "+1 ",
            "9 8765 4321\n",
            "A",
            "A ",
            "Aa.",
            "1 A ",
            "www.",
            "a-",
            "Rue A ",
            "A, ",
            "born 1",
            "Straße",
            "2008 - ",
            "8 (",
        ],
    ),
)
def test_a_text_crafted_to_be_slow_is_read_quickly(hostile: str) -> None:
    """With backtracking, this test would not end."""
    without_contacts(hostile * (100_000 // len(hostile)))
