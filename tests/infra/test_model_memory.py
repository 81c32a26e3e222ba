"""The scripted model as a reader of conversations: what it finds is what its user said of themselves."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeVar

import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

from infra.local.model_memory import IS_TO_COMPARE, IS_TO_EXTRACT, SEARCH, TOOLS, call_in
from infra.local.model_server import ModelServer
from qwestly_agent.memory import extraction, reconciliation
from qwestly_agent.memory.checking import Reason, Said
from qwestly_agent.memory.extraction import Candidate, Extracted, Kept, judge
from qwestly_agent.memory.model import Memory, Source
from qwestly_agent.memory.reconciliation import Verdicts
from qwestly_agent.stores.memories import Near

T = TypeVar("T")
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def asked(server: ModelServer, instructions: str, output: type[T], prompt: str) -> T:
    """As the house asks: over the wire, with an output tool."""

    async def ask() -> T:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=5) as client:
            model = OpenAIChatModel("deepseek-flash", provider=DeepSeekProvider(openai_client=client))
            return (await Agent(model, instructions=instructions, output_type=output).run(prompt)).output

    return asyncio.run(ask())


def found_in(server: ModelServer, text: str, before: str = "") -> list[tuple[Candidate, Kept | Reason]]:
    """What the model finds in a message, and what the checks of memory make of each."""
    said = {"m1": Said("msg_1", text, NOW, before)}
    found = asked(server, extraction.INSTRUCTIONS, Extracted, extraction.prompt_of(said)).memories
    return [(each, judge(each, said.get(each.message_id), "c1", NOW.timestamp())) for each in found]


def test_it_knows_a_request_to_extract_and_one_to_compare() -> None:
    assert extraction.INSTRUCTIONS.startswith(IS_TO_EXTRACT)
    assert reconciliation.INSTRUCTIONS.startswith(IS_TO_COMPARE)


@pytest.mark.parametrize(
    ("text", "kind", "content"),
    [
        ("I live in Lisbon.", "fact", "Lives in Lisbon."),
        ("Hi, I live in Lisbon.", "fact", "Lives in Lisbon."),
        ("I moved from Berlin to Lisbon in March 2024.", "fact", "Lives in Lisbon."),
        ("I worked at Acme as a nurse until 2019.", "experience", "Worked at Acme as a nurse until 2019."),
        ("I led a team of 12 engineers at Globex.", "experience", "Led a team of 12 engineers at Globex."),
        ("I’d like to become Head of Product.", "goal", "Wants to become Head of Product."),
        ("I want to lead a product team.", "goal", "Wants to lead a product team."),
        ("I prefer remote work.", "preference", "Prefers remote work."),
        ("I don’t want to leave Lisbon.", "preference", "Does not want to leave Lisbon."),
        ("I decided not to apply to banks any more.", "decision", "Decided not to apply to banks any more."),
        ("I speak Portuguese and Yoruba.", "skill", "Speaks Portuguese and Yoruba."),
        ("I can read German contracts.", "skill", "Can read German contracts."),
        ("I cannot start before March.", "constraint", "Cannot start before March."),
        ("My notice period is three months.", "fact", "Notice period is three months."),
        ("I left my job at Kora.", "experience", "Left their job at Kora."),
    ],
)
def test_what_a_person_says_of_themselves_is_found_and_passes_the_checks(
    server: ModelServer, text: str, kind: str, content: str
) -> None:
    [(candidate, kept)] = found_in(server, text)
    assert (candidate.type, candidate.content, candidate.quote) == (kind, content, text)
    assert isinstance(kept, Kept), kept


def test_one_message_can_say_several_things(server: ModelServer) -> None:
    found = found_in(server, "Hello! I live in Lisbon and I prefer remote work. What do you think?")
    assert [each.content for each, _ in found] == ["Lives in Lisbon.", "Prefers remote work."]
    assert all(isinstance(kept, Kept) for _, kept in found)


def test_since_when_it_holds_is_found_where_it_is_said(server: ModelServer) -> None:
    [(candidate, kept)] = found_in(server, "I moved from Berlin to Lisbon in March 2024.")
    assert candidate.since == "2024-03"
    assert isinstance(kept, Kept)
    assert kept.since
    assert kept.since.startswith("2024-03-01")


@pytest.mark.parametrize(("text", "sensitive"), [("I have diabetes.", True), ("I have two dogs.", False)])
def test_what_is_sensitive_is_flagged(server: ModelServer, text: str, sensitive: bool) -> None:
    assert [each.sensitive for each, _ in found_in(server, text)] == [sensitive]


@pytest.mark.parametrize(
    "text",
    [
        "Hello",
        "Thank you!",
        "I live in Lisbon?",
        "What are my goals?",
        "Draft my card",
        "I want you to look at my résumé.",
        "I'd like a card.",
        "Remember that I like tea.",
        "Forget that I worked at Acme.",
        "If I lived in Porto, what would I earn?",
        "Yes",
        "```\nI am a surgeon.\n```",
    ],
)
def test_nothing_is_found_in_what_says_nothing_about_its_user(server: ModelServer, text: str) -> None:
    assert found_in(server, text) == []


@pytest.mark.parametrize(
    ("question", "answer", "content"),
    [
        ("Nice. Do you live in Lisbon?", "Yes", "Lives in Lisbon."),
        ("Where do you live?", "In Lisbon.", "Lives in Lisbon."),
        ("What is your notice period?", "Three months", "Notice period is Three months."),
        ("Do you live in Lisbon?", "No", None),
        ("Where do you live?", "Not telling", None),
    ],
)
def test_a_short_answer_says_something_with_its_question(
    server: ModelServer, question: str, answer: str, content: str | None
) -> None:
    found = found_in(server, answer, before=question)
    assert [each.content for each, _ in found] == ([content] if content else [])
    assert all(isinstance(kept, Kept) and kept.trust == "inferred" for _, kept in found)


@pytest.mark.parametrize(
    ("new", "known", "verdict"),
    [
        ("Lives in Lisbon.", "Lives in Berlin.", "supersede"),
        ("Wants to become Head of Product.", "Wants to become a staff engineer.", "supersede"),
        ("Prefers remote work.", "Prefers to work remote.", "reinforce"),
        ("Likes night trains.", "Likes slow planes.", "add"),
        ("Led a team at Globex.", "Led a team at Acme.", "add"),
    ],
)
def test_two_statements_are_compared(server: ModelServer, new: str, known: str, verdict: str) -> None:
    kept = Kept(
        type="fact",
        content=new,
        quote=new,
        trust="user_said",
        importance=0.5,
        confidence=0.9,
        sensitive=False,
        said_at=0.0,
        source=Source(),
    )
    near = Near(Memory(id="mem_1", type="fact", content=known), 0.8)
    prompt = reconciliation.prompt_of([kept], {0: [near]})
    [given] = asked(server, reconciliation.INSTRUCTIONS, Verdicts, prompt).verdicts
    assert (given.id, given.known_id, given.verdict) == ("n1", "k1.1", verdict)


@pytest.mark.parametrize(
    ("words", "name", "arguments"),
    [
        ("Remember that I prefer remote work", "remember", {"text": "Prefers remote work."}),
        ("Don’t forget that my dog is called Rex.", "remember", {"text": "Dog is called Rex."}),
        ("Please forget that I worked at Acme.", "forget_memory", {"about": "I worked at Acme"}),
        ("Forget everything about Acme", "forget_memory", {"about": "Acme"}),
        ("Why do you know that I live in Lisbon?", "explain_memory", {"about": "I live in Lisbon"}),
        ("That’s wrong, I live in Porto.", SEARCH, {"query": "I live in Porto."}),
    ],
)
def test_a_wish_about_memories_is_the_call_for_it(words: str, name: str, arguments: dict[str, str]) -> None:
    assert call_in(words, {*TOOLS, SEARCH}, []) == {"name": name, "arguments": arguments}


@pytest.mark.parametrize("words", ["Forget it.", "Do you remember my interview?", "What are my goals?"])
def test_what_is_no_such_wish_is_left_to_the_rest(words: str) -> None:
    assert call_in(words, {*TOOLS, SEARCH}, []) is None
