"""Turns and everything else: two functions with separate slots, behind one URL or two."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest

from infra.local import front
from infra.local.aws_limits import Slots, UrlLimits
from infra.local.candidate_app import CandidateAppServer
from infra.local.environment import API, CHAT, Template
from infra.local.model_server import ModelServer, Reply
from tests.functions.test_approvals import asked, decide, wants
from tests.functions.test_approvals import person as person
from tests.infra.test_local import served
from tests.servers import ChatServer, Client, FakeClock, resumed

TEMPLATE = Template.load()
TURNS, OTHERS = (front.UrlFunction(TEMPLATE.name(each), TEMPLATE.timeout(each)) for each in (CHAT, API))
STREAMS = 3
ROUNDS = 40


@pytest.fixture(scope="module")
def api(chat: ChatServer) -> Iterator[ChatServer]:
    """The second function: the same code with its own slots."""
    with ChatServer(replace(chat.settings, answers_turns=0)) as server:
        yield server


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def one_address(chat: ChatServer, clock: FakeClock) -> Iterator[str]:
    """The single origin of `make run`, with few slots for turns."""
    limits = UrlLimits(Slots({TURNS.name: STREAMS, OTHERS.name: 10}), clock)
    there = front.Front(chat.url, chat.url, turns=TURNS, others=OTHERS, limits=limits)
    with served(front.create_app(there, dict(TEMPLATE.cors(CHAT)), [])) as url:
        yield url


@dataclass
class Page:
    """A page's requests: turns to one URL, everything else to the other."""

    turns: Client
    others: Client


@pytest.fixture(params=["one address", "the chat's URL alone", "two URLs"])
def page(request: pytest.FixtureRequest, person: Client, one_address: str, chat: ChatServer, api: ChatServer) -> Page:
    urls = {
        "one address": (one_address, one_address),
        "the chat's URL alone": (chat.url, chat.url),
        "two URLs": (chat.url, api.url),
    }
    turns, others = (replace(person, url=url) for url in urls[request.param])
    return Page(turns, others)


@pytest.mark.thorough
def test_an_answer_is_resumed_at_the_url_for_turns(page: Page, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with page.turns.open({"message": "Hello"}) as first:
        seen = [next(first)]
        while "Half of" not in str(seen[-1].data):
            seen.append(next(first))
        with resumed(page.turns, seen[0].data["conversation_id"]) as again:
            told = [next(again)]
            model.release()
            told += list(again)
        list(first)
    assert "".join(each.data["content"] for each in told if each.name == "text_delta") == "Half of it."


@pytest.mark.thorough
def test_a_turn_can_be_stopped_through_either_url(page: Page, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with page.turns.open({"message": "Hello"}) as events:
        conversation = next(events).data["conversation_id"]
        assert next(events).data["content"] == "Half of "
        assert page.others.request("POST", f"/api/conversations/{conversation}/stop").json() == {"stopping": True}
        last = list(events)[-1]
    assert (last.name, last.data["stopped"]) == ("done", True)


@pytest.mark.sentinel
@pytest.mark.thorough
def test_the_brake_can_be_pulled_through_either_url(page: Page, model: ModelServer) -> None:
    model.script(Reply(text=["Half of ", "it."], hold_after=1))
    with page.turns.open({"message": "Hello"}) as events:
        run_id = next(events).data["run_id"]
        assert page.others.request("POST", "/api/brake").json()["receipt"]["stopped"] == [run_id]
        assert list(events)[-1].data["code"] == "braked"
    page.others.request("DELETE", "/api/brake")


@pytest.mark.thorough
def test_a_decision_can_be_made_through_either_url(page: Page, model: ModelServer) -> None:
    model.script(wants())
    approval = asked(page.turns.say("Make me head of product"))
    assert decide(page.others, approval, "approve").json()["status"] == "done"


def test_the_api_function_rejects_turns(api: ChatServer, client: Client) -> None:
    refused = replace(client, url=api.url).request("POST", "/api/chat", json={"message": "Hello"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "not_found")
    assert client.get("/api/conversations")["items"] == []


def streams_in(holding: ExitStack, page: Client, model: ModelServer) -> list[str]:
    """Return conversations whose turns take every slot of the chat."""
    model.script(*[Reply(text=["Half of ", "it."], hold_after=1)] * STREAMS)
    opened = [holding.enter_context(page.open({"message": f"Stream {number}"})) for number in range(STREAMS)]
    conversations = [next(events).data["conversation_id"] for events in opened]
    model.wait_until_held(count=STREAMS)
    return conversations


@pytest.mark.nightly
@pytest.mark.thorough
def test_stop_brake_decisions_and_lists_work_while_every_chat_slot_is_taken(
    one_address: str, person: Client, model: ModelServer, clock: FakeClock, app: CandidateAppServer
) -> None:
    page = replace(person, url=one_address)
    model.script(wants())
    answer = page.say("Make me head of product")
    approval, over = asked(answer), answer.conversation_id

    def tried(who: Client, method: str, path: str, **more: Any) -> int:
        clock.advance(0.1)
        return who.request(method, path, **more).status_code

    with ExitStack() as holding, Client(one_address, f"{person.user_id}-another") as another:
        running = streams_in(holding, page, model)
        assert tried(page, "POST", "/api/chat", json={"message": "One too many"}) == 429
        decision = {"decision": "approve", "args_digest": approval["args_digest"]}
        statuses = [
            status
            for _ in range(ROUNDS)
            for status in (
                tried(page, "GET", "/api/conversations"),
                tried(page, "POST", f"/api/conversations/{over}/stop"),
                tried(page, "POST", f"/api/approvals/{approval['approval_id']}/decision", json=decision),
                tried(another, "POST", "/api/brake"),
                tried(another, "DELETE", "/api/brake"),
            )
        ]
        assert statuses == [200] * 5 * ROUNDS
        for conversation in running:
            assert page.request("POST", f"/api/conversations/{conversation}/stop").json() == {"stopping": True}


@pytest.mark.thorough
def test_a_stream_keeps_its_slot_until_it_ends_even_if_its_reader_left(
    one_address: str, person: Client, model: ModelServer, clock: FakeClock
) -> None:
    page = replace(person, url=one_address)
    with ExitStack() as holding:
        conversations = streams_in(holding, page, model)
    refused = page.request("POST", "/api/chat", json={"message": "Hello"})
    assert (refused.status_code, refused.headers["x-amzn-errortype"]) == (429, "TooManyRequestsException")
    assert refused.json() == {
        "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded",
        "Type": "User",
        "message": "Rate Exceeded.",
    }
    model.release()
    model.wait_until_none_held()
    for conversation in conversations:
        while page.get(f"/api/conversations/{conversation}")["running"]:
            clock.advance(1)
    while (answer := page.request("POST", "/api/chat", json={"message": "Hello"})).status_code == 429:
        clock.advance(1)
    assert answer.status_code == 200


@pytest.mark.thorough
def test_a_url_accepts_ten_requests_a_second_per_slot(one_address: str, person: Client, clock: FakeClock) -> None:
    def answers(count: int, path: str) -> list[int]:
        with httpx2.Client(headers=person.headers()) as http:
            return [http.get(f"{one_address}{path}").status_code for _ in range(count)]

    assert answers(10 * STREAMS + 1, "/api/chat") == [405] * 10 * STREAMS + [429]
    assert answers(1, "/api/brake") == [200], "the other URL has a rate of its own"
    clock.advance(0.5)
    assert answers(5 * STREAMS + 1, "/api/chat") == [405] * 5 * STREAMS + [429]


@pytest.mark.thorough
def test_a_request_over_six_megabytes_reaches_no_function(one_address: str, person: Client) -> None:
    most = 6 * 2**20
    text, form = {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}

    def posted(length: int, kind: dict[str, str]) -> Any:
        with httpx2.Client(headers={**person.headers(), **kind}) as http:
            return http.post(f"{one_address}/api/chat", content=b"x" * length)

    assert posted(most, text).headers["x-amzn-errortype"] == "RequestEntityTooLargeException"
    assert posted(most * 3 // 4, form).status_code == 413, "Lambda gets it in base64"
    assert posted(most * 3 // 4, text).json()["error"]["code"] == "invalid"
