"""Ratings of answers, with comments."""

from typing import Any

import pytest

from tests.servers import ChatServer, Client, user_says


def given(client: Client, message_id: str, **body: Any) -> tuple[int, Any]:
    response = client.request("POST", f"/api/messages/{message_id}/feedback", json=body)
    return response.status_code, response.json()


def shown(client: Client, conversation_id: str) -> Any:
    return client.get(f"/api/conversations/{conversation_id}")["messages"][-1]["feedback"]


def test_a_rating_is_stored_with_its_comment_and_can_be_changed_and_removed(client: Client) -> None:
    answer = client.say("Hello")
    message_id = f"msg_{answer.events[0].data['run_id']}"
    status, body = given(client, message_id, thumb="down", words="  Too long.  ")
    assert (status, body["id"]) == (200, message_id)
    assert (body["feedback"]["thumb"], body["feedback"]["words"]) == ("down", "Too long.")
    assert body["feedback"] == shown(client, answer.conversation_id)
    given(client, message_id, thumb="up")
    assert (shown(client, answer.conversation_id)["thumb"], shown(client, answer.conversation_id)["words"]) == (
        "up",
        None,
    )
    assert given(client, message_id, thumb=None) == (200, {"id": message_id, "feedback": None})
    assert shown(client, answer.conversation_id) is None


def test_an_ai_sdk_message_can_be_rated_by_its_own_id(client: Client) -> None:
    [start] = [event.data for event in client.say_ai_sdk("chat-1", user_says("Hello")) if event.name == "start"]
    assert given(client, start["messageId"], thumb="up")[0] == 200
    assert shown(client, "chat-1")["thumb"] == "up"


def test_a_repeated_answer_can_be_rated(client: Client) -> None:
    first = client.say("Hello", message_id="m1")
    again = client.say("Hello", first.conversation_id, message_id="m1")
    assert given(client, f"msg_{again.events[0].data['run_id']}", thumb="up")[0] == 200
    assert shown(client, first.conversation_id)["thumb"] == "up"


def test_another_users_answers_cannot_be_rated(chat: ChatServer, client: Client) -> None:
    answer = client.say_ai_sdk("chat-1", user_says("Hello", "mine"))[0].data["messageId"]
    with Client(chat.url, "auth0|stranger") as stranger:
        assert given(stranger, answer, thumb="up")[0] == 404
    assert given(client, "mine", thumb="up")[0] == 404, "one's own words are no answer"
    assert given(client, "msg_unheard-of", thumb="up")[0] == 404
    assert shown(client, "chat-1") is None


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"thumb": "sideways"},
        {"thumb": {"$ne": None}},
        {"thumb": "up", "words": "x" * 2_001},
        {"thumb": "up", "user_id": "somebody else"},
    ],
)
def test_invalid_feedback_is_rejected(client: Client, body: dict[str, Any]) -> None:
    message_id = client.say_ai_sdk("chat-1", user_says("Hello"))[0].data["messageId"]
    status, refused = given(client, message_id, **body)
    assert (status, refused["error"]["code"]) == (422, "invalid")
    assert shown(client, "chat-1") is None
