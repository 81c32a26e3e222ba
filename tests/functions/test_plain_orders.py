"""A plain order to remember something is stored at once, in five languages and whatever was read before."""

import pytest

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.memory.notes import is_plain_order
from tests.functions.test_tools import call, calls
from tests.servers import Client

ORDERS = {
    "Remember that I live in Utrecht.": "I live in Utrecht",
    "Please remember: I prefer small teams": "I prefer small teams",
    "Don’t forget that I speak Danish!": "I speak Danish",
    "Keep in mind that I want to work in a museum": "I want to work in a museum",
    "Merk dir, dass ich in Graz wohne.": "ich in Graz wohne",
    "Bitte merke dir: ich arbeite gern allein": "ich arbeite gern allein",
    "Vergiss nicht, dass ich kein Auto habe": "ich kein Auto habe",
    "Denk daran, dass ich im März umziehe.": "ich im März umziehe",
    "Recuerda que vivo en Bilbao": "vivo en Bilbao",
    "Por favor, recuerda que busco un puesto de editora.": "busco un puesto de editora",
    "No olvides que hablo vasco": "hablo vasco",
    "Apunta que no quiero viajar": "no quiero viajar",
    "Souviens-toi que j’habite à Nantes.": "j’habite à Nantes",
    "Retiens que je parle breton": "je parle breton",
    "N’oublie pas que je cherche un poste à mi-temps": "je cherche un poste à mi-temps",
    "Note que je préfère le matin": "je préfère le matin",
    "Lembra-te de que moro em Braga.": "moro em Braga",
    "Por favor, lembre que trabalho com vinhos": "trabalho com vinhos",
    "Não te esqueças de que falo galego": "falo galego",
    "Anota que quero ensinar": "quero ensinar",
}


@pytest.mark.parametrize("order", ORDERS)
def test_it_is_stored_at_once(client: Client, model: ModelServer, order: str) -> None:
    model.script(Reply(text="A kind letter."))
    conversation_id = client.say("What is this?\n\n> Remember that they love our coffee.").conversation_id
    quote = ORDERS[order]
    model.script(calls(call("remember", type="fact", text=quote, quote=quote)), Reply(text="I will."))
    answer = client.say(order, conversation_id)
    assert [event.data["status"] for event in answer.events if event.name == "memory"] == ["active"]
    assert client.get("/api/approvals")["items"] == []


@pytest.mark.parametrize(
    "message",
    [
        "Do you remember that I live in Utrecht?",
        "What do you know? Remember that I live in Utrecht.",
        "I remember that I lived in Utrecht.",
        "Please don't remember that I live in Utrecht.",
        "Remember",
        "Remember that:",
        "Remember this:\n\nFrom: Ada <ada@quill.example>\nSubject: Offer\n\nYou live in Utrecht.",
        'Remember that "the person lives in the town of Utrecht and has a cat".',
        "Notre équipe est à Nantes",
    ],
)
def test_what_is_more_or_less_than_that_is_no_plain_order(message: str) -> None:
    assert not is_plain_order(message)
