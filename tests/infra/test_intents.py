"""Intents as the model server plays them at its wire, with the scripted embedding, and the notes that it makes."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import openai
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.framing import wrap
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider

from infra.local.intents import IntentError, load
from infra.local.model_server import ModelServer
from qwestly_agent.llm.models import PROFILES
from qwestly_agent.memory import extract_reader, judges
from qwestly_agent.memory.judges import Pair, Verdicts
from qwestly_agent.text.prompt_tags import ASKED, SAID

T = TypeVar("T")
SEARCH, SAVE = "search_jobs", "save_job"
JOBS = """
intents:
- intent: find jobs
  can: find jobs
  try: Find me a job
  examples: [find me a job, is there any work for me]
  slots: ["find me a job in (?P<place>.+)"]
  calls:
  - search_jobs: {query: "work in {place}", "most?": "{missing}"}
  - save_job: {job_id: "{results.search_jobs.jobs.0.id}"}
  answers:
  - "Saved: {results.save_job.title}"
  - "{?results.save_job.id}Saved."
  - "There is nothing in {place}."
  - "Where?"
- {intent: bake, can: bake bread, try: Bake me a bread, examples: [bake me a bread], answers: Done.}
- {intent: hello, can: greet, try: Hello, examples: [hello], gives_way: true, answers: Hi.}
results: {search_jobs: our list}
"""

Loaded = Callable[[str], ModelServer]
Results = Sequence[tuple[str, Any]]


@pytest.fixture(scope="module")
def player() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def loaded(player: ModelServer, tmp_path: Path) -> Loaded:
    """A server with these intents alone."""

    def start(intents: str) -> ModelServer:
        (tmp_path / "some.yaml").write_text(intents, encoding="utf-8")
        player.intents = load(tmp_path)
        return player

    return start


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def answer(
    server: ModelServer, said: str, results: Results = (), tools: Sequence[str] = (SEARCH, SAVE), **more: Any
) -> Any:
    """Return the answer or call after this message and these tool results."""
    messages: list[dict[str, Any]] = [*more.pop("before", ()), {"role": "user", "content": said}]
    for number, (name, result) in enumerate(results):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        content = f"<result>{json.dumps(result)}</result>"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    offered = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools]
    told = {"role": "system", "content": more.pop("instructions", "You are an agent.")}
    body = {"model": "deepseek-flash", "messages": [told, *messages], "tools": offered, **more}
    response = httpx2.post(f"{server.base_url}/chat/completions", json=body, timeout=30)
    assert response.status_code == 200, response.text
    message = response.json()["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return [(call["name"], json.loads(call["arguments"])) for call in calls] or message["content"] or ""


def typed(server: ModelServer, instructions: str, output: type[T], prompt: str) -> T:
    """Request an answer with an output tool, as the package does."""

    async def ask() -> T:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=30) as client:
            provider = DeepSeekProvider(openai_client=client)
            model = OpenAIChatModel("deepseek-flash", provider=provider, profile=PROFILES["deepseek"])
            return (await Agent(model, instructions=instructions, output_type=output).run(prompt)).output

    return asyncio.run(ask())


# --- how an intent is found and played --------------------------------------------------------------------------------


def test_slots_fill_calls_and_results_fill_later_calls_and_the_answer(loaded: Loaded) -> None:
    server, said = loaded(JOBS), "Please find me a job in “St. Pölten”!"
    found, saved = (SEARCH, {"jobs": [{"id": "j7"}]}), (SAVE, {"title": "Baker"})
    assert answer(server, said) == [(SEARCH, {"query": "work in St. Pölten"})]
    assert answer(server, said, [found]) == [(SAVE, {"job_id": "j7"})]
    assert answer(server, said, [found, saved]) == "Saved: Baker"
    assert answer(server, said, [found, (SAVE, {"id": 1})]) == "Saved."
    assert answer(server, said, [(SEARCH, {"jobs": []})]) == "There is nothing in St. Pölten."


def test_a_sentence_near_an_example_is_understood(loaded: Loaded) -> None:
    assert answer(loaded(JOBS), "is there some work for me?") == "Where?"


def test_an_ambiguous_message_is_answered_with_the_candidate_intents(loaded: Loaded) -> None:
    asked = answer(loaded(JOBS), "what about bread")
    assert asked.startswith("Did you mean")
    assert "“Bake me a bread”" in asked


def test_an_unknown_message_gets_the_nearest_two_intents_in_varied_words(loaded: Loaded) -> None:
    server, before, answers = loaded(JOBS), [], []
    for said in ("Paint a cat", "Paint a dog", "Sing", "Paint a cat", "Dance"):
        answers.append(answer(server, said, before=before))
        before += [{"role": "user", "content": said}, {"role": "assistant", "content": answers[-1]}]
    assert len({*answers}) == len({each.splitlines()[0] for each in answers}) == 5
    assert all(each.count("- “") == 2 for each in answers)


def test_the_first_part_of_a_message_is_answered_and_the_others_are_named(loaded: Loaded) -> None:
    said = answer(loaded(JOBS), "Hello! Bake me a bread. Find me a job.")
    assert said == "Done.\n\nOne thing at a time: for the rest, say “Find me a job”."


def test_a_roles_intent_applies_only_in_that_role(loaded: Loaded) -> None:
    server = loaded("intents:\n- {intent: a, to: You interview, examples: [hello], answers: Welcome.}")
    assert answer(server, "Hello", instructions="You interview people.") == "Welcome."
    assert answer(server, "Hello", instructions="You bake.") != "Welcome."


def test_results_of_other_tools_are_described(loaded: Loaded) -> None:
    assert answer(loaded(JOBS), "Hello", [(SEARCH, {"text": "Baker"})]) == "**Our list**\n\n- Baker"


@pytest.mark.parametrize(
    ("intents", "reason"),
    [
        ("intents:\n- {intent: a, examples: [b]}", "needs `answers`"),
        ("intents:\n- {intent: a, answers: b}", "needs `examples`"),
        ("intents:\n- {intent: a, examples: [b], function: c}", "there is no function “c”"),
        ("intents:\n- {intent: a, examples: [b], anwsers: c}", "not permitted"),
        ("intents:\n- {intent: a, slots: ['('], answers: b}", "some.yaml"),
        ("intents: [", "some.yaml"),
        ("intents:\n- &a {intent: a, examples: [b], answers: c}\n- *a", "stands twice"),
    ],
)
def test_an_unplayable_intent_is_rejected_with_its_file_and_the_reason(
    tmp_path: Path, intents: str, reason: str
) -> None:
    (tmp_path / "some.yaml").write_text(intents, encoding="utf-8")
    with pytest.raises(IntentError, match=reason):
        load(tmp_path)


def test_each_intent_has_a_description_and_is_found_by_each_of_its_examples(server: ModelServer) -> None:
    intents = server.intents
    for each in intents.intents:
        assert bool(each.can) == bool(each.try_), each.intent
        among = [one for one in intents.intents if one.to == each.to]
        for example in (*each.examples, *each.words):
            found = intents._found(example, among)
            assert found, (each.intent, example)
            assert (intents.ranked(example, among)[0][1].intent == each.intent) or found[0].slots, (
                each.intent,
                example,
            )


PIECES = ("((((", "{{[", '{"a":', "I live in ", '<said id="1">', "Remember that ", "(?", "\\", "?!. ")


@pytest.mark.thorough
def test_a_message_of_a_megabyte_is_answered(server: ModelServer) -> None:
    said = "".join(piece * (100_000 // len(piece)) for piece in PIECES)
    assert answer(server, said, tools=MEMORY_TOOLS[:3])
    notes = typed(server, extract_reader.ABOUT_EXTRACTION, Notes, f'<said id="m1">{said}</said>')
    assert notes.memories == [] or notes.memories[0]["message_id"]


# --- memory -----------------------------------------------------------------------------------------------------------

MEMORY_TOOLS = ("query_user_knowledge", "remember", "correct_memory", "forget_memory", "explain_memory")
LISTED = ("query_user_knowledge", {"memories": [{"id": "mem_1", "content": "Lives in Graz."}, {"id": "mem_2"}]})


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [
        (
            "Please remember that I prefer remote work.",
            "remember",
            {
                "text": "Prefers remote work.",
                "quote": "Please remember that I prefer remote work",
                "type": "preference",
            },
        ),
        (
            "Hello. Don’t forget that my dog is called Rex!",
            "remember",
            {"text": "my dog is called Rex.", "quote": "Don’t forget that my dog is called Rex", "type": "fact"},
        ),
        ("Forget that I live in Graz.", "query_user_knowledge", {"query": "I live in Graz", "only": "memories"}),
        ("Forget everything about Graz", "query_user_knowledge", {"query": "Graz", "only": "memories"}),
        ("Why do you know that I live in Graz?", "explain_memory", {"about": "I live in Graz"}),
    ],
)
def test_a_request_about_memories_becomes_the_matching_call(
    server: ModelServer, said: str, name: str, arguments: dict[str, str]
) -> None:
    assert answer(server, said, tools=MEMORY_TOOLS) == [(name, arguments)]


def test_a_memory_is_searched_before_it_is_forgotten_or_corrected(server: ModelServer) -> None:
    forget, correct = "Forget that I live in Graz.", "That I live in Graz is wrong, I live in Linz."
    assert answer(server, forget, [LISTED], MEMORY_TOOLS) == [("forget_memory", {"memory_ids": ["mem_1"]})]
    assert answer(server, correct, [LISTED], MEMORY_TOOLS) == [
        ("correct_memory", {"memory_id": "mem_1", "text": "Lives in Linz.", "quote": "I live in Linz"})
    ]
    nothing = [("query_user_knowledge", {"memories": []})]
    assert answer(server, correct, nothing, MEMORY_TOOLS) == "I remember nothing that this would correct."


def test_a_memory_that_only_shares_a_place_name_is_not_forgotten(server: ModelServer) -> None:
    found = [
        ("query_user_knowledge", {"memories": [{"id": "m", "content": "Reads German, since the years in Berlin."}]})
    ]
    said = answer(server, "Forget that I live in Berlin", found, MEMORY_TOOLS)
    assert said.startswith("Nothing is remembered about that.")


@pytest.mark.parametrize(
    ("said", "results", "expected"),
    [
        (
            "Remember that I like tea.",
            [("remember", {"remembered": {"content": "Likes tea."}})],
            "I will remember: Likes tea.",
        ),
        ("Remember that I like tea.", [("remember", {"error": "You did not say that."})], "You did not say that."),
        (
            "Forget that I live in Graz.",
            [LISTED, ("forget_memory", {"status": "waiting", "approval_id": "a1"})],
            "It waits in your queue; you can decide whenever you like.",
        ),
        (
            "Why do you know that I live in Graz?",
            [("explain_memory", {"memories": [{"content": "Lives in Graz.", "said_on": "Monday", "quote": "I do"}]})],
            "“Lives in Graz.” On Monday you wrote: “I do”.",
        ),
        ("Forget it.", [], "All right."),
    ],
)
def test_the_user_is_told_the_outcome_of_a_request(
    server: ModelServer, said: str, results: Results, expected: str
) -> None:
    assert answer(server, said, results, MEMORY_TOOLS) == expected


class Notes(BaseModel):
    memories: list[dict[str, Any]]


def notes_on(server: ModelServer, *said: str, asked: str = "") -> list[dict[str, Any]]:
    parts = [wrap(ASKED, asked)] if asked else []
    parts += [wrap(SAID, text, id=f"m{number}") for number, text in enumerate(said, 1)]
    return typed(server, extract_reader.ABOUT_EXTRACTION, Notes, "\n\n".join(parts)).memories


@pytest.mark.parametrize(
    ("said", "kind", "content"),
    [
        ("I live in Lisbon", "fact", "Lives in Lisbon."),
        ("Hi, I live in Lisbon", "fact", "Lives in Lisbon."),
        ("As I told you: I speak German", "skill", "Speaks German."),
        ("I moved from Berlin to Lisbon in March 2024", "fact", "Lives in Lisbon."),
        ("I worked at Acme as a nurse until 2019", "experience", "Worked at Acme as a nurse until 2019."),
        ("I’d like to become Head of Product", "goal", "Wants to become Head of Product."),
        ("I don’t want to leave Lisbon", "preference", "Does not want to leave Lisbon."),
        ("I do not speak French", "fact", "Does not speak French."),
        ("I decided not to apply to banks", "decision", "Decided not to apply to banks."),
        ("I cannot start before March", "constraint", "Cannot start before March."),
        ("My notice period is three months", "fact", "My notice period is three months."),
        ("I mentored four junior managers", "experience", "Mentored four junior managers."),
        ("Ich wohne in Graz", "fact", "Wohnt in Graz."),
    ],
)
def test_users_statements_about_themselves_are_noted(server: ModelServer, said: str, kind: str, content: str) -> None:
    [note] = notes_on(server, f"{said}.")
    assert (note["type"], note["content"], note["quote"], note["message_id"]) == (kind, content, said, "m1")


def test_each_sentence_of_each_message_is_read(server: ModelServer) -> None:
    notes = notes_on(server, "Hello! I live in Lisbon. I prefer tea. What do you think?", "I speak German")
    found = [(note["content"], note["message_id"]) for note in notes]
    assert found == [("Lives in Lisbon.", "m1"), ("Prefers tea.", "m1"), ("Speaks German.", "m2")]


@pytest.mark.parametrize(
    "said",
    [
        "Hello",
        "I live in Lisbon?",
        "Draft my card",
        "I want you to look at my résumé.",
        "I'd like a card.",
        "I'd like to see what you have.",
        "Remember that I like tea.",
        "If I lived in Porto, what would I earn?",
        "my boss is a nightmare, should I quit.",
        "My boss lives in Berlin.",
        "I wonder what a nurse earns",
        "I am looking for a job as a nurse",
        "Maybe I want to become a baker.",
        "I have a question",
        "Yes",
    ],
)
def test_questions_requests_orders_and_other_sentences_are_not_noted(server: ModelServer, said: str) -> None:
    assert notes_on(server, said) == []


def test_a_statements_sensitivity_and_start_date_are_noted(server: ModelServer) -> None:
    home, illness = notes_on(server, "I moved from Berlin to Lisbon in March 2024. I have diabetes.")
    assert (home["since"], home["sensitive"]) == ("2024-03", False)
    assert (illness["since"], illness["sensitive"]) == (None, True)


@pytest.mark.parametrize(
    ("asked", "said", "content"),
    [
        ("Nice. Do you live in Lisbon?", "Yes", "Lives in Lisbon."),
        ("Where do you live?", "In Lisbon.", "Lives in Lisbon."),
        ("What is your notice period?", "Three months", "My notice period is Three months."),
        ("Do you live in Lisbon?", "No", None),
        ("Where do you live?", "Why do you ask?", None),
    ],
)
def test_a_short_answer_is_interpreted_with_its_question(
    server: ModelServer, asked: str, said: str, content: str | None
) -> None:
    notes = notes_on(server, said, asked=asked)
    assert [(note["content"], note["quote"]) for note in notes] == ([(content, said.strip("."))] if content else [])


def test_pairs_of_notes_are_related(server: ModelServer) -> None:
    pairs = [
        Pair("Lives in Graz.", "Lives in Linz."),
        Pair("Likes tea.", "likes tea"),
        Pair("Likes tea.", "Likes coffee."),
        Pair("Wants to lead a team.", "Wants to lead a design team."),
        Pair("Worked at Acme.", "Works at Globex."),
    ]
    verdicts = typed(server, judges.INSTRUCTIONS, Verdicts, judges.prompt_of(pairs)).verdicts
    assert [each.relation for each in verdicts] == ["contradicts", "same", "contradicts"]
    assert [(each.id, each.quote) for each in verdicts[:2]] == [("p1", "Lives in Graz"), ("p2", "Likes tea")]
