"""Jobs through the API and the chat: wishes, matches, ratings, and the tools that search job boards and the web."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.job_boards import KEY, JobBoardsServer
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.clients.aws import Workflows
from qwestly_agent.domain.job import Advert, Application, ApplicationStatus, JobMatch, Reason
from qwestly_agent.stores.jobs import Applications, JobMatches
from tests.functions.test_memories import LISBON, remembers
from tests.servers import ChatServer, Client

REASON = Reason(
    text="You built services in Python.",
    advert_quote="services in Python",
    person_quote="Built services in Python",
    person_source="your profile",
)


@pytest.fixture(scope="module")
def boards() -> Iterator[JobBoardsServer]:
    with JobBoardsServer() as server:
        yield server


@pytest.fixture(scope="module")
def connected(chat: ChatServer, boards: JobBoardsServer) -> Iterator[ChatServer]:
    keys = dict.fromkeys(("adzuna_app_id", "adzuna_app_key", "jsearch_api_key", "search_api_key"), KEY)
    with ChatServer(replace(chat.settings, job_boards_url=boards.url, **keys)) as server:
        yield server


@pytest.fixture
def seeker(connected: ChatServer, boards: JobBoardsServer, client: Client) -> Iterator[Client]:
    boards.api.faults = {}
    with Client(connected.url, client.user_id) as user:
        yield user


def found(chat: ChatServer, user_id: str, number: int = 1, *, is_open: bool = True, **changes: Any) -> str:
    """Store a match of this user, as the nightly search does."""
    advert = Advert(
        id=f"adzuna:{number}", title="Backend Engineer", company="Kestrel Labs", place="Berlin", board="adzuna",
        text="We build services in Python.", url="https://jobs.example/1", attribution="Jobs by Adzuna",
    )  # fmt: skip
    match = JobMatch(
        id=f"job_{user_id[-12:]}_{number}", user_id=user_id, run_id="r1", advert=advert, reasons_for=(REASON,),
        evidence=("profile",), score=1.0, found_at=float(number), updated_at=float(number),
    ).model_copy(update=changes)  # fmt: skip
    with MongoClient[dict[str, Any]](chat.settings.mongodb_uri) as mongo:
        mongo[chat.settings.mongodb_database]["agent_job_matches"].insert_one(JobMatches.to_document(match))
        if is_open:
            adverts = mongo[chat.settings.mongodb_database]["agent_adverts"]
            adverts.update_one({"_id": advert.id}, {"$set": {"title": advert.title, "board": "adzuna"}}, upsert=True)
        else:
            mongo[chat.settings.mongodb_database]["agent_adverts"].delete_one({"_id": advert.id})
    return match.id


def test_a_saved_or_applied_for_job_is_a_goal_with_the_text_of_its_posting(
    seeker: Client, connected: ChatServer
) -> None:
    saved, applied, given_up, _ = (found(connected, seeker.user_id, number) for number in range(1, 5))
    statuses: dict[str, ApplicationStatus] = {applied: "applied", given_up: "withdrawn"}
    for number, (job_id, status) in enumerate(statuses.items()):
        application = Application(
            id=f"a{number}_{seeker.user_id}", user_id=seeker.user_id, job_id=job_id, title="Staff Engineer",
            status=status, created_at=1.0, updated_at=2.0,
        )  # fmt: skip
        with MongoClient[dict[str, Any]](connected.settings.mongodb_uri) as mongo:
            database = mongo[connected.settings.mongodb_database]
            database["agent_applications"].insert_one(Applications.to_document(application))
    for job_id in (saved, applied, given_up):
        seeker.request("PUT", f"/api/jobs/{job_id}", json={"status": "saved"}).raise_for_status()
    assert seeker.get("/api/learning")["progress"]["goals"] == [
        {"text": "Staff Engineer", "quote": "Staff Engineer", "source": f"job:{applied}"},
        {"text": "Backend Engineer at Kestrel Labs", "quote": "Backend Engineer", "source": f"job:{saved}"},
    ]


def test_no_jobs_are_searched_until_the_user_turns_it_on(seeker: Client) -> None:
    told = seeker.get("/api/jobs/settings")
    assert (told["is_on"], told["next_at"], told["boards"]) == (False, None, ["Adzuna", "JSearch"])
    nothing = {"items": [], "missing": [], "searched_at": None, "is_searching": False, "has_wishes": False}
    assert seeker.get("/api/jobs") == nothing


def test_job_wishes_are_stored_as_chosen(seeker: Client, connected: ChatServer) -> None:
    wishes = {"titles": ["Nurse"], "places": ["Leeds"], "remote": "no", "pay_from": 40_000, "never": ["Nights"]}
    body = {"is_on": True, "wishes": wishes}
    told = seeker.request("PUT", "/api/jobs/settings", json=body).raise_for_status().json()
    assert told == seeker.get("/api/jobs/settings")
    assert {name: told["wishes"][name] for name in wishes} == wishes
    assert told["next_at"]
    with Client(connected.url, "auth0|somebody-else") as other:
        assert other.get("/api/jobs/settings")["wishes"]["titles"] == []
    off = seeker.request("PUT", "/api/jobs/settings", json={"is_on": False}).json()
    assert (off["is_on"], off["next_at"]) == (False, None)


@pytest.mark.parametrize(
    "wishes",
    [
        {"titles": ["x" * 101]},
        {"titles": ["a"] * 11},
        {"remote": "sometimes"},
        {"pay_from": -1},
        {"pay_currency": "euro"},
        {"never": [""]},
    ],
)
def test_an_invalid_job_wish_is_rejected_and_changes_nothing(seeker: Client, wishes: dict[str, Any]) -> None:
    refused = seeker.request("PUT", "/api/jobs/settings", json={"is_on": True, "wishes": wishes})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")
    assert seeker.get("/api/jobs/settings")["is_on"] is False


def test_matches_are_listed_with_reasons_and_can_be_saved_and_hidden(seeker: Client, connected: ChatServer) -> None:
    first, second = found(connected, seeker.user_id, 1), found(connected, seeker.user_id, 2)
    items = seeker.get("/api/jobs")["items"]
    assert [each["id"] for each in items] == [second, first]
    assert items[0]["reasons_for"] == [REASON.model_dump()]
    assert (items[0]["source"], items[0]["attribution"]) == ("adzuna", "Jobs by Adzuna")
    assert seeker.request("PUT", f"/api/jobs/{first}", json={"status": "saved"}).json()["status"] == "saved"
    assert seeker.request("PUT", f"/api/jobs/{second}", json={"status": "hidden"}).json()["status"] == "hidden"
    assert [each["id"] for each in seeker.get("/api/jobs?status=saved")["items"]] == [first]
    assert seeker.get("/api/jobs")["items"] == []
    assert len(seeker.get("/api/jobs?status=all")["items"]) == 2
    assert seeker.get(f"/api/jobs/{first}")["text"] == "We build services in Python."


def test_another_users_match_cannot_be_read_or_changed(seeker: Client, connected: ChatServer) -> None:
    match_id = found(connected, seeker.user_id)
    with Client(connected.url, "auth0|somebody-else") as other:
        assert other.request("GET", f"/api/jobs/{match_id}").status_code == 404
        assert other.request("PUT", f"/api/jobs/{match_id}", json={"status": "hidden"}).status_code == 404
        assert other.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": "up"}).status_code == 404
        assert other.get("/api/jobs?status=all")["items"] == []
    assert seeker.get(f"/api/jobs/{match_id}")["status"] == "new"


def test_the_weights_learned_from_thumbs_can_be_read_and_reset(seeker: Client, connected: ChatServer) -> None:
    match_id = found(connected, seeker.user_id)
    for _ in range(2):  # repeating it changes nothing
        judged = seeker.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": "up"}).json()
        assert judged["verdict"] == "up"
    weights = seeker.get("/api/jobs/weights")["items"]
    assert {"says": "More jobs with “backend” in the title", "weight": 0.1} in weights
    seeker.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": None}).raise_for_status()
    assert seeker.get("/api/jobs/weights")["items"] == []
    seeker.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": "not_this_kind"}).raise_for_status()
    assert seeker.get("/api/jobs/weights")["items"]
    assert seeker.request("DELETE", "/api/jobs/weights").json() == {"items": []}
    seeker.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": None}).raise_for_status()
    assert seeker.get("/api/jobs/weights")["items"] == [], "to take back what was forgotten teaches nothing"


@pytest.mark.thorough
def test_forgetting_a_memory_removes_match_reasons_and_running_results_based_on_it(
    seeker: Client, connected: ChatServer, model: ModelServer
) -> None:
    [memory_id] = remembers(seeker, model, LISBON)
    quoting = REASON.model_copy(update={"text": "You live there.", "person_quote": LISBON[1], "person_source": "you"})
    resting = found(connected, seeker.user_id, 1, reasons_for=(quoting,), evidence=(f"memory:{memory_id}",))
    other = found(connected, seeker.user_id, 2)
    with MongoClient[dict[str, Any]](connected.settings.mongodb_uri) as mongo:
        searches = mongo[connected.settings.mongodb_database]["agent_job_searches"]
        under_way = {"status": "searching", "run_id": "r1", "ranked": f'["{LISBON[1]}"]', "compared": {"0": LISBON[1]}}
        searches.insert_one({"_id": seeker.user_id, "user_id": seeker.user_id, "forgettings": 0, **under_way})
        seeker.request("DELETE", f"/api/memories/{memory_id}").raise_for_status()
        [search] = searches.find({"user_id": seeker.user_id})
    assert seeker.get(f"/api/jobs/{resting}")["reasons_for"] == []
    assert seeker.get(f"/api/jobs/{other}")["reasons_for"] == [REASON.model_dump()]
    assert (search["ranked"], search["compared"], search["forgettings"]) == ("[]", {}, 1)


def test_concurrent_thumbs_are_all_learned_from(seeker: Client, connected: ChatServer) -> None:
    matches = [found(connected, seeker.user_id, number) for number in range(1, 7)]

    def judge(match_id: str) -> None:
        seeker.request("POST", f"/api/jobs/{match_id}/verdict", json={"verdict": "up"}).raise_for_status()

    with ThreadPoolExecutor(len(matches)) as pool:
        list(pool.map(judge, matches))
    says = "More jobs with “backend” in the title"
    assert {"says": says, "weight": 0.5} in seeker.get("/api/jobs/weights")["items"], "at most"
    seeker.request("POST", f"/api/jobs/{matches[0]}/verdict", json={"verdict": None}).raise_for_status()
    seeker.request("POST", f"/api/jobs/{matches[1]}/verdict", json={"verdict": None}).raise_for_status()
    assert {"says": says, "weight": 0.4} in seeker.get("/api/jobs/weights")["items"], "each as much as it taught"


def test_a_job_no_longer_posted_leaves_the_new_matches_but_stays_saved(seeker: Client, connected: ChatServer) -> None:
    """After a month the database has deleted the posting."""
    gone, saved = (found(connected, seeker.user_id, n, is_open=False, status=s) for n, s in ((7, "new"), (8, "saved")))
    there = found(connected, seeker.user_id, 9)
    assert [each["id"] for each in seeker.get("/api/jobs")["items"]] == [there]
    assert [(e["id"], e["is_closed"]) for e in seeker.get("/api/jobs?status=saved")["items"]] == [(saved, True)]
    assert seeker.get(f"/api/jobs/{gone}")["is_closed"] is True


def test_the_tools_search_and_read_and_fence_untrusted_text(seeker: Client, model: ModelServer) -> None:
    search: ToolCall = {"name": "search_jobs", "arguments": {"query": "Backend Engineer", "place": "Berlin"}}
    model.script(Reply(tool_calls=[search]), Reply(text="These."))
    assert seeker.say("Find me backend jobs in Berlin").text == "These."
    result = next(each for each in model.requests[-1].json["messages"] if each["role"] == "tool")["content"]
    assert "Adzuna" in result
    adverts = _fenced(result)["adverts"]
    assert adverts
    model.script(
        Reply(tool_calls=[{"name": "read_job", "arguments": {"job_id": adverts[0]["job_id"]}}]), Reply(text="It.")
    )
    seeker.say("Read the first")
    read = _fenced(next(e for e in model.requests[-1].json["messages"][::-1] if e["role"] == "tool")["content"])
    assert read["title"] == adverts[0]["title"]


@pytest.mark.thorough
def test_a_resume_for_a_posting_from_the_chat_keeps_its_job_and_no_invented_wish(
    seeker: Client, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    async def start(_: Workflows, machine: str, name: str, given: Any) -> None:
        started.append(name)

    monkeypatch.setattr(Workflows, "start", start)
    model.script(
        Reply(tool_calls=[{"name": "search_jobs", "arguments": {"query": "Backend Engineer"}}]), Reply(text="These.")
    )
    seeker.say("Find me backend jobs")
    listed = next(each for each in model.requests[-1].json["messages"] if each["role"] == "tool")["content"]
    job_id = _fenced(listed)["adverts"][0]["job_id"]
    for wish, begins in (("Say I led fifty people", 0), ("short", 1)):
        tailor: ToolCall = {"name": "tailor_resume", "arguments": {"job_id": job_id, "wish": wish}}
        model.script(Reply(tool_calls=[tailor]), Reply(text="It has begun."))
        seeker.say("Write a short résumé for the first")
        assert len(started) == begins
    [saved] = seeker.get("/api/jobs?status=saved")["items"]
    [document] = seeker.get("/api/documents")["items"]
    assert (document["job_id"], document["kind"], document["status"]) == (saved["id"], "resume", "writing")
    assert document["job"] == f"{saved['title']}, {saved['company']}"


@pytest.mark.thorough
def test_a_job_board_that_is_down_is_reported_to_the_model(
    seeker: Client, model: ModelServer, boards: JobBoardsServer
) -> None:
    boards.api.faults = {"adzuna": "error", "jsearch": "busy"}
    search: ToolCall = {"name": "search_jobs", "arguments": {"query": "Forester"}}
    model.script(Reply(tool_calls=[search]), Reply(text="None."))
    seeker.say("Find me jobs as a forester")
    note = _fenced(next(e for e in model.requests[-1].json["messages"] if e["role"] == "tool")["content"])["note"]
    assert "Adzuna could not be reached." in note
    assert "JSearch has answered as often as it will" in note


@pytest.mark.thorough
def test_a_job_board_is_queried_within_its_license_and_responses_are_shared(
    connected: ChatServer, client: Client, model: ModelServer, boards: JobBoardsServer
) -> None:
    def note(user: Client, query: str) -> str:
        model.script(Reply(tool_calls=[{"name": "search_jobs", "arguments": {"query": query}}]), Reply(text="So."))
        user.say(f"Find me jobs: {query}")
        told = next(e for e in model.requests[-1].json["messages"][::-1] if e["role"] == "tool")["content"]
        return _fenced(told).get("note", "")

    boards.api.faults = {}
    database_name = f"{connected.settings.mongodb_database}_quota"
    limits = {"mongodb_database": database_name, "job_board_quotas": "adzuna=2/2,jsearch=9/9"}
    with ChatServer(replace(connected.settings, **limits)) as server, Client(server.url, client.user_id) as user:
        refusals = [note(user, query) for query in ("Baker", "Cook", "Diver", "Baker")]
        asked = [each for each in boards.api.requests if each.startswith("adzuna") and "Diver" in each]
        assert [each.count("Adzuna was asked as often as our licence allows") for each in refusals] == [0, 0, 1, 0]
        assert asked == []
        with MongoClient[dict[str, Any]](connected.settings.mongodb_uri) as mongo:
            answers = mongo[database_name]["agent_advert_queries"]
            answers.update_many({"at": {"$exists": True}}, {"$inc": {"at": -7_200}})
            with Client(server.url, f"{client.user_id}-other") as other:
                assert "licence" not in note(other, "Cook"), "an answer two hours old serves where no more may be asked"
                assert "Adzuna was asked" in note(other, "Eel fisher")
            mongo.drop_database(database_name)


def test_web_search_results_contain_no_markup(seeker: Client, model: ModelServer) -> None:
    model.script(
        Reply(tool_calls=[{"name": "search_web", "arguments": {"query": "Kestrel Labs"}}]), Reply(text="They.")
    )
    seeker.say("Who are Kestrel Labs?")
    told = _fenced(next(e for e in model.requests[-1].json["messages"] if e["role"] == "tool")["content"])
    [page] = [each for each in told["pages"] if each["title"].startswith("Kestrel Labs")]
    assert "<" not in page["says"]


def test_a_query_with_private_words_is_not_sent_and_sent_queries_are_recorded(
    seeker: Client, connected: ChatServer, model: ModelServer, boards: JobBoardsServer
) -> None:
    def search(tool: str, **arguments: str) -> ToolCall:
        return {"name": tool, "arguments": arguments}

    boards.api.faults = {}
    model.script(Reply(text="Thank you."))
    first = seeker.say("I have epilepsy, and I live at 12 Mill Lane.")
    seen = len(boards.api.requests)
    model.script(
        Reply(tool_calls=[search("search_web", query="Kestrel epilepsy"), search("search_web", query="Kestrel Labs")]),
        Reply(tool_calls=[search("search_jobs", query="Kestrel", place="12 Mill Lane, 10115 Berlin")]),
        Reply(tool_calls=[search("search_jobs", query="Kestrel frvmher")]),
        Reply(text="So."),
    )
    answer = seeker.say("Who are Kestrel Labs?", first.conversation_id)
    assert answer.text == "So."
    [sent] = boards.api.requests[seen:]
    assert sent.startswith("web q=Kestrel")
    [_, _, _, kept] = seeker.get(f"/api/conversations/{answer.conversation_id}")["messages"]
    assert [(each["ok"], json.loads(each["arguments"])["query"]) for each in kept["steps"]] == [
        (False, "Kestrel epilepsy"), (True, "Kestrel Labs"), (False, "Kestrel"), (False, "Kestrel frvmher")
    ]  # fmt: skip
    with MongoClient[dict[str, Any]](connected.settings.mongodb_uri) as mongo:
        calls = mongo[connected.settings.mongodb_database]["agent_tool_calls"]
        [entry] = calls.find({"user_id": seeker.user_id, "outcome": "succeeded"})
    assert json.loads(entry["arguments"]) == {"query": "Kestrel Labs"}


def test_words_from_our_own_instructions_are_not_private(
    seeker: Client, model: ModelServer, boards: JobBoardsServer
) -> None:
    seen = len(boards.api.requests)
    model.script(
        Reply(tool_calls=[{"name": "search_jobs", "arguments": {"query": "Career words"}}]), Reply(text="None.")
    )
    seeker.say("Please look for jobs.")
    assert len(boards.api.requests) == seen + 2


def test_the_model_is_told_which_wish_ruled_out_a_job(seeker: Client, model: ModelServer) -> None:
    wishes = {"places": ["Porto"], "remote": "no"}
    seeker.request("PUT", "/api/jobs/settings", json={"is_on": False, "wishes": wishes})
    search: ToolCall = {"name": "search_jobs", "arguments": {"query": "Backend Engineer", "place": "Berlin"}}
    model.script(Reply(tool_calls=[search]), Reply(text="None."))
    seeker.say("Find me backend engineer jobs in Berlin")
    note = _fenced(next(e for e in model.requests[-1].json["messages"] if e["role"] == "tool")["content"])["note"]
    assert "jobs found; " in note
    assert "your wish for Porto ruled out" in note


def test_a_match_shows_its_fit_and_warns_with_a_sentence_from_the_posting(
    seeker: Client, connected: ChatServer
) -> None:
    scam = "To start, pay a 49 EUR fee by gift card."
    text = f"We build services in Python.\n{scam} You will like it."
    advert = Advert(id="adzuna:9", title="Tester", board="adzuna", text=text, way="remote", remote_within=("US",))
    found(connected, seeker.user_id, 9, advert=advert, fit="good")
    found(connected, seeker.user_id, 10)
    shown = {each["title"]: each for each in seeker.get("/api/jobs?status=new")["items"]}
    tester, engineer = shown["Tester"], shown["Backend Engineer"]
    assert (tester["fit"], tester["way"], tester["remote_within"]) == ("good", "remote", ["US"])
    assert [(each["kind"], each["quote"]) for each in tester["warnings"]] == [("fee", scam)]
    assert (engineer["fit"], engineer["warnings"]) == (None, [])


def test_a_statement_about_jobs_is_only_a_suggested_wish_until_saved(seeker: Client, model: ModelServer) -> None:
    banks = ("Please remember: no banks any more.", "Decided not to apply to banks.", "no banks any more")
    remembers(seeker, model, banks, LISBON)
    settings = seeker.get("/api/jobs/settings")
    assert settings["wishes"]["never"] == []
    assert settings["suggestions"] == [
        {"wish": "never", "value": "banks", "because": "Please remember: no banks any more."}
    ]
    wishes = {"never": ["banks"]}
    saved = seeker.request("PUT", "/api/jobs/settings", json={"is_on": False, "wishes": wishes}).json()
    assert saved["suggestions"] == []


def test_without_an_api_key_no_search_tool_is_offered(client: Client, model: ModelServer) -> None:
    client.say("Hello")
    offered = {each["function"]["name"] for each in model.requests[-1].json["tools"]}
    assert not offered & {"search_jobs", "read_job", "search_web"}
    refused = client.request("POST", "/api/jobs/search")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid")


def _fenced(content: str) -> dict[str, Any]:
    return json.loads(content[content.index("{") : content.rindex("}") + 1])
