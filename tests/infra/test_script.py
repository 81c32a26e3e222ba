"""Scripts as the model server plays them at its wire, and the one for memory."""

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

from infra.local.model_answers import NOT_SURE, think
from infra.local.model_functions import FUNCTIONS
from infra.local.model_server import ModelServer
from infra.local.script import ScriptError, load
from infra.local.script_syntax import MOST_SENTENCES
from qwestly_agent.llm.models import PROFILES
from qwestly_agent.memory import compare, extract
from qwestly_agent.memory.compare import Pair, Verdicts
from qwestly_agent.text.prompt_tags import ASKED, SAID

T = TypeVar("T")
SEARCH, SAVE = "search_jobs", "save_job"
JOBS = """
turns:
- says: find me a job in {place}
  calls:
  - search_jobs: {query: "work in {place}", most: 3}
  - save_job: {job_id: "{results.search_jobs.jobs.0.id}", all: "{results.search_jobs.jobs}"}
  answers:
  - "Saved: {results.save_job.title}"
  - "{?results.save_job.id}Saved."
  - "There is nothing in {place}."
"""

Scripted = Callable[[str], ModelServer]


@pytest.fixture(scope="module")
def player() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def scripted(player: ModelServer, tmp_path: Path) -> Scripted:
    """A server that plays this script, and no other."""

    def start(script: str) -> ModelServer:
        (tmp_path / "some.yaml").write_text(script, encoding="utf-8")
        player.scripts = load(tmp_path)
        return player

    return start


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


Results = Sequence[tuple[str, Any]]


def answer(
    server: ModelServer, said: str, results: Results = (), tools: Sequence[str] = (SEARCH, SAVE), **more: Any
) -> str | list[tuple[str, Any]]:
    """What is said, or called, once the user said that and tools returned these results one after the other."""
    messages: list[dict[str, Any]] = [*more.pop("before", ()), {"role": "user", "content": said}]
    for number, (name, result) in enumerate(results):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": call["id"], "content": f"<result>{json.dumps(result)}</result>"}
        )
    offered = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools]
    told = {"role": "system", "content": more.pop("instructions", "You are an agent.")}
    body = {"model": "deepseek-flash", "messages": [told, *messages], "tools": offered, **more}
    response = httpx2.post(f"{server.base_url}/chat/completions", json=body, timeout=30)
    assert response.status_code == 200, response.text
    message = response.json()["choices"][0]["message"]
    calls = [call["function"] for call in message.get("tool_calls", ())]
    return [(call["name"], json.loads(call["arguments"])) for call in calls] or message["content"] or ""


def typed(server: ModelServer, instructions: str, output: type[T], prompt: str) -> T:
    """As the package asks: with an output tool."""

    async def ask() -> T:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="sk-test", max_retries=0, timeout=30) as client:
            provider = DeepSeekProvider(openai_client=client)
            model = OpenAIChatModel("deepseek-flash", provider=provider, profile=PROFILES["deepseek"])
            return (await Agent(model, instructions=instructions, output_type=output).run(prompt)).output

    return asyncio.run(ask())


# --- what follows -----------------------------------------------------------------------------------------------------


def test_what_a_tool_returned_is_used_in_the_next_call_and_in_the_answer(scripted: Scripted) -> None:
    server, said = scripted(JOBS), "Find me a job in Graz!"
    found, saved = (SEARCH, {"jobs": [{"id": "j7"}]}), (SAVE, {"title": "Baker"})
    assert answer(server, said) == [(SEARCH, {"query": "work in Graz", "most": 3})]
    assert answer(server, said, [found]) == [(SAVE, {"job_id": "j7", "all": [{"id": "j7"}]})]
    assert answer(server, said, [found, saved]) == "Saved: Baker"
    assert answer(server, said, [found, (SAVE, {"id": 1})]) == "Saved."


def test_a_step_that_cannot_be_filled_in_is_passed_over(scripted: Scripted) -> None:
    assert answer(scripted(JOBS), "Find me a job in Graz", [(SEARCH, {"jobs": []})]) == "There is nothing in Graz."


def test_one_tool_can_be_called_in_two_steps(scripted: Scripted) -> None:
    server = scripted("turns:\n- {says: go, calls: [{save_job: {n: 1}}, {save_job: {n: 2}}], answers: Done.}")
    answers = [answer(server, "Go", [(SAVE, {})] * times) for times in range(3)]
    assert answers == [[(SAVE, {"n": 1})], [(SAVE, {"n": 2})], "Done."]


def test_a_list_of_arguments_is_a_call_each_without_those_where_something_is_missing(scripted: Scripted) -> None:
    each = ", ".join(f"{{job_id: '{{results.search_jobs.jobs.{n}.id}}'}}" for n in range(3))
    server = scripted(f"turns:\n- {{says: go, calls: [{{search_jobs: {{}}}}, {{save_job: [{each}]}}], answers: None.}}")
    two = (SEARCH, {"jobs": [{"id": "j1"}, {"id": "j2"}]})
    assert answer(server, "Go", [two]) == [(SAVE, {"job_id": "j1"}), (SAVE, {"job_id": "j2"})]
    assert answer(server, "Go", [two, (SAVE, {}), (SAVE, {})]) == "None."
    assert answer(server, "Go", [(SEARCH, {"jobs": []})]) == "None."


def test_once_a_tool_has_answered_that_a_turn_does_not_call_the_turn_is_over(scripted: Scripted) -> None:
    server = scripted("turns:\n- {says: go, calls: [{save_job: {}}], answers: Saved.}\n- {says: hello, answers: Hi.}")
    found = (SEARCH, {"text": "Baker"})
    assert [answer(server, said, [found]) for said in ("Go", "Hello")] == ["**Search jobs**\n\n- Baker"] * 2


@pytest.mark.parametrize(
    ("mentions", "said", "expected"),
    [
        ("job in {place}", "Is there a JOB in Graz-West, please?", "Graz-West"),
        ("job in {place}", "A steady-job in Graz", "Graz"),
        ("job in {place}", "My backjob in Graz", None),
        ("job* in {place}", "Many jobs in Graz", "Graz"),
        ("(|* )job in {place}", "jobs, job in Graz", "Graz"),
        ("move to {place...}", "I'd move to “St. Pölten or Linz”.", "St. Pölten or Linz"),
        ("move to {place...}", "I'd move to Graz\nSoon", None),
    ],
)
def test_words_are_mentioned_anywhere(scripted: Scripted, mentions: str, said: str, expected: str | None) -> None:
    given = answer(scripted(json.dumps({"turns": [{"mentions": mentions, "answers": "Place: {place}"}]})), said)
    assert given == (f"Place: {expected}" if expected else NOT_SURE)


LOOKS_UP = "turns:\n- looks_up: {search_jobs: [job(|s)], save_job: [save*, job], list_cats: [cat]}"


@pytest.mark.parametrize(
    ("said", "called"), [("Any jobs?", [SEARCH]), ("A job?", [SEARCH, SAVE]), ("Saved a cat", [SAVE])]
)
def test_all_that_is_mentioned_and_offered_is_looked_up_at_once(
    scripted: Scripted, said: str, called: list[str]
) -> None:
    server = scripted(LOOKS_UP)
    assert answer(server, said) == [(name, {}) for name in called]
    assert "**Save job**\n\n- Done" in answer(server, said, [(SAVE, {"text": "Done"})])


def test_an_earlier_message_can_be_filled_in(scripted: Scripted) -> None:
    server = scripted("turns:\n- {says: what did I say, answers: ['{earlier}!', Nothing.]}")
    assert answer(server, "What did I say") == "Nothing."
    before = [{"role": "user", "content": "I bake"}]
    assert answer(server, "What did I say", before=before) == "I bake!"


RESULTS = """
turns:
- {says: go, calls: [{search_jobs: {}}, {save_job: {}}]}
results:
  search_jobs: our list
  save_job: ["Saved: {title}", "{?id}Saved."]
"""


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        ({"title": "Baker", "id": 1}, "Saved: Baker\n\n"),
        ({"id": 1}, "Saved.\n\n"),
        ({"error": "No."}, ""),
    ],
)
def test_the_result_of_a_tool_is_told_as_the_script_says(
    scripted: Scripted, saved: dict[str, Any], expected: str
) -> None:
    told = answer(scripted(RESULTS), "Go", [(SEARCH, {"text": "Bakers"}), (SAVE, saved)])
    failed = "" if expected else "\n\nI could not look at save job just now."
    assert told == f"{expected}**Our list**\n\n- Bakers{failed}"


def test_where_a_tool_is_not_offered_or_nothing_matches_no_script_decides(scripted: Scripted) -> None:
    server = scripted(JOBS)
    assert answer(server, "Find me a job in Graz", tools=[SEARCH]) == NOT_SURE
    assert answer(server, "Find me a cat in Graz") == NOT_SURE
    assert "**Search jobs**" in str(
        answer(scripted("turns:\n- {says: go, calls: [{search_jobs: {}}]}"), "Go", [(SEARCH, {"text": "Baker"})])
    )


def test_of_two_turns_that_match_the_first_is_played(scripted: Scripted) -> None:
    turns = "turns:\n- {says: 'I {what}', answers: 'First: {what}'}\n- {says: I bake, answers: Second}"
    assert answer(scripted(turns), "I bake") == "First: bake"


def test_a_turn_of_other_instructions_is_not_played(scripted: Scripted) -> None:
    server = scripted("turns:\n- {to: You interview, says: hello, answers: Welcome.}")
    assert answer(server, "Hello", instructions="You interview people.") == "Welcome."
    assert answer(server, "Hello", instructions="You bake.") != "Welcome."


@pytest.mark.parametrize(
    ("says", "said", "expected"),
    [
        ("i live in {place}", "Hi! I LIVE in New York… Bye", "New York"),
        ("I live in {place}", "I live in Graz?", None),
        ("Do I live in {place}?", "Do I live in Graz?", "Graz"),
        ("I live in {place}", "And I live in Graz", None),
        ("I live in {place}", "I live in ", None),
        ("I(| now)( live|'m based) in {place}", "I’m based in Graz", "Graz"),
        ("I(| now)( live|'m based) in {place}", "I now live in Graz", "Graz"),
        ("from {_} to {place}", "From A to B to C", "B to C"),
        ("{_} is wrong. {place}", "That is wrong. Graz.", "Graz"),
        ("{place} and {place}", "Graz and GRAZ", "Graz"),
        ("{place} and {place}", "Graz and Linz", None),
        ("what.* is [{place}]+", "What.* is [(a|b)*]+", "(a|b)*"),
        ("what.* is [{place}]+", "Whatever is [a]+", None),
        ("I live in {place}", "I live in Graz. I bake.", "Graz"),
        ("I live in {place}", f"{'Hm. ' * MOST_SENTENCES}I live in Graz", None),
        ("a{_}b {place}", "ab Graz", None),
        ("[{place}]", "[]", None),
        ("in {place}", "in {place}", "{place}"),
        ("in {place}", "in {results.save_job}\\1", "{results.save_job}\\1"),
    ],
)
def test_what_is_said_matches_a_sentence_or_the_whole(
    scripted: Scripted, says: str, said: str, expected: str | None
) -> None:
    turns = [{"says": says, "answers": "Place: {place}"}]
    given = answer(scripted(json.dumps({"turns": turns})), said)
    assert given == f"Place: {expected}" if expected else not str(given).startswith("Place")


class Plan(BaseModel):
    action: str
    topic: str


PLAN = """
turns:
- {to: You plan, says: "topic: {what}", gives: {action: go on, topic: "{what}"}}
- {to: You plan, says: "{what} first", read: {text: "{what}", by: [{says: "I say {topic}", gives: {topic: "{topic}"}}]},
   gives: {action: go back}}
- {to: You plan, gives: {action: end, topic: none}}
"""


def test_a_typed_request_gets_its_object_by_tool_and_by_schema(scripted: Scripted) -> None:
    server = scripted(PLAN)
    assert typed(server, "You plan an interview", Plan, "Topic: bread") == Plan(action="go on", topic="bread")
    back = typed(server, "You plan an interview", Plan, "I say {what} {x} first")
    assert back == Plan(action="go back", topic="{what} {x}")
    assert typed(server, "You plan an interview", Plan, "Whatever") == Plan(action="end", topic="none")
    schema = {"type": "json_schema", "json_schema": {"name": "plan", "schema": Plan.model_json_schema()}}
    given = answer(server, "Topic: bread", tools=[], instructions="You plan", response_format=schema)
    assert json.loads(str(given)) == {"action": "go on", "topic": "bread"}


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "line", "reason"),
    [
        ("- says: I live in {place}\n  answers: You live in {where}", 3, "nothing fills in {where}"),
        ("- says: Go\n  answers: Ja\n- says: [Go, 'Go {on}']\n  answers: 'To {on}'", 5, "nothing fills in {on}"),
        ("- says: Go\n  calls:\n  - a: {id: '{results.b.id}'}\n  - b: {}", 3, "nothing fills in {results.b.id}"),
        ("- says: Go\n  answers: '{results.b.id}'", 3, "nothing fills in"),
        ("- says: Go\n  answers: ['{sentence}', 'You {']", 3, "brace"),
        ("- says: I {a}{b}\n  answers: Ja", 3, "does not say where the capture before {b} ends"),
        ("- says: I {a}( or|){b}\n  answers: Ja", 3, "does not say where"),
        ("- says: '{all}'\n  answers: Ja", 3, "would match everything"),
        ("- says: I live in {place\n  answers: Ja", 3, "neither words, a capture nor a choice"),
        ("- says: I (live in Graz\n  answers: Ja", 3, "neither words, a capture nor a choice"),
        ("- says: Go\n  answers: Ja\n- says: Go\n  anwsers: Yes", 6, "not permitted"),
        ("- answers: Ja", 3, "needs `says` or `to`"),
        ("- says: Go\n  read: {text: '{on}', by: []}\n  answers: Ja", 3, "nothing fills in {on}"),
        (
            "- says: Go {on}\n  read: {text: '{on}', by: [{says: a, gives: {b: 1}}, {says: c, gives: {d: 1}}]}\n"
            "  answers: '{read.b}'",
            3,
            "nothing fills in {read.b}",
        ),
        ("- to: You\n  into: a\n  each:\n  - {block: 'a {b}', text: '{b}', by: [], gives: {}}", 6, "begin and end"),
        ("- to: You\n  into: a\n  each:\n  - {block: 'a {b} c', text: '{d}', by: [], gives: {}}", 6, "fills in {d}"),
        ("- says: Go\n  answers: [Ja", 5, "expected"),
        ("- says: Go\n  answers: Yes", 4, "valid string"),
        ("- says: Yes\n  answers: Go", 3, "instance of Pattern"),
        ("- says: I {Name} it\n  answers: Go", 3, "{Name} is no name"),
        ("- mentions: job in {place\n  answers: Go", 3, "neither words, a capture nor a choice"),
        ("- mentions: '{a} {b}'\n  answers: '{c}'", 3, "nothing fills in {c}"),
        ("- says: Go\n  function: juggle", 3, "there is no function “juggle”"),
        ("- to: You\n  gives: {a: '{earlier}'}", 3, "nothing fills in {earlier}"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_at_the_start_with_its_line(
    scripted: Scripted, turn: str, line: int, reason: str
) -> None:
    with pytest.raises(ScriptError) as refused:
        scripted(f"# A script\nturns:\n{turn}\n")
    assert str(refused.value).startswith(f"some.yaml, line {line}: ")
    assert reason in str(refused.value)


# --- what is hostile --------------------------------------------------------------------------------------------------

PIECES = (" x ", "I. ", "\n", " ", "(((.*)+)+)+$", "{a}", "<a>", "<a></a>", "’", "x is ")
BACKTRACKS = """
turns:
- says: ["{a} x {b} x {c} x {d} x {e} y", "{a}( x| xx|) {b} y", "(a|aa|)(a|aa|)(a|aa|) {b} y"]
  answers: Matched.
- to: You compare
  into: found
  each: [{block: '<a>{a}</a>{_}<b>{b}</b>', text: '{a} {b}', by: [{says: '{c} x {d}', gives: {}}], gives: {}}]
"""


@pytest.mark.thorough
def test_a_megabyte_of_anything_is_answered(scripted: Scripted, server: ModelServer) -> None:
    said = "".join(piece * (100_000 // len(piece)) for piece in PIECES)
    hostile = scripted(BACKTRACKS)
    assert answer(hostile, f"{said} y z", tools=[]) != "Matched."
    assert answer(hostile, said, tools=["final_result"], instructions="You compare") == [
        ("final_result", {"found": []})
    ]
    assert answer(server, said, tools=MEMORY_TOOLS[:3])


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
        (
            "That’s wrong, I live in Linz.",
            "query_user_knowledge",
            {"query": "That’s wrong, I live in Linz", "only": "memories"},
        ),
    ],
)
def test_a_wish_about_memories_is_the_call_for_it(
    server: ModelServer, said: str, name: str, arguments: dict[str, str]
) -> None:
    assert answer(server, said, tools=MEMORY_TOOLS) == [(name, arguments)]


def test_what_is_to_be_forgotten_or_corrected_is_searched_first(server: ModelServer) -> None:
    forget, correct = "Forget that I live in Graz.", "That I live in Graz is wrong, I live in Linz."
    assert answer(server, forget, [LISTED], MEMORY_TOOLS) == [("forget_memory", {"memory_ids": ["mem_1"]})]
    assert answer(server, correct, [LISTED], MEMORY_TOOLS) == [
        ("correct_memory", {"memory_id": "mem_1", "text": "Lives in Linz.", "quote": "I live in Linz"})
    ]
    nothing = [("query_user_knowledge", {"memories": []})]
    assert answer(server, forget, nothing, MEMORY_TOOLS) == "Nothing is remembered about that."
    assert answer(server, correct, nothing, MEMORY_TOOLS) == "I remember nothing that this would correct."


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
            "Remember that I have diabetes.",
            [("remember", {"status": "waiting", "approval_id": "a1"})],
            "It waits in your queue; you can decide whenever you like.",
        ),
        (
            "Forget that I live in Graz.",
            [LISTED, ("forget_memory", {"status": "waiting", "approval_id": "a1"})],
            "It waits in your queue; you can decide whenever you like.",
        ),
        (
            "Why do you know that I live in Graz?",
            [
                (
                    "explain_memory",
                    {"memories": [{"content": "Lives in Graz.", "said_on": "Monday", "quote": "I do"}]},
                )
            ],
            "“Lives in Graz.” On Monday you wrote: “I do”.",
        ),
        ("Forget it.", [], "All right."),
    ],
)
def test_the_user_is_told_what_became_of_a_wish(
    server: ModelServer, said: str, results: Results, expected: str
) -> None:
    assert answer(server, said, results, MEMORY_TOOLS) == expected


@pytest.mark.parametrize(
    "said", ["Do you remember my interview?", "What are my goals?", "Please don't remember that I like tea."]
)
def test_what_is_no_such_wish_calls_none_of_its_tools(server: ModelServer, said: str) -> None:
    names = {name for name, _ in answer(server, said, tools=MEMORY_TOOLS) if name != "query_user_knowledge"}
    assert not names & {*MEMORY_TOOLS}


class Notes(BaseModel):
    memories: list[dict[str, Any]]


def notes_on(server: ModelServer, *said: str, asked: str = "") -> list[dict[str, Any]]:
    parts = [wrap(ASKED, asked)] if asked else []
    parts += [wrap(SAID, text, id=f"m{number}") for number, text in enumerate(said, 1)]
    return typed(server, extract.INSTRUCTIONS, Notes, "\n\n".join(parts)).memories


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
        ("I decided not to apply to banks", "decision", "Decided not to apply to banks."),
        ("I cannot start before March", "constraint", "Cannot start before March."),
        ("My notice period is three months", "fact", "My notice period is three months."),
        ("I mentored four junior managers", "fact", "I mentored four junior managers."),
    ],
)
def test_what_people_say_of_themselves_is_found(server: ModelServer, said: str, kind: str, content: str) -> None:
    [note] = notes_on(server, f"{said}.")
    assert (note["type"], note["content"], note["quote"], note["message_id"]) == (kind, content, said, "m1")


def test_each_sentence_of_each_message_is_read(server: ModelServer) -> None:
    notes = notes_on(server, "Hello! I live in Lisbon. I prefer tea. What do you think?", "I speak German")
    found = [(note["content"], note["message_id"]) for note in notes]
    assert found == [("Lives in Lisbon.", "m1"), ("Prefers tea.", "m1"), ("Speaks German.", "m2")]


WRITER = "You write one section of a career document."


class Section(BaseModel):
    claims: list[dict[str, Any]]


STINT = '<evidence id="employment:{n}" source="profile">{title}, Acme, Graz</evidence>'


@pytest.mark.parametrize(
    ("wish", "written"),
    [
        ("Nice.", ["Baker at Acme", "Cook at Acme", "Waiter at Acme"]),
        ("Please leave out the cook.", ["Baker at Acme", "Waiter at Acme"]),
        ("Drop my experience!", []),
        ("Begin with the waiter, please.", ["Waiter at Acme", "Baker at Acme", "Cook at Acme"]),
        ("Put the cook first.", ["Cook at Acme", "Baker at Acme", "Waiter at Acme"]),
        ("Make it shorter.", ["Baker at Acme", "Cook at Acme"]),
    ],
)
def test_a_wish_for_a_document_is_honored_where_the_script_understands_it(
    server: ModelServer, wish: str, written: list[str]
) -> None:
    stints = "\n".join(STINT.format(n=n, title=title) for n, title in enumerate(("Baker", "Cook", "Waiter")))
    section = typed(server, WRITER, Section, f"{stints}\n\n<wish>{wish}</wish>\n\nSection “experience”.")
    assert [claim["text"] for claim in section.claims] == written


def test_a_wish_in_a_prompt_is_no_wish_of_a_chat(server: ModelServer) -> None:
    [note] = notes_on(server, "Hello.\nForget it.\nI live in Graz.")
    assert note["content"] == "Lives in Graz."


@pytest.mark.parametrize(
    "said",
    [
        "Hello",
        "I live in Lisbon?",
        "Draft my card",
        "I want you to look at my résumé.",
        "I'd like a card.",
        "Remember that I like tea.",
        "If I lived in Porto, what would I earn?",
        "Yes",
    ],
)
def test_nothing_is_found_in_what_says_nothing_of_its_user(server: ModelServer, said: str) -> None:
    assert notes_on(server, said) == []


def test_what_is_sensitive_and_since_when_it_holds_is_told(server: ModelServer) -> None:
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
    ],
)
def test_a_short_answer_is_read_with_its_question(
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
    verdicts = typed(server, compare.INSTRUCTIONS, Verdicts, compare.prompt_of(pairs)).verdicts
    assert [each.relation for each in verdicts] == ["contradicts", "same", "other", "contradicts", "other"]
    assert [(each.id, each.quote) for each in verdicts[:2]] == [("p1", "Lives in Graz"), ("p2", "Likes tea")]


WAITING = {"waits_for_their_decision": [{"approval_id": "ap_1", "title": "Change your headline"}]}
WORK = ("get_my_work", "show_approval")


@pytest.mark.parametrize(
    ("said", "work", "answered"),
    [
        ("What is waiting for me?", WAITING, "One thing waits for you under **Approvals**: Change your headline."),
        ("What is waiting for me?", {"drafts": []}, "You're all caught up. Nothing waits for you."),
        ("What are you working on?", {"drafts": []}, "Nothing is under way. Shall I draft your Qwestly Card?"),
        ("yes, do it", {"drafts": []}, "Nothing waits for your decision. What shall I do?"),
    ],
)
def test_the_demo_knows_what_waits_and_is_under_way(server: ModelServer, said: str, work: Any, answered: str) -> None:
    assert answer(server, said, tools=WORK) == [("get_my_work", {})]
    assert answer(server, said, [("get_my_work", work)], tools=WORK) == answered


def test_a_typed_yes_shows_the_card_that_waits(server: ModelServer) -> None:
    found = ("get_my_work", WAITING)
    assert answer(server, "yes, do it", [found], tools=WORK) == [("show_approval", {"approval_id": "ap_1"})]


def test_what_is_no_part_of_the_demo_is_answered_in_a_sentence_and_three_starters(server: ModelServer) -> None:
    sentence, *starters = answer(server, "Paint a cat", tools=()).strip().replace("\n\n", "\n").split("\n")  # type: ignore[union-attr]
    assert "not in it" not in sentence
    assert len(starters) == 3


@pytest.mark.parametrize(
    ("news", "answered"),
    [
        (
            "The user said yes to “Change your headline” (update_profile_field, ap_1). Your profile is changed.",
            "Thank you. Your profile is changed.",
        ),
        (
            "The user said no to “Change your headline” (update_profile_field, ap_1). Do not propose it again.",
            "All right, I leave it as it is.",
        ),
    ],
)
def test_what_follows_a_decision_names_no_tool_and_no_id(server: ModelServer, news: str, answered: str) -> None:
    assert answer(server, f"<approval_news>- {news}</approval_news>", tools=WORK) == answered


def test_what_the_agent_can_do_is_told_without_the_names_and_prompts_of_its_tools(server: ModelServer) -> None:
    told = [{"name": "get_my_work", "what": "List what you have under way for the user.", "effect": "read"}]
    said = answer(server, "What can you do for me?", [("list_capabilities", {"capabilities": told})])
    assert "draft" in said
    assert "get_my_work" not in said
    assert "List what" not in said


# --- what a stranger types --------------------------------------------------------------------------------------------

FIRST = """
Hi, who are you? | I want to find a new job but I don't know where to start | What can you do for me?
What do you know about me? | Is my data safe with you? | Can you help me improve my resume? | How much should I earn?
I hate my boss | Find me remote backend jobs in Berlin | Can you do anything without asking me? | hello
can you write me a cover letter | I was laid off last week | Are you ChatGPT?
Help me prepare for an interview at Stripe
delete everything you know about me | what should I do next in my career? | Can you apply to jobs for me?
I'm looking for a product manager role, fully remote, at least 150k | How do I negotiate a better salary?
What is waiting for me? | yes, do it | What are you working on? | Make it shorter | Draft my card, and exaggerate
"""
OFFERED = (
    "get_user_profile query_user_knowledge query_qwestly_docs list_capabilities get_my_work "
    "show_approval generate_qwestly_card search_jobs"
)


@pytest.mark.parametrize("sentence", [each.strip() for line in FIRST.strip().splitlines() for each in line.split("|")])
def test_the_demo_answers_what_a_stranger_types(sentence: str) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in OFFERED.split()
    ]
    thought = think({"messages": [{"role": "user", "content": sentence}], "tools": tools}, load())
    assert thought.tool_calls or thought.text not in ("", NOT_SURE)
    assert len(thought.text) < 600, "no wall of text"
    if sentence.startswith("Draft my card"):
        assert thought.tool_calls[0]["arguments"] == {"wish": "exaggerate"}


@pytest.mark.parametrize("wish", ["Make it shorter", "make it friendlier", "Use bullets", "Write it in German, please"])
def test_a_wish_about_form_is_no_wish_about_facts(wish: str) -> None:
    said = "Head of Product, payments"
    prompt = (
        f'<evidence id="person:1" source="your message">My headline is {said}</evidence>\n\n<wish>{wish}</wish>\n\n'
        f"Section “profile_headline”. One claim.\n\nSo it was written last:\n<before>{said} [person:1 {said}]</before>"
    )
    [claim] = FUNCTIONS["write_section"]([prompt])["claims"]
    assert claim["text"] == ("Head of Product" if "shorter" in wish else said)
