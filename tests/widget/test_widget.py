"""The widget in a real browser, against a backend that each test scripts."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Request, expect
from starlette.responses import HTMLResponse, JSONResponse

from tests.local_page import look_at
from tests.widget.backend import ROOT, ScriptedBackend, Stream, sse
from tests.widget.conftest import NOON, Clock


class Widget:
    """The parts of the widget, found as a user finds them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.get_by_label("Your message")
        self.log = page.get_by_role("log", name="Messages")
        self.said = page.get_by_role("group", name="You", exact=True)
        self.answer = page.get_by_role("group", name="Qwestly").last
        self.words = self.answer.locator(".content")
        self.steps = self.answer.locator("details.steps")
        self.send = self.button("Send")
        self.stop = self.button("Stop")
        self.retry = self.button("Retry")
        self.up = self.answer.get_by_role("button", name="Good answer")
        self.down = self.answer.get_by_role("button", name="Not helpful")
        self.wrong = self.answer.get_by_label("What was wrong?")
        self.notice = page.get_by_role("alert")
        self.rows = page.get_by_role("navigation", name="Conversations").get_by_role("listitem")
        self.title = page.get_by_role("heading", level=2)
        self.announced = page.locator("qwestly-chat .spoken[role=status]")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def say(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")


@pytest.fixture
def widget(page: Page, backend: ScriptedBackend) -> Widget:
    page.goto("/host")
    backend.wait_for(1, "GET", "/api/conversations")
    return ready(page)


def ready(page: Page) -> Widget:
    expect(page.get_by_text("What would you like to work on?")).to_be_visible()
    return Widget(page)


def asked(message_id: str, content: str) -> dict[str, Any]:
    return {"id": message_id, "role": "user", "content": content, "created_at": "", "status": "complete", "steps": []}


def answered(content: str, status: str = "complete", **more: Any) -> dict[str, Any]:
    return {"id": "a", "role": "assistant", "content": content, "created_at": "", "status": status, "steps": []} | more


# ── the stream ──


def test_the_widget_shows_a_spinner_then_steps_then_growing_text(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.say("Who am I?")
    expect(widget.answer.get_by_text("Thinking…")).to_be_visible()

    stream.begin().call("1", "Looking up your profile…").call("2", "Searching your memories…")
    expect(widget.answer.get_by_text("Thinking…")).to_be_hidden()
    expect(widget.steps.get_by_role("listitem")).to_have_text(
        ["Looking up your profile… (under way)", "Searching your memories… (under way)"]
    )
    stream.result("1").result("2", ok=False)
    expect(widget.steps.get_by_role("listitem")).to_have_text(
        ["Looking up your profile… (done)", "Searching your memories… (failed)"]
    )
    expect(widget.answer.get_by_text("Thinking…")).to_be_visible()

    stream.text("You are ")
    expect(widget.words).to_have_text("You are")
    expect(widget.steps).not_to_have_attribute("open", "")
    stream.text("Ada.")
    expect(widget.words).to_have_text("You are Ada.")
    expect(widget.stop).to_be_visible()

    stream.done("You are Ada.")
    expect(widget.send).to_be_visible()
    widget.steps.get_by_text("2 steps, 1 failed").click()
    expect(widget.steps.get_by_text("Looking up your profile…")).to_be_visible()


@pytest.mark.thorough
def test_server_progress_is_shown_as_a_note_among_the_steps(widget: Widget, backend: ScriptedBackend):
    sentence = "Searching your documents is not available for this answer."
    stream = backend.stream()
    widget.say("What have I shipped?")
    stream.begin().send("progress", label=sentence)
    expect(widget.steps.get_by_text(sentence)).to_be_visible()
    expect(widget.announced).to_have_text(sentence)
    expect(widget.answer.get_by_text("Thinking…")).to_be_visible()
    expect(widget.steps.locator("summary")).to_have_text("1 note")
    stream.call("1", "Looking up your profile…").result("1").send("progress", label=sentence)
    stream.text("A lot.")
    expect(widget.steps.locator("summary")).to_have_text("1 step, 1 note")
    expect(widget.steps.get_by_text(sentence)).to_be_hidden()
    stream.done("A lot.")
    expect(widget.send).to_be_visible()
    widget.steps.locator("summary").click()
    expect(widget.steps.get_by_text(sentence)).to_be_visible()


STEPS = [
    {"id": "1", "name": "get_user_profile", "label": "Looking up your profile…", "ok": True, "ms": 42},
    {"id": "2", "name": "query_user_knowledge", "label": "Searching your memories…", "ok": True, "ms": 1_449},
    {"id": "3", "name": "query_user_knowledge", "label": "Searching your documents…", "ok": False, "ms": 10_003}
    | {"problem": "The search took <b>too long</b>."},
    {"id": "4", "name": "search_qwestly_docs", "label": "Reading Qwestly’s pages…", "ok": None, "ms": None},
]
EXPLAINED = [
    "Looking up your profile… (done) < 0.1 s",
    "Searching your memories… (done) 1.4 s",
    "Searching your documents… (failed) 10 s The search took <b>too long</b>.",
    "Reading Qwestly’s pages… (failed)",
]


@pytest.mark.thorough
def test_a_step_shows_its_duration_and_why_it_failed(widget: Widget, backend: ScriptedBackend):
    steps = [{"effect": "read", "arguments": "{}", "problem": None} | step for step in STEPS]
    backend.keep("c1", "Earlier", asked("m1", "Who am I?"), answered("Ada.", steps=steps))
    widget.page.reload()
    widget.rows.get_by_role("button", name="Earlier").first.click()
    widget.steps.get_by_text("4 steps, 2 failed").click()
    expect(widget.steps.get_by_role("listitem")).to_have_text(EXPLAINED, use_inner_text=True)
    widget.up.click()
    backend.wait_for(1, "POST", "/api/messages/a/feedback")
    assert len(backend.asked("GET", "/api/conversations/c1")) == 1, "known from the first reading"


@pytest.mark.thorough
def test_step_details_missing_from_the_stream_are_loaded_when_opened(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin()
    for step in STEPS:
        stream.call(step["id"], step["label"])
    stream.result("1").result("2").result("3", ok=False).done("Ada.")
    widget.say("Who am I?")
    expect(widget.send).to_be_visible()
    assert not backend.asked("GET", "/api/conversations/c1")

    backend.refuse(503, "unavailable", "The database is away.", on="GET /api/conversations/c1")
    summary = widget.steps.get_by_text("4 steps, 2 failed")
    summary.click()
    expect(widget.notice).to_contain_text("We couldn’t load the steps. The database is away.")
    summary.click()
    expect(widget.steps.get_by_role("listitem").first).to_be_hidden()
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("Ada.", id="msg_run_1", steps=STEPS))
    summary.click()
    expect(widget.steps.get_by_role("listitem")).to_have_text(EXPLAINED, use_inner_text=True)
    summary.click()
    summary.click()
    expect(widget.steps.get_by_role("listitem").first).to_be_visible()
    widget.up.click()
    backend.wait_for(1, "POST", FEEDBACK)
    assert len(backend.asked("GET", "/api/conversations/c1")) == 2, "known by now"


@pytest.mark.thorough
def test_characters_and_events_split_across_chunks_are_reassembled(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.say("Bonjour")
    piece = sse("text_delta", content="lo, Zoë 🦉")
    middle = piece.index("🦉".encode()) + 2
    # When a chunk's first event is shown, the half event after it has been read too.
    stream.begin().raw(sse("text_delta", content="Hel") + piece[:middle])
    expect(widget.words).to_have_text("Hel")
    stream.raw(piece[middle:] + b": keep-alive\n\nevent: text_delta\r\nda")
    expect(widget.words).to_have_text("Hello, Zoë 🦉")
    stream.raw(b'ta: {"content":\r\ndata: " again"}\r\n\r\n')
    expect(widget.words).to_have_text("Hello, Zoë 🦉 again")


@pytest.mark.thorough
def test_an_event_from_a_later_version_is_ignored(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.say("Hello")
    stream.begin().send("mood", approval_id="ap_1").send("constructor").send("fail").text("Hi")
    stream.done("Hi")
    expect(widget.words).to_have_text("Hi")
    expect(widget.retry).to_be_hidden()


@pytest.mark.thorough
def test_the_second_message_is_sent_to_the_same_conversation(widget: Widget, backend: ScriptedBackend):
    backend.stream("c7").begin().done("One")
    widget.say("First")
    expect(widget.words).to_have_text("One")
    backend.stream("c7").begin().done("Two")
    widget.say("Second")
    expect(widget.words).to_have_text("Two")

    first, second = backend.chats()
    assert "conversation_id" not in first
    assert (first["message"], second["message"], second["conversation_id"]) == ("First", "Second", "c7")
    assert re.fullmatch(r"[0-9a-f-]{36}", first["message_id"])
    assert first["message_id"] != second["message_id"]


# ── stopping ──


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["the button", "Escape"])
def test_stop_is_sent_to_the_server_and_the_stream_read_to_its_end(widget: Widget, backend: ScriptedBackend, how: str):
    stream = backend.stream("c1")
    widget.say("Tell me everything")
    stream.begin().text("In the begin")
    expect(widget.answer.get_by_text("In the begin")).to_be_visible()

    if how == "Escape":
        widget.box.press("Escape")
    else:
        widget.stop.click()
    backend.wait_for(1, "POST", "/api/conversations/c1/stop")
    expect(widget.button("Stopping…")).to_be_visible()
    stream.text("ning")
    expect(widget.answer.get_by_text("In the beginning")).to_be_visible()
    stream.done("In the beginning", stopped=True)

    expect(widget.answer.get_by_text("Stopped.")).to_be_visible()
    expect(widget.retry).to_be_visible()
    expect(widget.box).to_be_focused()
    assert len(backend.asked("POST", "/api/conversations/c1/stop")) == 1


@pytest.mark.thorough
def test_a_stop_pressed_before_the_turn_starts_is_sent_once_it_starts(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1")
    widget.say("Wait, no")
    widget.box.press("Escape")
    expect(widget.button("Stopping…")).to_be_visible()
    assert not backend.asked("POST", "/api/conversations/c1/stop")
    stream.begin()
    backend.wait_for(1, "POST", "/api/conversations/c1/stop")


@pytest.mark.thorough
def test_a_failed_stop_is_reported_and_can_be_repeated(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1")
    widget.say("Tell me everything")
    stream.begin().text("In")
    expect(widget.words).to_have_text("In")
    backend.refuse(503, "unavailable", "Not now.", on="POST /api/conversations/c1/stop")
    widget.stop.click()
    expect(widget.notice).to_contain_text("We couldn’t stop this. Not now.")
    widget.stop.click()
    backend.wait_for(2, "POST", "/api/conversations/c1/stop")


@pytest.mark.thorough
def test_a_double_click_on_send_does_not_stop(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.box.fill("Hello")
    widget.send.dblclick()
    expect(widget.stop).to_be_visible()
    stream.begin().done("Hi")
    expect(widget.send).to_be_visible()
    assert not backend.asked("POST", "/api/conversations/c1/stop")


# ── failures and retries ──


def fail_with_an_event(backend: ScriptedBackend, page: Page) -> str:
    backend.stream().begin().text("Half an ans").error("model_unavailable", "The model is away.")
    return "The model is away."


def cut_the_connection(backend: ScriptedBackend, page: Page) -> str:
    backend.stream().begin().text("Half an ans").cut()
    return "The connection was lost before the answer was complete."


def end_without_a_last_word(backend: ScriptedBackend, page: Page) -> str:
    backend.stream().begin().text("Half an ans").end()
    return "The connection was lost before the answer was complete."


def send_a_broken_event(backend: ScriptedBackend, page: Page) -> str:
    backend.stream().begin().raw(b"event: text_delta\ndata: {\n\n")
    return "The connection was lost before the answer was complete."


def be_unavailable(backend: ScriptedBackend, page: Page) -> str:
    backend.refuse(503, "unavailable", "The database is away.")
    return "The database is away."


def answer_as_a_gateway_does(backend: ScriptedBackend, page: Page) -> str:
    backend.answer("POST /api/chat", HTMLResponse("<h1>Bad gateway</h1>", 502))
    return "Qwestly isn’t available right now."


def be_unreachable(backend: ScriptedBackend, page: Page) -> str:
    page.route("**/api/chat", lambda route: route.abort(), times=1)
    return "We can’t reach Qwestly. Check your connection and try again."


@pytest.mark.thorough
@pytest.mark.parametrize(
    "fail",
    [
        fail_with_an_event,
        cut_the_connection,
        end_without_a_last_word,
        send_a_broken_event,
        be_unavailable,
        answer_as_a_gateway_does,
        be_unreachable,
    ],
)
def test_each_failure_is_explained_in_a_sentence_and_the_same_message_can_be_retried(
    widget: Widget, backend: ScriptedBackend, fail: Callable[[ScriptedBackend, Page], str]
):
    sentence = fail(backend, widget.page)
    requests: list[Any] = []
    widget.page.on("request", lambda request: requests.append(request.post_data_json) if is_chat(request) else None)
    widget.say("Who am I?")
    expect(widget.answer.get_by_text(sentence)).to_be_visible()
    expect(widget.said).to_have_text(["Who am I?"])

    backend.stream().begin().done("You are Ada.")
    widget.retry.click()
    expect(widget.words).to_have_text("You are Ada.")
    expect(widget.answer.get_by_text(sentence)).to_be_hidden()
    expect(widget.answer.get_by_text("Half an ans")).to_be_hidden()
    expect(widget.retry).to_be_hidden()
    expect(widget.said).to_have_text(["Who am I?"])
    expect(widget.box).to_be_focused()
    assert [body["message"] for body in requests] == ["Who am I?", "Who am I?"]
    assert len({body["message_id"] for body in requests}) == 1


def is_chat(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/api/chat")


@pytest.mark.thorough
def test_a_partial_answer_stays_readable_beside_its_error(widget: Widget, backend: ScriptedBackend):
    fail_with_an_event(backend, widget.page)
    widget.say("Who am I?")
    expect(widget.retry).to_be_visible()
    expect(widget.answer.get_by_text("Half an ans")).to_be_visible()


@pytest.mark.thorough
def test_a_silent_stream_times_out(page: Page, backend: ScriptedBackend, clock: Clock):
    page.goto("/host")
    widget = ready(page)
    stream = backend.stream()
    widget.say("Who am I?")
    stream.begin().text("You")
    expect(widget.words).to_have_text("You")
    clock.run(40)
    stream.call("s1", "Looking you up…")
    expect(widget.steps.get_by_text("Looking you up…")).to_be_visible()
    clock.run(40)
    expect(widget.stop).to_be_visible()
    clock.run(6)
    expect(widget.answer.get_by_text("The connection was lost")).to_be_visible()
    expect(widget.retry).to_be_visible()


@pytest.mark.thorough
def test_a_message_to_a_busy_conversation_is_retried_after_the_requested_delay(
    page: Page, backend: ScriptedBackend, clock: Clock
):
    page.goto("/host")
    widget = ready(page)
    backend.refuse(409, "conversation_busy", "Still answering.", retry_after="7")
    backend.stream().begin().done("You are Ada.")
    widget.say("Who am I?")
    expect(widget.answer.get_by_text("Waiting for the last answer to finish…")).to_be_visible()
    clock.run(6)
    assert len(backend.chats()) == 1
    clock.run(1)
    expect(widget.words).to_have_text("You are Ada.")
    assert len({body["message_id"] for body in backend.chats()}) == 1


@pytest.mark.thorough
def test_a_message_references_the_answer_shown_when_it_was_sent(page: Page, backend: ScriptedBackend, clock: Clock):
    page.goto("/host")
    widget = ready(page)
    backend.stream().begin().done("You are Ada.")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You are Ada.")
    backend.refuse(409, "conversation_busy", "Still answering.", retry_after="7")
    backend.stream().begin().error("unavailable", "Sorry.")
    widget.say("yes")
    expect(widget.answer.get_by_text("Waiting for the last answer to finish…")).to_be_visible()
    clock.run(7)
    expect(widget.answer.get_by_text("Sorry.")).to_be_visible()
    backend.stream().begin().done("Ok.")
    widget.say("no")
    expect(widget.words).to_have_text("Ok.")
    first, shown, again, unseen = backend.chats()
    assert "answers" not in first
    assert shown == again
    assert shown["answers"].startswith("msg_")
    assert "answers" not in unseen, "an answer that broke off may have ended otherwise"


@pytest.mark.thorough
def test_a_conversation_that_stays_busy_is_shown_with_a_retry(page: Page, backend: ScriptedBackend, clock: Clock):
    page.goto("/host")
    widget = ready(page)
    backend.refuse(409, "conversation_busy", "Still answering.", retry_after="3")
    backend.refuse(409, "conversation_busy", "Still answering.", retry_after="3")
    widget.say("Who am I?")
    expect(widget.answer.get_by_text("Waiting for the last answer to finish…")).to_be_visible()
    clock.run(3)
    expect(widget.answer.get_by_text("Still answering.")).to_be_visible()
    expect(widget.retry).to_be_visible()
    clock.run(30)
    assert len(backend.chats()) == 2


@pytest.mark.thorough
def test_waiting_for_a_busy_conversation_can_be_stopped(page: Page, backend: ScriptedBackend, clock: Clock):
    page.goto("/host")
    widget = ready(page)
    backend.refuse(409, "conversation_busy", "Still answering.", retry_after="60")
    widget.say("Who am I?")
    expect(widget.answer.get_by_text("Waiting for the last answer to finish…")).to_be_visible()
    widget.box.press("Escape")
    expect(widget.retry).to_be_visible()
    assert len(backend.chats()) == 1
    assert not [call for call in backend.calls if call.path.endswith("/stop")], "it would stop the other tab's turn"


@pytest.mark.thorough
def test_only_the_last_failed_message_can_be_retried(widget: Widget, backend: ScriptedBackend):
    fail_with_an_event(backend, widget.page)
    widget.say("First")
    expect(widget.retry).to_have_count(1)
    fail_with_an_event(backend, widget.page)
    widget.say("Second")
    expect(widget.said).to_have_text(["First", "Second"])
    expect(widget.answer.get_by_text("The model is away.")).to_be_visible()
    expect(widget.retry).to_have_count(1)


@pytest.mark.thorough
def test_a_spent_budget_is_reported_and_the_message_returns_to_the_input(widget: Widget, backend: ScriptedBackend):
    backend.refuse(429, "over_budget", "Today's budget is used up. It is there again tomorrow.")
    widget.say("Who am I?")
    expect(widget.notice).to_contain_text("Today's budget is used up. It is there again tomorrow.")
    expect(widget.box).to_have_value("Who am I?")
    expect(widget.retry).to_be_hidden()


@pytest.mark.thorough
def test_a_budget_spent_during_an_answer_offers_no_retry(widget: Widget, backend: ScriptedBackend):
    sentence = "Today's budget is used up."
    backend.stream("c1").begin().text("Half").error("over_budget", sentence)
    widget.say("Who am I?")
    expect(widget.answer.get_by_text(sentence)).to_be_visible()
    expect(widget.retry).to_be_hidden()
    expect(widget.words).to_have_text("Half")

    error = {"code": "over_budget", "message": sentence}
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("Half", "failed", error=error))
    widget.page.reload()
    expect(widget.answer.get_by_text(sentence)).to_be_visible()
    expect(widget.retry).to_be_hidden()


@pytest.mark.thorough
def test_a_rate_limit_is_shown_in_the_servers_words_and_can_be_retried(widget: Widget, backend: ScriptedBackend):
    backend.refuse(429, "too_many_turns", "Three answers are under way already.", retry_after="20")
    widget.say("Who am I?")
    expect(widget.answer.get_by_text("Three answers are under way already.")).to_be_visible()
    backend.stream().begin().done("Ada.")
    widget.retry.click()
    expect(widget.words).to_have_text("Ada.")


# ── feedback ──

FEEDBACK = "/api/messages/msg_run_1/feedback"


@pytest.fixture
def judged(widget: Widget, backend: ScriptedBackend) -> Widget:
    """Show an answer that nobody has rated yet."""
    backend.stream("c1").begin().done("You are Ada.")
    widget.say("Who am I?")
    expect(widget.up).to_be_visible()
    return widget


def posted(backend: ScriptedBackend, count: int) -> list[Any]:
    return [call.body for call in backend.wait_for(count, "POST", FEEDBACK)]


def expect_pressed(widget: Widget, thumb: str | None) -> None:
    expect(widget.up).to_have_attribute("aria-pressed", str(thumb == "up").lower())
    expect(widget.down).to_have_attribute("aria-pressed", str(thumb == "down").lower())


@pytest.mark.thorough
def test_a_finished_answer_can_be_rated_and_the_rating_removed(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("You are")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You are")
    expect(widget.up).to_be_hidden()
    stream.done("You are Ada.")
    expect_pressed(widget, None)
    widget.up.click()
    expect_pressed(widget, "up")
    assert posted(backend, 1) == [{"thumb": "up"}]
    widget.down.click()
    expect_pressed(widget, "down")
    assert posted(backend, 2)[1:] == [{"thumb": "down"}]
    widget.down.click()
    expect_pressed(widget, None)
    expect(widget.wrong).to_be_hidden()
    assert posted(backend, 3)[2:] == [{"thumb": None}]
    expect(widget.box).not_to_be_focused()


def stop(stream: Stream) -> None:
    stream.done("", stopped=True)


def fail(stream: Stream) -> None:
    stream.error("internal", "Sorry.")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "end", "shown"),
    [("Half", stop, True), ("Half", fail, True), ("", stop, False), ("", fail, False), ("Half", Stream.cut, False)],
)
def test_a_partial_answer_can_be_rated_only_if_the_server_has_ended_it(
    widget: Widget, backend: ScriptedBackend, words: str, end: Callable[[Stream], None], shown: bool
):
    stream = backend.stream("c1").begin().text(words)
    widget.say("Who am I?")
    expect(widget.words).to_have_text(words)
    end(stream)
    expect(widget.retry).to_be_visible()
    expect(widget.up).to_be_visible(visible=shown)


@pytest.mark.thorough
def test_a_retried_answer_has_its_own_rating(widget: Widget, backend: ScriptedBackend):
    fail(backend.stream("c1").begin().text("You"))
    widget.say("Who am I?")
    widget.up.click()
    posted(backend, 1)
    stream = backend.stream("c1").begin().text("You are")
    widget.retry.click()
    expect(widget.words).to_have_text("You are")
    expect(widget.up).to_be_hidden()
    stream.done("You are Ada.")
    expect_pressed(widget, None)
    widget.down.click()
    assert backend.wait_for(1, "POST", "/api/messages/msg_run_2/feedback")[0].body == {"thumb": "down"}


@pytest.mark.thorough
def test_a_rating_survives_a_reload(judged: Widget, backend: ScriptedBackend):
    judged.up.click()
    posted(backend, 1)
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You are Ada.", id="msg_run_1"))
    judged.page.reload()
    expect_pressed(judged, "up")
    judged.up.click()
    expect_pressed(judged, None)
    assert posted(backend, 2)[1:] == [{"thumb": None}]


@pytest.mark.thorough
def test_after_a_thumbs_down_the_user_can_add_a_comment(judged: Widget, backend: ScriptedBackend):
    judged.up.click()
    expect(judged.wrong).to_be_hidden()
    judged.down.click()
    expect(judged.wrong).to_be_visible()
    expect(judged.down).to_be_focused()
    send = judged.button("Send what was wrong")
    expect(send).to_be_disabled()
    one_line = judged.wrong.evaluate("node => node.clientHeight")
    judged.wrong.fill("I never")
    judged.wrong.press("Shift+Enter")
    judged.wrong.press_sequentially("was there")
    assert judged.wrong.evaluate("node => node.clientHeight") > one_line
    judged.wrong.press("Enter")
    expect(judged.answer.get_by_text("Thank you.")).to_be_visible()
    expect(judged.wrong).to_be_hidden()
    expect(judged.down).to_be_focused()
    assert posted(backend, 3)[1:] == [{"thumb": "down"}, {"thumb": "down", "words": "I never\nwas there"}]
    judged.down.click()
    expect(judged.answer.get_by_text("Thank you.")).to_be_hidden()
    judged.down.click()
    expect(judged.wrong).to_have_value("")


@pytest.mark.thorough
def test_feedback_takes_two_thousand_characters_at_most(judged: Widget, backend: ScriptedBackend):
    judged.down.click()
    posted(backend, 1)
    send = judged.button("Send what was wrong")
    judged.wrong.fill("x" * 2_001)
    expect(judged.answer.get_by_text("2,001 of 2,000 characters")).to_be_visible()
    expect(send).to_be_disabled()
    judged.wrong.press("Enter")
    judged.wrong.fill("🦉" * 2_000)
    expect(judged.answer.get_by_text("2,000 of 2,000 characters")).to_be_visible()
    send.click()
    expect(judged.answer.get_by_text("Thank you.")).to_be_visible()
    assert posted(backend, 2)[1:] == [{"thumb": "down", "words": "🦉" * 2_000}]


@pytest.mark.thorough
def test_escape_closes_only_the_comment_field_and_keeps_its_text(judged: Widget, backend: ScriptedBackend):
    first = judged.page.get_by_role("group", name="Qwestly").first
    down = first.get_by_role("button", name="Not helpful")
    wrong = first.get_by_label("What was wrong?")
    down.click()
    wrong.fill("I never")
    stream = backend.stream("c1").begin()
    judged.say("And now?")
    expect(judged.stop).to_be_visible()
    wrong.press("Escape")
    expect(wrong).to_be_hidden()
    expect(down).to_be_focused()
    expect(judged.stop).to_be_visible()
    expect(down).to_have_attribute("aria-pressed", "true")
    down.click()
    down.click()
    expect(wrong).to_have_value("I never")
    stream.done("Still Ada.")
    expect(judged.send).to_be_visible()
    assert not backend.asked("POST", "/api/conversations/c1/stop")


@pytest.mark.thorough
def test_a_rating_that_cannot_be_saved_is_reverted_and_reported(judged: Widget, backend: ScriptedBackend):
    backend.refuse(503, "unavailable", "The database is away.", on=f"POST {FEEDBACK}")
    judged.down.click()
    expect(judged.answer.get_by_text("We couldn’t save that. The database is away.")).to_be_visible()
    expect(judged.announced).to_have_text("We couldn’t save that. The database is away.")
    expect_pressed(judged, None)
    expect(judged.wrong).to_be_hidden()

    judged.down.click()
    expect_pressed(judged, "down")
    expect(judged.answer.get_by_text("We couldn’t save that.")).to_be_hidden()
    posted(backend, 2)
    backend.refuse(503, "unavailable", "The database is away.", on=f"POST {FEEDBACK}")
    judged.wrong.fill("I never was there")
    judged.wrong.press("Enter")
    expect(judged.answer.get_by_text("We couldn’t save that. The database is away.")).to_be_visible()
    expect_pressed(judged, "down")
    expect(judged.wrong).to_have_value("I never was there")
    judged.button("Send what was wrong").click()
    expect(judged.answer.get_by_text("Thank you.")).to_be_visible()


@pytest.mark.thorough
@pytest.mark.parametrize("first", ["is kept", "fails"])
def test_quick_clicks_on_a_rating_are_posted_in_order_and_the_last_one_wins(
    judged: Widget, backend: ScriptedBackend, first: str
):
    held = backend.hold(f"POST {FEEDBACK}")
    judged.up.click()
    posted(backend, 1)
    judged.down.click()
    judged.up.click()
    judged.down.click()
    expect_pressed(judged, "down")
    assert len(posted(backend, 1)) == 1
    if first == "fails":
        held.cut()
    else:
        held.raw(b"{}").end()
    assert posted(backend, 2) == [{"thumb": "up"}, {"thumb": "down"}]
    expect_pressed(judged, "down")
    expect(judged.answer.get_by_text("We couldn’t save that.")).to_be_hidden()


@pytest.mark.thorough
def test_a_rating_or_comment_survives_a_response_to_an_earlier_read(judged: Widget, backend: ScriptedBackend):
    kept = [asked("m1", "Who am I?"), answered("You are Ada.", id="msg_run_1", feedback=None)]
    held = backend.hold("GET /api/conversations/c1")
    judged.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    backend.wait_for(1, "GET", "/api/conversations/c1")
    judged.down.click()
    posted(backend, 1)
    judged.wrong.press_sequentially("I never")
    read = {"title": "Ada", "running": False, "messages": [*kept, asked("m2", "And you?")]}
    held.raw(json.dumps(read).encode()).end()
    expect(judged.said).to_have_text(["Who am I?", "And you?"])
    wrong = judged.page.get_by_label("What was wrong?")
    expect(wrong).to_be_focused()
    judged.page.keyboard.type(" was there")
    expect(wrong).to_have_value("I never was there")
    expect(judged.button("Not helpful")).to_have_attribute("aria-pressed", "true")


@pytest.mark.thorough
def test_thumbs_of_earlier_answers_are_hidden_until_hovered_or_focused(judged: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().done("Still Ada.")
    judged.say("And now?")
    expect(judged.words).to_have_text("Still Ada.")
    expect(judged.send).to_be_visible()
    judged.page.mouse.move(0, 0)
    expect(judged.up).to_have_css("opacity", "1")
    first = judged.page.get_by_role("group", name="Qwestly").first
    up = first.get_by_role("button", name="Good answer")
    expect(up).to_have_css("opacity", "0")
    up.focus()
    expect(up).to_have_css("opacity", "1")
    judged.box.focus()
    expect(up).to_have_css("opacity", "0")
    first.hover()
    expect(up).to_have_css("opacity", "1")
    up.click()
    judged.box.focus()
    judged.page.mouse.move(0, 0)
    expect(up).to_have_css("opacity", "1")
    expect(first.get_by_role("button", name="Not helpful")).to_have_css("opacity", "0")


@pytest.mark.thorough
def test_on_a_phone_thumbs_are_always_visible_and_large_enough_to_touch(phone: Page, backend: ScriptedBackend):
    first = [asked("m1", "Hi"), answered("Ho\n\n" * 40, id="a1")]
    kept = [*first, asked("m2", "Who am I?"), answered("Ada.", "stopped", id="a2")]
    backend.keep("c1", "Earlier", *kept)
    phone.goto("/host")
    widget = ready(phone)
    widget.button("Conversations").tap()
    widget.rows.get_by_role("button", name="Earlier").first.tap()
    expect(widget.up).to_be_visible()
    for thumb in [*widget.button("Good answer").all(), *widget.button("Not helpful").all()]:
        expect(thumb).to_have_css("opacity", "1")
        assert smallest_side(thumb) >= 44
    widget.down.tap()
    expect(widget.wrong).to_be_in_viewport()
    assert smallest_side(widget.button("Send what was wrong")) >= 44
    widget.wrong.fill("w" * 300)
    expect(widget.button("Send what was wrong")).to_be_in_viewport(ratio=1)
    assert_no_sideways_scrolling(widget)


def smallest_side(button: Locator) -> float:
    box = button.bounding_box()
    assert box
    return min(box["width"], box["height"])


# ── tokens ──


@pytest.mark.thorough
def test_a_rejected_token_is_renewed_once_and_the_call_retried(widget: Widget, backend: ScriptedBackend):
    backend.rejected.add(backend.calls[-1].token)
    backend.stream().begin().done("Hi")
    widget.say("Hello")
    expect(widget.words).to_have_text("Hi")
    assert len(backend.chats()) == 2
    assert backend.tokens_asked == 2


@pytest.mark.thorough
def test_a_second_token_rejection_is_shown_and_the_message_kept(widget: Widget, backend: ScriptedBackend):
    backend.refuse(401, "unauthorized", "Please sign in again.")
    backend.refuse(401, "unauthorized", "Please sign in again.")
    widget.say("Hello")
    expect(widget.answer.get_by_text("Please sign in again.")).to_be_visible()
    expect(widget.said).to_have_text(["Hello"])
    assert len(backend.chats()) == 2


@pytest.mark.thorough
def test_a_token_is_used_until_its_last_thirty_seconds(page: Page, backend: ScriptedBackend, clock: Clock):
    page.goto("/host")
    widget = ready(page)
    for passed, tokens in [(0, 1), (270, 1), (1, 2)]:
        clock.run(passed)
        backend.stream().begin().done(f"After {clock.now}")
        widget.say("Hello")
        expect(widget.answer.get_by_text(f"After {clock.now}")).to_be_visible()
        expect(widget.send).to_be_visible()
        assert backend.tokens_asked == tokens


@pytest.mark.thorough
def test_a_minute_long_conversation_works_with_tokens_of_ten_seconds(
    page: Page, backend: ScriptedBackend, clock: Clock
):
    backend.token_life = 10
    began = clock.now
    page.goto("/host")
    widget = ready(page)
    for turn in range(6):
        stream = backend.stream().begin()
        widget.say(f"Question {turn}")
        stream.text("Let me think. ")
        expect(widget.answer.get_by_text("Let me think.")).to_be_visible()
        clock.run(11)
        stream.done(f"Answer {turn}")
        expect(widget.answer.get_by_text(f"Answer {turn}")).to_be_visible()
    expect(widget.said).to_have_count(6)
    expect(widget.retry).to_have_count(0)
    assert clock.now == began + 66
    assert backend.tokens_asked > 6


@pytest.mark.thorough
def test_concurrent_calls_share_one_token(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Earlier", asked("m1", "Hello"), answered("Hi"))
    page.goto("/host")
    widget = ready(page)
    widget.rows.get_by_role("button", name="Earlier").first.click()
    expect(widget.said).to_have_text(["Hello"])

    backend.calls.clear()
    release = backend.hold_tokens()
    page.reload()
    backend.wait_for(1, "GET", "/token")
    expect(page.get_by_text("Opening the conversation…")).to_be_visible()
    release()
    expect(widget.said).to_have_text(["Hello"])
    expect(widget.rows).to_have_count(1)
    assert len(backend.asked("GET", "/token")) == 1


@pytest.mark.thorough
def test_a_page_can_provide_a_token_function_instead_of_a_url(page: Page, backend: ScriptedBackend):
    page.goto("/host")
    ready(page)
    page.evaluate("""() => {
        const chat = document.createElement("qwestly-chat");
        window.asked = 0;
        chat.getToken = async () => {
            window.asked += 1;
            return (await (await fetch("/token")).json()).token;
        };
        document.querySelector("qwestly-chat").replaceWith(chat);
    }""")
    widget = ready(page)
    backend.stream().begin().done("Hi")
    widget.say("Hello")
    expect(widget.words).to_have_text("Hi")
    assert page.evaluate("window.asked") == 1


@pytest.mark.thorough
def test_a_failed_token_request_loses_no_message(widget: Widget, backend: ScriptedBackend):
    backend.rejected.add(backend.calls[-1].token)
    widget.page.route("**/token", lambda route: route.abort(), times=1)
    widget.say("Hello")
    expect(widget.answer.get_by_text("We can’t reach Qwestly.")).to_be_visible()
    backend.stream().begin().done("Hi")
    widget.retry.click()
    expect(widget.words).to_have_text("Hi")


@pytest.mark.thorough
def test_the_token_is_kept_in_memory_only(widget: Widget, backend: ScriptedBackend):
    backend.stream().begin().done("Hi")
    widget.say("Hello")
    expect(widget.words).to_have_text("Hi")
    stored = widget.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "c1" in stored
    assert "head." not in stored


# ── conversations ──


@pytest.mark.thorough
def test_a_reload_continues_the_conversation(widget: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().done("You are Ada.")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You are Ada.")
    step = {"id": "1", "name": "get_user_profile", "label": "Looking up your profile…", "ok": True}
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You are Ada.", steps=[step]))

    widget.page.reload()
    expect(widget.said).to_have_text(["Who am I?"])
    expect(widget.words).to_have_text("You are Ada.")
    expect(widget.title.filter(has_text="Who am I?")).to_be_visible()
    widget.steps.get_by_text("1 step").click()
    expect(widget.steps.get_by_text("Looking up your profile…")).to_be_visible()
    backend.stream("c1").begin().done("Still Ada.")
    widget.say("And now?")
    expect(widget.words).to_have_text("Still Ada.")
    assert backend.chats()[-1]["conversation_id"] == "c1"


@pytest.mark.thorough
def test_a_reload_resumes_a_running_answer_and_shows_every_word_once(widget: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().text("You ")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You")
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You ", "running", id="msg_run_1"), running=True)
    again = backend.resume()

    widget.page.reload()
    again.begin().text("You are ").call("1", "Looking up your profile…")
    expect(widget.words).to_have_text("You are")
    expect(widget.said).to_have_text(["Who am I?"])
    expect(widget.stop).to_be_visible()
    done = answered("You are Ada.", id="msg_run_1")
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), done)
    again.result("1").text("Ada.").done("You are Ada.")
    expect(widget.send).to_be_visible()
    expect(widget.words).to_have_text("You are Ada.")
    expect(widget.up).to_be_visible()


@pytest.mark.thorough
def test_after_a_reconnect_the_answer_resumes_and_an_unsent_message_is_sent(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream("c1").begin().text("You ")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You")
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You ", "running", id="msg_run_1"), running=True)
    again = backend.resume()
    with offline(widget.page):
        stream.cut()
        expect(widget.retry).to_be_visible()
    again.begin().text("You are ")
    expect(widget.words).to_have_text("You are")
    expect(widget.retry).to_be_hidden()
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You are Ada.", id="msg_run_1"))
    again.text("Ada.").done("You are Ada.")
    expect(widget.send).to_be_visible()

    with offline(widget.page):
        widget.say("And now?")
        expect(widget.answer.get_by_text("We can’t reach Qwestly.")).to_be_visible()
        backend.stream("c1").begin().done("Still Ada.")
    expect(widget.words).to_have_text("Still Ada.")
    expect(widget.said).to_have_text(["Who am I?", "And now?"])
    assert [each["message"] for each in backend.chats()] == ["Who am I?", "And now?"]


@contextmanager
def offline(page: Page) -> Iterator[None]:
    """Let the browser report that it is offline, and online again."""
    page.context.set_offline(True)
    try:
        yield
    finally:
        page.context.set_offline(False)


@pytest.mark.thorough
def test_a_turn_that_still_runs_after_a_reload_is_followed_to_its_end(
    page: Page, backend: ScriptedBackend, clock: Clock
):
    step = {"id": "1", "name": "x", "label": "Looking up your profile…", "ok": None}
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You", "running", steps=[step]), running=True)
    page.goto("/host")
    widget = Widget(page)
    widget.rows.get_by_role("button", name="Who am I?").first.click()
    expect(widget.steps.get_by_role("listitem", include_hidden=True)).to_have_text(
        "Looking up your profile… (under way)"
    )
    expect(widget.stop).to_be_visible()

    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You are", "running"), running=True)
    clock.run(2)
    expect(widget.words).to_have_text("You are")
    expect(widget.up).to_be_hidden()
    backend.keep("c1", "Who am I?", asked("m1", "Who am I?"), answered("You are", "stopped"))
    widget.stop.click()
    backend.wait_for(1, "POST", "/api/conversations/c1/stop")
    expect(widget.answer.get_by_text("Stopped.")).to_be_visible()
    expect(widget.up).to_be_visible()
    expect(widget.send).to_be_visible()
    count = len(backend.asked("GET", "/api/conversations/c1"))
    clock.run(10)
    assert len(backend.asked("GET", "/api/conversations/c1")) == count


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        ([answered("Half", "failed", error={"code": "deadline", "message": "It took too long."})], "It took too long."),
        ([answered("", "interrupted")], "This answer was interrupted."),
        ([answered("Half", "stopped")], "Stopped."),
        ([], "This answer was interrupted."),
    ],
)
def test_an_unfinished_turn_from_an_earlier_visit_can_be_retried(
    widget: Widget, backend: ScriptedBackend, messages: list[dict[str, Any]], sentence: str
):
    backend.keep("c1", "Earlier", asked("m0", "Hi"), answered("Ho"), asked("m1", "Who am I?"), *messages)
    widget.page.reload()
    widget.rows.get_by_role("button", name="Earlier").first.click()
    expect(widget.answer.get_by_text(sentence)).to_be_visible()
    backend.stream("c1").begin().done("You are Ada.")
    widget.retry.click()
    expect(widget.words).to_have_text("You are Ada.")
    assert backend.chats() == [{"message": "Who am I?", "message_id": "m1", "conversation_id": "c1"}]


@pytest.mark.thorough
@pytest.mark.parametrize("button", ["Continue", "Regenerate"])
def test_an_interrupted_answer_can_be_continued_or_regenerated(widget: Widget, backend: ScriptedBackend, button: str):
    backend.keep("c1", "Earlier", asked("m1", "Who am I?"), answered("You are", "interrupted"))
    widget.page.reload()
    widget.rows.get_by_role("button", name="Earlier").first.click()
    expect(widget.retry).to_have_count(0)
    backend.stream("c1").begin().done("Ada.")
    widget.button(button).click()
    expect(widget.words).to_have_text("Ada.")
    [posted] = backend.chats()
    assert posted["message"] == ("Who am I?" if button == "Regenerate" else "Continue where you left off.")
    expect(widget.button("Continue")).to_have_count(0)
    expect(widget.button("Regenerate")).to_have_count(0)


@pytest.mark.thorough
def test_conversations_can_be_listed_opened_and_left(page: Page, backend: ScriptedBackend):
    for number in range(3):
        backend.keep(f"c{number}", f"Talk {number}", asked("m", f"Question {number}"), answered(f"Answer {number}"))
    backend.page_size = 2
    page.goto("/host")
    widget = ready(page)
    expect(widget.rows).to_have_count(2)
    widget.button("Show older").click()
    expect(widget.rows).to_have_count(3)
    expect(widget.button("Show older")).to_be_hidden()

    opener = widget.rows.get_by_role("button", name=re.compile("^Talk 2"))
    opener.click()
    expect(widget.said).to_have_text(["Question 2"])
    expect(opener).to_have_attribute("aria-current", "true")
    expect(widget.box).to_be_focused()
    widget.button("New conversation").click()
    ready(page)
    expect(opener).to_have_attribute("aria-current", "false")
    backend.stream("c9").begin().done("Hi")
    widget.say("Hello")
    expect(widget.words).to_have_text("Hi")
    assert "conversation_id" not in backend.chats()[0]


@pytest.mark.thorough
def test_a_conversation_list_that_fails_to_load_says_so_and_can_be_retried(page: Page, backend: ScriptedBackend):
    backend.refuse(503, "unavailable", "The database is away.", on="GET /api/conversations")
    page.goto("/host")
    expect(page.get_by_text("The database is away.")).to_be_visible()
    backend.keep("c1", "Earlier")
    page.get_by_role("button", name="Try again").click()
    expect(Widget(page).rows).to_have_count(1)
    expect(page.get_by_text("The database is away.")).to_be_hidden()


@pytest.mark.thorough
def test_a_conversation_that_fails_to_load_can_be_retried(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Earlier", asked("m", "Hello"), answered("Hi"))
    page.goto("/host")
    widget = ready(page)
    expect(widget.rows).to_have_count(1)
    backend.refuse(503, "unavailable", "The database is away.", on="GET /api/conversations/c1")
    widget.rows.get_by_role("button", name="Earlier").first.click()
    expect(widget.notice).to_contain_text("The database is away.")
    widget.box.fill("A draft")
    expect(widget.send).to_be_disabled()
    widget.notice.get_by_role("button", name="Try again").click()
    expect(widget.said).to_have_text(["Hello"])
    expect(widget.box).to_have_value("A draft")
    expect(widget.send).to_be_enabled()


@pytest.mark.thorough
def test_deleting_a_conversation_needs_confirmation_and_then_starts_a_new_one(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Earlier", asked("m", "Hello"), answered("Hi"))
    page.goto("/host")
    widget = ready(page)
    widget.rows.get_by_role("button", name="Earlier").first.click()
    expect(widget.said).to_have_text(["Hello"])
    delete = widget.button("Delete “Earlier”")

    for refuse in (lambda: page.keyboard.press("Enter"), lambda: page.keyboard.press("Escape")):
        delete.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name="Delete this conversation?")).to_be_visible()
        expect(widget.button("Cancel")).to_be_focused()
        refuse()
        expect(page.get_by_role("dialog")).to_be_hidden()
    assert backend.conversations

    delete.click(force=True)
    widget.button("Delete").click()
    ready(page)
    expect(widget.rows).to_have_count(0)
    assert not backend.conversations


@pytest.mark.thorough
def test_a_failed_deletion_is_reported(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Earlier")
    page.goto("/host")
    widget = ready(page)
    expect(widget.rows).to_have_count(1)
    backend.refuse(409, "conversation_busy", "Still answering.", on="DELETE /api/conversations/c1")
    widget.button("Delete “Earlier”").click(force=True)
    widget.button("Delete").click()
    expect(page.get_by_text("We couldn’t delete it. Still answering.")).to_be_visible()
    expect(widget.rows).to_have_count(1)


@pytest.mark.thorough
def test_leaving_a_running_turn_does_not_stop_it_and_returning_shows_it(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Long", running=True)
    page.goto("/host")
    widget = ready(page)
    stream = backend.stream("c1")
    widget.say("A long one")
    stream.begin().text("Once upon")
    expect(widget.answer.get_by_text("Once upon")).to_be_visible()
    widget.button("New conversation").click()
    ready(page)
    widget.box.fill("Free to write")
    expect(widget.send).to_be_enabled()
    assert not backend.asked("POST", "/api/conversations/c1/stop")
    backend.keep("c1", "Long", asked("m1", "A long one"), answered("Once upon a time."))
    widget.rows.get_by_role("button", name="Long").first.click()
    expect(widget.answer.get_by_text("Once upon a time.")).to_be_visible()


@pytest.mark.thorough
def test_a_turn_left_before_it_started_does_not_switch_the_view_back(widget: Widget, backend: ScriptedBackend):
    left = backend.stream("c1")
    widget.say("Wait, something else")
    backend.wait_for(1, "POST", "/api/chat")
    widget.button("New conversation").click()
    ready(widget.page)
    expect(widget.box).to_have_value("Wait, something else")
    left.begin().text("Once upon")
    backend.stream("c2").begin().done("Something else.")
    widget.say("Something else")
    expect(widget.words).to_have_text("Something else.")
    assert "conversation_id" not in backend.chats()[-1]
    expect(widget.said).to_have_text(["Something else"])


@pytest.mark.thorough
def test_a_tab_shows_messages_from_other_tabs_when_it_becomes_visible_again(widget: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().done("You are Ada.")
    widget.say("Who am I?")
    expect(widget.words).to_have_text("You are Ada.")
    first = [asked("m1", "Who am I?"), answered("You are Ada.")]
    backend.keep("c1", "Who am I?", *first, asked("m2", "And you?"), answered("Qwestly."))
    widget.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(widget.said).to_have_text(["Who am I?", "And you?"])


# ── typed text ──


@pytest.mark.thorough
def test_a_typed_draft_is_kept_and_not_sent_while_an_answer_streams(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.say("First")
    stream.begin().text("Hm")
    widget.say("A draft")
    expect(widget.box).to_have_value("A draft")
    stream.done("Hm.")
    expect(widget.send).to_be_enabled()
    expect(widget.box).to_have_value("A draft")
    assert len(backend.chats()) == 1


@pytest.mark.thorough
def test_an_invalid_message_returns_to_the_input(widget: Widget, backend: ScriptedBackend):
    held = backend.stream()
    widget.say("Attached: cv.pdf")
    widget.box.fill("a draft")
    held.error("attachments_unsupported", "We can’t read files here yet.")
    expect(widget.notice).to_contain_text("We can’t read files here yet.")
    expect(widget.box).to_have_value("Attached: cv.pdf\n\na draft")
    expect(widget.said).to_have_count(0)
    backend.stream().begin().done("Hi")
    widget.box.press("Enter")
    expect(widget.notice).to_be_hidden()


@pytest.mark.thorough
@pytest.mark.parametrize("leave", ["a new conversation", "a reload"])
def test_an_unsent_message_returns_to_the_input_after_a_reload_or_a_new_conversation(
    widget: Widget, backend: ScriptedBackend, leave: str
):
    be_unavailable(backend, widget.page)
    widget.say("Precious words")
    expect(widget.retry).to_be_visible()
    widget.box.fill("and a draft")
    if leave == "a reload":
        widget.page.reload()
    else:
        widget.button("New conversation").click()
    ready(widget.page)
    expect(widget.box).to_have_value("Precious words\n\nand a draft")


@pytest.mark.thorough
def test_a_message_to_a_deleted_conversation_starts_a_new_one(widget: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().done("One")
    widget.say("First")
    expect(widget.words).to_have_text("One")
    backend.refuse(404, "not_found", "There is nothing here.")
    widget.say("Second")
    expect(widget.notice).to_contain_text("That conversation no longer exists.")
    expect(widget.box).to_have_value("Second")
    backend.stream("c2").begin().done("Two")
    widget.box.press("Enter")
    expect(widget.words).to_have_text("Two")
    assert "conversation_id" not in backend.chats()[-1]


@pytest.mark.thorough
def test_a_conversation_that_changed_elsewhere_is_reloaded(widget: Widget, backend: ScriptedBackend):
    backend.stream("c1").begin().error("internal", "Sorry.")
    widget.say("First")
    expect(widget.retry).to_be_visible()
    backend.keep("c1", "First", asked("m1", "First"), answered("One"))
    backend.refuse(409, "changed", "The conversation has moved on.")
    widget.retry.click()
    expect(widget.notice).to_contain_text("The conversation has moved on.")
    expect(widget.words).to_have_text("One")
    expect(widget.box).to_have_value("")


@pytest.mark.thorough
def test_an_overlong_message_shows_its_length_and_is_not_sent(widget: Widget, backend: ScriptedBackend):
    widget.box.fill("x" * 18_999)
    expect(widget.page.get_by_text("of 20,000 characters")).to_be_hidden()
    widget.box.fill("🦉" * 20_000)
    expect(widget.page.get_by_text("20,000 of 20,000 characters")).to_be_visible()
    expect(widget.send).to_be_enabled()
    widget.box.fill("x" * 20_001)
    expect(widget.page.get_by_text("20,001 of 20,000 characters")).to_be_visible()
    expect(widget.send).to_be_disabled()
    widget.box.press("Enter")
    expect(widget.box).to_have_value("x" * 20_001)
    assert not backend.chats()


# ── model output ──

HOSTILE = """Hello <img src=x onerror="window.hacked = 1"> and </script><script>window.hacked = 2</script>

- [press me](javascript:window.hacked=3) or [me](data:text/html,x) or [fine](https://example.com/a_(b)?q=1)
- ![a picture](https://tracker.example/pixel.png) <a href="https://example.com">raw</a>

<style>* { display: none }</style>

https://example.com/x, [`code`](http://ok.example)"""


@pytest.mark.thorough
def test_hostile_text_is_escaped_in_messages_and_answers(widget: Widget, backend: ScriptedBackend):
    fetched: list[str] = []
    widget.page.on("request", lambda request: fetched.append(request.url))
    backend.stream().begin().text(HOSTILE).done(HOSTILE)
    widget.say("<b>Say</b> something")
    expect(widget.answer.get_by_text('Hello <img src=x onerror="window.hacked = 1"> and </script>')).to_be_visible()
    expect(widget.said).to_have_text(["<b>Say</b> something"])
    expect(widget.answer.get_by_text("[press me](javascript:window.hacked=3)")).to_be_visible()
    expect(widget.answer.get_by_text("[image: a picture]")).to_be_visible()
    links = widget.answer.get_by_role("link").evaluate_all(
        "links => links.map(link => [link.href, link.rel, link.target])"
    )
    assert links == [
        [href, "noopener noreferrer", "_blank"]
        for href in [
            "https://example.com/a_(b)?q=1",
            "https://example.com/x",
            "http://ok.example/",
        ]
    ]
    assert widget.answer.locator("img, script, style, iframe").count() == 0
    assert widget.page.evaluate("window.hacked") is None
    assert not [url for url in fetched if "tracker" in url or url.endswith("/x")]


MARKDOWN = """# Title
Some **bold**, *italic*, _under_, `a*b*c` and snake_case_name, 2 * 3 * 4.

1. one
   - inner **b**
   - inner c
2. two

* star

```js
let a = "<b>";

# no heading
```
Last"""


@pytest.mark.thorough
def test_markdown_renders_the_same_whole_or_in_pieces(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream().begin()
    for character in MARKDOWN:
        stream.text(character)
    widget.say("Format this")
    expect(widget.answer.get_by_role("heading", name="Title", level=3)).to_be_visible()
    expect(widget.answer.get_by_text("Last")).to_be_visible()
    content = widget.answer.locator(".content")
    pieces = content.evaluate("node => node.innerHTML")
    expect(content.locator("li")).to_have_text([re.compile("^one"), "inner b", "inner c", "two", "star"])
    expect(content.locator("ol > li > ul > li strong")).to_have_text(["b"])
    expect(content.locator("em")).to_have_text(["italic", "under"])
    expect(content.locator("p code")).to_have_text("a*b*c")
    expect(content.locator("pre")).to_have_text('let a = "<b>";\n\n# no heading')
    expect(content.locator("h3, h4, h5, h6")).to_have_count(1)
    stream.done(MARKDOWN)
    expect(widget.send).to_be_visible()
    assert content.evaluate("node => node.innerHTML") == pieces


PROSE = "You led team {n} there, **as you say**, with `care`, snake_case, 5 * 3, and [this](https://qwestly.example). "
WORDS = "number {n} says what follows from all that was said of it, with many words and then some more, "
LINK = "is](https://qwestly.example)"
LONG = {
    "a block of code": ("Look:\n\n~~~python\n", "    total_{n} = **{n}\n\n", "~~~\n\nThe end"),
    "code that is never closed": ("```\n", "{n} <b>\n", "The end"),
    "a paragraph": ("", PROSE, "The end"),
    "a paragraph of lines": ("", PROSE + "\n", "The end"),
    "signs of other blocks": ("Once ", "- {n}. # > " * 8, "The end"),
    "emphasis around it all": ("Be *sure, ", WORDS, "indeed*. The end"),
    "a link around it all": ("See [what ", WORDS, f"{LINK}. The end"),
    "what becomes a heading": ("", PROSE, "\n===\n\nThe end"),
    "what becomes a table": ("", WORDS, "one | two\n---|---\n1 | 2\n\nThe end"),
    "what ends in a list": ("", PROSE, "\n- one\n- two\n\nThe end"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("begin", "more", "end"), LONG.values(), ids=LONG)
def test_a_long_block_renders_the_same_whole_or_in_pieces(
    widget: Widget, backend: ScriptedBackend, begin: str, more: str, end: str
):
    pieces = [begin, *("".join(more.format(n=m * 20 + n) for n in range(20)) for m in range(15)), end]
    stream = backend.stream("c1").begin()
    widget.say("In pieces")
    for piece in pieces:
        stream.text(piece)
        widget.page.evaluate("() => new Promise(requestAnimationFrame)")
    stream.done("".join(pieces))
    expect(widget.send).to_be_visible()
    backend.stream("c1").begin().text("".join(pieces)).done("".join(pieces))
    widget.say("Whole")
    expect(widget.page.locator(".answer .content")).to_have_count(2)
    expect(widget.send).to_be_visible()
    grown, whole = widget.page.locator(".answer .content").evaluate_all("nodes => nodes.map(node => node.innerHTML)")
    assert grown == whole
    assert "The end" in whole


@pytest.mark.thorough
@pytest.mark.parametrize("block", ["a block of code", "a paragraph"])
def test_the_beginning_of_a_long_block_is_not_rendered_again(widget: Widget, backend: ScriptedBackend, block: str):
    begin, more, _ = LONG[block]
    stream = backend.stream("c1").begin()
    widget.say("Begin")
    stream.text(begin + "".join(more.format(n=n) for n in range(300)))
    first = widget.answer.locator(".content :is(p, code) > span").first
    expect(first).to_contain_text("12")
    first.evaluate("node => { node.known = true; }")
    for n in range(300, 400):
        stream.text(more.format(n=n))
    stream.text("The end").done("")
    expect(widget.send).to_be_visible()
    assert first.evaluate("node => node.known === true")
    shown = first.locator("..").evaluate("node => node.textContent")
    written = "".join(more.format(n=n) for n in range(400))
    assert shown == f"{written}The end\n" if block == "a block of code" else shown.count("You led team") == 400


@pytest.mark.thorough
def test_pathological_markdown_renders_quickly(widget: Widget, backend: ScriptedBackend):
    units = ["**a ", "*a", "_a ", "[", "[a](", "`a``", "- [a]( ", "***", "# ", "  ", "https://a.", "1. "]
    words = [unit * 8_000 for unit in units] + [mark + "a" * 8_000 for mark in ("*", "**", "_", "`", "[", "# ")]
    text = "\n\n".join([*words, "The end"])
    backend.stream().begin().text(text).done("The end")
    widget.say("Go on")
    # This takes half a second, whatever the load of the machine; rendering in cubic time would take many minutes.
    expect(widget.words).to_have_text("The end", timeout=60_000)


# ── accessibility and appearance ──


@pytest.mark.thorough
def test_the_widget_works_with_the_keyboard_alone(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "Earlier", asked("m", "Hello"), answered("Hi"))
    page.goto("/host")
    widget = ready(page)
    expect(widget.rows).to_have_count(1)
    keyboard = page.keyboard
    order = []
    keyboard.press("Tab")
    assert focused(page) == "Skip to your message"
    for _ in range(10):
        keyboard.press("Tab")
        order.append(focused(page))
    assert order[:2] == ["New conversation", "Search conversations"]
    assert order[2:5] == ["Earlier", "Rename “Earlier”", "Delete “Earlier”"]
    assert order[5:7] == ["Approvals", "Pause everything"]
    assert order[7:] == ["Messages", "What do we know about me?", "Your message"]

    stream = backend.stream("c2")
    keyboard.type("One")
    keyboard.press("Shift+Enter")
    keyboard.type("two")
    keyboard.press("Enter")
    stream.begin()
    expect(widget.said).to_have_text(["One\ntwo"])
    expect(widget.stop).to_be_visible()
    keyboard.press("Tab")
    assert focused(page) == "Stop"
    keyboard.press("Enter")
    backend.wait_for(1, "POST", "/api/conversations/c2/stop")
    stream.done("Fine", stopped=True)
    expect(widget.button("Retry")).to_be_visible()
    expect(widget.box).to_be_focused()
    order = []
    for _ in range(3):
        keyboard.press("Shift+Tab")
        order.append(focused(page))
    assert order == ["Not helpful", "Good answer", "Answer again"]
    keyboard.press("Tab")
    keyboard.press("Space")
    assert backend.wait_for(1, "POST", FEEDBACK)[0].body == {"thumb": "up"}
    keyboard.press("Tab")
    keyboard.press("Enter")
    assert backend.wait_for(2, "POST", FEEDBACK)[1].body == {"thumb": "down"}
    keyboard.press("Tab")
    assert focused(page) == "What was wrong?"
    keyboard.type("Half")
    keyboard.press("Tab")
    keyboard.press("Enter")
    assert backend.wait_for(3, "POST", FEEDBACK)[2].body == {"thumb": "down", "words": "Half"}
    assert focused(page) == "Not helpful"
    for _ in range(4):
        keyboard.press("Shift+Tab")
    assert focused(page) == "Retry"

    stream = backend.stream("c2").begin()
    keyboard.press("Enter")
    expect(widget.stop).to_be_visible()
    expect(widget.box).to_be_focused()
    keyboard.press("Tab")
    assert focused(page) == "Stop"
    stream.done("Fine")
    expect(widget.box).to_be_focused()


def focused(page: Page) -> str:
    return page.evaluate("""() => {
        const chat = document.querySelector("qwestly-chat");
        const at = document.activeElement === chat ? chat.shadowRoot.activeElement : document.activeElement;
        return at.getAttribute("aria-label") || at.title || at.textContent;
    }""")


@pytest.mark.thorough
def test_focus_is_visible(widget: Widget, backend: ScriptedBackend):
    widget.page.keyboard.press("Tab")
    outline = "node => getComputedStyle(node).outlineStyle"
    assert widget.button("Skip to your message").evaluate(outline) == "solid"
    backend.stream().begin().done("Hi")
    widget.say("Hello")
    expect(widget.up).to_be_visible()
    widget.page.keyboard.press("Shift+Tab")
    expect(widget.down).to_be_focused()
    assert widget.down.evaluate(outline) == "solid"
    widget.box.focus()
    box = widget.box.locator("..")
    assert box.evaluate("node => getComputedStyle(node).boxShadow") != "none"


@pytest.mark.thorough
def test_enter_that_ends_a_composition_does_not_send(widget: Widget, backend: ScriptedBackend):
    session = widget.page.context.new_cdp_session(widget.page)
    widget.box.focus()
    session.send("Input.imeSetComposition", {"text": "にほん", "selectionStart": 3, "selectionEnd": 3})
    widget.box.press("Enter")
    session.send("Input.insertText", {"text": "日本"})
    expect(widget.box).to_have_value(re.compile("日本"))
    assert not backend.chats()
    backend.stream().begin().done("はい")
    widget.box.press("Enter")
    expect(widget.words).to_have_text("はい")


@pytest.mark.thorough
def test_steps_and_the_whole_answer_are_announced_but_not_single_deltas(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    widget.say("Who am I?")
    stream.begin().call("1", "Looking up your profile…")
    expect(widget.announced).to_have_text("Looking up your profile…")
    stream.result("1").text("You ").text("are ")
    expect(widget.words).to_have_text("You are")
    expect(widget.announced).to_have_text("Looking up your profile…")
    expect(widget.answer).to_have_attribute("aria-busy", "true")
    assert widget.answer.evaluate("node => node.closest('[aria-live]').ariaLive") == "off"
    stream.done("You are **Ada**.\n\nHello.")
    expect(widget.announced).to_have_text("You are Ada. Hello.")
    expect(widget.answer).to_have_attribute("aria-busy", "false")
    fail_with_an_event(backend, widget.page)
    widget.say("And?")
    expect(widget.announced).to_have_text("The model is away.")


@pytest.mark.thorough
def test_the_beginning_of_a_long_answer_is_announced(widget: Widget, backend: ScriptedBackend):
    backend.stream().begin().done("\n\n".join(f"Paragraph {number}." for number in range(1_000)))
    widget.say("Tell me everything")
    expect(widget.announced).to_have_text(re.compile(r"^Paragraph 0\.\sParagraph 1\.[^…]*… The answer goes on\.$"))
    expect(widget.words.get_by_text("Paragraph 999.")).to_be_attached()


@pytest.mark.thorough
def test_each_part_has_an_accessible_role_and_name(widget: Widget, backend: ScriptedBackend):
    stream = backend.stream()
    backend.keep("c1", "Who am I?")
    widget.say("Who am I?")
    stream.begin().call("1", "Looking up your profile…")
    expect(widget.rows).to_have_count(1)
    expect(widget.page.locator("qwestly-chat")).to_match_aria_snapshot("""
        - navigation "Conversations":
          - button "New conversation"
          - list:
            - listitem:
              - button /Who am I\\?/
              - button "Delete “Who am I?”"
        - heading "Who am I?" [level=2]
        - log "Messages":
          - article:
            - group "You": Who am I?
            - group "Qwestly":
              - group:
                - text: 1 step
                - list:
                  - listitem: Looking up your profile… (under way)
        - textbox "Your message"
        - button "Stop"
        - status: Looking up your profile…
    """)


@pytest.mark.thorough
def test_the_view_follows_the_text_only_if_scrolled_to_the_bottom(widget: Widget, backend: ScriptedBackend):
    long = "\n\n".join(f"Paragraph {number}" for number in range(60))
    stream = backend.stream().begin().text(long)
    widget.say("Go on")
    expect(widget.answer.get_by_text("Paragraph 59")).to_be_in_viewport()
    widget.log.evaluate("node => { node.scrollTop = 100 }")
    widget.page.evaluate("new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    stream.text("\n\nThe end")
    expect(widget.answer.get_by_text("The end")).to_be_attached()
    assert widget.log.evaluate("node => node.scrollTop") == 100
    widget.log.evaluate("node => { node.scrollTop = node.scrollHeight }")
    expect(widget.answer.get_by_text("The end")).to_be_in_viewport()
    stream.text("\n\nP.S." * 9 + "\n\nReally")
    expect(widget.answer.get_by_text("Really")).to_be_in_viewport()


@pytest.mark.thorough
def test_on_a_phone_nothing_scrolls_sideways_and_the_list_is_a_drawer(page: Page, backend: ScriptedBackend):
    backend.keep("c1", "A title that is much longer than any telephone is wide, " * 3, asked("m", "x" * 300))
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto("/#chat")
    widget = ready(page)
    text = "A" * 200 + "\n\n```\n" + "b" * 300 + "\n```\n\n" + "https://example.com/" + "c" * 200
    stream = backend.stream("c2").begin().call("1", "Searching " + "d" * 90).text(text)
    widget.say("w" * 200)
    expect(widget.answer.get_by_role("link")).to_be_attached()
    assert_no_sideways_scrolling(widget)
    stream.done(text)
    expect(widget.send).to_be_visible()

    drawer = page.get_by_role("navigation", name="Conversations")
    expect(drawer).to_be_hidden()
    widget.button("Conversations").click()
    expect(drawer.get_by_role("button", name="New conversation")).to_be_focused()
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(widget.button("Conversations")).to_be_focused()
    widget.button("Conversations").click()
    widget.rows.get_by_role("button", name="A title").first.click()
    expect(drawer).to_be_hidden()
    expect(widget.said).to_have_text(["x" * 300])
    assert_no_sideways_scrolling(widget)
    widget.button("Conversations").click()
    page.set_viewport_size({"width": 1100, "height": 640})
    expect(widget.box).to_be_enabled()
    widget.box.click()
    expect(widget.box).to_be_focused()


def assert_no_sideways_scrolling(widget: Widget) -> None:
    assert widget.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert widget.log.evaluate("node => node.scrollWidth - node.clientWidth") == 0


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_with_enough_contrast(page: Page, backend: ScriptedBackend, scheme: Any):
    page.emulate_media(color_scheme=scheme)
    page.goto("/host")
    widget = ready(page)
    backend.stream().begin().call("1", "Looking…").result("1").text("See [this](https://example.com)").error(
        "internal", "Something went wrong."
    )
    widget.say("Who am I?")
    expect(widget.retry).to_be_visible()
    widget.up.click()
    widget.box.fill("x")
    texts = [
        widget.said,
        widget.answer.get_by_role("link"),
        widget.answer.get_by_text("Something went wrong."),
        widget.answer.get_by_text("1 step"),
        widget.up,
        widget.down,
        widget.send,
        widget.button("New conversation"),
    ]
    background = luminance(page.locator("qwestly-chat").evaluate("node => getComputedStyle(node).backgroundColor"))
    assert (background > 0.5) == (scheme == "light")
    assert [contrast(text) for text in texts if contrast(text) < 4.5] == []


def contrast(text: Locator, part: str | None = None) -> float:
    find = """(node, part) => {
        const colour = getComputedStyle(node, part).color;
        const host = document.querySelector("qwestly-chat");
        for (let at = node; at; at = at.parentElement ?? host) {
            const { backgroundColor } = getComputedStyle(at);
            if (backgroundColor !== "rgba(0, 0, 0, 0)") return [colour, backgroundColor];
        }
    }"""
    colours = text.evaluate(find, part)
    darker, lighter = sorted(luminance(colour) for colour in colours)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(channel) / 255 for channel in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.thorough
def test_a_page_can_choose_colors_and_color_scheme(widget: Widget):
    chat = widget.page.locator("qwestly-chat")
    chat.evaluate("node => { node.style.colorScheme = 'dark' }")
    background = "node => getComputedStyle(node).backgroundColor"
    assert luminance(chat.evaluate(background)) < 0.1
    chat.evaluate("node => node.style.setProperty('--qwestly-background', 'rgb(1, 2, 3)')")
    assert chat.evaluate(background) == "rgb(1, 2, 3)"


@pytest.mark.thorough
def test_reduced_motion_disables_animations(widget: Widget, backend: ScriptedBackend):
    widget.page.emulate_media(reduced_motion="reduce")
    backend.stream()
    widget.say("Hello")
    spinner = widget.answer.locator(".working .spinner")
    expect(spinner).to_be_visible()
    assert spinner.evaluate("node => getComputedStyle(node).animationName") == "none"


# ── the local stack's page ──


@pytest.mark.thorough
def test_the_local_page_names_the_model_and_suggests_a_first_message(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    widget = ready(page)
    widget.button("Backstage").click()
    expect(page.get_by_role("region", name="This stack").get_by_text("A script answers here")).to_be_visible()
    expect(page.get_by_text("A note.")).to_be_visible()
    expect(page.get_by_label("Demo user")).to_have_value("auth0|demo")
    backend.stream().begin().done("A lot.")
    widget.button("What do you know about me?").click()
    expect(widget.words).to_have_text("A lot.")
    assert backend.chats()[0]["message"] == "What do you know about me?"


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_placeholder_of_the_local_pages_search_is_readable(page: Page, scheme: Any):
    page.emulate_media(color_scheme=scheme)
    page.goto("/#chat")
    ready(page).button("Memory").click()
    assert contrast(page.get_by_role("searchbox", name="Search memories"), "::placeholder") >= 4.5


@pytest.mark.thorough
def test_the_local_page_switches_the_user(page: Page, backend: ScriptedBackend):
    page.goto("/#chat")
    ready(page).button("Backstage").click()
    page.get_by_label("Demo user").fill("auth0|ada & co")
    with page.expect_request(re.compile("/local/token")) as request:
        page.get_by_role("button", name="Switch").click()
    assert request.value.url.endswith("/local/token?user=auth0%7Cada%20%26%20co")
    ready(page)
    expect(page.get_by_label("Demo user")).to_have_value("auth0|ada & co")


MAIL = {"id": "m1", "at": NOON, "to": "maya@example.com", "text": "Decide"}
MAIL |= {"subject": "Your <b>yes</b> or no", "html": "<p>Hello <script>parent.hacked = 1</script>Maya</p>"}
WORKFLOW = {"name": "card-1", "machine": "generate_card", "started_at": NOON - 9}
SCHEDULE = {"name": "Sweep conversations", "expression": "rate(5 minutes)", "target": "extract_memories"}


@pytest.fixture
def backstage(page: Page, backend: ScriptedBackend, clock: Clock) -> Page:
    page.set_viewport_size({"width": 1280, "height": 800})
    backend.local["schedules"] = [SCHEDULE]
    page.goto("/#chat")
    widget = ready(page)
    with a_round(page):
        widget.button("Backstage").click()
    expect(page.get_by_text("None has run yet.")).to_be_visible()
    return page


@contextmanager
def a_round(page: Page) -> Iterator[None]:
    """End when the page has received everything it polls every two seconds: the next round is counted from then."""
    with ExitStack() as answers:
        for part in ("outbox", "workflows", "schedules"):
            is_part = re.compile(f"/local/{part}$").search
            answers.enter_context(page.expect_event("requestfinished", lambda it, is_part=is_part: is_part(it.url)))
        yield
    page.evaluate("fetch('/local/status').then(response => response.json())")


@pytest.mark.thorough
def test_the_local_page_shows_running_workflows_and_incoming_mail(
    backstage: Page, backend: ScriptedBackend, clock: Clock
):
    workflows = backstage.get_by_role("list", name="Workflows").get_by_role("listitem")
    expect(backstage.get_by_text("No mail yet.")).to_be_visible()
    backend.local["workflows"] = [WORKFLOW | {"status": "RUNNING", "state": "DraftSections"}]
    with a_round(backstage):
        clock.run(2)
    expect(workflows).to_have_text([re.compile("^generate card.*DraftSections$")])
    backend.local["workflows"] = [WORKFLOW | {"status": "TIMED_OUT", "state": None}]
    backend.local["outbox"] = [MAIL]
    with a_round(backstage):
        clock.run(2)
    expect(workflows).to_have_text([re.compile("^generate card.*timed out$")])

    opener = backstage.get_by_role("button", name="Your <b>yes</b> or no")
    opener.focus()
    backend.local["outbox"] = [MAIL | {"id": "m2", "subject": "Newer"}, MAIL]
    with a_round(backstage):
        clock.run(2)
    expect(backstage.get_by_role("list", name="Outbox").get_by_role("listitem")).to_contain_text(["Newer", "Your"])
    expect(opener).to_be_focused()
    opener.press("Enter")
    mail = backstage.get_by_role("dialog", name="Your <b>yes</b> or no")
    expect(mail.frame_locator("iframe").get_by_text("Hello")).to_be_visible()
    expect(mail.locator("iframe")).to_have_attribute("sandbox", "allow-popups allow-popups-to-escape-sandbox")
    expect(mail.get_by_role("link", name="Open in a new tab")).to_have_attribute("href", "/local/outbox/m1")
    mail.get_by_role("button", name="Close").click()
    expect(opener).to_be_focused()
    assert backstage.evaluate("window.hacked") is None


@pytest.mark.thorough
def test_the_local_page_draws_workflow_graphs_and_marks_the_current_state(
    backstage: Page, backend: ScriptedBackend, clock: Clock
):
    card = backstage.get_by_role("list", name="States of generate card")
    expect(backstage.locator("details.graph")).to_have_count(len(list(Path(ROOT, "statemachines").glob("*.asl.yaml"))))
    expect(card).to_be_hidden()
    runs = [WORKFLOW | {"name": name, "machine": "qwestly-agent-local-generate-card"} for name in ("a", "b", "c")]
    states = ("draft_section", "ask_approval", "ask_approval")
    backend.local["workflows"] = [
        run | {"status": "RUNNING", "state": state} for run, state in zip(runs, states, strict=True)
    ]
    with a_round(backstage):
        clock.run(2)
    expect(card).to_be_visible()
    expect(backstage.locator("summary", has_text="generate card")).to_contain_text("3 running")
    now = card.locator("[aria-current=step]")
    expect(now).to_contain_text([re.compile("draft section.*1 here"), re.compile("ask approval.*2 here")])
    expect(card.get_by_role("listitem").nth(1)).to_have_text("for a job, then cover or draft sections")
    expect(card.locator("xpath=..").locator("svg circle.now")).to_have_count(2)
    backend.local["workflows"] = [runs[0] | {"status": "SUCCEEDED", "state": "published"}]
    with a_round(backstage):
        clock.run(2)
    expect(now).to_have_count(0)


@pytest.mark.thorough
def test_the_local_page_runs_a_schedule_on_demand_and_shows_the_result(
    backstage: Page, backend: ScriptedBackend, clock: Clock
):
    run = backstage.get_by_role("button", name="Run Sweep conversations now")
    path = "/local/schedules/Sweep conversations"
    run.click()
    expect(backstage.get_by_text("Sweep conversations has run.")).to_be_visible()
    expect(run).to_be_focused()
    assert len(backend.asked("POST", path)) == 1
    backend.answer(f"POST {path}", JSONResponse({"failed": True}))
    run.click()
    expect(backstage.locator("#ran.failed")).to_have_text("Sweep conversations ran and failed; its log says why.")
    backend.refuse(502, "unavailable", on=f"POST {path}")
    run.click()
    expect(backstage.get_by_text(re.compile("Sweep conversations could not be run: .* answered 502"))).to_be_visible()


@pytest.mark.thorough
def test_a_part_of_the_local_page_that_fails_to_load_says_so_until_it_loads(
    backstage: Page, backend: ScriptedBackend, clock: Clock
):
    backend.refuse(502, "unavailable", on="GET /local/outbox")
    with a_round(backstage):
        clock.run(2)
    expect(backstage.get_by_text("Could not be read: /local/outbox answered 502.")).to_be_visible()
    with a_round(backstage):
        clock.run(2)
    expect(backstage.get_by_text("No mail yet.")).to_be_visible()


@pytest.mark.thorough
def test_the_local_page_sends_no_requests_while_hidden(backstage: Page, backend: ScriptedBackend, clock: Clock):
    backstage.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    before = len(backend.asked("GET", "/local/outbox"))
    clock.run(20)
    backstage.evaluate("Object.defineProperty(document, 'hidden', { value: false })")
    backend.local["outbox"] = [MAIL]
    clock.run(2)
    expect(backstage.get_by_role("button", name="Your <b>yes</b> or no")).to_be_visible()
    assert len(backend.asked("GET", "/local/outbox")) == before + 1


@pytest.mark.thorough
def test_on_a_phone_the_local_page_shows_either_the_widget_or_the_backstage(phone: Page, backend: ScriptedBackend):
    backend.local["outbox"] = [MAIL | {"subject": "w" * 200}]
    running = WORKFLOW | {"status": "RUNNING"}
    backend.local["workflows"] = [running | {"state": "S" * 80, "machine": "m" * 80}, running | {"state": "gate"}]
    phone.goto("/#chat")
    widget = ready(phone)
    outbox = phone.get_by_role("heading", name="Outbox")
    expect(outbox).to_be_hidden()
    expect(widget.button("Backstage")).to_be_hidden()  # the chat has the only row at the top
    look_at(phone, "Settings")
    widget.button("Backstage").click()
    expect(outbox).to_be_visible()
    expect(phone.get_by_role("button", name=re.compile("^www"))).to_be_visible()
    expect(phone.locator("details.graph[open]")).to_have_count(1)
    expect(widget.box).to_be_hidden()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
    assert phone.locator("#behind").evaluate("node => node.scrollWidth - node.clientWidth") == 0
    look_at(phone, "Activity")
    expect(outbox).to_be_hidden()
    expect(phone.get_by_role("heading", name="Activity")).to_be_visible()
