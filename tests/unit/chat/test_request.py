"""A client's post becomes a request or one clear error."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qwestly_agent.base.errors import AttachmentsUnsupported, Invalid, TooLong
from qwestly_agent.chat.turn_request import LONGEST_MESSAGE_CHARACTERS, PostedDecision, TurnRequest, parse_turn

PRINTED = "one \U0001f44b\n\ttwo  "


def posted(body: Any) -> TurnRequest:
    return parse_turn(json.dumps(body).encode())


def plain(message: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {"message": message, **more}


def message(*parts: dict[str, Any], role: str = "user", **more: Any) -> dict[str, Any]:
    return {"id": "m1", "role": role, "parts": list(parts), **more}


def text(words: Any = "Hello") -> dict[str, Any]:
    return {"type": "text", "text": words}


def ai_sdk(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": "chat-1", "messages": list(messages), "trigger": "submit-message", **more}


def ag_ui(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"threadId": "chat-1", "runId": "r1", "messages": list(messages), "tools": [], "context": [], **more}


def said(content: Any = "Hello", role: str = "user") -> dict[str, Any]:
    return {"id": "m1", "role": role, "content": content}


def resume(status: str = "resolved", interrupt: Any = "ap_1:call_1", **more: Any) -> dict[str, Any]:
    return {"interruptId": interrupt, "status": status, **more}


FILE = {"type": "file", "mediaType": "application/pdf", "url": "data:application/pdf;base64,AA=="}


def test_a_plain_message_without_an_id_starts_a_conversation() -> None:
    assert posted(plain(PRINTED)) == TurnRequest("plain", None, PRINTED, None, likely_new=True)


def test_a_plain_message_continues_a_conversation() -> None:
    assert posted(plain(conversation_id="c_1-A", message_id="m1")) == TurnRequest(
        "plain", "c_1-A", "Hello", "m1", likely_new=False
    )


def test_use_chats_first_message_starts_a_conversation_with_the_clients_id() -> None:
    assert posted(ai_sdk(message(text()))) == TurnRequest("ai_sdk", "chat-1", "Hello", "m1", likely_new=True)


def test_only_the_newest_message_of_a_use_chat_post_is_read() -> None:
    history = ["no message at all", None, {"role": "system"}, message(FILE), message(text("old"))]
    assert posted(ai_sdk(*history, message(text("new")))) == TurnRequest(
        "ai_sdk", "chat-1", "new", "m1", likely_new=False
    )


def test_only_the_newest_message_of_an_ag_ui_post_is_read() -> None:
    history = [None, {"role": "tool"}, said("old"), said("I am the system", role="system")]
    tools = [{"name": "rm", "description": "Remove all", "parameters": {}}]
    request = TurnRequest("ag_ui", "chat-1", "new", "m1", likely_new=False)
    assert posted(ag_ui(*history, said("new"), tools=tools, state={"level": "L3"})) == request
    assert posted(ag_ui(*history, said([text("new")]))) == request


def test_an_ag_ui_clients_props_set_the_purpose_of_a_conversation() -> None:
    chosen = posted(ag_ui(said(), forwardedProps={"role": "interview", "design": "plain", "level": "L3"}))
    assert chosen == TurnRequest("ag_ui", "chat-1", "Hello", "m1", likely_new=True, role="interview", design="plain")


@pytest.mark.parametrize(
    ("entry", "verb", "args"),
    [
        (resume(payload={"approved": True}), "approve", None),
        (resume(payload={"approved": True, "editedArgs": {"value": "CPO"}}), "edit", {"value": "CPO"}),
        (resume(payload={"approved": False, "editedArgs": {"value": "CPO"}}), "reject", None),
        (resume("cancelled"), "reject", None),
        (resume("cancelled", payload={"approved": True}), "reject", None),
    ],
)
def test_a_resumed_interrupt_is_a_decision(entry: Any, verb: Any, args: Any) -> None:
    request = posted(ag_ui(said("So.", role="assistant"), resume=[entry]))
    assert request.decisions == (PostedDecision("ap_1", verb, args=args, call_id="call_1"),)
    assert (request.text, request.likely_new) == (None, False)


@pytest.mark.parametrize("body", [ag_ui(), ag_ui(said(role="assistant"))], ids=["empty", "answered"])
def test_an_ag_ui_post_without_new_messages_loads_the_thread(body: Any) -> None:
    assert posted(body).loads
    assert not posted(ag_ui(said())).loads


def test_a_messages_text_parts_are_joined_and_others_ignored() -> None:
    parts = [text("one"), {"type": "step-start"}, {"type": "data-seen", "data": {"text": "no"}}, text("two")]
    assert posted(ai_sdk(message(*parts, metadata={"a": 1}))).text == "one\n\ntwo"


def test_regenerating_names_the_message_to_answer_and_may_name_the_answer() -> None:
    request = posted(ai_sdk(message(text("Hello")), trigger="regenerate-message", messageId="a1"))
    assert (request.text, request.regenerate, request.regenerates) == ("Hello", True, "a1")
    assert posted(ai_sdk(trigger="regenerate-message", messageId=None)).text is None


@pytest.mark.parametrize("body", [plain, lambda words: ai_sdk(message(text(words)))], ids=["plain", "ai_sdk"])
def test_a_message_may_have_twenty_thousand_characters(body: Any) -> None:
    assert posted(body("é" * LONGEST_MESSAGE_CHARACTERS)).text == "é" * 20_000
    with pytest.raises(TooLong, match=r"20,000.*20,001"):
        posted(body("é" * 20_001))


def test_a_messages_parts_count_together_toward_the_limit() -> None:
    with pytest.raises(TooLong):
        posted(ai_sdk(message(text("x" * 10_000), text("y" * 10_000))))


@pytest.mark.parametrize("words", ["", " ", "\n\t\r ", "\u00a0\u2003\u3000"], ids=ascii)
@pytest.mark.parametrize("body", [plain, lambda words: ai_sdk(message(text(words)))], ids=["plain", "ai_sdk"])
def test_an_empty_message_is_rejected(body: Any, words: str) -> None:
    with pytest.raises(Invalid, match="empty"):
        posted(body(words))


@pytest.mark.parametrize("parts", [[FILE], [text(), FILE], [FILE, text()]], ids=["alone", "after", "before"])
def test_a_post_with_files_is_rejected_as_unreadable(parts: list[dict[str, Any]]) -> None:
    with pytest.raises(AttachmentsUnsupported):
        posted(ai_sdk(message(*parts)))
    with pytest.raises(AttachmentsUnsupported):
        posted(ag_ui(said(parts)))


@pytest.mark.parametrize(
    "body",
    [
        [],
        "words",
        None,
        7,
        {},
        {"id": "chat-1"},
        plain(7),
        plain(None),
        plain(["Hello"]),
        plain({"$ne": ""}),
        ai_sdk(),
        ai_sdk(None),
        ai_sdk("Hello"),
        ai_sdk([message(text())]),
        ai_sdk(message(text(), role="assistant")),
        ai_sdk(message(text(), role="system")),
        ai_sdk(message(text()), message(text(), role="assistant")),
        ai_sdk(message(text(None))),
        ai_sdk({"id": "m1", "role": "user", "parts": {"type": "text"}}),
        ai_sdk({"id": "m1", "role": "user", "content": "in the form of long ago"}),
        ai_sdk(message(text()), trigger="resume-stream"),
        ag_ui(None),
        ag_ui(said(7)),
        ag_ui(said(None)),
        ag_ui(said(), forwardedProps={"role": "operator"}),
        ag_ui(resume=[resume()]),
        ag_ui(resume=[resume(payload={})]),
        ag_ui(resume=[resume(payload={"approved": 1})]),
        ag_ui(resume=[resume(payload={"approved": "true"})]),
        ag_ui(resume=[resume("denied", payload={"approved": True})]),
        ag_ui(resume=[resume(interrupt="ap_1", payload={"approved": True})]),
        ag_ui(resume=[resume(interrupt="$ap:call", payload={"approved": True})]),
        ag_ui(resume=[resume(payload={"approved": True})] * 21),
        {"messages": [message(text())]},
        {"id": "chat-1", "messages": None},
        {"id": "chat-1", "messages": {"0": message(text())}},
    ],
    ids=lambda body: json.dumps(body)[:60],
)
def test_a_body_of_another_shape_is_rejected(body: Any) -> None:
    with pytest.raises(Invalid):
        posted(body)


@pytest.mark.parametrize(
    "bad",
    ["", "a b", "a.b", "$where", "a:b", "a/b", "a\n", "\u00e9", "a\u0000", "x" * 129, 7, ["a"], {"$gt": ""}],
    ids=ascii,
)
def test_an_id_with_database_syntax_is_rejected(bad: Any) -> None:
    for body in (
        plain(conversation_id=bad),
        plain(message_id=bad),
        {**ai_sdk(message(text())), "id": bad},
        ai_sdk({**message(text()), "id": bad}),
        ai_sdk(trigger="regenerate-message", messageId=bad),
        ag_ui(said(), threadId=bad),
        ag_ui({**said(), "id": bad}),
    ):
        with pytest.raises(Invalid):
            posted(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe{}",
        b'\xef\xbb\xbf{"message": "a"}',
        b'{"message": "a"} trailing',
        rb'{"message": "\ud800"}',
        rb'{"message": "\ud83d \udc4b"}',
        b'{"message": "caf\xc3"}',
        b'{"message": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"message": "a", "x": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
        b'{"message": "a", "x": ' + b"9" * 5_000 + b"}",
        b"[" * 6_000_000,
    ],
    ids=lambda body: repr(body[:40]),
)
def test_a_body_that_is_not_json_is_rejected(body: bytes) -> None:
    with pytest.raises(Invalid):
        parse_turn(body)


def test_the_last_of_two_duplicate_json_keys_wins() -> None:
    assert parse_turn(b'{"message": "one", "message": "two"}').text == "two"


def test_a_nul_character_is_accepted() -> None:
    assert parse_turn(rb'{"message": "a\u0000b"}').text == "a\0b"


def test_a_rejection_does_not_repeat_the_posted_content() -> None:
    with pytest.raises(Invalid) as refused:
        posted(plain("secret words", conversation_id="also $ecret"))
    assert "ecret" not in refused.value.message


ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["user", "text", "file", "regenerate-message", "submit-message"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["id", "role", "parts", "type", "text", "content", "interruptId", "status"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["id", "messages", "message", "trigger", "messageId", "message_id", "conversation_id", "threadId", "resume"]
)


@pytest.mark.thorough
@given(st.one_of(st.binary(max_size=60), st.dictionaries(KEYS, ANYTHING).map(lambda body: json.dumps(body).encode())))
@example(b"null")
@example(b'{"messages": NaN}')
@example(b'{"id": "a", "messages": [{"role": "user", "parts": [{"type": "text", "text": "\\ud800"}]}]}')
def test_any_bytes_give_a_request_or_a_serializable_rejection(body: bytes) -> None:
    try:
        request = parse_turn(body)
    except (Invalid, TooLong, AttachmentsUnsupported) as refused:
        said = refused.message
    else:
        said = "" if request.text is None else request.text.strip()
        assert said or request.text is None
    said.encode()
