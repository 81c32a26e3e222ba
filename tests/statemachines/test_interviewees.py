"""Whole interviews: different kinds of people, the scripted model, and malicious models."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.settings import Settings
from qwestly_agent.interviews.machine import ENOUGH, MOST_TURNS_ON_A_TOPIC
from tests.onboarding_answers import ANSWERS
from tests.servers import SECRET, ChatServer, Client
from tests.statemachines.conftest import World
from tests.statemachines.test_write_draft import Interviewee, decides, writes

PEOPLE = yaml.safe_load((Path(__file__).parents[2] / "evals/interviews/interviewees.yaml").read_text(encoding="utf-8"))
MOST_TURNS = 40
"""Turns after which a test gives up."""
pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def chat(world: World) -> Iterator[ChatServer]:
    settings = replace(Settings.from_env(), qwestly_agent_shared_secret=SECRET, messages_a_minute=100_000)
    with ChatServer(settings, world.clock) as server:
        yield server


@dataclass
class Talked:
    answers: list[str]
    interview: dict[str, Any]
    said: list[str]
    turns_to_enough: int | None

    @property
    def questions(self) -> list[str]:
        return [question for answer in self.answers for question in re.findall(r"[^.!?\n”]*\?", _own(answer))]


def _own(answer: str) -> str:
    """Return the answer without its quotes."""
    return re.sub(r"“[^”]*”", "", answer)


def talked(ada: Interviewee, lines: list[str], role: str = "interview") -> Talked:
    """Talk until the interview ends by itself; the last line is repeated."""
    answers, said, enough = list[str](), list[str](), None
    for turn in range(MOST_TURNS):
        line = lines[min(turn, len(lines) - 1)]
        with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
            first = {} if ada.conversation_id else {"role": role}
            answer = client.say(line, ada.conversation_id, **first)
        ada.conversation_id = answer.conversation_id
        ada.wait()
        said.append(line)
        answers.append(answer.text)
        aspects = [each["status"] == "open" for topic in ada.interview()["topics"] for each in topic["aspects"]]
        if enough is None and aspects and sum(aspects) / len(aspects) < 1 - ENOUGH:
            enough = turn + 1
        if (ada.interview()["ended"] or {}).get("told_to"):
            break
    return Talked(answers, ada.interview(), said, enough)


@pytest.fixture
def ada(world: World, chat: ChatServer, model: ModelServer) -> Interviewee:
    return Interviewee(world, chat, model)


@pytest.mark.nightly
@pytest.mark.parametrize("person", PEOPLE, ids=lambda person: person["id"])
def test_an_interview_ends_by_itself_and_stores_the_answers(ada: Interviewee, person: dict[str, Any]) -> None:
    found = talked(ada, person["says"])
    interview, questions = found.interview, found.questions
    repeated = len(questions) - len(set(questions))
    per_turn = len(interview["statements"]) / len(found.said)
    print(
        f"{person['id']}: {len(found.said)} turns, ended: {interview['ended']}, 70 % after {found.turns_to_enough}, "
        f"{len(questions)} questions, {repeated} repeated, {per_turn:.2f} new statements a turn"
    )
    assert interview["ended"]
    assert all(len(re.findall(r"\?", _own(answer))) <= 1 for answer in found.answers)
    assert "?" not in _own(found.answers[-1]).partition("**")[0]
    assert all(each["turns"] <= MOST_TURNS_ON_A_TOPIC for each in interview["topics"])
    for statement in interview["statements"]:
        assert statement["quotes"]
        assert all(any(quote["text"] in line for line in found.said) for quote in statement["quotes"])


@pytest.mark.nightly
def test_an_interview_ends_even_if_the_model_never_stops(ada: Interviewee, model: ModelServer) -> None:
    topics = [[{"title": f"Topic {n}", "aspects": [f"thing {n}", f"matter {n}"]}] for n in range(MOST_TURNS)]
    model.script(*(each for found in topics for each in (decides(topics=found), writes())))
    found = talked(ada, ["I worked there for a long time and did very many things."])
    assert found.interview["ended"]
    assert len(found.said) < MOST_TURNS


@pytest.mark.sentinel
def test_an_early_end_by_the_model_is_ignored_if_nothing_was_covered(ada: Interviewee, model: ModelServer) -> None:
    for _ in range(4):
        ada.says("I worked there for a long time and did very many things.", decides(move="end"), writes())
    assert ada.interview()["ended"] is None


def test_an_answer_with_three_questions_is_not_cut(ada: Interviewee, model: ModelServer) -> None:
    asked = Reply(text="How many? Who? And ¿por qué?", streams=True)
    with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
        model.script(asked)
        answer = client.say("I led a team at Acme.", role="interview")
    assert answer.text == "How many? Who? And ¿por qué?"


@pytest.mark.nightly
def test_onboarding_fills_an_empty_profile_with_approved_values(ada: Interviewee) -> None:
    found = talked(ada, ["Hello", *ANSWERS, "Ok"], "onboarding")
    assert found.interview["ended"]["reason"] == "out_of_topics"
    repeated = len(found.questions) - len(set(found.questions))
    print(f"onboarding: {len(found.said)} turns, {len(found.questions)} questions, {repeated} repeated")
    with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
        [approval] = client.get("/api/approvals")["items"]
        assert [each["name"] for each in approval["preview"]["changes"]] == [
            "Headline",
            "Years of experience",
            "Location",
            "Summary",
            "Skills",
            "Languages",
            "Education",
            "Role you want",
            "Where you want to work",
            "Way to work",
            "When you can begin",
            "Never show me jobs with",
        ]
        body = {"decision": "approve", "args_digest": approval["args_digest"]}
        decided = client.request("POST", f"/api/approvals/{approval['approval_id']}/decision", json=body)
        assert decided.json()["status"] == "done", decided.text
    [profile] = ada.documents("candidates_enhanced")
    assert (profile["headline"], profile["location"]) == ("Nurse at Mercy Hospital", "Lisbon")
    assert (profile["years_of_experience"], profile["languages"]) == (12, ["English", "Portuguese"])
    [preferences] = ada.documents("preferences_enhanced")
    assert (preferences["roles"], preferences["locations"]) == (["head nurse"], ["Porto"])
    assert (preferences["work_mode"], preferences["availability"]) == ("In the office", "in May")
    with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
        assert client.get("/api/jobs/settings")["wishes"]["never"] == ["night shifts"]


def test_answers_from_earlier_conversations_are_confirmed_rather_than_asked_again(ada: Interviewee) -> None:
    with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
        client.say("Remember that I live in Lisbon.")
        client.say("Remember that I speak English and Portuguese.")
    found = talked(ada, ["Hello", "I am a nurse at Mercy Hospital.", "That's enough"], "onboarding")
    topics = found.interview["topics"]
    known = {
        aspect["name"]: [quote["text"] for quote in aspect["quotes"]]
        for topic in topics
        for aspect in topic["aspects"]
        if any(quote["known_from"].startswith("what you told us on ") for quote in aspect["quotes"])
    }
    lisbon, languages = "Remember that I live in Lisbon", "Remember that I speak English and Portuguese"
    assert known == {"where you live": [lisbon], "languages": [languages]}
    assert not [each for each in found.questions if "live" in each or "languages" in each]
    with Client(ada.chat.url, ada.user_id, ada.world.clock) as client:
        [approval] = client.get("/api/approvals")["items"]
        changes = {each["name"]: each for each in approval["preview"]["changes"]}
        assert [*changes] == ["Headline", "Location", "Languages"]
        assert [each["quote"] for each in changes["Location"]["quotes"]] == [lisbon]
        [memory] = [each for each in client.get("/api/memories")["items"] if "Lisbon" in each["content"]]
        client.request("DELETE", f"/api/memories/{memory['id']}").raise_for_status()
        assert client.get("/api/approvals")["items"] == []
    [aspect] = [each for topic in ada.interview()["topics"] for each in topic["aspects"] if "live" in each["name"]]
    assert (aspect["status"], aspect["quotes"]) == ("open", [])
