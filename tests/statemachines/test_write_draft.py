"""An interview's answer is read and drafted while the user thinks, with the real state machine and handlers."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from infra.local.aws_functions import Handler
from infra.local.model_answers import ToolCall
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.stores.interviews import Interviews
from tests.servers import SECRET, ChatServer, Client
from tests.statemachines.conftest import TEMPLATE, Case, World

ORCHESTRATOR, WRITER, JUDGE = (
    "You lead an interview",
    "You write the draft of an interview",
    "You are the second reader",
)
EXECUTIONS = TEMPLATE.arn("WriteDraftMachine").replace(":stateMachine:", ":execution:")
SAID = "I led a team of eight people at Acme, and we cut the waiting time by 38 %."


def _final(to: str, **arguments: Any) -> Reply:
    call: ToolCall = {"name": "final_result", "arguments": arguments}
    return Reply(tool_calls=[call], to=to)


def decides(**decision: Any) -> Reply:
    return _final(ORCHESTRATOR, **decision)


def writes(*statements: dict[str, Any]) -> Reply:
    return _final(WRITER, statements=list(statements))


def sentence(text: str, quote: str, *aspects: str, message_id: str = "m1", **more: Any) -> dict[str, Any]:
    quotes = [{"message_id": message_id, "text": quote}]
    return {"topic": "Acme", "aspects": list(aspects), "text": text, "quotes": quotes, **more}


ACME = {"title": "Acme", "aspects": ["team size", "result"], "priority": 5}
EIGHT = sentence("Led a team of eight people at Acme.", "I led a team of eight people at Acme", "team size")


@dataclass
class Interviewee:
    world: World
    chat: Any
    model: ModelServer
    user_id: str = field(default_factory=lambda: f"auth0|{uuid.uuid4().hex}")
    conversation_id: str | None = None

    def says(self, text: str, *script: Reply, **more: Any) -> str:
        """Play one turn and the workflow it starts."""
        answer = self.says_only(text, *script, **more)
        self.wait()
        return answer

    def says_only(self, text: str, *script: Reply, **more: Any) -> str:
        self.model.script(*script, Reply(text="And what came of it?", streams=True))
        with Client(self.chat.url, self.user_id, self.world.clock) as client:
            first = {} if self.conversation_id else {"role": "interview"}
            answer = client.say(text, self.conversation_id, **first, **more)
        self.conversation_id = answer.conversation_id
        return answer.text

    def wait(self) -> list[str]:
        """Statuses of the executions so far, oldest first, once they ended."""
        known = {each["run_id"] for each in self.documents("agent_messages")}
        begun = [each for each in self.world.aws.workflows() if each.name.removeprefix("interview-") in known]
        return [self.world.aws.outcome(f"{EXECUTIONS}:{each.name}").status for each in reversed(begun)]

    def documents(self, collection: str) -> list[dict[str, Any]]:
        return list(self.world.database[collection].find({"user_id": self.user_id}))

    def interview(self) -> dict[str, Any]:
        [interview] = [found for each in self.documents("agent_conversations") if (found := each.get("interview"))]
        return interview

    def draft(self) -> list[str]:
        return [each["text"] for each in self.interview()["statements"] if each["until"] is None]

    def aspects(self) -> dict[str, str]:
        return {each["name"]: each["status"] for topic in self.interview()["topics"] for each in topic["aspects"]}

    def asked(self, of: str) -> int:
        return len([each for each in self.model.requests if of in str(each.json["messages"][0])])


@contextmanager
def chatting(world: World) -> Iterator[ChatServer]:
    settings = replace(Settings.from_env(), qwestly_agent_shared_secret=SECRET, messages_a_minute=100_000)
    with ChatServer(settings, world.clock) as server:
        yield server


@pytest.fixture(scope="module")
def chat(world: World) -> Iterator[ChatServer]:
    with chatting(world) as server:
        yield server


@pytest.fixture
def ada(world: World, chat: ChatServer, model: ModelServer) -> Interviewee:
    return Interviewee(world, chat, model)


def test_the_second_reader_sees_the_question_of_an_answer(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(EIGHT))
    ada.says("11", decides(), writes(sentence("11", "11", "result", message_id="m3")))
    [*_, judged] = [each.json["messages"] for each in ada.model.requests if JUDGE in str(each.json["messages"][0])]
    assert "“11” to “How many years of experience do you have?”" in judged[0]["content"]
    assert '"quote":"11","around":"And what came of it?"' in judged[1]["content"]
    assert ada.aspects()["result"] == "covered"


def case(world: World, model: ModelServer) -> Case:
    def begin() -> str:
        with world.one_at_a_time:
            with chatting(world) as ada.chat:
                ada.says_only(SAID, decides(topics=[ACME]), writes(EIGHT))
            # It may have had no time to make a title before its server ended.
            untitled = {"$unset": {"title": "", "title_from": ""}}
            world.database["agent_conversations"].update_many({"user_id": ada.user_id}, untitled)
        run_id = ada.documents("agent_messages")[-1]["run_id"]
        return f"{EXECUTIONS}:interview-{run_id}"

    ada = Interviewee(world, SimpleNamespace(), model)
    return Case(world, ada.user_id, begin, lambda: ada.draft() == [EIGHT["text"]])


def test_an_answer_opens_a_topic_and_covers_its_aspects(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME], aspect="result", reasoning="It shows what you did."), writes(EIGHT))
    interview = ada.interview()
    assert ada.wait() == ["SUCCEEDED"]
    assert ada.draft() == ["Led a team of eight people at Acme."]
    assert ada.aspects() == {"team size": "covered", "result": "open"}
    assert (interview["version"], interview["reasoning"], interview["phase"]) == (
        1,
        "It shows what you did.",
        "deep_dive",
    )
    assert interview["statements"][0]["quotes"][0]["text"] == "I led a team of eight people at Acme"
    assert interview["drafted_to"] == interview["counted_to"]
    ada.says("It was in 2021.", decides(), writes())
    told = [each for each in ada.model.requests if each.json.get("stream")][-1].json["messages"][-1]["content"]
    assert "not yet told: result" in told


@pytest.mark.thorough
def test_a_statement_without_evidence_is_not_in_the_draft(ada: Interviewee) -> None:
    invented = sentence("Led a team of eighty people at Acme.", "a team of eight people", "team size")
    nowhere = sentence("Won a prize at Acme.", "I won a prize", "result")
    praised = sentence("Led a brilliant team at Acme.", "I led a team of eight people at Acme", "team size")
    refused = _final(JUDGE, verdicts=[{"id": n, "why": "No praise was said."} for n in range(9)])
    again = writes(invented, nowhere, praised)
    ada.says(SAID, decides(topics=[ACME]), again, again, refused, again, again, refused)
    assert ada.draft() == []
    assert ada.aspects() == {"team size": "open", "result": "open"}


PRAISED = sentence("Led a brilliant team at Acme.", "I led a team of eight people at Acme", "team size")
NOT_PRAISED = _final(JUDGE, verdicts=[{"id": 0, "why": "No praise was said."}])


@pytest.mark.thorough
def test_a_rejected_sentence_is_rewritten_once_with_the_reasons(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(PRAISED), NOT_PRAISED, writes(PRAISED, EIGHT))
    assert ada.draft() == ["Led a team of eight people at Acme."]
    assert ada.aspects() == {"team size": "covered", "result": "open"}
    assert (ada.asked(WRITER), ada.asked(JUDGE)) == (2, 2)
    [_, again] = [each.json["messages"][1]["content"] for each in ada.model.requests if WRITER in str(each.json)]
    assert "- Led a brilliant team at Acme.: No praise was said." in again


@pytest.mark.thorough
def test_the_existing_draft_survives_a_failed_rewrite(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(PRAISED, EIGHT), NOT_PRAISED, *[Reply(fault=503, to=WRITER)] * 4)
    assert ada.draft() == ["Led a team of eight people at Acme."]
    assert ada.wait() == ["SUCCEEDED"]


@pytest.mark.thorough
def test_a_draft_omits_a_word_the_user_does_not_want(ada: Interviewee) -> None:
    crew = sentence("Led a crew of eight people at Acme.", "I led a team of eight people at Acme", "team size")
    said = f"{SAID} Do not call it a crew."
    ada.says(said, decides(topics=[ACME], avoided=["crew", "team"]), writes(crew, EIGHT), writes(crew))
    assert ada.draft() == []
    assert ada.interview()["avoided"] == ["crew", "team"]
    ada.says("It was in 2021.", decides(avoided=["year"]), writes())
    assert ada.interview()["avoided"] == ["crew", "team"], "only what they said themselves"


@pytest.mark.thorough
def test_without_a_judge_the_draft_has_the_users_own_words_and_covers_nothing(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(EIGHT), *[Reply(fault=503, to=JUDGE)] * 4)
    assert ada.draft() == ["I led a team of eight people at Acme"]
    assert ada.aspects() == {"team size": "open", "result": "open"}


@pytest.mark.thorough
def test_a_correction_replaces_the_earlier_statement(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(EIGHT))
    nine = sentence(
        "It was nine people at Acme.", "it was nine people at Acme", "team size", message_id="m3", replaces=[0]
    )
    ada.says("Sorry, it was nine people at Acme.", decides(), writes(nine))
    assert ada.draft() == ["It was nine people at Acme."]
    assert [(each["since"], each["until"]) for each in ada.interview()["statements"]] == [(1, 2), (2, None)]


@pytest.mark.thorough
def test_without_a_model_an_answer_is_kept_for_the_next_draft(ada: Interviewee) -> None:
    ada.says(SAID, *[Reply(fault=503, to=ORCHESTRATOR)] * 13)
    assert ada.wait() == ["SUCCEEDED"]
    assert [each.get("interview") for each in ada.documents("agent_conversations")] == [None]
    assert ada.says("It was in 2021.", decides(topics=[ACME]), writes(EIGHT)) == "And what came of it?"
    assert ada.draft() == ["Led a team of eight people at Acme."]


@pytest.mark.thorough
def test_a_writer_killed_after_any_step_does_not_pay_twice(
    ada: Interviewee, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, steps = Interviews.save_work, list[object]()

    async def fails_after(self: Interviews, user_id: str, conversation_id: str, run_id: str, **found: object) -> None:
        await own(self, user_id, conversation_id, run_id, **found)
        if "draft" in found:
            steps.append(found["draft"])
            raise Unavailable

    monkeypatch.setattr(Interviews, "save_work", fails_after)
    ada.says(SAID, decides(topics=[ACME]), writes(PRAISED), NOT_PRAISED, writes(EIGHT))
    assert ada.wait() == ["SUCCEEDED"]
    assert len(steps) == 4, "written, judged, written anew, judged"
    assert (ada.draft(), ada.interview()["version"]) == (["Led a team of eight people at Acme."], 1)
    assert (ada.asked(ORCHESTRATOR), ada.asked(WRITER), ada.asked(JUDGE)) == (1, 2, 2)


@pytest.mark.thorough
def test_an_answer_over_the_daily_budget_is_written_the_next_day(ada: Interviewee, world: World) -> None:
    def spends(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.run(lambda services: services.usage.add_spending(ada.user_id, {"cost_usd": 100.0}, services.clock()))
            return own(event, context)

        return handler

    with world.instead_of("write", spends, folder="write_draft"):
        ada.says(SAID, decides(topics=[ACME]))
    assert ada.wait() == ["SUCCEEDED"]
    assert (ada.asked(WRITER), ada.interview()["statements"], ada.interview()["drafted_to"]) == (0, [], 0)
    world.database["agent_usage"].delete_many({"user_id": ada.user_id})
    ada.says("It was in 2021.", decides(topics=[ACME]), writes(EIGHT))
    assert ada.draft() == ["Led a team of eight people at Acme."]


@pytest.mark.thorough
def test_a_late_draft_of_an_older_answer_is_dropped(ada: Interviewee, world: World) -> None:
    held: list[Callable[[], Any]] = []

    def later(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            if not held:
                held.append(lambda: own(event, context))
                return {**event, "overtaken": True}  # the machine continues without it
            return own(event, context)

        return handler

    with world.instead_of("write", later, folder="write_draft"):
        ada.says(SAID, decides(topics=[ACME]))
        ada.says("It was in 2021.", decides(topics=[ACME]), writes(EIGHT))
    assert held[0]()["overtaken"] is True
    assert (ada.draft(), ada.interview()["version"]) == (["Led a team of eight people at Acme."], 1)


@pytest.mark.thorough
def test_messages_excluded_in_the_meantime_are_no_evidence(ada: Interviewee, world: World) -> None:
    def excludes(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.database["agent_messages"].update_many({"user_id": ada.user_id}, {"$set": {"withheld": True}})
            return own(event, context)

        return handler

    with world.instead_of("keep", excludes, folder="write_draft"):
        ada.says(SAID, decides(topics=[ACME]), writes(EIGHT))
    assert ada.draft() == []


@pytest.mark.thorough
def test_the_brake_stops_writing_an_interview_draft(ada: Interviewee, world: World) -> None:
    def braked(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.run(lambda services: services.signals.turn_brake_on(ada.user_id, world.clock()))
            return own(event, context)

        return handler

    with world.instead_of("decide", braked, folder="write_draft"):
        ada.says(SAID)
    assert ada.asked(WRITER) == 0
    assert ada.wait() == ["SUCCEEDED"]


@pytest.mark.thorough
def test_an_edited_answer_replaces_its_earlier_statement_in_the_draft(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(EIGHT))
    first = ada.documents("agent_messages")[0]["id"]
    ten = sentence("Led a team of ten people at Acme.", "I led a team of ten people at Acme", "team size")
    ada.says("I led a team of ten people at Acme.", decides(), writes(ten), replaces=first)
    assert ada.draft() == ["Led a team of ten people at Acme."]
    [quote] = [each for topic in ada.interview()["topics"] for each in topic["aspects"] if each["quotes"]]
    assert [each["text"] for each in quote["quotes"]] == ["I led a team of ten people at Acme"]
    assert ada.interview()["turns"] == 1


@pytest.mark.thorough
def test_regenerating_the_agents_answer_leaves_the_draft_unchanged(ada: Interviewee) -> None:
    ada.says(SAID, decides(topics=[ACME]), writes(EIGHT))
    before, first = ada.interview(), ada.documents("agent_messages")[0]["id"]
    ada.says(SAID, decides(), writes(EIGHT), replaces=first)
    assert ada.draft() == ["Led a team of eight people at Acme."]
    assert ada.interview()["turns"] == before["turns"]
