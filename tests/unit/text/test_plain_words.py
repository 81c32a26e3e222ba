"""The grammar of yes, no, stop and orders: what it recognizes, and that it guesses nothing else."""

import pytest

from qwestly_agent.text.plain_words import answer_in, is_stop, names_exactly, orders_in

YES = (
    "Yes|yes please|Yes, please do it!|ok, go ahead|Hi, sure, thanks|Perfect 🙂|👍🏽|Ja|Ja, bitte mach das|jawohl|¡Sí!"
    "|Hola, sí, adelante|siii|Oui, s’il vous plaît|D’accord|Sim, pode mudar|Pode sim, obrigado|Sì, grazie|Ja, graag"
)
NO = (
    "NO|No, thank you 🙏|nah, leave it|No, no need|Nein, danke|ne, lass mal|No, mejor no|déjalo así|Non merci"
    "|Non, pas la peine, merci|Não, obrigada|No, grazie|Nee, liever niet|👎"
)
NEITHER = (
    # Hesitation, quotation, lists, questions, both, and more than an answer.
    "yes…|yes...|yes..|ok… go|yes—|'yes'|“yes”|«sì»|- yes|* ok|1. yes|> yes|yes?|¿sí?|yes/no|yes, no|yes no|no, yes"
    "|yes yes|sí sí, gracias|yes\nno|yes, but|yes and no|no idea|no problem|Si…|Si|y|maybe|not now|tak|da|okay then"
    "|yes, she did|ja, und|(yes)|yes 🤷|a yes"
)
STOP = (
    "Stop.|please stop|That’s enough.|Can we stop?|Es reicht|Ich möchte jetzt aufhören|Basta ya|ça suffit|Chega"
    "|Basta così"
)
NO_STOP = (
    "I quit, because the commute was two hours|end to end|Para la entrevista, llevé un traje|No quiero parar|Stop?"
    "|We had to stop|Don’t stop|stop… no|“Stop”|Enough people left|Stop, I said, and they did|arrêt de tram"
)
ORDERS = [
    ("Please change my headline to Head of Product, payments.", "set", "headline", "Head of Product, payments"),
    ("Hi, could you set my location to Berlin, please?", "set", "location", "Berlin"),
    ("Use “Head of Product” as my headline", "set", "headline", "Head of Product"),
    ("set years of experience to 12 years", "set", "years_of_experience", "12"),
    ("switch work mode to hybrid. Thanks!", "set", "work_mode", "hybrid"),
    ("add Acme Inc. to my skills", "add", "skills", "Acme Inc."),
    ("Remove Java from my skills", "remove", "skills", "Java"),
    ("Kannst du bitte meinen Titel in CTO ändern?", "set", "headline", "CTO"),
    ("aendere meine Ueberschrift auf CTO", "set", "headline", "CTO"),
    ("Füge Rust zu meinen Fähigkeiten hinzu", "add", "skills", "Rust"),
    ("Pon mi ubicacion en Madrid", "set", "location", "Madrid"),
    ("Añade el inglés a mis idiomas", "add", "languages", "Inglés"),
    ("Mets à jour ma ville : Lyon", "set", "location", "Lyon"),
    ("Retire Java de mes compétences", "remove", "skills", "Java"),
    ("Muda o meu título pra Diretora", "set", "headline", "Diretora"),
    ("Adicione Rust às minhas competências", "add", "skills", "Rust"),
]
NO_ORDERS = [
    ("Rate the headline X", "X"),
    ("Change my sister's headline to X", "X"),
    ("Ask me before you change my headline to X", "X"),
    ("Change my headline to X, just kidding", "X"),
    ("Change my headline to X?", "X"),
    ("Change my headline to X…", "X"),
    ("Change my headline to X or Y", "X"),
    ("Change my headline to X and my location to Y", "X and my location to Y"),
    ("Change my headline to X\nand publish it", "X"),
    ("Don’t change my headline to X", "X"),
    ("Change my headline to X once it is signed", "X"),
    ("add X to my headline", "X"),
    ("My headline is X", "X"),
    ("She said: change my headline to X", "X"),
    ("Wijzig mijn kop in X niet", "X"),
    ("Ändere bloß nicht meine Überschrift in X", "X"),
]


@pytest.mark.parametrize(("texts", "answer"), [(YES, "yes"), (NO, "no"), (NEITHER, None)])
def test_a_yes_or_no_must_be_the_whole_message(texts: str, answer: str | None) -> None:
    assert [each for each in texts.split("|") if answer_in(each) != answer] == []


@pytest.mark.parametrize(("texts", "stops"), [(STOP, True), (NO_STOP, False)])
def test_a_request_to_stop_must_be_the_whole_message(texts: str, stops: bool) -> None:
    assert [each for each in texts.split("|") if is_stop(each) != stops] == []


@pytest.mark.parametrize(("text", "change", "field", "value"), ORDERS)
def test_a_plain_order_names_verb_field_and_value(text: str, change: str, field: str, value: str) -> None:
    found = [each for each in orders_in(text) if names_exactly(each, [[value]])]
    assert [(each.change, each.field) for each in found] == [(change, field)]


@pytest.mark.parametrize(("text", "value"), NO_ORDERS)
def test_anything_else_is_not_a_plain_order(text: str, value: str) -> None:
    assert [each for each in orders_in(text) if names_exactly(each, [[value]])] == []


def test_a_plain_order_for_several_items_names_exactly_those() -> None:
    [order] = orders_in("Add Go, “Rust” and SQL to my skills")
    assert names_exactly(order, [["Rust"], ["Go"], ["SQL"]])
    assert not names_exactly(order, [["Rust"], ["Go"]])
    assert not names_exactly(order, [["Rust"], ["Go"], ["SQL"], ["C"]])
