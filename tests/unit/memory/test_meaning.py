"""The stored text: the model's if the quote supports it, otherwise the user's, otherwise none."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime

import pytest

from qwestly_agent.base.errors import ModelUnavailable
from qwestly_agent.grounding import judge as grounding
from qwestly_agent.grounding.judge import Judged, Question
from qwestly_agent.memory.judges import RefusedNote, UserMessage, find_note, ground_notes
from qwestly_agent.memory.notes import DropReason, Note

TODAY = date(2026, 11, 22)


def note(text: str, quote: str, content: str, *, before: str = "") -> Note:
    said = UserMessage("msg_1", text, datetime(2026, 11, 22, tzinfo=UTC), before)
    found = find_note(said, kind="fact", content=content, quote=quote, conversation_id="c1", importance=0.5)
    assert isinstance(found, Note), found
    return found


class Judge:
    """Says yes to statements that contain one of these texts; gives no answer on those that contain a silent one."""

    def __init__(self, *yes: str, silent: Collection[str] = ()) -> None:
        self.yes, self.silent, self.asked = yes, silent, list[str]()

    async def __call__(self, questions: Sequence[Question]) -> Mapping[int, Judged]:
        self.asked += [each.statement.text for each in questions]
        return {
            each.number: self._judged(each)
            for each in questions
            if not any(text in each.statement.text for text in self.silent)
        }

    def _judged(self, question: Question) -> Judged:
        if any(text in question.statement.text for text in self.yes):
            return Judged(id=question.number, span=question.quotes[0].text)
        return Judged(id=question.number, why="The quote does not say that.")


def grounded(judge: grounding.Judge | None, *notes: Note) -> list[Note | RefusedNote]:
    return asyncio.run(ground_notes(notes, judge))


ON_CALL = "tbh i want out of on-call. anyway"


def test_the_models_sentence_is_stored_if_its_quote_supports_it() -> None:
    [found] = grounded(Judge("Wants out of on-call"), note(ON_CALL, "i want out of on-call", "Wants out of on-call"))
    assert isinstance(found, Note)
    assert (found.content, found.quote, found.is_checked) == ("Wants out of on-call", "i want out of on-call", True)


def test_otherwise_the_users_own_sentence_is_stored_if_meant() -> None:
    [found] = grounded(Judge("Their own words"), note(ON_CALL, "out of on-call", "Hates the on-call team"))
    assert isinstance(found, Note)
    assert found.content == found.quote == "tbh i want out of on-call."


def test_a_merged_text_unsupported_by_both_memories_is_rejected_with_a_reason() -> None:
    [found] = grounded(Judge(), note(ON_CALL, "out of on-call", "Hates the on-call team"))
    assert isinstance(found, RefusedNote)
    assert found.reasons == ("The quote does not say that.",)


def test_a_figure_not_in_the_quote_is_not_stored_whatever_the_judge_says() -> None:
    [found] = grounded(
        Judge("80", "Their own words"), note("I manage 8 people now.", "I manage 8 people", "Manages 80 people")
    )
    assert isinstance(found, Note)
    assert found.content == "I manage 8 people now."


@pytest.mark.parametrize("judge", [None, Judge(silent=["on-call"])])
def test_a_memory_without_a_verdict_stays_unchecked_and_unchanged(judge: Judge | None) -> None:
    before = note(ON_CALL, "i want out of on-call", "Wants out of on-call")
    assert grounded(judge, before) == [before]
    assert not before.is_checked


def test_an_unavailable_judge_counts_as_none() -> None:
    async def away(_: Sequence[Question]) -> Mapping[int, Judged]:
        raise ModelUnavailable

    before = note(ON_CALL, "i want out of on-call", "Wants out of on-call")
    assert asyncio.run(ground_notes([before], away)) == [before]


def test_a_short_answer_is_read_with_its_question_and_marked_inferred() -> None:
    asked = note("yes", "yes", "Works nights", before="Good. Do you work nights?")
    judge = Judge("Works nights")
    answers = iter([False, True])

    async def with_the_question_alone(questions: Sequence[Question]) -> Mapping[int, Judged]:
        given = await judge(questions)
        return {n: each if next(answers) else Judged(id=n) for n, each in given.items()}

    [found] = asyncio.run(ground_notes([asked], with_the_question_alone))
    assert isinstance(found, Note)
    assert (found.question, found.trust, found.is_checked) == ("Do you work nights?", "inferred", True)
    assert judge.asked == ["Works nights", "Works nights"]  # "yes" says nothing by itself


def test_a_short_complete_sentence_needs_no_question() -> None:
    [found] = grounded(Judge("Porto"), note("I live in Porto", "I live in Porto", "Lives in Porto", before="Where?"))
    assert isinstance(found, Note)
    assert (found.question, found.trust) == ("", "user_said")


@pytest.mark.parametrize(("quote", "content", "is_asked"), [("yes", "Is it", True), ("In Porto", "Is in Porto", False)])
def test_a_sensitive_question_makes_only_its_answer_sensitive(quote: str, content: str, is_asked: bool) -> None:
    answered = note(quote, quote, content, before="Are you HIV-positive?")
    answers = [not is_asked, True]

    async def judge(questions: Sequence[Question]) -> Mapping[int, Judged]:
        return {
            each.number: Judged(id=each.number, span=quote if yes else "")
            for each, yes in zip(questions, answers, strict=False)
        }

    [found] = asyncio.run(ground_notes([answered], judge))
    assert isinstance(found, Note)
    assert found.sensitive == is_asked


def test_sensitive_user_text_makes_a_note_sensitive() -> None:
    [found] = grounded(
        Judge("Their own words"),
        note("I need Fridays off as I am pregnant.", "I need Fridays off", "Is never there on Fridays"),
    )
    assert isinstance(found, Note)
    assert found.sensitive


@pytest.mark.parametrize(
    ("quote", "reason"),
    [
        ("I live in Porto", DropReason.NOT_SAID),
        ("You will live in Berlin", DropReason.DOCUMENT),
        ("my password is hunter22", DropReason.CREDENTIAL),
        ("", DropReason.NOT_SAID),
    ],
)
def test_a_statement_rejected_by_code_never_reaches_the_judge(quote: str, reason: DropReason) -> None:
    said = UserMessage(
        "m", "I want to move.\nmy password is hunter22\n> You will live in Berlin", datetime(2026, 1, 1, tzinfo=UTC)
    )
    found = find_note(said, kind="fact", content="Moves", quote=quote, conversation_id=None, importance=0.5)
    assert found is reason


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2021", "2021-01-01"), ("2021-03", "2021-03-01"), ("2020", None), ("2021-13", None), ("since spring", None)],
)
def test_a_memorys_start_date_must_be_in_the_quote(given: str, kept: str | None) -> None:
    said = UserMessage("m", "I run the ward since March 2021.", datetime(2026, 1, 1, tzinfo=UTC))
    quote = "I run the ward since March 2021"
    found = find_note(
        said, kind="fact", content="Runs the ward", quote=quote, conversation_id=None, importance=0.5, since=given
    )
    assert isinstance(found, Note)
    assert found.since == kept


@pytest.mark.parametrize(
    ("said", "content", "marked", "words", "is_kept"),
    [
        ("Ich pendle von Ulm nach Stuttgart.", "Pendelt von Ulm nach Stuttgart", [], "", True),
        ("I lead a team of twelve.", "Leads a team of 12", [], "", True),
        ("I lead a team of eight or twelve.", "Leads a team of 20", ["20"], "twelve", False),
        ("I run a team.", "Leads a team", ["leads"], "run", True),
        ("I lead a team.", "Leads a hospital", ["hospital"], "", False),
        ("I lead a team.", "Leads a hospital", ["hospital"], "clinic", False),
        ("I live in Lisbon.", "Does not live in Lisbon", ["not"], "", False),
    ],
)
def test_the_judge_returns_the_typed_words_of_each_term_of_a_note(
    said: str, content: str, marked: list[str], words: str, is_kept: bool
) -> None:
    looked = list[list[str]]()

    async def judge(questions: Sequence[Question]) -> Mapping[int, Judged]:
        looked.extend([*each.look_at] for each in questions)
        return {
            each.number: Judged(id=each.number, span=each.quotes[0].text, meant=[words] * len(each.look_at))
            for each in questions
        }

    [found] = grounded(judge, note(said, said, content).model_copy(update={"is_asked_for": True}))
    assert isinstance(found, Note)
    assert (found.content, found.quote, found.is_doubtful) == (content if is_kept else said, said, False)
    assert looked[0] == marked


def test_a_correction_takes_its_subject_from_the_corrected_memory() -> None:
    given = note("Ya he aprobado el C1, actualízalo.", "Ya he aprobado el C1", "Tiene el C1 de inglés")
    given = given.model_copy(update={"corrects": "Tiene el B2 de inglés", "is_asked_for": True})
    [found] = grounded(Judge("Tiene el C1"), given)
    assert isinstance(found, Note)
    assert (found.content, found.is_doubtful) == ("Tiene el C1 de inglés", False)
    [refused] = grounded(Judge("Their own words"), given)
    assert isinstance(refused, RefusedNote)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Merke dir bitte: Ich arbeite gern nachts.", "Ich arbeite gern nachts."),
        ("Remember that I like night shifts.", "I like night shifts."),
        ("I remember that night well.", "I remember that night well."),
    ],
)
def test_a_request_to_remember_is_not_part_of_the_memory(said: str, kept: str) -> None:
    [found] = grounded(Judge("Their own words"), note(said, said, "Hates mornings"))
    assert isinstance(found, Note)
    assert (found.content, found.quote) == (kept, said)
