"""The two state machines of an interview, and the ways it can end."""

import random
from collections.abc import Callable
from typing import Any, get_args

import pytest

from qwestly_agent.domain.interview import DraftSentence, Ended, Interview, Phase, Said, TopicStatus
from qwestly_agent.grounding.model import QuotedSource
from qwestly_agent.interviews.machine import (
    ENOUGH,
    MOST_TOPICS,
    MOST_TURNS_ON_A_TOPIC,
    PHASE_MOVES,
    TOPIC_MOVES,
    activate,
    activate_next,
    add_aspects,
    add_topic,
    choose_aspect,
    complete,
    count_answer,
    cover,
    end,
    end_if_due,
    is_tired,
    prioritize,
    strike,
    talk_about,
)
from qwestly_agent.interviews.model import (
    ClosedAspect,
    MessageKind,
    NewMessage,
    NextMove,
    ProposedTopic,
    apply_decision,
    apply_draft,
    hear,
)
from qwestly_agent.interviews.service import Known, with_agenda
from qwestly_agent.interviews.writer import RunFindings, brought

QUOTE = (Said(message_id="m1", text="eight people"),)
SAID = {"m1": QuotedSource(id="m1", text="I led eight people. I don't know the budget.")}


def interview_about(*titles: str, aspects: tuple[str, ...] = ("size", "result", "own part")) -> Interview:
    interview = Interview()
    for title in titles:
        interview = add_topic(interview, title, aspects)
    return activate_next(interview)


def after(interview: Interview, *lengths: int, now: float = 1.0) -> Interview:
    for length in lengths:
        interview = count_answer(interview, interview.counted_to + 2, length, now)
    return interview


def statement(text: str, *aspects: str, topic: str = "Acme") -> DraftSentence:
    return DraftSentence(topic=topic, aspects=aspects, text=text, quotes=QUOTE, since=0)


# --- topics --------------------------------------------------------------------------------------------------------


def test_the_first_topic_of_the_highest_priority_is_asked_about() -> None:
    interview = add_topic(add_topic(add_topic(Interview(), "A"), "B", priority=5), "C", priority=5)
    assert [(each.title, each.status) for each in activate_next(interview).topics] == [
        ("A", "backlog"),
        ("B", "active"),
        ("C", "backlog"),
    ]


def test_switching_topics_keeps_the_other_topics_state() -> None:
    interview = after(interview_about("A", "B"), 20, 20)
    switched = activate(interview, "b")
    assert (switched.active and switched.active.title, switched.topics[0].status) == ("B", "backlog")
    back = activate(switched, "A")
    assert back.active
    assert back.active.turns == 2


def test_only_the_user_reopens_a_completed_topic() -> None:
    interview = complete(interview_about("A", "B"), "A")
    assert activate(interview, "A") == interview
    assert activate(interview, "A", by_person=True).topics[0].status == "active"


def active_of(interview: Interview) -> str:
    return interview.active.title if interview.active else ""


def test_the_user_orders_the_topics_and_the_first_is_asked_about_at_once() -> None:
    ordered = prioritize(interview_about("A", "B", "C"), ["C", "A"])
    assert active_of(ordered) == "C"
    assert active_of(complete(ordered, "C")) == "A"
    nine = ProposedTopic(title="D", aspects=["what"], priority=9)
    assert active_of(apply_decision(ordered, NextMove(topics=[nine], topic="B"), SAID, 1.0)) == "C"


def test_a_higher_priority_topic_is_next_unless_one_is_being_summarized() -> None:
    nine = NextMove(topics=[ProposedTopic(title="B", aspects=["what"], priority=9)])
    interview = interview_about("A")
    assert active_of(apply_decision(interview, nine, SAID, 1.0)) == "B"
    for aspect in ("size", "result", "own part"):
        interview = cover(interview, "A", aspect, QUOTE)
    interview = apply_decision(after(interview, 20), nine, SAID, 1.0)
    once = after(interview, 20)
    assert [active_of(interview), active_of(once)] == ["A", "B"]


def test_a_topic_chosen_by_the_model_or_the_user_stays_active() -> None:
    interview = interview_about("A", "B", "C")
    switched = apply_decision(interview, NextMove(topic="B"), SAID, 1.0)
    assert active_of(apply_decision(switched, NextMove(), SAID, 1.0)) == "B"
    chosen = talk_about(switched, "C")
    nine = ProposedTopic(title="D", aspects=["what"], priority=9)
    assert active_of(apply_decision(chosen, NextMove(topics=[nine]), SAID, 1.0)) == "C"


def test_a_merely_mentioned_topic_comes_last() -> None:
    mentioned = NextMove(topics=[ProposedTopic(title="B", priority=9)])
    interview = apply_decision(interview_about("A"), mentioned, SAID, 1.0)
    assert [(each.title, each.status) for each in interview.topics] == [("A", "active"), ("B", "mentioned")]
    assert active_of(complete(add_topic(interview, "C"), "A")) == "C"
    assert active_of(complete(interview, "A")) == "B"
    asked = NextMove(topics=[ProposedTopic(title="B", aspects=["what"])])
    assert apply_decision(interview, asked, SAID, 1.0).topics[1].status == "backlog"


def test_a_reopened_interview_is_not_ended_again_for_the_same_reason() -> None:
    interview = interview_about("A").model_copy(update={"turns": 9, "minutes": 10, "idle_turns": 2})
    for aspect in ("size", "result", "own part"):
        interview = cover(interview, "A", aspect, QUOTE)
    for reason in ("covered", "nothing_new", "tired", "out_of_time"):
        ended = end(interview.model_copy(update={"lengths": (40, 40, 2, 2)}), Ended(reason=reason))
        again = after(talk_about(ended, "B"), 3, now=9_000.0)
        assert (again.ended, again.phase, active_of(again)) == (None, "deep_dive", "B")


def test_a_late_decision_changes_nothing_after_the_interview_ended() -> None:
    ended = end(interview_about("A", "B"), Ended(reason="asked"))
    late = apply_decision(ended, NextMove(topic="B"), SAID, 1.0)
    assert (late.phase, active_of(late)) == ("end", "A")


def test_an_aspect_similar_to_an_existing_one_is_not_added() -> None:
    topic = add_aspects(interview_about("A"), "A", ["Size", "the size", "budget of the team", "team"]).topics[0]
    assert [each.name for each in topic.aspects] == ["size", "result", "own part", "budget of the team", "team"]


def test_the_numbers_of_topics_and_aspects_are_bounded() -> None:
    interview = Interview()
    for number in range(30):
        interview = add_topic(interview, f"Topic{number}", [f"aspect{n}" for n in range(20)])
    assert len(interview.topics) == MOST_TOPICS
    assert {len(each.aspects) for each in interview.topics} == {8}


def test_a_covered_aspect_is_not_closed_and_one_without_a_quote_is_not_covered() -> None:
    interview = cover(interview_about("A"), "A", "Size", QUOTE)
    assert cover(interview, "A", "size", (Said(message_id="m2", text="skip"),), closed=True) == interview
    assert cover(interview, "A", "result", ()) == interview
    assert round(interview.completeness, 2) == 0.33


# --- how a topic ends ------------------------------------------------------------------------------------------------


def test_a_topic_is_summarized_with_one_last_question_before_it_closes() -> None:
    interview = interview_about("A", "B")
    for aspect in ("size", "result", "own part"):
        interview = cover(interview, "A", aspect, QUOTE)
    stages = []
    for _ in range(2):
        interview = after(interview, 20)
        stages.append((interview.active and interview.active.title, interview.active and interview.active.closing))
    assert stages == [("A", "last"), ("B", "asking")]


def test_a_topic_is_asked_about_for_at_most_twelve_turns() -> None:
    interview = interview_about("A", "B")
    active = []
    for _ in range(24):
        interview = after(interview, 20)
        active.append(interview.active.title if interview.active else None)
    assert active == ["A"] * 11 + ["B"] * 12 + [None]
    assert max(each.turns for each in interview.topics) <= MOST_TURNS_ON_A_TOPIC
    assert apply_draft(apply_draft(interview, [], [], 1.0), [], [], 1.0).ended == Ended(reason="out_of_topics")


def test_an_answer_is_counted_once() -> None:
    interview = after(interview_about("A"), 20)
    assert count_answer(interview, interview.counted_to, 20, 2.0) == interview
    assert count_answer(interview, interview.counted_to - 1, 20, 2.0) == interview


# --- how an interview ends -------------------------------------------------------------------------------------------


def test_an_interview_ends_when_most_topics_are_covered() -> None:
    interview = interview_about("A")
    for aspect in ("size", "result", "own part"):
        interview = cover(interview, "A", aspect, QUOTE)
    assert after(interview.model_copy(update={"turns": 9}), 20).ended is None, "it is summed up first"
    more = after(interview, 20, 20)
    assert (more.active, more.ended) == (None, None), "they may have more to tell"
    once = heard(more, kind="refusal", quote="I don't know")
    assert once.ended is None
    assert heard(once, kind="refusal", quote="I don't know").ended == Ended(reason="covered")
    assert apply_draft(once, [], [], 1.0).ended == Ended(reason="covered")
    assert after(add_topic(interview, "B", ["when"]), 20, 20, 20).ended is None


def test_two_drafted_turns_without_a_new_statement_end_the_interview() -> None:
    interview = apply_draft(interview_about("Acme"), [statement("Led eight people.", "size")], [], 1.0)
    once = apply_draft(interview, [], [], 1.0)
    assert (once.idle_turns, once.ended) == (1, None)
    assert apply_draft(once, [statement("Led eight people.")], [], 1.0).ended == Ended(reason="nothing_new")
    assert apply_draft(once, [statement("Grew sales.", "result")], [], 1.0).idle_turns == 0


def test_an_interview_without_any_statement_yet_is_not_idle() -> None:
    interview = apply_draft(apply_draft(apply_draft(interview_about("A"), [], [], 1.0), [], [], 1.0), [], [], 1.0)
    assert interview.ended is None


@pytest.mark.parametrize(
    ("lengths", "tired"),
    [
        ((40, 30, 20, 4, 3, 2), True),
        ((40, 30, 20, 4, 5, 2), False),
        ((12, 10, 14, 4, 3, 3), False),  # a terse person
        ((40, 2, 2), False),
        ((3, 3, 3), False),
        ((), False),
    ],
)
def test_an_answer_is_short_relative_to_the_users_own_answers(lengths: tuple[int, ...], tired: bool) -> None:
    assert is_tired(lengths) is tired


def test_the_users_time_limit_ends_the_interview() -> None:
    interview = interview_about("A").model_copy(update={"minutes": 10})
    begun = after(interview, 20, now=1_000.0)
    assert after(begun, 20, now=1_599.0).ended is None
    assert after(begun, 20, now=1_600.0).ended == Ended(reason="out_of_time")


def test_a_models_end_is_ignored_unless_the_counts_agree() -> None:
    interview = apply_decision(interview_about("A"), NextMove(), SAID, 1.0)
    assert interview.ended is None
    for aspect in ("size", "result", "own part"):
        interview = cover(interview, "A", aspect, QUOTE)
    assert apply_decision(after(interview, 20), NextMove(), SAID, 1.0).ended is None


def test_an_onboarding_is_not_ended_by_short_answers_or_a_known_profile() -> None:
    known = {"headline": "Nurse", "years_of_experience": 12, "summary": "Proud.", "skills": ["Triage"]}
    known |= {"languages": ["English"], "education": [{"school": "Porto"}]}
    known |= {"roles": ["Nurse"], "locations": ["Porto"], "work_mode": "office"}
    interview = activate_next(with_agenda(Interview(), Known(known)))
    assert interview.completeness > ENOUGH
    interview = apply_decision(after(interview, 40, 40, 40, 1, 1, 1), NextMove(), SAID, 1.0)
    assert (interview.ended, active_of(interview)) == (None, "Work")


def test_an_agenda_moves_on_and_asks_unanswered_aspects_a_second_time() -> None:
    interview, asked = activate_next(with_agenda(Interview(), Known())), list[str]()
    for seq in range(1, 40):
        message_id = f"m{seq}"
        interview = choose_aspect(count_answer(interview, seq, 1, 1.0, message_id))
        if interview.ended:
            break
        asked.append(interview.asking)
        found = RunFindings(NewMessage(message_id, seq, 1), interview.version)
        interview = brought(interview, found, {message_id: QuotedSource(id=message_id, text="Hi!")}, 1.0)
    wanted = [each.name for topic in interview.topics for each in topic.aspects]
    assert asked[:4] == wanted[:4], "two greetings complete no topic"
    assert sorted(filter(None, asked)) == sorted([*wanted, *wanted])
    assert interview.ended == Ended(reason="out_of_topics")


def test_an_aspect_is_asked_again_only_if_its_answer_said_nothing() -> None:
    interview, told = interview_about("Acme", aspects=("size", "result", "own part")), ("m1", "m3", "m4")
    asked = list[str]()
    for seq, message_id in enumerate(("m0", "m1", "m2", "m3", "m4", "m5"), 1):
        interview = choose_aspect(count_answer(interview, seq, 9, 1.0, message_id))
        asked.append(interview.asking)
        said = {message_id: QuotedSource(id=message_id, text="We did it.")}
        new = statement(f"Did it {seq}.").model_copy(
            update={"quotes": (Said(message_id=message_id, text="We did it."),)}
        )
        found = RunFindings(
            NewMessage(message_id, seq, 9), interview.version, None, [new] if message_id in told else []
        )
        interview = brought(interview, found, said, 1.0)
    assert asked == ["size", "result", "own part", "result", "", ""]
    active = interview.active
    assert active
    assert (active.closing, interview.ended) == ("last", None)


def test_a_question_left_by_a_change_of_topic_is_asked_again() -> None:
    interview = choose_aspect(count_answer(interview_about("Acme", aspects=("size",)), 1, 9, 1.0, "m0"))
    interview = choose_aspect(count_answer(talk_about(interview, "Studies", ["subject"]), 2, 9, 1.0, "m1"))
    interview = choose_aspect(count_answer(talk_about(interview, "Acme"), 3, 9, 1.0, "m2"))
    assert interview.asking == "size"


def test_an_interview_ends_even_if_the_model_keeps_opening_topics() -> None:
    interview = Interview()
    for turn in range(400):
        topic = ProposedTopic(title=f"Topic{turn}", aspects=["what"], priority=9)
        interview = apply_decision(after(interview, 20), NextMove(topics=[topic]), SAID, 1.0)
        if interview.ended:
            break
    assert interview.ended
    assert interview.turns <= (MOST_TOPICS + 1) * MOST_TURNS_ON_A_TOPIC


def test_an_interview_without_topics_ends_after_twelve_turns() -> None:
    interview = after(Interview(), *[20] * 12)
    assert interview.ended == Ended(reason="out_of_topics")


# --- what a model says is closed -------------------------------------------------------------------------------------


def test_only_the_users_words_close_an_aspect() -> None:
    closed = ClosedAspect(topic="A", aspect="result", message_id="m1", quote="I don't know the budget")
    invented = ClosedAspect(topic="A", aspect="size", message_id="m1", quote="skip that")
    interview = apply_decision(interview_about("A"), NextMove(closed=[closed, invented]), SAID, 1.0)
    assert [each.status for each in interview.topics[0].aspects] == ["open", "closed", "open"]


# --- what a message is -----------------------------------------------------------------------------------------------


def heard(interview: Interview, **move: Any) -> Interview:
    message = NewMessage("m1", interview.counted_to + 2, 9)
    return hear(interview, NextMove(**move), message, SAID, 1.0)


@pytest.mark.parametrize("kind", ["question", "small_talk", "go_on", "refusal", "correction"])
def test_only_answers_are_counted(kind: str) -> None:
    interview = heard(interview_about("A"), aspect="size")
    again = heard(interview, kind=kind)
    assert (again.turns, again.lengths, again.idle_turns) == (interview.turns, interview.lengths, 0)
    assert heard(interview).turns == interview.turns + 1
    assert again.asking == ("size" if kind != "refusal" else "result")
    assert again.untold == (("m1",) if kind != "correction" else ())


def test_a_topic_the_user_declines_in_their_own_words_is_closed() -> None:
    interview = heard(interview_about("A"), aspect="result")
    invented = heard(interview, kind="refusal", quote="skip that")
    assert [each.status for each in invented.topics[0].aspects] == ["open", "open", "open"]
    refused = heard(interview, kind="refusal", quote="I don't know the budget")
    assert [each.status for each in refused.topics[0].aspects] == ["open", "closed", "open"]
    assert refused.asking == "size"


def test_only_a_stop_in_the_users_words_ends_the_interview() -> None:
    interview = interview_about("A")
    assert heard(interview, kind="stop", quote="my bus is here").ended is None
    ended = heard(interview, kind="stop", quote="I don't know the budget")
    assert ended.ended == Ended(reason="asked", quote="I don't know the budget", told_to=2)
    assert (ended.asking, ended.draft) == ("", ())


def test_the_orchestrator_cannot_choose_answered_or_exhausted_aspects() -> None:
    interview = heard(interview_about("A", "B"), topic="B", aspect="own part")
    assert (active_of(interview), interview.asking) == ("B", "own part")
    covered = cover(interview, "B", "size", QUOTE)
    assert heard(covered, topic="B", aspect="size").asking == "result"
    for _ in range(2):
        interview = heard(interview, kind="question", aspect="own part")
        assert interview.asking == "own part"
    assert heard(interview, kind="question", aspect="own part").asking != "own part"


def test_a_late_answer_belongs_to_the_previous_question() -> None:
    interview = choose_aspect(heard(interview_about("A"), aspect="size"))
    assert interview.asking == "result"
    message = NewMessage("m1", 4, 9)
    late = hear(interview, NextMove(kind="refusal", quote="I don't know"), message, SAID, 1.0, asked="size")
    assert [each.status for each in late.topics[0].aspects] == ["closed", "open", "open"]
    assert late.asking == "result"
    assert hear(late, NextMove(kind="stop", quote="I don't know"), message, SAID, 1.0, asked="size") == late, "once"


# --- the draft -----------------------------------------------------------------------------------------------------


def test_a_replaced_statement_stays_in_the_previous_version() -> None:
    first = apply_draft(interview_about("Acme"), [statement("Led eight people.", "size")], [], 1.0)
    second = apply_draft(first, [statement("Led nine people.", "size")], [0], 1.0)
    assert [each.text for each in second.draft] == ["Led nine people."]
    assert [(each.text, each.since, each.until) for each in second.statements] == [
        ("Led eight people.", 1, 2),
        ("Led nine people.", 2, None),
    ]


def said_in(message_id: str, text: str) -> tuple[Said, ...]:
    return (Said(message_id=message_id, text=text),)


def test_a_deleted_or_replaced_statement_does_not_come_back() -> None:
    eight = statement("Led a team of 8.", "size").model_copy(update={"quotes": said_in("m1", "I led a team of 8")})
    corrected = statement("Led a team of 18.", "size").model_copy(update={"quotes": said_in("m3", "no, 18")})
    interview = apply_draft(apply_draft(interview_about("Acme"), [eight], [], 1.0), [corrected], [0], 1.0)
    again = eight.model_copy(update={"text": "Was the lead of 8 people.", "quotes": said_in("m1", "a team of 8")})
    other = statement("Worked at night.", "result").model_copy(update={"quotes": said_in("m1", "I led a team of 8")})
    told = apply_draft(interview, [eight, again, other], [], 1.0)
    assert [each.text for each in told.draft] == ["Led a team of 18.", "Worked at night."]
    struck = strike(told, "led a team of  18.")
    assert [each.text for each in struck.draft] == ["Worked at night."]
    size = struck.topics[0].aspects[0]
    assert (size.name, size.status, size.quotes) == ("size", "closed", ())
    assert apply_draft(struck, [corrected], [], 1.0).draft == struck.draft
    anew = corrected.model_copy(update={"quotes": said_in("m5", "we were 18 after all"), "text": "Led 18 people."})
    assert [each.text for each in apply_draft(struck, [anew], [], 1.0).draft] == ["Worked at night.", "Led 18 people."]
    assert strike(struck, "Nothing like that.") == struck


# --- any order -----------------------------------------------------------------------------------------------------

TITLES = [f"Topic{n}" for n in range(15)]
Move = Callable[[Interview], Interview]


def a_move(chance: random.Random, interview: Interview, made: int) -> Move:
    """An answer, a decision, a run's findings, or the user's edit; some of them late, or for another version."""
    title = chance.choice(TITLES)
    match chance.randrange(6):
        case 0 | 1:
            seq, words = interview.counted_to + chance.choice((-2, 0, 2, 2, 2)), chance.randrange(60)
            return lambda now: count_answer(now, seq, words, 1.0)
        case 2 | 3:
            topics = [ProposedTopic(title=title, aspects=["what", "when"][: chance.randrange(3)], priority=made % 10)]
            found = RunFindings(
                NewMessage("m1", interview.counted_to + chance.choice((-2, 0, 0, 2)), 9),
                version=interview.version - chance.choice((0, 0, 0, 1)),
                decision=NextMove(
                    kind=chance.choice([each for each in get_args(MessageKind) if each not in ("topic", "go_on")]),
                    quote=chance.choice(("", "I led eight people")),
                    topic=chance.choice(TITLES),
                    topics=topics,
                ),
                statements=[statement(f"Said {made}.", "what", topic=title)] if chance.random() < 0.5 else [],
                dropped=[chance.randrange(5)],
            )
            return lambda now: brought(now, found, SAID, 1.0)
        case 4:
            return chance.choice((lambda now: activate(now, title), lambda now: prioritize(now, [title])))
        case _:
            return lambda now: end_if_due(complete(now, title), 1.0)


@pytest.mark.thorough
def test_only_transitions_in_the_tables_happen_despite_models_and_redeliveries() -> None:
    """Each move is based on what was known, and is applied to the current state: late, twice, or after another move."""
    chance = random.Random(7)
    made = 0
    while made < 10_000:
        interview = Interview()
        moves: list[Move] = []
        late = 0
        while late < 5 and made < 10_000:
            made += 1
            at_once = [a_move(chance, interview, made) for _ in range(chance.choice((1, 1, 2)))]
            again = chance.choices(moves, k=chance.choice((0, 0, 1))) if moves else []
            for move in [*at_once, *again]:
                before = interview
                interview = move(before)
                _was_allowed(before, interview)
            moves += at_once
            late += interview.ended is not None
        for seq in range(2, interview.drafted_to + 1):
            found = RunFindings(NewMessage("m1", seq, 9), version=interview.version, statements=[statement("Late.")])
            assert brought(interview, found, SAID, 1.0) == interview, "a draft that comes twice adds nothing"


def _was_allowed(before: Interview, after_it: Interview) -> None:
    phases: tuple[Phase, ...] = get_args(Phase)
    assert after_it.phase in phases
    if before.phase != after_it.phase:
        assert after_it.phase in PHASE_MOVES[before.phase]
    assert before.ended is None or after_it.ended == before.ended
    assert (after_it.ended is None) == (after_it.phase != "end")
    assert after_it.counted_to >= before.counted_to
    assert after_it.drafted_to >= before.drafted_to
    assert len([each for each in after_it.topics if each.status == "active"]) <= 1
    for known in before.topics:
        now = after_it.topic(known.title)
        assert now, "no topic is lost"
        assert now.turns <= MOST_TURNS_ON_A_TOPIC
        if now.status != known.status:
            reached = _reached(known.status, 2)  # back to the backlog and asked about again, in one step
            assert now.status in reached
        assert known.status != "completed" or now.status == "completed"
        covered = {each.name for each in known.aspects if each.status != "open"}
        assert covered <= {each.name for each in now.aspects if each.status != "open"}


def _reached(status: TopicStatus, moves: int) -> set[TopicStatus]:
    reached: set[TopicStatus] = {status}
    for _ in range(moves):
        reached |= {to for each in reached for to in TOPIC_MOVES[each]}
    return reached
