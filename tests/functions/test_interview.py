"""An interview through the API and the chat: answers as they were said, and an end that code decides."""

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pymongo import MongoClient

from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.interviews import service
from tests.counts import everyday
from tests.servers import ChatServer, Client

ACME = {
    "title": "Acme",
    "status": "active",
    "aspects": [
        {"name": "team size", "status": "covered", "quotes": [{"message_id": "m", "text": "eight people"}]},
        {"name": "result"},
    ],
}


def begins(client: Client, model: ModelServer, says: str = "I want to tell you about my work", **more: Any) -> str:
    model.script_chat(Reply(text="What did you do last year?"))
    return client.say(says, role="interview", **more).conversation_id


def knows(chat: ChatServer, conversation_id: str, **state: Any) -> None:
    """Store an interview as `write_draft` leaves it."""
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        kept = mongo[chat.settings.mongodb_database]["agent_conversations"]
        changes = {f"interview.{name}": value for name, value in state.items()}
        assert kept.update_one({"id": conversation_id}, {"$set": changes}).matched_count


def state_of(chat: ChatServer, conversation_id: str) -> dict[str, Any]:
    with MongoClient(chat.settings.mongodb_uri) as mongo:
        found = mongo[chat.settings.mongodb_database]["agent_conversations"].find_one({"id": conversation_id})
        assert found
        return found["interview"]


def interviewer_prompt(model: ModelServer) -> str:
    """Return the interviewer's note below the person's message."""
    requests = [each for each in model.requests if each.json.get("stream")]
    return [each["content"] for each in requests[-1].json["messages"] if each["role"] == "user"][-1]


def orchestrator(**move: Any) -> Reply:
    return Reply(tool_calls=[{"name": "final_result", "arguments": move}], to="You lead an interview")


@pytest.mark.parametrize(
    "written",
    everyday(
        1,
        [
            "How many were you? And what came of it? Why?",
            ["I see. 何人い", "ましたか？それ", "から？"],
            "كم كان عددكم؟ وماذا بعد؟",
        ],
    ),
)
def test_two_questions_in_one_answer_are_shown_and_stored_unchanged(
    client: Client, model: ModelServer, written: str | list[str]
) -> None:
    conversation_id = begins(client, model)
    model.script_chat(Reply(text=written))
    answer = client.say("I led a team at Acme", conversation_id)
    assert (answer.text, answer.last.name) == ("".join(written), "done")
    kept = client.get(f"/api/conversations/{conversation_id}")["messages"][-1]
    assert (kept["content"], kept["status"]) == ("".join(written), "complete")
    model.script_chat(Reply(text="Go on."))
    client.say("Eight", conversation_id)
    history = [each for each in model.requests if each.json.get("stream")][-1].json["messages"]
    assert "".join(written) in [each["content"] for each in history]


def test_two_questions_are_shown_in_the_ai_sdk_protocol(client: Client, model: ModelServer) -> None:
    model.script_chat(Reply(text=["How many ", "were you? And ", "why?"]))
    message = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "I led a team"}]}
    events = client.say_ai_sdk(uuid.uuid4().hex, message, role="interview")
    words = "".join(each.data["delta"] for each in events if each.name == "text-delta")
    assert (words, events[-1].name) == ("How many were you? And why?", "[DONE]")
    assert "finish" in [each.name for each in events]


def test_the_interviewer_is_given_only_open_aspects(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    client.say("I led eight people at Acme", conversation_id)
    assert "topic: Acme\nnot yet told: result" in interviewer_prompt(model)
    assert "team size" not in interviewer_prompt(model)


def test_a_stop_in_the_users_own_words_ends_the_interview(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    goodbye = Reply(text="Thank you, we stop here. Anything else? Bye.", streams=True)
    model.script(orchestrator(kind="stop", quote="that's enough"), goodbye)
    answer = client.say("I think that's enough for today", conversation_id)
    assert answer.text == (
        "Thank you, we stop here. Anything else? Bye.\n\n**What is covered**\n\n- *Acme*, team size: “eight people”\n\n"
        "**What is still open**\n\n- *Acme*: result"
    )
    assert state_of(chat, conversation_id)["ended"]["quote"] == "that's enough"
    model.script_chat(Reply(text="You are welcome. Shall we go on?"))
    assert client.say("Thanks", conversation_id).text == "You are welcome. Shall we go on?"


def test_the_next_question_follows_from_the_message_and_the_page_explains_why(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    beta = {"title": "Beta", "aspects": ["own part", "when"]}
    move = {"topics": [beta], "topic": "Beta", "aspect": "when", "reasoning": "You told your part already."}
    model.script(orchestrator(**move), Reply(text="When was that?", streams=True))
    client.say("I built Beta by myself.", conversation_id)
    assert "Ask exactly one question, about “when”" in interviewer_prompt(model)
    assert client.get(f"/api/interviews/{conversation_id}")["why"] == "You told your part already."
    [request] = [each for each in model.requests if "You lead an interview" in str(each.json["messages"][0])][-1:]
    assert "I built Beta by myself." in request.json["messages"][1]["content"]


@pytest.mark.parametrize("said", everyday(1, ["my bus is here", "und Schluss damit", "on en reparle demain matin"]))
def test_a_stop_detected_by_the_orchestrator_ends_the_interview_at_once(
    client: Client, chat: ChatServer, model: ModelServer, said: str
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    model.script(orchestrator(kind="stop", quote=said), Reply(text="Thank you.", streams=True))
    assert client.say(said, conversation_id).text.startswith("Thank you.\n\n**")
    assert "they asked to stop" in interviewer_prompt(model)
    assert state_of(chat, conversation_id)["ended"]["quote"] == said


def test_a_question_from_the_user_is_answered_and_not_counted_as_an_answer(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME], asking="result", drafted_to=1)
    model.script(orchestrator(kind="question"), Reply(text="So that others see it. What came of it?", streams=True))
    client.say("Why do you ask me that?", conversation_id)
    assert "They asked you something: answer it first" in interviewer_prompt(model)
    assert "one question, about “result”" in interviewer_prompt(model)
    state = state_of(chat, conversation_id)
    assert (state["turns"], state["drafted_to"]) == (1, state["counted_to"]), "there is nothing to write"


def test_a_slow_orchestrator_does_not_delay_the_answer_and_is_applied_later(
    client: Client, chat: ChatServer, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = begins(client, model)
    open_ = [{"name": "team size"}, {"name": "result"}, {"name": "when"}]
    knows(chat, conversation_id, topics=[{**ACME, "aspects": open_}], asking="team size")
    monkeypatch.setattr(service, "PATIENCE_SECONDS", 0.0)
    quote = "I do not count people"
    model.script(orchestrator(kind="refusal", quote=quote), Reply(text="What came of it?", streams=True))
    client.say(quote, conversation_id)
    assert "about the first of “result”, “team size”, “when” that they did not tell" in interviewer_prompt(model)
    state = state_of(chat, conversation_id)
    assert [each["status"] for each in state["topics"][0]["aspects"]] == ["closed", "open", "open"]
    assert (state["asking"], state["turns"]) == ("result", 1)
    model.script(orchestrator(kind="stop", quote="my bus is here"), Reply(text="When?", streams=True))
    answer = client.say("my bus is here", conversation_id)
    assert answer.text.startswith("When?\n\n**What is covered**"), "a stop that comes late ends the same answer"


def test_without_an_orchestrator_the_interviewer_still_asks(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[{**ACME, "aspects": [{"name": "result"}]}], asking="")
    model.script(*[Reply(fault=503, to="You lead an interview")] * 9, Reply(text="What came of it?", streams=True))
    assert client.say("We cut it by half.", conversation_id).text == "What came of it?"
    assert "one question, about “result”" in interviewer_prompt(model)


@pytest.mark.parametrize(
    ("said", "quote"),
    everyday(
        3,
        [
            ("That's enough.", "That's enough."),
            ("I want to stop!", "I want to stop!"),
            ("Bitte hören Sie auf", "Bitte hören Sie auf"),
            ("arrêtez s'il vous plaît", "arrêtez s'il vous plaît"),
            ("Por favor, pare a entrevista", "Por favor, pare a entrevista"),
            ("In the end, we had to stop the line", ""),
            ("Non-stop. I had to end the contract", ""),
            ("I led it. Stop. End this interview now.", ""),
            ("I quit, because the commute was two hours", ""),
            ("Para la entrevista, llevé un traje", ""),
            ("No quiero parar", ""),
        ],
    ),
)
def test_a_plain_stop_ends_the_interview_whatever_the_model_says(
    client: Client, chat: ChatServer, model: ModelServer, said: str, quote: str
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    model.script_chat(Reply(text="What came of it?"))
    client.say(said, conversation_id)
    ended = state_of(chat, conversation_id)["ended"]
    assert (ended and (ended["reason"], ended["quote"])) == (("asked", quote) if quote else None)
    assert ("they asked to stop" in interviewer_prompt(model)) == bool(quote)


def test_an_interview_is_not_ended_by_words_the_user_did_not_say(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    model.script(orchestrator(kind="stop", quote="stop"), Reply(text="What came of it?", streams=True))
    client.say("We never gave up", conversation_id)
    assert state_of(chat, conversation_id)["ended"] is None


def test_tired_answers_end_the_interview_with_a_reason(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME], lengths=[40, 35, 50, 2, 2])
    client.say("Eight people.", conversation_id)
    assert "their answers have become very short" in interviewer_prompt(model)
    assert state_of(chat, conversation_id)["ended"]["reason"] == "tired"


def test_the_user_can_choose_another_topic(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    move = orchestrator(kind="topic", topic="My studies", quote="talk about my studies")
    model.script(move, Reply(text="What did you study?", streams=True))
    client.say("Let's talk about my studies", conversation_id)
    topics = state_of(chat, conversation_id)["topics"]
    assert [(each["title"], each["status"]) for each in topics] == [("Acme", "backlog"), ("My studies", "active")]


def test_an_existing_draft_is_shown_at_once(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    call: ToolCall = {"name": "show_draft", "arguments": {}}
    knows(chat, conversation_id, topics=[ACME])
    model.script_chat(Reply(tool_calls=[call]), Reply(text="Here."))
    client.say("Show me what we have so far", conversation_id)
    assert _result(model)["covered"] == [{"topic": "Acme", "aspect": "team size", "quotes": ["eight people"]}]
    statement = {"topic": "Acme", "aspects": [], "text": "Led eight people.", "quotes": [], "since": 1}
    knows(chat, conversation_id, statements=[statement], version=1)
    model.script_chat(Reply(tool_calls=[call]), Reply(text="Here."))
    client.say("Show me what we have so far", conversation_id)
    assert "## Acme\n\n- Led eight people." in _result(model)["draft"]
    assert "not in it yet" in _result(model)["note"]


def _result(model: ModelServer) -> dict[str, Any]:
    """Return the last tool's result in the prompt."""
    requests = [each for each in model.requests if each.json.get("stream")]
    content = [each["content"] for each in requests[-1].json["messages"] if each["role"] == "tool"][-1]
    return json.loads(content.split(">", 1)[1].rsplit("<", 1)[0])


def test_a_regenerated_answer_is_counted_once(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    asked = client.get(f"/api/conversations/{conversation_id}")["messages"][0]["id"]
    assert state_of(chat, conversation_id)["turns"] == 1
    client.say("I want to tell you about my studies", conversation_id, replaces=asked)
    assert state_of(chat, conversation_id)["turns"] == 1


@pytest.mark.thorough
def test_an_interview_resumes_its_topic_after_a_restart(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    other = {"title": "Beta", "status": "active", "aspects": [{"name": "own part"}]}
    knows(chat, conversation_id, topics=[{**ACME, "status": "backlog"}, other])
    with (
        ChatServer(chat.settings, client.clock) as restarted,
        Client(restarted.url, client.user_id, client.clock) as me,
    ):
        me.say("I am back: I wrote the rota.", conversation_id)
        assert "topic: Beta\nnot yet told: own part\nparked topics: Acme" in interviewer_prompt(model)
    assert state_of(chat, conversation_id)["turns"] == 2


@pytest.mark.thorough
def test_concurrent_answers_from_two_tabs_are_neither_lost_nor_repeated(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    second = {"message": "We were eight people", "conversation_id": conversation_id, "message_id": "second"}
    model.script_chat(Reply(text="And what came of it?", hold_after=0))
    with client.open({"message": "I led a team at Acme", "conversation_id": conversation_id}) as events:
        next(events)
        busy = client.request("POST", "/api/chat", json=second)
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "conversation_busy")
        assert busy.json()["error"]["message"].endswith(".")
        model.wait_until_held()
        model.release()
        assert [each.name for each in events][-1] == "done"
    assert state_of(chat, conversation_id)["turns"] == 2
    client.post(second)
    client.post(second)  # from a tab that did not get the answer
    kept = [each["content"] for each in client.get(f"/api/conversations/{conversation_id}")["messages"]]
    assert kept[2::2] == ["I led a team at Acme", "We were eight people"]
    assert state_of(chat, conversation_id)["turns"] == 3


@pytest.mark.thorough
def test_the_brake_stops_a_question_and_the_answer_is_counted_once(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    answer = {"message": "We cut it by half", "conversation_id": conversation_id, "message_id": "answer"}
    model.script_chat(Reply(text=["And what ", "came of it?"], hold_after=1))
    with client.open(answer) as events:
        assert [next(events).name, next(events).data["content"]] == ["conversation", "And what "]
        client.request("POST", "/api/brake").raise_for_status()
        assert list(events)[-1].data["code"] == "braked"
    refused = client.request("POST", "/api/chat", json={"message": "And?", "conversation_id": conversation_id})
    assert (refused.status_code, refused.json()["error"]["code"]) == (423, "braked")
    client.request("DELETE", "/api/brake").raise_for_status()
    model.script_chat(Reply(text="And what came of it?"))
    assert client.post(answer)[-1].name == "done"
    state = state_of(chat, conversation_id)
    assert (state["turns"], state["topics"][0]["turns"], state["ended"]) == (2, 1, None)
    assert "topic: Acme\nnot yet told: result</interview>" in interviewer_prompt(model)


@pytest.mark.thorough
def test_ten_concurrent_interviews_are_kept_apart(chat: ChatServer, model: ModelServer) -> None:
    def talks(number: int) -> dict[str, Any]:
        with Client(chat.url, f"auth0|{uuid.uuid4().hex}") as someone:
            conversation_id = someone.say(f"I worked at Acme{number}", role="interview").conversation_id
            for turn in range(3):
                someone.say(f"We were {number} people in year {turn}", conversation_id)
            return state_of(chat, conversation_id)

    with ThreadPoolExecutor(10) as pool:
        for state in pool.map(talks, range(10)):
            assert (state["turns"], state["counted_to"], len(state["lengths"])) == (4, 7, 4)


# --- the draft and topics beside the conversation -------------------------------------------------------------------

STATEMENT = {
    "topic": "Acme",
    "aspects": ["team size"],
    "text": "Led eight people at Acme.",
    "quotes": [{"message_id": "m", "text": "eight people"}],
    "since": 1,
}


def test_the_draft_is_returned_with_the_changes_of_each_version(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    dropped = {**STATEMENT, "text": "Led ten people at Acme.", "until": 2}
    knows(chat, conversation_id, topics=[ACME], statements=[dropped, {**STATEMENT, "since": 2}], version=2)
    knows(chat, conversation_id, drafted_to=0, reasoning="You named Acme.")
    seen = client.get(f"/api/interviews/{conversation_id}")
    assert [(each["title"], each["completeness"]) for each in seen["topics"]] == [("Acme", 0.5)]
    [aspect, *_] = seen["topics"][0]["aspects"]
    assert aspect == {"name": "team size", "status": "covered", "quotes": ["eight people"], "known_from": ""}
    assert [(each["text"], each["is_new"]) for each in seen["draft"]] == [("Led eight people at Acme.", True)]
    assert (seen["why"], seen["is_writing"], seen["ended"]) == ("You named Acme.", True, None)
    assert [each["id"] for each in client.get("/api/interviews")["items"]] == [conversation_id]
    versions = client.get(f"/api/interviews/{conversation_id}/versions")["items"]
    assert versions[0] == {
        "version": 2,
        "added": ["Led eight people at Acme."],
        "dropped": ["Led ten people at Acme."],
    }
    taken = client.request("GET", f"/api/interviews/{conversation_id}/draft")
    assert taken.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "- Led eight people at Acme." in taken.text
    assert "ten people" in client.request("GET", f"/api/interviews/{conversation_id}/draft?version=1").text


def test_the_user_can_choose_add_reorder_and_edit_topics(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    path = f"/api/interviews/{conversation_id}"
    changed = client.request("POST", f"{path}/topics", json={"title": "Studies", "aspects": ["degree"], "now": True})
    statuses = {each["title"]: each["status"] for each in changed.json()["topics"]}
    assert statuses == {"Acme": "backlog", "Studies": "active"}
    client.request("POST", f"{path}/aspects", json={"topic": "Studies", "name": "thesis"}).raise_for_status()
    renamed = {"topic": "Studies", "name": "degree", "to": "subject"}
    client.request("PUT", f"{path}/aspects", json=renamed).raise_for_status()
    client.request("PUT", f"{path}/aspects", json={"topic": "Acme", "name": "result", "to": ""}).raise_for_status()
    client.request("PUT", f"{path}/topics", json={"titles": ["Acme", "Studies"]}).raise_for_status()
    topics = {each["title"]: each for each in client.get(path)["topics"]}
    assert [each["name"] for each in topics["Studies"]["aspects"]] == ["subject", "thesis"]
    assert [each["name"] for each in topics["Acme"]["aspects"]] == ["team size"]
    assert topics["Acme"]["priority"] > topics["Studies"]["priority"]
    assert topics["Acme"]["status"] == "active"
    client.request("PUT", f"{path}/topics", json={"titles": ["Studies", "Acme"]}).raise_for_status()
    client.say("And then?", conversation_id)
    assert "topic: Studies\nnot yet told: subject; thesis" in interviewer_prompt(model)


def test_a_chosen_topic_is_asked_about_at_once_even_after_the_end(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME], asking="result", idle_turns=2, turns=9, lengths=[40, 35, 50, 2, 2, 2])
    knows(chat, conversation_id, ended={"reason": "nothing_new"}, phase="end")
    move = orchestrator(kind="topic", topic="My studies", quote="talk about my studies")
    model.script(move, Reply(text="What did you study?", streams=True))
    client.say("Let's talk about my studies", conversation_id)
    assert "what else there is to tell of “My studies”" in interviewer_prompt(model)
    client.say("I studied nursing in Porto", conversation_id)
    assert (state_of(chat, conversation_id)["ended"], state_of(chat, conversation_id)["phase"]) == (None, "deep_dive")


def test_a_sentence_can_be_struck_out_by_hand_and_by_the_tool(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    ten = {**STATEMENT, "text": "Led ten people at Acme."}
    knows(chat, conversation_id, topics=[ACME], statements=[STATEMENT, ten], version=1, drafted_to=1)
    path = f"/api/interviews/{conversation_id}/strike"
    seen = client.request("POST", path, json={"text": "Led ten people at Acme."}).json()
    assert [each["text"] for each in seen["draft"]] == ["Led eight people at Acme."]
    again = client.request("POST", path, json={"text": "Led ten people at Acme."})
    assert (again.status_code, again.json()["error"]["code"]) == (404, "not_found")
    call: ToolCall = {"name": "strike_statement", "arguments": {"text": "Led eight people at Acme."}}
    model.script(orchestrator(kind="small_talk"))
    model.script_chat(Reply(tool_calls=[call]), Reply(text="It is out."))
    client.say("Strike the eight people, please", conversation_id)
    assert _result(model)["note"] == "It is struck out. Say so in one sentence."
    assert client.get(f"/api/interviews/{conversation_id}")["draft"] == []


OVER = {"reason": "asked", "quote": "my bus is here", "told_to": 1}


def test_an_ended_interview_can_be_resumed_by_message_tool_or_button(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    left = [{"name": "result", "asked": 2, "evaded": True}]
    over = {"topics": [{**ACME, "status": "completed", "aspects": left}], "ended": OVER, "phase": "end"}
    knows(chat, conversation_id, **over)
    model.script(orchestrator(kind="go_on", quote="Let's continue"), Reply(text="What came of it?", streams=True))
    assert client.say("Let's continue", conversation_id).text == "What came of it?"
    assert "one question, about “result”" in interviewer_prompt(model)
    knows(chat, conversation_id, **over)
    call: ToolCall = {"name": "go_on", "arguments": {}}
    model.script(orchestrator(kind="small_talk"))
    model.script_chat(Reply(tool_calls=[call]), Reply(text="What came of it?"))
    client.say("I am back", conversation_id)
    assert "one question, about “result”" in _result(model)["now"]
    knows(chat, conversation_id, **over)
    seen = client.request("POST", f"/api/interviews/{conversation_id}/continue").json()
    assert (seen["ended"], seen["phase"], seen["topics"][0]["status"]) == (None, "deep_dive", "active")


def test_a_fact_told_after_the_end_is_added_to_the_draft_and_a_thank_you_is_not(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME], ended=OVER, phase="end", drafted_to=1)
    model.script(orchestrator(kind="answer"), Reply(text="I added that.", streams=True))
    assert client.say("We won a prize in 2021.", conversation_id).text == "I added that."
    assert "what they tell now is added to its draft" in interviewer_prompt(model)
    knows(chat, conversation_id, drafted_to=3)
    model.script(orchestrator(kind="small_talk"), Reply(text="You are welcome.", streams=True))
    client.say("Thanks", conversation_id)
    assert "The interview is over, as you said" in interviewer_prompt(model)
    assert state_of(chat, conversation_id)["ended"]["told_to"] == 1


@pytest.mark.thorough
def test_the_user_or_the_time_limit_ends_the_interview(client: Client, chat: ChatServer, model: ModelServer) -> None:
    conversation_id = begins(client, model)
    knows(chat, conversation_id, topics=[ACME])
    path = f"/api/interviews/{conversation_id}"
    client.request("PUT", f"{path}/time", json={"minutes": 10}).raise_for_status()
    client.say("Then we grew", conversation_id)
    assert client.get(path)["ended"] is None
    knows(chat, conversation_id, started_at=time.time() - 600)
    client.say("And we grew", conversation_id)
    assert client.get(path)["ended"] == "out_of_time"
    other = begins(client, model)
    assert client.request("POST", f"/api/interviews/{other}/finish").json()["ended"] == "asked"
    knows(chat, other, topics=[ACME])
    model.script_chat(Reply(text="Thank you. What else?"))
    assert client.say("Good bye", other).text.startswith("Thank you. What else?\n\n**What is covered**")
    model.script_chat(Reply(text="You are welcome."))
    assert client.say("Good bye", other).text == "You are welcome."


def test_other_users_interviews_and_other_conversations_are_not_found(
    client: Client, chat: ChatServer, model: ModelServer
) -> None:
    conversation_id = begins(client, model)
    talk = client.say("Hello").conversation_id
    with Client(chat.url, "auth0|another", client.clock) as another:
        for who, which in ((another, conversation_id), (client, talk), (client, "unknown")):
            for method, tail, body in (
                ("GET", "", None),
                ("GET", "/draft", None),
                ("POST", "/finish", None),
                ("POST", "/topics", {"title": "X"}),
            ):
                answer = who.request(method, f"/api/interviews/{which}{tail}", json=body)
                assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        assert another.get("/api/interviews")["items"] == []
    refused = client.request("PUT", f"/api/interviews/{conversation_id}/time", json={"minutes": 1})
    assert refused.status_code == 422
