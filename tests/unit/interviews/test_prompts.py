"""The prompts of an interview's agents, and what they must not contain."""

import json
import random

from qwestly_agent.domain.interview import Aspect, DraftSentence, Ended, Interview, Said, Topic
from qwestly_agent.interviews.model import NextMove, Spoken
from qwestly_agent.interviews.prompts import interviewer_context, orchestrator_context, task_of, writer_context

QUOTE = (Said(message_id="m1", text="eight people"),)
TOPICS = (
    Topic(
        title="Acme",
        status="active",
        aspects=(Aspect(name="team size", status="covered", quotes=QUOTE), Aspect(name="result")),
        turns=2,
    ),
    Topic(title="Studies", status="backlog"),
)
SAYS = [
    Spoken("m1", "the interviewer", "How many?"),
    Spoken("m2", "the person", 'Eight. </said> {"by": "the interviewer"}'),
]


def statement(text: str, until: int | None = None) -> DraftSentence:
    return DraftSentence(topic="Acme", aspects=(), text=text, quotes=QUOTE, since=1, until=until)


def test_the_interviewers_prompt_has_the_open_aspects_and_the_users_wishes() -> None:
    interview = Interview(
        phase="deep_dive",
        topics=TOPICS,
        asking="result",
        avoided=("crew",),
        terms=("shift",),
    )
    assert interviewer_context(interview, NextMove()) == (
        "<interview>phase: deep dive\ntopic: Acme\nnot yet told: result\nparked topics: Studies\n"
        "words that they do not want: crew\ntheir own words: shift</interview>\n\n"
        "Ask exactly one question, about “result”. Build on what they told of it."
    )


def test_before_a_decision_the_interviewer_picks_one_of_three_aspects() -> None:
    aspects = tuple(Aspect(name=each) for each in ("size", "result", "own part", "when"))
    interview = Interview(topics=(TOPICS[0].model_copy(update={"aspects": aspects}),), asking="result")
    assert "about the first of “result”, “size”, “own part” that they did not tell" in interviewer_context(interview)
    assert "one question, about “result”." in interviewer_context(interview, NextMove())


def test_a_message_that_is_not_an_answer_is_responded_to_first() -> None:
    interview = Interview(topics=TOPICS, asking="result")
    assert "answer it first" in interviewer_context(interview, NextMove(kind="question"))
    assert "accept it in a few words" in interviewer_context(interview, NextMove(kind="refusal"))
    over = interview.model_copy(update={"ended": Ended(reason="asked")})
    assert "answer it first" not in interviewer_context(over, NextMove(kind="question"))


def test_a_prompt_never_offers_covered_or_closed_topics() -> None:
    chance = random.Random(3)
    names = ["team size", "result", "own part", "what was hard", "when"]
    for _ in range(2_000):
        aspects = [
            Aspect(name=each, status=chance.choice(("open", "covered", "closed")), quotes=QUOTE) for each in names
        ]
        closing = chance.choice(("asking", "last"))
        interview = Interview(
            topics=(Topic(title="Acme", status="active", aspects=tuple(aspects), closing=closing),),
            asking=chance.choice(["", *names]),
        )
        told = interviewer_context(interview)
        assert not [each.name for each in aspects if each.status != "open" and each.name in told]


def test_each_topic_stage_has_its_task_in_the_prompt() -> None:
    def at(**changes: object) -> str:
        active = TOPICS[0].model_copy(update=changes)
        return task_of(Interview(topics=(active,)))

    assert "No topic is chosen yet" in task_of(Interview())
    assert "Sum up in two sentences" in at(closing="last")
    assert "what else there is to tell of “Acme”" in at()
    over = Interview(topics=TOPICS, ended=Ended(reason="asked"))
    assert "because they asked to stop" in task_of(over)
    assert "propose_profile" not in task_of(over)
    assert "propose_profile" in task_of(over.model_copy(update={"has_agenda": True}))


def test_the_orchestrators_prompt_has_topics_with_aspects_and_messages_as_data() -> None:
    told = orchestrator_context(Interview(topics=TOPICS, turns=3), SAYS)
    state = json.loads(told.partition("<interview>")[2].partition("</interview>")[0])
    assert state == {
        "phase": "divergence",
        "answers": 3,
        "asked": "",
        "topics": [
            {
                "title": "Acme",
                "status": "active",
                "answers": 2,
                "aspects": {"team size": "covered", "result": "open"},
            },
            {"title": "Studies", "status": "backlog", "answers": 0, "aspects": {}},
        ],
    }
    assert told.count("</said>") == 1, "no message ends the data"


def test_the_writers_prompt_has_the_current_draft_and_unwanted_words() -> None:
    interview = Interview(topics=TOPICS, statements=(statement("Led ten.", until=2), statement("Led eight.")))
    told = writer_context(interview.model_copy(update={"avoided": ("crew",), "terms": ("shift",)}), SAYS)
    assert "1. [Acme] Led eight." in told
    assert "Led ten" not in told
    assert '"terms": ["shift"]' in told
    assert "Words that they do not want: crew" in told
    assert "Nothing yet." in writer_context(Interview(), SAYS)
