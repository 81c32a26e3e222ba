"""Steps that try the routes: which are open and which are closed, a turn in each protocol, and its record."""

import uuid
from collections.abc import Sequence

from infra.smoke.visit import TURNS, Event, Failed, NotTried, Visit, demand, say, streamed

QUESTION = "In three sentences: what can you help me with?"


def health(visit: Visit) -> None:
    demand(visit.ask("GET", "/healthz", headers={}) == {"ok": True}, "it is not ready")


def nobody_without_a_token(visit: Visit) -> None:
    for headers in ({}, {"Authorization": "Bearer of nothing"}):
        refused = visit.ask("GET", "/api/conversations", 401, headers=headers)
        demand(refused["error"]["code"] == "unauthorized", "an error of another shape")


def preflight(visit: Visit) -> None:
    def allowed(origin: str, path: str) -> str | None:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        answer = visit.http.options(visit.place.url(path), headers=asked)
        return answer.headers.get("access-control-allow-origin")

    for path in (TURNS, "/api/brake"):
        demand(allowed(visit.place.origin, path) == visit.place.origin, f"{visit.place.origin} may not call {path}")
        demand(allowed("https://evil.example", path) is None, f"a page of anybody may call {path}")


def a_turn(visit: Visit) -> str:
    turn = say(visit, QUESTION)
    visit.conversation_id = turn.conversation_id
    return f"{_in_pieces(turn.events, 'text_delta', 'done')}, {turn.cost}"


def a_turn_of_the_ai_sdk(visit: Visit) -> str:
    said = {"id": uuid.uuid4().hex, "role": "user", "parts": [{"type": "text", "text": QUESTION}]}
    body = {"id": uuid.uuid4().hex, "messages": [said], "trigger": "submit-message"}
    return _in_pieces(streamed(visit, body, "finish"), "text-delta", "finish")


def _in_pieces(events: Sequence[Event], words: str, last: str) -> str:
    """Return the time to the first text. Raises `Failed` if everything came in one piece, because something is
    buffering."""
    first_words = next((each for each in events if each.name == words), None)
    [end] = [each for each in events if each.name == last]
    if first_words is None:
        raise Failed("nothing was said")
    demand(first_words.piece < end.piece, "its words came all at once: it does not stream")
    return f"first words after {first_words.seconds * 1000:.0f} ms"


def its_conversation(visit: Visit) -> None:
    conversation = visit.ask("GET", f"/api/conversations/{_conversation(visit)}")
    said = [message["role"] for message in conversation["messages"]]
    demand(said == ["user", "assistant"], f"it holds {said}")


def stop(visit: Visit) -> None:
    stopping = visit.ask("POST", f"/api/conversations/{_conversation(visit)}/stop")
    demand(stopping == {"stopping": False}, "something still runs")


def end(visit: Visit) -> None:
    visit.ask("POST", f"/api/conversations/{_conversation(visit)}/end")


def memories(visit: Visit) -> None:
    demand(visit.ask("GET", "/api/memories")["items"] == [], "somebody new is remembered")


def export(visit: Visit) -> None:
    exported = visit.ask("GET", "/api/me/export")
    demand(exported["complete"] and exported["user_id"] == visit.user_id, "it is not complete")


def brake(visit: Visit) -> None:
    try:
        demand(visit.ask("POST", "/api/brake")["state"] == "paused", "it did not hold")
        visit.ask("POST", "/api/chat", 423, json={"message": QUESTION})
    finally:
        released = visit.ask("DELETE", "/api/brake")
    demand(released["state"] == "running", "it cannot be released (is everybody's on?)")


def a_link_that_leads_nowhere(visit: Visit) -> None:
    if not visit.place.approve:
        raise NotTried("no address of the approval pages was given")
    page = visit.http.get(f"{visit.place.approve}/{uuid.uuid4().hex}")
    demand(page.status_code == 404, f"it answers {page.status_code}, not 404")
    demand("text/html" in page.headers["content-type"], "it is no page")
    demand(page.headers.get("cache-control") == "no-store", "it may be kept")


def leaving(visit: Visit) -> str:
    erased = visit.ask("DELETE", "/api/me")["erased"]
    left = {name: count for name, count in visit.ask("GET", "/api/me/export")["counts"].items() if count}
    demand(not left, f"it leaves {left}")
    return f"{sum(erased.values())} documents erased, none left"


def _conversation(visit: Visit) -> str:
    if not visit.conversation_id:
        raise NotTried("there was no turn")
    return visit.conversation_id
