"""From a confirmed topic to a lesson: each sentence cites the library or is marked, and three questions become due."""

import json
import uuid
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from infra.local.aws_functions import Handler
from infra.local.environment import ACCOUNT, REGION, Template
from infra.local.model_server import ModelServer, Reply
from infra.topics import read_library
from qwestly_agent.approvals import pause
from qwestly_agent.base.errors import NotFound
from qwestly_agent.domain.learning import Lesson
from qwestly_agent.learning.tree import Tree
from qwestly_agent.learning.writer import start_lesson
from tests.statemachines.conftest import Case, World

EXECUTIONS = f"arn:aws:states:{REGION}:{ACCOUNT}:execution:{Template.load().name('WriteLessonMachine')}"
OUTLINER, WRITER, JUDGE, ASKER = (
    "You plan a lesson",
    "You write a lesson",
    "You are the second reader",
    "You write 3 questions",
)
STATES = ("outline", "write", "check", "ask", "keep")
MODULES = {each.id: each for each in read_library(Path(__file__).parents[2] / "library")}
PAGE = "active-listening/listen-to-understand-before-you-answer"
CITED = [
    ("A summary is not agreement.", "A summary is not agreement."),
    ("Wait for two seconds when they stop.", "When they stop, wait for two seconds."),
    ("Advice that comes too early ends the conversation.", "Advice that comes too early ends the conversation"),
]
DANGEROUS = [
    each["text"]
    for each in json.loads(
        (Path(__file__).parents[2] / "evals" / "wishes" / "lessons.json").read_text(encoding="utf-8")
    )
    if each["dangerous"]
]
NIGHTLY = (pytest.mark.nightly, pytest.mark.thorough)
UNCITED = "Many books treat the subject."


def typed(to: str, **output: Any) -> Reply:
    return Reply(tool_calls=[{"name": "final_result", "arguments": output}], to=to)


def sentence(text: str, *quotes: str, point: int = 0) -> dict[str, Any]:
    return {"point": point, "text": text, "quotes": [{"source": PAGE, "text": each} for each in quotes]}


def question(number: int, **changes: Any) -> dict[str, Any]:
    options = [f"Right {'abc'[number]}", f"Wrong {'abc'[number]}", "Neither"]
    return {"text": f"Question {'abc'[number]}?", "options": options, "right": 0, "sentence": number, **changes}


PLANS = typed(OUTLINER, points=["What it is for", "How it is done"])
WRITES = typed(WRITER, sentences=[*(sentence(text, quote) for text, quote in CITED), sentence(UNCITED, point=1)])
AGREES = typed(JUDGE, verdicts=[{"id": number, "span": quote} for number, (_, quote) in enumerate(CITED)])
ASKS = typed(ASKER, questions=[question(number) for number in range(3)])
SCRIPT = (PLANS, WRITES, AGREES, ASKS)


class Learner:
    def __init__(self, world: World, model: ModelServer) -> None:
        self.world, self.model, self.user_id = world, model, f"auth0|{uuid.uuid4().hex}"
        topics = world.run(lambda services: services.topics.replace_all(list(MODULES.values())))
        assert sum(topics) == len(MODULES)
        world.run(lambda services: services.usage.ensure_document(self.user_id, world.clock()))  # as a turn did
        self.before = len(model.requests)

    def begins(self, *script: Reply, topic: str = "Active listening", asked_at: str = "1") -> tuple[str, Lesson]:
        """Run the workflow; returns the execution's end and the lesson."""
        lesson = self.asks_for_it(*script, topic=topic, asked_at=asked_at)
        status = self.world.aws.outcome(f"{EXECUTIONS}:lesson-{lesson.id}").status
        return status, self.world.run(lambda services: services.lessons.get(self.user_id, lesson.id))

    def asks_for_it(self, *script: Reply, topic: str = "Active listening", asked_at: str = "1") -> Lesson:
        self.model.script(*script)

        async def start(services: Any) -> Lesson:
            return await start_lesson(
                services,
                Tree(await services.topics.list_modules()),
                user_id=self.user_id,
                run_id="run-1",
                conversation_id="conversation-1",
                topic=topic,
                wish="With an example",
                language="en",
                asked_at=asked_at,
            )

        return self.world.run(start)

    def asked(self, to: str) -> int:
        """Return the number of requests to a model with these instructions."""
        return sum(
            any(str(each["content"]).startswith(to) for each in request.json["messages"] if each["role"] == "system")
            for request in self.model.requests[self.before :]
            if "messages" in request.json
        )

    def events(self) -> list[str]:
        found = self.world.run(lambda services: services.activity.newest(self.user_id, 50))
        return sorted(each.type for each in found if each.type.startswith("lesson."))


@pytest.fixture
def learner(world: World, model: ModelServer) -> Learner:
    return Learner(world, model)


def case(world: World, model: ModelServer) -> Case:
    learner, times = Learner(world, model), count(1)
    lessons = list[Lesson]()

    def begin() -> str:
        lessons.append(learner.asks_for_it(*SCRIPT, asked_at=str(next(times))))
        return f"{EXECUTIONS}:lesson-{lessons[-1].id}"

    def newest() -> Lesson:
        return world.run(lambda services: services.lessons.get(learner.user_id, lessons[-1].id))

    return Case(world, learner.user_id, begin, lambda: newest().status == "ready", told=lambda: newest().label)


def test_the_librarys_questions_are_used_if_the_lesson_answers_all_of_them(learner: Learner) -> None:
    told = [each.because for each in MODULES[PAGE].questions]
    script = (
        PLANS,
        typed(WRITER, sentences=[sentence(each, each) for each in told]),
        typed(JUDGE, verdicts=[{"id": number, "span": each} for number, each in enumerate(told)]),
    )
    status, lesson = learner.begins(*script)
    assert (status, learner.asked(ASKER)) == ("SUCCEEDED", 0)
    assert [(each.text, each.right) for each in lesson.questions] == [
        (each.asks, each.right) for each in MODULES[PAGE].questions
    ]
    assert [lesson.sentences[each.sentence].text for each in lesson.questions] == told


def test_every_sentence_cites_the_library_or_is_marked_and_three_questions_are_due(
    learner: Learner, world: World
) -> None:
    status, lesson = learner.begins(*SCRIPT)
    assert (status, lesson.status, lesson.label) == ("SUCCEEDED", "ready", "Your lesson is ready")
    assert (lesson.module_id, lesson.title) == (PAGE, MODULES[PAGE].title)
    told = [(each.text, [quote.text for quote in each.quotes]) for each in lesson.sentences]
    assert told == [*((text, [quote]) for text, quote in CITED), (UNCITED, [])]
    assert lesson.outline == ("What it is for", "How it is done")
    assert [each.text for each in lesson.questions] == ["Question a?", "Question b?", "Question c?"]
    assert [each.due_at for each in lesson.practices] == [pytest.approx(world.clock(), abs=600)] * 3
    assert learner.events() == ["lesson.begun", "lesson.ready"]
    assert world.run(lambda services: services.usage.spent_today(learner.user_id, world.clock())) > 0


@pytest.mark.thorough
def test_a_lessons_rejected_sentence_is_left_out_and_counted(learner: Learner) -> None:
    verdicts = [{"id": 0, "span": CITED[0][1]}, {"id": 1, "why": "It says more."}, {"id": 2, "span": CITED[2][1]}]
    questions = [question(number) for number in range(3)]
    status, lesson = learner.begins(PLANS, WRITES, typed(JUDGE, verdicts=verdicts), typed(ASKER, questions=questions))
    assert status == "SUCCEEDED"
    assert [each.text for each in lesson.sentences] == [CITED[0][0], CITED[2][0], UNCITED]
    assert lesson.left_out == 1


@pytest.mark.thorough
def test_without_a_second_reader_every_sentence_is_marked(learner: Learner) -> None:
    status, lesson = learner.begins(PLANS, WRITES, *[Reply(fault=503, to=JUDGE)] * 8, ASKS)
    assert (status, lesson.status) == ("SUCCEEDED", "ready")
    assert [each.quotes for each in lesson.sentences] == [()] * 4


@pytest.mark.thorough
def test_an_invented_quote_is_rejected_once_and_then_left_out(learner: Learner) -> None:
    lies = typed(WRITER, sentences=[sentence(CITED[0][0], CITED[0][1]), sentence("You need 40 hours.", "40 hours")])
    agrees = typed(JUDGE, verdicts=[{"id": 0, "span": CITED[0][1]}])
    asks = typed(ASKER, questions=[question(0)])
    status, lesson = learner.begins(PLANS, lies, lies, agrees, asks, asks, asks)
    assert status == "SUCCEEDED"
    assert ([each.text for each in lesson.sentences], lesson.left_out) == ([CITED[0][0]], 1)
    assert len(lesson.questions) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "wrong",
    [
        {"right": 3},
        {"sentence": 9},
        {"options": ["Same", "same", "Other"]},
        {"options": ["After 40 days", "After two seconds", "Never"]},
        {"sentence": 1},
    ],
    ids=["no option", "no sentence", "the same", "a figure of nowhere", "a sentence twice"],
)
def test_a_question_the_lesson_does_not_answer_is_sent_back(learner: Learner, wrong: dict[str, Any]) -> None:
    again = typed(ASKER, questions=[question(0, **wrong), question(1), question(2)])
    status, lesson = learner.begins(PLANS, WRITES, AGREES, again, ASKS)
    assert (status, len(lesson.questions), learner.asked(ASKER)) == ("SUCCEEDED", 3, 2)
    assert [each.text for each in lesson.questions] == ["Question a?", "Question b?", "Question c?"]


@pytest.mark.thorough
def test_a_topic_missing_in_the_library_is_marked_as_a_whole(learner: Learner) -> None:
    writes = typed(WRITER, sentences=[sentence(UNCITED), sentence("It is a theory.", point=1), sentence("So it is.")])
    status, lesson = learner.begins(PLANS, writes, ASKS, topic="Quantum mechanics")
    assert (status, lesson.status, lesson.module_id, lesson.subject) == ("SUCCEEDED", "ready", "", "")
    assert [each.quotes for each in lesson.sentences] == [()] * 3
    assert learner.asked(JUDGE) == 0


@pytest.mark.thorough
def test_the_next_lesson_of_a_topic_is_its_next_module(learner: Learner) -> None:
    learner.begins(*SCRIPT)
    writes = typed(WRITER, sentences=[sentence(UNCITED)] * 3)
    _, lesson = learner.begins(PLANS, writes, ASKS, asked_at="3")
    assert lesson.module_id == "active-listening/hear-what-is-not-said"


@pytest.mark.thorough
def test_a_repeated_confirmation_yields_the_same_lesson(learner: Learner) -> None:
    _, first = learner.begins(*SCRIPT)
    _, again = learner.begins(*SCRIPT)
    assert again == first
    assert learner.asked(OUTLINER) == 1


@pytest.mark.parametrize("state", [pytest.param(each, marks=pytest.mark.thorough) for each in STATES[1:]] + ["outline"])
def test_the_brake_stops_the_workflow_at_each_state_and_is_named(learner: Learner, world: World, state: str) -> None:
    def pulled(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.run(lambda services: services.signals.turn_brake_on(learner.user_id, world.clock()))
            return own(event, context)

        return handler

    with world.instead_of(state, pulled, folder="write_lesson"):
        status, lesson = learner.begins(*SCRIPT)
    assert (status, lesson.status, lesson.label) == ("SUCCEEDED", "stopped", "Stopped when you paused")
    receipt = world.run(
        lambda services: pause.engage(services.signals, services.sweeps, learner.user_id, services.clock)
    )
    assert f"lesson-{lesson.id}" in str(receipt)
    assert learner.events() == ["lesson.begun", "lesson.stopped"]


@pytest.mark.parametrize(
    "wish", DANGEROUS[:1] + [pytest.param(each, marks=pytest.mark.nightly) for each in DANGEROUS[1:]]
)
def test_a_topic_that_is_not_taught_ends_with_a_reason(learner: Learner, wish: str) -> None:
    reason = "That would help to harm people, so it is not taught here."
    status, lesson = learner.begins(typed(OUTLINER, points=[], not_taught=reason), topic=wish)
    assert (status, lesson.status, lesson.label) == ("SUCCEEDED", "failed", reason)
    assert (lesson.outline, lesson.sentences, lesson.practices) == ((), (), ())
    assert (learner.asked(WRITER), learner.events()) == (0, ["lesson.begun", "lesson.failed"])


@pytest.mark.thorough
def test_an_outline_with_neither_points_nor_a_reason_is_requested_again(learner: Learner) -> None:
    status, lesson = learner.begins(typed(OUTLINER, points=[]), *SCRIPT)
    assert (status, lesson.status, learner.asked(OUTLINER)) == ("SUCCEEDED", "ready", 2)


@pytest.mark.thorough
def test_without_a_model_a_lesson_fails_with_an_explanation(learner: Learner) -> None:
    status, lesson = learner.begins(*[Reply(fault=503, to=OUTLINER)] * 16)
    assert (status, lesson.status) == ("FAILED", "failed")
    assert "Our AI" in lesson.label


def test_a_lesson_deleted_meanwhile_is_not_written(learner: Learner, world: World) -> None:
    def deleted(own: Handler) -> Handler:
        def handler(event: Any, context: Any) -> Any:
            world.database["agent_lessons"].delete_many({"user_id": learner.user_id})
            return own(event, context)

        return handler

    with (
        world.instead_of("write", deleted, folder="write_lesson"),
        pytest.raises(NotFound),
    ):
        learner.begins(*SCRIPT)
    assert world.database["agent_lessons"].count_documents({"user_id": learner.user_id}) == 0
    assert (learner.asked(WRITER), learner.asked(ASKER)) == (0, 0)
