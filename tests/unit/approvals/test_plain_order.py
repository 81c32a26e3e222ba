"""The grammar of plain orders: for each kind, messages that order nothing, or something else."""

import pytest

from qwestly_agent.action import FieldValues
from qwestly_agent.approvals.unasked import is_plain_order

ASKED_ABOUT = {
    "a denial": [
        ("Rust has no place in my skills", "skills", "Rust"),
        ("I refuse to list Marketing as a skill", "skills", "Marketing"),
        ("Lyon n'est plus ma ville", "location", "Lyon"),
        ("Hör auf, Berlin als Standort zu nennen", "location", "Berlin"),
        ("Deixa de pôr Rust nas competências", "skills", "Rust"),
        ("Let's leave Rust off my skills", "skills", "Rust"),
        ("I'd rather you didn't make CTO my headline", "headline", "CTO"),
        ("Lisbon as my location? Nah.", "location", "Lisbon"),
        ("Ich würde Berlin lieber nicht als Standort haben", "location", "Berlin"),
        ("Surtout pas Lyon comme ville", "location", "Lyon"),
        ("Jamás pongas Marketing en mis habilidades", "skills", "Marketing"),
        ("Keep Rust away from my skills", "skills", "Rust"),
        ("my headline isnt CTO", "headline", "CTO"),
        ("Python gehört auf keinen Fall zu meinen Skills", "skills", "Python"),
        ("De maneira nenhuma quero Rust nas minhas competências", "skills", "Rust"),
    ],
    "a question": [
        ("My headline: CTO or something else?", "headline", "CTO"),
        ("Wozu brauche ich Rust in meinen Skills", "skills", "Rust"),
        ("¿Cuánto ayuda Python en mis habilidades", "skills", "Python"),
        ("Would anyone hire me with Rust in my skills", "skills", "Rust"),
        ("A quoi sert Python dans mes compétences ?", "skills", "Python"),
        ("Any reason to add Rust to my skills?", "skills", "Rust"),
        ("Wouldn't CTO be a better headline?", "headline", "CTO"),
        ("Is Lisbon a good location", "location", "Lisbon"),
        ("Wäre Berlin als Standort besser?", "location", "Berlin"),
        ("¿Está Marketing en mis habilidades?", "skills", "Marketing"),
        ("Rust in skills: yes or no?", "skills", "Rust"),
        ("could Rust help my skills", "skills", "Rust"),
        ("Can you see Rust in my skills?", "skills", "Rust"),
        ("Est-ce utile d'ajouter Rust à mes compétences", "skills", "Rust"),
        ("Do recruiters like Rust among skills", "skills", "Rust"),
    ],
    "a piece of a number": [
        ("set my experience to 12,5", "years_of_experience", "12"),
        ("set experience to 1 012", "years_of_experience", "12"),
        ("experience: 12:30", "years_of_experience", "12"),
        ("experience 12th", "years_of_experience", "12"),
        ("experience: 0.12", "years_of_experience", "12"),
        ("my experience is 12,5 years, set it", "years_of_experience", "12"),
        ("Set my experience to 12 months", "years_of_experience", "12"),
        ("experience: 10 to 12 years", "years_of_experience", "12"),
        ("Set experience to 12k", "years_of_experience", "12"),
        ("set my experience to 1'200", "years_of_experience", "200"),
        ("set my experience to 12e3", "years_of_experience", "12"),
        ("experience: 12 dozen", "years_of_experience", "12"),
        ("experience: 12/24", "years_of_experience", "12"),
        ("experience: 3.12 years", "years_of_experience", "12"),
        ("experience: 12 and three quarters years", "years_of_experience", "12"),
    ],
    "other letters": [
        ("add python to my skills", "skills", "PYTHON"),
        ("add Go to my skills", "skills", "Go!"),
        ("location: Zurich", "location", "Zürich"),
        ("languages: हिन्दी", "languages", "हिनदी"),
        ("add Rust to my skills", "skills", "Rust™"),
        ("add rust to my skills", "skills", "RUST"),
        ("add naive to my skills", "skills", "naïve"),
        ("set my location to Malmo", "location", "Malmö"),
        ("set my location to दिल्ली", "location", "दुल्ला"),
        ("add C to my skills", "skills", "С"),
        ("add Rust to my skills", "skills", "R ust"),
        ("headline: Head of Product", "headline", "Head of Product!"),
        ("headline: Head of Product", "headline", "Head-of-Product"),
        ("add Rust to my skills", "skills", "Ｒｕｓｔ"),
        ("location: São Paulo, update", "location", "Sao Paulo"),
    ],
    "another field": [
        ("Lisbon please", "location", "Lisbon"),
        ("Put Rust in my languages", "skills", "Rust"),
        ("set Lisbon", "location", "Lisbon"),
        ("make me a CTO", "headline", "CTO"),
        ("add French and say bonjour", "languages", "French"),
        ("Make it Lisbon", "location", "Lisbon"),
        ("Put Rust at the top", "skills", "Rust"),
        ("I moved to Lisbon", "location", "Lisbon"),
        ("Change my skills to Lisbon", "location", "Lisbon"),
        ("My favourite food is French, add it", "languages", "French"),
    ],
    "a longer phrase": [
        ("Set my location to Mexico City", "location", "Mexico"),
        ("Set my location to Ciudad Juárez", "location", "Juárez"),
        ("Add Apache Spark to my skills", "skills", "Spark"),
        ("Set my location to New Orleans", "location", "Orleans"),
        ("headline: CTO, Acme", "headline", "CTO"),
        ("Set my location to St. Petersburg", "location", "Petersburg"),
        ("Pon mi ubicación en Ciudad de México", "location", "México"),
        ("Set my location to San Francisco", "location", "Francisco"),
        ("Add Google Cloud to my skills", "skills", "Cloud"),
        ("headline: Senior Data Engineer", "headline", "Data Engineer"),
        ("Set my location to Newcastle upon Tyne", "location", "Newcastle"),
        ("Add Ruby on Rails to my skills", "skills", "Ruby"),
        ("Set my headline to Head of Product at Acme", "headline", "Head of Product"),
        ("Set my location to Frankfurt am Main", "location", "Frankfurt"),
        ("Mon titre : Directrice de la Banque de France", "headline", "Directrice"),
        ("Mi ubicación es Santiago de Compostela, cámbiala", "location", "Santiago"),
        ("Berlin Mitte is my location, update it", "location", "Berlin"),
    ],
}

LISTS = [
    ("Add Rust to my skills but keep Python", ["Rust"], ["Python"], []),
    ("Remove Java, keep Python in my skills", [], ["Python"], ["Java"]),
    ("Add Rust to skills, drop nothing", ["Rust"], ["Python"], []),
    ("My skills: Rust and also Python", ["Rust"], ["Python"], []),
    ("Remove Java from my skills", [], ["Java", "Python"], []),
    ("take Rust out of my skills", ["Rust"], [], ["Python"]),
    ("Put Rust before Python in my skills", ["Rust"], ["Python"], []),
]


@pytest.mark.parametrize("kind", ASKED_ABOUT)
def test_a_message_of_this_kind_is_not_a_plain_order(kind: str) -> None:
    run = [each for each in ASKED_ABOUT[kind] if is_plain_order(each[0], [FieldValues(each[1], [each[2]])])]
    assert run == []


def test_a_list_losing_items_the_message_does_not_mention_is_not_a_plain_order() -> None:
    run = [each for each in LISTS if is_plain_order(each[0], [FieldValues("skills", *each[1:])])]
    assert run == []
