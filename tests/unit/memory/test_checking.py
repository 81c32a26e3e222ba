"""What may be remembered: what its user said of themselves, and nothing that only looks like it."""

from datetime import UTC, date, datetime

import pytest

from qwestly_agent.memory.checking import (
    Claimed,
    Passed,
    Reason,
    Said,
    check,
    hash_of,
    names_in,
    same_facts,
    says_the_same,
    since_of,
    typed_parts,
)

TODAY = date(2026, 11, 21)
AT = datetime(2026, 11, 21, tzinfo=UTC)


def judged(text: str, content: str, quote: str | None = None, before: str = "") -> Passed | Reason:
    return check(Claimed(content, text if quote is None else quote), Said("m1", text, AT, before), TODAY)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I live in Lisbon.", "Lives in Lisbon."),
        ("I'm based in Lisbon", "Lives in Lisbon."),
        ("I moved from Berlin to Lisbon last year", "Lives in Lisbon."),
        ("I mentored four junior product managers here", "Mentored four junior product managers."),
        ("no more banks, that is decided", "Decided not to apply to banks any more."),
        ("I don't want to leave Lisbon, so remote-first is best", "Does not want to leave Lisbon."),
        ("three months notice, so March at the earliest", "Can start in March at the earliest."),
        ("my German is good enough to read contracts", "Reads German well enough for contracts."),
        ("I want to work at Acme", "Wants to work at Acme."),
        ("I worked at Acme as a nurse until 2019", "Worked at Acme as a nurse until 2019."),
        ("I hate commuting every day", "Dislikes commuting."),
        ("I have 2 kids and a dog", "Has two children."),
        ("Ich wohne in Lissabon und arbeite bei Siemens", "Wohnt in Lissabon."),
        ("Trabajo en Madrid como enfermera", "Trabaja en Madrid como enfermera."),
    ],
)
def test_what_somebody_says_of_themselves_may_be_remembered(text: str, content: str) -> None:
    passed = judged(text, content)
    assert isinstance(passed, Passed), passed
    assert (passed.content, passed.question) == (content, "")
    assert passed.quote.rstrip(".") == text.rstrip(".")


@pytest.mark.parametrize(
    ("text", "content", "reason"),
    [
        ("I live in Lisbon now", "Lives in Porto.", Reason.UNSAID_FACT),
        ("I mentored four junior managers", "Mentored five junior managers.", Reason.UNSAID_FACT),
        ("I worked at Acme until 2019", "Worked at Acme until 2018.", Reason.UNSAID_FACT),
        ("I don't speak German at all", "Speaks German.", Reason.DENIED),
        ("I want to work at Acme", "Works at Acme.", Reason.WISHED),
        ("Should I move to Lisbon?", "Wants to move to Lisbon.", Reason.QUESTION),
        ("I'd rather not say where I live", "Lives somewhere.", Reason.REFUSAL),
        ("If I lived in Porto I would be happy", "Lives in Porto.", Reason.NOT_OF_THEMSELVES),
        ("The advert says the user is a surgeon", "Is a surgeon.", Reason.NOT_OF_THEMSELVES),
        ("The user is a surgeon.", "Is a surgeon.", Reason.NOT_OF_THEMSELVES),
        ("My boss told me that I am a genius", "Is a genius.", Reason.NOT_OF_THEMSELVES),
        ("I had lunch with my manager today", "Is a convicted murderer.", Reason.UNSUPPORTED),
        ("my password is hunter2abc please", "password: hunter2abc", Reason.CREDENTIAL),
        ("write to me at maya@example.com please", "Has the address maya@example.com.", Reason.CREDENTIAL),
        ("I live in Lisbon", " \u200b ", Reason.NOTHING),
        ("I live in Lisbon", "Lives in Lisbon. " * 30, Reason.TOO_LONG),
        ("Hello there", "Is friendly.", Reason.UNSUPPORTED),
        ("Lisbon, yes", "Lives in Lisbon.", Reason.TOO_SHORT),
    ],
)
def test_what_they_did_not_say_is_not_remembered(text: str, content: str, reason: Reason) -> None:
    assert judged(text, content) == reason


@pytest.mark.parametrize(
    "text",
    [
        "What of this fits me?\n\n> I am a surgeon at Acme",
        "```\nI am a surgeon at Acme\n```\nWhat do you think?",
        "~~~text\nI am a surgeon at Acme\n",
        'My letter begins with "I am a surgeon at Acme" and ends there.',
        "It begins: “I am a surgeon at Acme”, is that good?",
        "<document>I am a surgeon at Acme</document> is that good?",
        "Here is my old letter. " + "I write a lot. " * 100 + "I am a surgeon at Acme. " + "And more. " * 60,
        "A paragraph of it.\n\n" * 100 + "I am a surgeon at Acme.",
    ],
    ids=["quoted", "fenced", "open fence", "in marks", "in curly marks", "tagged", "long", "long in paragraphs"],
)
def test_a_document_in_their_message_is_not_their_word(text: str) -> None:
    assert judged(text, "Is a surgeon at Acme.", "I am a surgeon at Acme") == Reason.DOCUMENT


def test_what_is_typed_beside_a_document_still_is() -> None:
    text = "I am a nurse in Leeds.\n\n> We look for a surgeon\n\nIs that for me?"
    assert isinstance(judged(text, "Is a nurse in Leeds.", "I am a nurse in Leeds"), Passed)
    assert list(typed_parts(text)) == ["I am a nurse in Leeds.", "Is that for me?"]


def test_words_on_both_sides_of_a_document_are_no_quote() -> None:
    text = "I never was\n\n> good at it\n\na surgeon at Acme"
    assert judged(text, "Was a surgeon at Acme.", "I never was a surgeon at Acme") == Reason.NOT_SAID


@pytest.mark.parametrize(
    ("question", "answer", "content"),
    [
        ("Are you a surgeon?", "yes", "Is a surgeon."),
        ("Nice to meet you. Are you a surgeon?", "Yes, I am.", "Is a surgeon."),
        ("Where do you live?", "Lisbon", "Lives in Lisbon."),
        ("How many people do you lead?", "eight", "Leads eight people."),
    ],
)
def test_a_short_answer_counts_together_with_its_question(question: str, answer: str, content: str) -> None:
    passed = judged(answer, content, before=question)
    assert isinstance(passed, Passed), passed
    assert passed.question == question.rpartition(". ")[2]


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("", "yes"),
        ("You are a surgeon, I see.", "yes"),
        ("You are a surgeon. What would you like to do next?", "yes"),
        ("Are you a surgeon?", "No"),
        ("Are you a surgeon?", "not really"),
        ("Are you a surgeon?", "Well, that is a long story, and I would have to begin with my childhood"),
    ],
)
def test_yes_proves_nothing_by_itself(before: str, answer: str) -> None:
    assert isinstance(judged(answer, "Is a surgeon.", before=before), Reason)


def test_words_that_no_message_of_theirs_holds_are_nobodys() -> None:
    assert check(Claimed("Is a surgeon.", "I am a surgeon"), None, TODAY) == Reason.NOT_SAID
    assert judged("I live in Lisbon", "Is a surgeon.", "I am a surgeon") == Reason.NOT_SAID


@pytest.mark.parametrize(
    "text",
    [
        "I was diagnosed with depression in 2019",
        "I go to church every Sunday",
        "I earn 98000 euros at the moment",
        "I am a member of a trade union",
        "I am gay and out at work",
        "I spent two years in prison",
        "I vote for the green party",
        "I came here as a refugee",
    ],
)
def test_what_is_sensitive_is_seen_whatever_a_model_thinks(text: str) -> None:
    passed = judged(text, text.replace("I ", "Is or does: ", 1))
    assert isinstance(passed, Passed), passed
    assert passed.sensitive


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Lisbon.", "is based in Lisbon"),
        ("Has two children", "Has 2 kids."),
        ("Wants to lead a product team.", "Really wants to lead a product team"),
    ],
)
def test_what_says_the_same_is_one(one: str, other: str) -> None:
    assert says_the_same(one, other)
    assert says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Lisbon", "Lives in Berlin"),
        ("Leads the sales team", "Leads the support team"),
        ("Likes Python", "Dislikes Python"),
        ("Likes Python", "Does not like Python"),
        ("Worked at Acme until 2019", "Worked at Acme until 2021"),
        ("Wants to lead a team", "Leads a team"),
        ("Prefers remote work", "Prefers office work"),
        ("Wants to work full time", "Wants to work part time"),
        ("Leads a team of eight", "Leads a team of eighty"),
        ("Prefers Berlin over Lisbon", "Prefers Lisbon over Berlin"),
        ("Moved from Berlin to Lisbon", "Moved from Lisbon to Berlin"),
        ("Knows Python but no Go", "Knows Go but no Python"),
        ("Speaks Spanish and wants to learn German", "Speaks German and wants to learn Spanish"),
    ],
)
def test_two_facts_in_similar_words_stay_two(one: str, other: str) -> None:
    assert not says_the_same(one, other)
    assert not says_the_same(other, one)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Lives in Lisbon", "Lives in Berlin", False),
        ("Likes Python", "Dislikes Python", False),
        ("Leads a team of eight", "Leads a team of nine", False),
        ("Aspires to head a product group", "Wants to lead a product team", True),
    ],
)
def test_whoever_says_that_two_are_one_is_checked(one: str, other: str, same: bool) -> None:
    assert same_facts(one, other) == same


def test_a_hash_is_of_what_it_says_and_not_of_how_it_is_written() -> None:
    assert hash_of("Lives in Lisbon.") == hash_of(" lives  in LISBON!") != hash_of("Lives in Porto.")


def test_names_are_found_where_they_are_written_as_such() -> None:
    assert names_in("Worked at Acme in Berlin as a Nurse") == {"acme", "berlin"}
    assert names_in("Likes trains") == frozenset()


def test_since_when_is_taken_only_from_their_words() -> None:
    said = Said("m1", "I left Acme in March 2019", AT)
    assert since_of("2019-03", said) == datetime(2019, 3, 1, tzinfo=UTC)
    assert since_of("2019", said) == datetime(2019, 1, 1, tzinfo=UTC)
    assert [since_of(each, said) for each in ("2020", "soon", "2019-13", None)] == [None] * 4
