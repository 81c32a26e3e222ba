"""Pairs of wishes and an advert as its board sends it, in five languages, with the right outcome.

They were written from the boards' public responses, before the comparison that they test. All employers are invented.
"""

from typing import Any, NamedTuple


class Pair(NamedTuple):
    wishes: dict[str, Any]
    board: str
    advert: dict[str, Any]
    """The board's own record."""
    is_shown: bool


def adzuna(title: str, place: str, area: list[str], text: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "adzuna", {
        "__CLASS__": "Adzuna::API::Response::Job",
        "id": "4912345678",
        "adref": "eyJhbGciOiJIUzI1NiJ9",
        "title": title,
        "company": {"__CLASS__": "Adzuna::API::Response::Company", "display_name": "Kestrel Werke"},
        "location": {"__CLASS__": "Adzuna::API::Response::Location", "display_name": place, "area": area},
        "category": {"__CLASS__": "Adzuna::API::Response::Category", "tag": "it-jobs", "label": "IT Jobs"},
        "description": text,
        "created": "2026-11-20T08:11:23Z",
        "redirect_url": "https://www.adzuna.example/land/ad/4912345678?se=x",
        "salary_is_predicted": "0",
        "contract_time": "full_time",
        "contract_type": "permanent",
        **more,
    }


def jsearch(
    title: str, city: str | None, state: str | None, country: str | None, text: str, **more: Any
) -> tuple[str, dict[str, Any]]:
    return "jsearch", {
        "job_id": "ZjYFdJ-QsEoAAAAAAAAAAA==",
        "employer_name": "Harbour Works",
        "employer_logo": None,
        "employer_website": None,
        "job_publisher": "LinkedIn",
        "job_employment_type": "FULLTIME",
        "job_title": title,
        "job_apply_link": "https://jobs.example/apply/1",
        "job_apply_is_direct": False,
        "job_description": text,
        "job_is_remote": False,
        "job_posted_at_timestamp": 1_795_000_000,
        "job_posted_at_datetime_utc": "2026-11-18T09:46:40.000Z",
        "job_location": ", ".join(filter(None, (city, state))) or None,
        "job_city": city,
        "job_state": state,
        "job_country": country,
        "job_offer_expiration_datetime_utc": None,
        "job_offer_expiration_timestamp": None,
        "job_min_salary": None,
        "job_max_salary": None,
        "job_salary_currency": None,
        "job_salary_period": None,
        **more,
    }


def pair(is_shown: bool, wishes: dict[str, Any], sent: tuple[str, dict[str, Any]]) -> Pair:
    return Pair(wishes, *sent, is_shown)


REMOTE = {"job_is_remote": True}
PAIRS = (
    # Places.
    pair(
        True,
        {"places": ["Germany"]},
        adzuna(
            "Pflegefachkraft",
            "Neukölln, Berlin",
            ["Deutschland", "Berlin", "Neukölln"],
            "Wir suchen Sie für unsere Station.",
        ),
    ),
    pair(
        True,
        {"places": ["Allemagne"]},
        jsearch("Ingénieur logiciel", "Hamburg", "Hamburg", "DE", "Nous construisons des outils pour les ports."),
    ),
    pair(
        True,
        {"places": ["Alemania"]},
        adzuna(
            "Elektriker (m/w/d)",
            "Dortmund, Nordrhein-Westfalen",
            ["Deutschland", "Nordrhein-Westfalen", "Dortmund"],
            "Montage und Wartung.",
        ),
    ),
    pair(
        True,
        {"places": ["Bavaria"]},
        adzuna("Softwareentwickler", "Nürnberg, Bayern", ["Deutschland", "Bayern", "Nürnberg"], "Java und Kotlin."),
    ),
    pair(
        False,
        {"places": ["Bavaria"]},
        adzuna(
            "Softwareentwickler",
            "Köln, Nordrhein-Westfalen",
            ["Deutschland", "Nordrhein-Westfalen", "Köln"],
            "Java und Kotlin.",
        ),
    ),
    pair(True, {"places": ["California"]}, jsearch("Data Analyst", "San Diego", "CA", "US", "SQL and dashboards.")),
    pair(
        True,
        {"places": ["San Francisco Bay Area"]},
        jsearch("Data Analyst", "San Francisco", "CA", "US", "SQL and dashboards."),
    ),
    pair(False, {"places": ["California"]}, jsearch("Data Analyst", "Portland", "OR", "US", "SQL and dashboards.")),
    pair(False, {"places": ["Canada"]}, jsearch("Nurse", "Los Angeles", "CA", "US", "Night shifts on a ward.")),
    pair(
        True,
        {"places": ["Lisboa"]},
        jsearch("Gestor de Produto", "Lisbon", None, "PT", "Procuramos alguém para a nossa equipa."),
    ),
    pair(
        True,
        {"places": ["Lissabon, Portugal"]},
        jsearch("Product Manager", "Lisbon", "Lisboa", "PT", "We build payments."),
    ),
    pair(False, {"places": ["Porto"]}, jsearch("Product Manager", "Lisbon", "Lisboa", "PT", "We build payments.")),
    pair(False, {"places": ["Porto"]}, jsearch("Barista", "Porto Alegre", "RS", "BR", "Trabalho em turnos.")),
    pair(True, {"places": ["Sevilla"]}, jsearch("Enfermera", "Seville", "AN", "ES", "Turno de noche.")),
    pair(
        True,
        {"places": ["España"]},
        adzuna(
            "Contable", "Alcobendas, Madrid", ["España", "Comunidad de Madrid", "Alcobendas"], "Contabilidad general."
        ),
    ),
    pair(
        True,
        {"places": ["Frankreich"]},
        adzuna(
            "Comptable", "Lyon, Rhône", ["France", "Auvergne-Rhône-Alpes", "Rhône", "Lyon"], "Comptabilité générale."
        ),
    ),
    pair(
        True,
        {"places": ["Wien"]},
        adzuna("Koch", "1030 Wien, Wien", ["Österreich", "Wien", "1030 Wien"], "Wir kochen jeden Tag frisch."),
    ),
    pair(
        True,
        {"places": ["Vienna, Austria"]},
        adzuna("Koch", "1030 Wien, Wien", ["Österreich", "Wien", "1030 Wien"], "Wir kochen jeden Tag frisch."),
    ),
    pair(False, {"places": ["Vienna, Austria"]}, jsearch("Cook", "Vienna", "VA", "US", "We cook fresh each day.")),
    pair(
        True,
        {"places": ["England"]},
        adzuna(
            "Teaching Assistant",
            "Marlow, Buckinghamshire",
            ["UK", "South East England", "Buckinghamshire", "Marlow"],
            "Support a class of seven-year-olds.",
        ),
    ),
    pair(
        False,
        {"places": ["London, UK"]},
        jsearch("Teaching Assistant", "London", "ON", "CA", "Support a class of seven-year-olds."),
    ),
    pair(True, {"places": ["Europe"]}, jsearch("Architecte", "Bruxelles", None, "BE", "Agence de douze personnes.")),
    pair(False, {"places": ["European Union"]}, jsearch("Architect", "Zürich", "ZH", "CH", "Büro mit zwölf Leuten.")),
    pair(
        True,
        {"places": ["Berlin", "Hamburg"]},
        jsearch("UX Designer", None, None, "DE", "Wir gestalten Formulare, die man versteht."),
    ),
    pair(
        True,
        {"places": ["São Paulo"]},
        jsearch("Analista de Dados", "Sao Paulo", "State of São Paulo", "BR", "Experiência com SQL."),
    ),
    # Ways of working.
    pair(
        True,
        {"remote": "only", "places": ["Spain"]},
        jsearch(
            "Desarrollador backend", None, None, "ES", "Trabajo 100 % remoto desde cualquier lugar de España.", **REMOTE
        ),
    ),
    pair(
        False,
        {"remote": "only"},
        jsearch("Backend Engineer", "Leeds", "England", "GB", "This role is fully on-site at our Leeds office."),
    ),
    pair(
        False,
        {"remote": "only"},
        adzuna(
            "Entwickler (hybrid)",
            "Köln, Nordrhein-Westfalen",
            ["Deutschland", "Nordrhein-Westfalen", "Köln"],
            "Hybrid: drei Tage im Büro, zwei Tage im Homeoffice.",
        ),
    ),
    pair(
        True,
        {"remote": "only", "places": ["Deutschland"]},
        adzuna("Entwickler (100% remote)", "Deutschland", ["Deutschland"], "Du arbeitest vollständig remote."),
    ),
    pair(
        True,
        {"remote": "no"},
        adzuna("Sachbearbeiter", "Bremen", ["Deutschland", "Bremen"], "Arbeit vor Ort in unserem Büro."),
    ),
    pair(False, {"remote": "no"}, jsearch("Support Agent", None, None, "US", "Fully remote position.", **REMOTE)),
    pair(
        True,
        {"places": ["Madrid"]},
        jsearch("Product Designer", "Barcelona", "CT", "ES", "Remoto en toda España.", **REMOTE),
    ),
    pair(
        False,
        {"places": ["Portugal"], "work_permits": ["European Union"]},
        jsearch("Staff Engineer", "New York", "NY", "US", "Remote within the United States.", **REMOTE),
    ),
    pair(
        False,
        {"places": ["France"], "work_permits": ["France"]},
        jsearch("Staff Engineer", None, None, None, "Remote. Applicants must be based in Canada.", **REMOTE),
    ),
    pair(
        True,
        {"places": ["France"], "work_permits": ["France"]},
        jsearch("Développeur", None, None, None, "Télétravail complet, partout en Europe.", **REMOTE),
    ),
    pair(
        True,
        {"places": ["Portugal"]},
        jsearch("Writer", None, None, None, "Work from anywhere in the world.", **REMOTE),
    ),
    # Pay.
    pair(
        False,
        {"pay_from": 50_000, "pay_currency": "EUR"},
        adzuna(
            "Buchhalter",
            "Essen, Nordrhein-Westfalen",
            ["Deutschland", "Nordrhein-Westfalen", "Essen"],
            "Finanzbuchhaltung.",
            salary_min=36_000.0,
            salary_max=40_000.0,
        ),
    ),
    pair(
        True,
        {"pay_from": 50_000, "pay_currency": "EUR"},
        adzuna(
            "Buchhalter",
            "Essen, Nordrhein-Westfalen",
            ["Deutschland", "Nordrhein-Westfalen", "Essen"],
            "Finanzbuchhaltung.",
            salary_min=31_000.0,
            salary_max=31_000.0,
            salary_is_predicted="1",
        ),
    ),
    pair(
        True,
        {"pay_from": 70_000, "pay_currency": "EUR"},
        adzuna(
            "Freelance Développeur",
            "Paris, Ile-de-France",
            ["France", "Ile-de-France", "Paris"],
            "Mission de six mois.",
            salary_min=520.0,
            salary_max=600.0,
            contract_type="contract",
        ),
    ),
    pair(
        True,
        {"pay_from": 60_000, "pay_currency": "USD"},
        jsearch(
            "Welder",
            "Tulsa",
            "OK",
            "US",
            "Days.",
            job_min_salary=38,
            job_max_salary=44,
            job_salary_currency="USD",
            job_salary_period="HOUR",
        ),
    ),
    pair(
        False,
        {"pay_from": 60_000, "pay_currency": "USD"},
        jsearch(
            "Cashier",
            "Tulsa",
            "OK",
            "US",
            "Days.",
            job_min_salary=13,
            job_max_salary=15,
            job_salary_currency="USD",
            job_salary_period="HOUR",
        ),
    ),
    pair(
        True,
        {"pay_from": 60_000, "pay_currency": "USD"},
        jsearch(
            "Welder", "Tulsa", "OK", "US", "Days.", job_min_salary=45, job_max_salary=50, job_salary_currency="USD"
        ),
    ),
    pair(
        True,
        {"pay_from": 3_000_000, "pay_currency": "INR"},
        jsearch(
            "SRE",
            "Pune",
            "MH",
            "IN",
            "On call.",
            job_min_salary=2_500_000,
            job_max_salary=4_000_000,
            job_salary_currency="INR",
            job_salary_period="YEAR",
        ),
    ),
    pair(
        True,
        {"pay_from": 60_000, "pay_currency": "EUR"},
        jsearch(
            "Engenheiro",
            "Porto",
            None,
            "PT",
            "Remuneração anual.",
            job_min_salary=40_000,
            job_max_salary=50_000,
            job_salary_currency="GBP",
            job_salary_period="YEAR",
        ),
    ),
    pair(
        False,
        {"pay_from": 40_000, "pay_currency": "EUR"},
        jsearch(
            "Camarero",
            "Málaga",
            "AN",
            "ES",
            "Turnos partidos.",
            job_min_salary=1_300,
            job_max_salary=1_500,
            job_salary_currency="EUR",
            job_salary_period="MONTH",
        ),
    ),
    # Words that are never wanted.
    pair(
        False,
        {"never": ["C#"]},
        adzuna(
            "<strong>C#</strong> Entwickler",
            "Jena, Thüringen",
            ["Deutschland", "Thüringen", "Jena"],
            "Desktop-Anwendungen.",
        ),
    ),
    pair(
        True,
        {"never": ["C"]},
        adzuna(
            "<strong>C#</strong> Entwickler",
            "Jena, Thüringen",
            ["Deutschland", "Thüringen", "Jena"],
            "Desktop-Anwendungen.",
        ),
    ),
    pair(True, {"never": ["Java"]}, jsearch("Frontend Developer", "Austin", "TX", "US", "JavaScript and TypeScript.")),
    pair(False, {"never": ["banque"]}, jsearch("Juriste", "Paris", None, "FR", "Rejoignez une banque régionale.")),
    pair(
        False,
        {"never": ["Glücksspiel"]},
        adzuna(
            "Produktmanager",
            "Hamburg",
            ["Deutschland", "Hamburg"],
            "Anbieter für Online-Gl&uuml;cksspiel.",
        ),
    ),
    pair(
        True,
        {"never": ["R&D"]},
        jsearch("Comercial", "Bilbao", "PV", "ES", "Vendemos a laboratorios. R. Díaz dirige el equipo."),
    ),
    # Languages, permits, ends.
    pair(
        False,
        {"languages": ["en", "de"]},
        jsearch(
            "Responsable marketing",
            "Lyon",
            None,
            "FR",
            "Nous cherchons une personne qui aime les marques et qui sait écrire pour nos clients.",
        ),
    ),
    pair(
        True,
        {"languages": ["en", "pt"]},
        jsearch(
            "Gestor de marketing",
            "Braga",
            None,
            "PT",
            "Procuramos uma pessoa que goste de marcas e que saiba escrever para os nossos clientes.",
        ),
    ),
    pair(
        False,
        {"work_permits": ["Portugal"]},
        jsearch("Nurse", "Boston", "MA", "US", "We cannot offer visa sponsorship for this position."),
    ),
    pair(
        True,
        {"work_permits": ["Portugal"]},
        jsearch("Nurse", "Boston", "MA", "US", "We offer visa sponsorship and help with the move."),
    ),
    pair(
        True,
        {"work_permits": ["Brazil"]},
        adzuna("Enfermeiro", "Porto", ["Portugal", "Porto"], "Hospital privado com cem camas."),
    ),
    pair(
        False,
        {"work_permits": ["Spain"]},
        adzuna(
            "Ingeniero",
            "Toulouse, Haute-Garonne",
            ["France", "Occitanie", "Haute-Garonne", "Toulouse"],
            "Permis de travail valable en France requis.",
        ),
    ),
    pair(
        False,
        {"work_permits": ["Argentina"]},
        jsearch("Ingeniero civil", "Valencia", "VC", "ES", "Imprescindible permiso de trabajo en España."),
    ),
    pair(
        False,
        {},
        jsearch(
            "Jardinier",
            "Nantes",
            None,
            "FR",
            "Entretien de parcs.",
            job_offer_expiration_datetime_utc="2026-02-01T00:00:00.000Z",
            job_offer_expiration_timestamp=1_769_904_000,
        ),
    ),
    pair(
        True,
        {},
        jsearch(
            "Jardinier",
            "Nantes",
            None,
            "FR",
            "Entretien de parcs.",
            job_offer_expiration_datetime_utc="2099-02-01T00:00:00.000Z",
        ),
    ),
)
"""Pairs at even positions were used while the comparison was written; those at odd positions were held out."""
