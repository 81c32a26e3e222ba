"""The window on a conversation: big enough, cut rarely, and cut at a user message."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse, TextPart, UserPromptPart

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.chat.prompt import LARGEST, READ_LIMIT, SMALLEST, model_history, window_start
from qwestly_agent.stores.messages import Message

ANSWER = ModelMessagesTypeAdapter.dump_json(
    [ModelResponse([TextPart("Yes.")], model_name="m", timestamp=to_datetime(2.0))]
).decode()


def message(seq: int, role: str) -> Message:
    return Message.model_validate(
        {
            "id": f"m{seq}",
            "run_id": f"r{seq}",
            "seq": seq,
            "role": role,
            "content": f"message {seq}",
            "created_at": to_datetime(float(seq)),
            "model_messages": ANSWER if role == "assistant" else "[]",
        }
    )


def conversation(turns: Sequence[int]) -> Iterator[tuple[list[Message], list[Message], int]]:
    """Before each turn: all messages, the window and where it starts. A turn is a user's message that was answered (2)
    or one whose process died (1)."""
    said: list[Message] = []
    start = 0
    for turn in turns:
        start = window_start(said[-READ_LIMIT:], start)
        yield said.copy(), [each for each in said if each.seq >= start], start
        said += [message(len(said) + 1 + n, role) for n, role in enumerate(("user", "assistant")[:turn])]


TURNS = st.lists(st.sampled_from([2, 2, 2, 1]), min_size=30, max_size=80)


@pytest.mark.thorough
@given(TURNS)
def test_a_window_has_fifteen_to_forty_five_messages(turns: list[int]) -> None:
    for said, window, _ in conversation(turns):
        assert min(len(said), SMALLEST) <= len(window) <= LARGEST
        assert window == said[len(said) - len(window) :]


@pytest.mark.thorough
@given(TURNS)
def test_a_window_begins_with_a_message_of_the_user(turns: list[int]) -> None:
    assert {window[0].role for _, window, _ in conversation(turns) if window} == {"user"}


@pytest.mark.thorough
@given(TURNS)
def test_a_window_is_cut_only_when_full(turns: list[int]) -> None:
    previous: list[Message] = []
    for said, window, start in conversation(turns):
        grown = previous + said[len(said) - (len(said) - previous[-1].seq) :] if previous else said
        if window and window[0].seq > grown[0].seq:
            assert len(grown) > LARGEST
            assert len(window) <= SMALLEST + 1 + max(turns)
        else:
            assert window == grown
        previous = window or said
        assert window_start(said[-READ_LIMIT:], start) == start


def test_a_window_is_cut_twice_in_forty_turns() -> None:
    starts = [start for _, _, start in conversation([2] * 40)]
    assert sorted(set(starts)) == [0, 31, 61]


def test_answers_and_messages_are_sent_back_unchanged() -> None:
    asked, answered = model_history([message(1, "user"), message(2, "assistant")], 0, None)
    assert asked == ModelRequest([UserPromptPart("message 1", timestamp=to_datetime(1.0))], timestamp=to_datetime(1.0))
    assert ModelMessagesTypeAdapter.dump_json([answered]).decode() == ANSWER


def test_messages_before_the_window_are_not_sent_to_the_model() -> None:
    said = [message(seq, "user" if seq % 2 else "assistant") for seq in range(1, 7)]
    assert len(model_history(said, 3, None)) == 4


def test_the_same_window_gives_the_same_bytes() -> None:
    said = [message(seq, "user" if seq % 2 else "assistant") for seq in range(1, 7)]
    first, again = (ModelMessagesTypeAdapter.dump_json(model_history(said, 1, None)) for _ in range(2))
    assert first == again
    longer = ModelMessagesTypeAdapter.dump_json(model_history([*said, message(7, "user")], 1, None))
    assert longer.startswith(first.removesuffix(b"]"))
