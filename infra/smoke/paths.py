"""Steps that follow a user's task to its end. They are judged by routes, tools and records rather than wording, because
models differ."""

import time
from collections.abc import Callable
from typing import Any, TypeVar

from infra.smoke.visit import Failed, Turn, Visit, demand, say
from qwestly_agent.cards.model import NothingSupported, NothingToTell

T = TypeVar("T")

TIERS = ("get_user_profile", "query_user_knowledge")
CITY = "Tallinn"
WORK = "I led the redesign of the checkout at Globex and cut its load time from 9 to 4 seconds."
NOT_ENOUGH = (NothingToTell.sentence, NothingSupported.sentence)
"""The answer for a user with too little evidence for a text; as good a result as the text."""
CARD_SECONDS, MEMORY_SECONDS, PAUSE_SECONDS = 600.0, 180.0, 1.0


def three_tiers(visit: Visit) -> str:
    turn = say(visit, "What do you know about me?")
    turn.must_have_called(*TIERS)
    return turn.cost


def remember_and_recall(visit: Visit) -> str:
    told = say(visit, f"Please remember that I want to work in {CITY}.")
    told.must_have_called("remember")
    ids = _remembered(visit, told)
    demand(len(ids) == 1, f"expected one memory of that conversation; {len(ids)} are listed")
    recalled = say(visit, "Where do I want to work?")
    demand(CITY in recalled.content, f"expected {CITY} in the answer of another conversation; it is not there")
    visit.ask("DELETE", f"/api/memories/{ids[0]}")
    visit.ask("GET", f"/api/memories/{ids[0]}", 404)
    return f"{told.cost} and {recalled.cost}"


def a_card_to_its_question(visit: Visit) -> str:
    told = say(visit, WORK)
    visit.ask("POST", f"/api/conversations/{told.conversation_id}/end")
    _until(MEMORY_SECONDS, lambda: _remembered(visit, told), "something to be remembered of a conversation that ended")
    cursor = visit.ask("GET", "/api/updates")["cursor"]
    turn = say(visit, "Please make me a Qwestly card.")
    turn.must_have_called("generate_qwestly_card")
    costs = f"{told.cost} and {turn.cost}, and its sections"
    draft = _followed(visit, turn, cursor, "running")
    if draft["status"] == "failed" and draft["label"] in NOT_ENOUGH:
        return f"{costs}; not enough for a card: {draft['label']}"
    demand(draft["status"] == "waiting", f"expected a question; it ended as {draft['status']}: {draft['label']}")
    waiting = visit.ask("GET", "/api/approvals")["items"]
    [question] = [each for each in waiting if each["approval_id"] == draft["approval_id"]]
    _say_no(visit, question)
    ended = _followed(visit, turn, cursor, "running", "waiting")
    demand(ended["status"] == "rejected", f"expected it to end with the no; it is {ended['status']}: {ended['label']}")
    return f"{costs}; asked, and answered with a no"


def an_about_section(visit: Visit) -> str:
    turn = say(visit, "Suggest an About section for my LinkedIn profile.")
    tool = "suggest_linkedin_about"
    demand(tool in turn.called, f"expected a call of {tool}; the model called {', '.join(turn.called) or 'nothing'}")
    said = visit.ask("GET", f"/api/conversations/{turn.conversation_id}")["messages"][-1]
    problems = [each["problem"] for each in said["steps"] if each["name"] == tool]
    if all((each or "").startswith(NOT_ENOUGH) for each in problems):
        return f"{turn.cost}; not enough for a text: {problems[0]}"
    demand(None in problems, f"expected a text; {tool} failed: {problems[0]}")
    return turn.cost


def a_no(visit: Visit) -> str:
    """Propose a change twice: the second proposal shows the result of rejecting the first."""
    asked = []
    for _ in range(2):
        turn = say(visit, f"Please change my location to {CITY}.")
        questions = turn.all("approval_required")
        called = ", ".join(turn.called) or "nothing"
        demand(len(questions) == 1, f"expected one question before a change, not {len(questions)}; it called {called}")
        _say_no(visit, questions[0])
        asked.append((questions[0]["preview"]["changes"], turn.cost))
    (first, cost), (second, again) = asked
    demand([each["before"] for each in first] == [each["before"] for each in second], "it was changed despite the no")
    return f"{cost} and {again}"


def _say_no(visit: Visit, question: Any) -> None:
    no = {"decision": "reject", "args_digest": question["args_digest"]}
    answer = visit.ask("POST", f"/api/approvals/{question['approval_id']}/decision", json=no)
    demand(answer["status"] == "rejected", f"expected a no to be kept as rejected; it is {answer['status']}")
    waiting = [each["approval_id"] for each in visit.ask("GET", "/api/approvals")["items"]]
    demand(question["approval_id"] not in waiting, "what was answered with a no still waits")


def _remembered(visit: Visit, turn: Turn) -> list[str]:
    """Return the ids of the memories from the turn's conversation."""
    listed = visit.ask("GET", "/api/memories")["items"]
    return [each["id"] for each in listed if each["source"]["conversation_id"] == turn.conversation_id]


def _followed(visit: Visit, turn: Turn, cursor: str, *on_its_way: str) -> Any:
    """Wait until the draft of this turn has ended, and return it as reported by `GET /api/updates`."""

    def ended() -> Any:
        told = visit.ask("GET", "/api/updates", params={"after": cursor})["items"]
        drafts = [item["draft"] for item in told if item["type"] == "draft"]
        mine = [each for each in drafts if each["conversation_id"] == turn.conversation_id]
        return next((each for each in mine if each["status"] not in on_its_way), None)

    return _until(CARD_SECONDS, ended, f"a card to be no longer {' or '.join(on_its_way)}")


def _until(seconds: float, look: Callable[[], T], expected: str) -> T:
    """Repeat until there is a result. Raises `Failed`."""
    ends = time.monotonic() + seconds
    while not (seen := look()):
        if time.monotonic() > ends:
            raise Failed(f"expected {expected}; it did not come about within {seconds:g} s")
        time.sleep(PAUSE_SECONDS)
    return seen
