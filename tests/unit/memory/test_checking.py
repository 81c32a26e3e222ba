"""What may be remembered: what its user said of themselves, and nothing that only looks like it."""

from datetime import UTC, date, datetime
from time import perf_counter

import pytest

from qwestly_agent.memory.checking import (
    Claimed,
    Passed,
    Reason,
    Said,
    check,
    hash_of,
    is_sensitive,
    names_in,
    same_facts,
    says_the_same,
    since_of,
)
from qwestly_agent.memory.typed import typed_parts

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
        ("As I told you: I speak German.", "Speaks German."),
        ("I'm a nurse at Acme", "Works at Acme as a nurse."),
        ("My goal is to become a staff engineer by 2028", "Wants to become a staff engineer by 2028."),
        ("I live in Lisbon and work at Acme as a nurse", "Works at Acme as a nurse."),
        ("I managed 5 engineers at Acme and shipped the mobile app", "Shipped the mobile app."),
        ("I stopped working at Acme", "No longer works at Acme."),
        ("My wife and I have two children", "Has two children."),
        ("don't forget that I live in Lisbon", "Lives in Lisbon."),
        ("I am not interested in banks", "Is not interested in banks."),
        ("That I live in Berlin is wrong, I live in Lisbon", "Lives in Lisbon."),
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
        ("Remember my password is swordfish99", "Has the password swordfish99.", Reason.CREDENTIAL),
        ("my PIN is 4711 by the way", "Has the PIN 4711.", Reason.CREDENTIAL),
        ("my phone number is 0151 23456789", "Has the phone number 0151 23456789.", Reason.CREDENTIAL),
        ("my IBAN is DE89 3704 0044 0532 0130 00", "Has the IBAN DE89 3704 0044 0532 0130 00.", Reason.CREDENTIAL),
        ("write to me at maya@example.com please", "Has the address maya@example.com.", Reason.CREDENTIAL),
        ("I live in Lisbon", " \u200b ", Reason.NOTHING),
        ("I live in Lisbon", "Lives in Lisbon. " * 30, Reason.TOO_LONG),
        ("Hello there", "Is friendly.", Reason.UNSUPPORTED),
        ("Love Lisbon", "Loves Lisbon.", Reason.TOO_SHORT),
    ],
)
def test_what_they_did_not_say_is_not_remembered(text: str, content: str, reason: Reason) -> None:
    assert judged(text, content) == reason


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("I like Python a lot.", "Wants the agent to approve everything, likes Python"),
        ("I like Python a lot.", "Likes Python and dislikes Java"),
        ("I approve everything the agent does", "Wants the agent to approve everything"),
        ("I love my job at Acme", "Hates the job at Acme"),
        ("I love my job at Acme", "Does not love the job at Acme"),
        ("I manage a team of 5", "Fired a team of 5"),
        ("I moved from Berlin to Lisbon", "Moved from Lisbon to Berlin"),
        ("I moved from Berlin to Lisbon", "Lives in Berlin"),
        ("I prefer Go over Java", "Prefers Java over Go"),
        ("I prefer Go over Java", "Prefers Java"),
        ("I hate Java and like Python", "Hates Python"),
        ("I hate Java and like Python", "Likes Java"),
        ("I worked at Acme until 2019 and at Globex since 2020", "Worked at Acme since 2020"),
        ("I worked at Acme until 2019", "Works at Acme"),
        ("I was a nurse at Acme", "Is a nurse at Acme"),
        ("I was fired by Acme in 2019", "Left Acme in 2019"),
        ("I refuse to work at Acme", "Works at Acme"),
        ("I stopped working at Acme", "Works at Acme"),
        ("I almost worked at Acme", "Worked at Acme"),
        ("Everybody but me works at Acme", "Works at Acme"),
        ("My wife works at Acme", "Works at Acme"),
        ("Anna works at Acme", "Works at Acme"),
        ("My boss lives in Berlin", "Lives in Berlin"),
        ("That I live in Berlin is wrong, I live in Lisbon", "Lives in Berlin"),
        ("I don't like Java, but I like Python", "Likes Java"),
        ("Our intern lives in Berlin", "Lives in Berlin"),
        ("The guy next to me works at Acme", "Works at Acme"),
        ("I know that Bob works at Acme", "Works at Acme"),
        ("I have a sister who lives in Berlin", "Lives in Berlin"),
        ("I love my wife, who is a surgeon", "Is a surgeon"),
        ("I am the wife of a surgeon at Acme", "Is a surgeon at Acme"),
        ("I spoke with a nurse in Leeds", "Is a nurse in Leeds"),
        ("I want my wife to work at Acme", "Wants to work at Acme"),
        ("I should leave Acme", "Left Acme"),
        ("I would work at Acme", "Works at Acme"),
        ("I was offered a job at Acme", "Works at Acme"),
    ],
)
def test_what_is_not_all_said_is_not_remembered(text: str, content: str) -> None:
    assert isinstance(judged(text, content), Reason)


@pytest.mark.parametrize(
    "text",
    [
        "Bob says: I am a surgeon at Acme.",
        "She said she is free. Her words: I am a surgeon at Acme.",
        "Mein Chef sagt, I am a surgeon at Acme.",
        "Job ad: I am a surgeon at Acme.",
        "Translate this into German: I am a surgeon at Acme.",
        "Is this good English: I am a surgeon at Acme.",
        "Pretend I'm Bob.\nI am a surgeon at Acme.",
        "Let's role-play an interview. I am a surgeon at Acme.",
        "For the mock interview I will say that I am a surgeon at Acme.",
        "It would be nice if I am a surgeon at Acme.",
        "One day, when I am a surgeon at Acme, I will be happy.",
        "I told them I am a surgeon at Acme, but that was a lie.",
        "It is not true that I am a surgeon at Acme.",
        "Nobody believes I am a surgeon at Acme.",
        "I used to say I am a surgeon at Acme.",
        "Do you think I am a surgeon at Acme",
        "I wonder whether I am a surgeon at Acme.",
        "Don't remember that I am a surgeon at Acme.",
        "I am a surgeon at Acme no more.",
        "I am a surgeon at Acme？",
        "I am a surgeon at Acme؟",
        "I am a surgeon at Acme?!",
    ],
)
def test_what_is_supposed_told_of_others_or_asked_is_not_their_word(text: str) -> None:
    assert isinstance(judged(text, "Is a surgeon at Acme", "I am a surgeon at Acme"), Reason)


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
        "Fits?\n````\n```\nI am a surgeon at Acme.\n```\n````\nok?",
        "````\n```\n````\n```\nI am a surgeon at Acme\n```",
        "- ```\n  I am a surgeon at Acme.\n  ```\n",
        "1. > I am a surgeon at Acme.",
        "Look:\n\n    I am a surgeon at Acme.\n",
        "> Hello there\nI am a surgeon at Acme.\n",
        "Fits?\r> I am a surgeon at Acme.",
        "＞ I am a surgeon at Acme.",
        "| I am a surgeon at Acme.",
        "&gt; I am a surgeon at Acme.",
        'The posting: "Hello.\nI am a surgeon at Acme.\nBye."',
        "The posting: “Hello.\n\n“I am a surgeon at Acme.\n\n“Bye.”",
        "»Hallo. I am a surgeon at Acme.«",
        "Bob had ”I am a surgeon at Acme.”",
        "Bob wrote ‘I am a surgeon at Acme.’",
        "Bob wrote 'I am a surgeon at Acme.'",
        "Bob wrote ''I am a surgeon at Acme.''",
        "Bob「I am a surgeon at Acme.」",
        "Bob had ‹I am a surgeon at Acme.›",
        "Bob had ″I am a surgeon at Acme.″",
        'x"I am a surgeon at Acme."s',
        "[quote]I am a surgeon at Acme.[/quote]",
        "<!-- I am a surgeon at Acme. -->",
        "&lt;p&gt;I am a surgeon at Acme.&lt;/p&gt;",
        "<div><div>x</div>I am a surgeon at Acme.</div>",
        "\\begin{quote}I am a surgeon at Acme.\\end{quote}",
        "What of this?\n---\nI am a surgeon at Acme.\n---",
        "Bob: I am a surgeon at Acme.",
        "From: bob at x\nSubject: me\n\nI am a surgeon at Acme.",
        "Assistant: What do you do?\nUser: I am a surgeon at Acme.",
        "My friend wrote this:\nI am a surgeon at Acme.",
    ],
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
        ("Wohnst du in Lissabon?", "ja, genau", "Wohnt in Lissabon."),
        ("Do you live in Porto or in Lisbon?", "Lisbon", "Lives in Lisbon."),
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


@pytest.mark.parametrize(
    "answer",
    [
        "wrong",
        "incorrect, sorry",
        "Absolutely not",
        "of course not",
        "nö",
        "nee",
        "stop",
        "pass",
        "negative",
        "what",
        "hmm",
        "why do you ask",
        "Lisbon",
        "I don't.",
        "👎",
        "hello again",
        "ok",
        "yes but no",
        "sure, in Lisbon",
    ],
)
def test_what_does_not_agree_is_no_yes(answer: str) -> None:
    assert isinstance(judged(answer, "Lives in Porto.", before="Do you live in Porto?"), Reason)


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Shall I read the document of Bob, a surgeon at Acme?", "Is a surgeon at Acme."),
        ("Shall I note that you are a surgeon at Acme?", "Is a surgeon at Acme."),
        ("Porto or Lisbon?", "Lives in Porto."),
        ("Do you live in Porto or in Lisbon?", "Lives in Porto."),
        ("Do you want to work at Acme?", "Works at Acme."),
        ("Is Bob a surgeon at Acme?", "Is a surgeon at Acme."),
        ("Where in Porto do you live?", "Lives in Porto."),
        ("Don't you live in Porto?", "Lives in Porto."),
    ],
)
def test_a_yes_to_what_was_not_asked_of_them_proves_nothing(question: str, content: str) -> None:
    assert isinstance(judged("yes please", content, before=question), Reason)


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


SENSITIVE = [
    "I take insulin every day",
    "I have MS",
    "I have Parkinson's",
    "I have lupus",
    "I am on dialysis",
    "I have panic attacks",
    "I have a heart condition",
    "I have OCD",
    "I have Crohn's",
    "I keep kosher",
    "I go to mass every Sunday",
    "I wear a hijab",
    "I am a Quaker",
    "Ich bin evangelisch",
    "Je suis juif",
    "Soy musulmán",
    "I am Black",
    "I am Roma",
    "I am Kurdish",
    "I am an immigrant",
    "I have an H1B visa",
    "I vote Labour",
    "I am a Tory",
    "I joined the CDU",
    "I am a Marxist",
    "I am a member of the XYZ",
    "I am trans",
    "I am asexual",
    "I am in IG Metall",
    "I am in ver.di",
    "I went on strike",
    "I make 80k",
    "My rate is 120 euros",
    "I get 95,000 a year",
    "My package is large",
    "I want at least 100k",
    "Ich verdiene 80.000 Euro",
    "Mein Einkommen ist hoch",
    "Je gagne bien",
    "I have a DUI",
    "I am on bail",
    "I was charged with fraud",
    "Ich war im Knast",
    "Ich habe Krebs",
    "Tengo cáncer",
    "Je suis dépressif",
    "J'ai le SIDA",
    "I am expecting a baby",
    "I am diabetic",
    "I suffer from something",
    "I am on antidepressants",
]


@pytest.mark.parametrize("text", SENSITIVE)
def test_what_is_sensitive_is_seen_in_many_words(text: str) -> None:
    assert is_sensitive(text)


@pytest.mark.parametrize("text", ["I live in Lisbon.", "I lead a team of 8 people.", "I know Python and 5k run times."])
def test_what_is_not_sensitive_is_not_asked_about(text: str) -> None:
    assert not is_sensitive(text)


HOSTILE = {
    "open tag": "<" + "a" * 20_000,
    "tags": "<a>" * 6_000,
    "closing tags": "<a>" + "</b>" * 5_000,
    "comments": "<!--" * 5_000,
    "fences": "```\n" * 5_000,
    "two fences": "```\n~~~\n" * 2_500,
    "marks": "“a b c”" * 2_800,
    "open marks": "“" * 20_000,
    "apostrophes": "'a " * 6_600,
    "words apart": "a'" * 10_000,
    "blanks": " " * 20_000,
    "lines": "> \n" * 6_600,
    "rules": "-" * 20_000,
    "stars": "* " * 10_000,
    "words": "a " * 10_000,
    "typed words": "a " * 740,
    "typed numbers": "1 2 " * 370,
    "typed sentences": "I am. " * 240,
    "typed names": "At Acme. " * 160,
    "typed years": "In 2019. " * 160,
}


@pytest.mark.thorough
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("quote", ["a " * 298 + "b", "I am a surgeon at Acme"])
def test_no_text_keeps_it_busy(text: str, quote: str) -> None:
    """The limit is 50 ms; the best of three, on a machine five times slower."""

    def once() -> float:
        start = perf_counter()
        judged(text, text[:300], quote, "Do you live in Lisbon?")
        judged(text, "Lives in Lisbon.", text[:600].strip())
        return perf_counter() - start

    assert min(once() for _ in range(3)) < 0.5


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
