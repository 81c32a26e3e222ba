"""The records named by tool results, each once."""

from typing import Any

import pytest
from pydantic_core import to_json

from qwestly_agent.agents.base import contract_of
from qwestly_agent.agents.tools.catalog import READERS, TOOLS, records_of

ADVERT = {"job_id": "adzuna:1", "title": "Engineer", "company": "Kestrel", "begins": "We build", "text": "We build it."}


WITHOUT_SOURCES = {
    *("get_my_work", "read_draft", "show_approval"),  # the agent's own work
    *("list_capabilities", "hand_over", "report_trouble"),
}


def test_each_lookup_tool_has_a_reader_for_its_records_or_is_exempt() -> None:
    reads = {each.name for each in TOOLS if contract_of(each.name, each.metadata).effect == "read"}
    assert reads - READERS.keys() == WITHOUT_SOURCES, (
        "an answer cannot name the records of this tool as sources: add it to `READERS` in `agents/tools/catalog.py`, "
        "or above"
    )


@pytest.mark.parametrize(
    ("tool", "result", "told"),
    [
        (
            "search_jobs",
            {"adverts": [ADVERT], "matches": [ADVERT | {"job_id": "job_2"}]},
            [("job:adzuna:1", "Engineer at Kestrel", "We build"), ("job:job_2", "Engineer at Kestrel", "")],
        ),
        ("read_job", ADVERT, [("job:adzuna:1", "Engineer at Kestrel", "We build it.")]),
        (
            "list_applications",
            {"applications": [{"application_id": "a1", "title": "Nurse", "status": "applied", "next_step": "Ask"}]},
            [("application:a1", "Nurse", "applied\nAsk")],
        ),
        (
            "search_web",
            {"pages": [{"title": "Kestrel", "url": "https://kestrel.example", "says": "Labs."}]},
            [("web:https://kestrel.example", "Kestrel", "Labs.\nhttps://kestrel.example")],
        ),
        (
            "search_topics",
            {"topics": [{"topic": "Feedback", "subject": "Leadership", "modules": ["Say it", "Ask"], "exact": True}]},
            [("library:Feedback", "Feedback", "Say it\nAsk")],
        ),
        (
            "get_learning_progress",
            {"gaps": [{"topic": "Hiring", "need_quote": {"module_id": "hiring/1", "text": "People hire."}}]},
            [("library:hiring/1", "Hiring", "People hire.")],
        ),
        (
            "get_learning_progress",
            {
                "goal": "Nurse at Kestrel",
                "gaps": [
                    {
                        "topic": "Hiring",
                        "need_quote": {"module_id": "hiring/1", "text": "People hire."},
                        "asked": {"job_id": "job_1", "requirement": "hiring", "quote": "You hire."},
                    }
                ],
            },
            [("job:job_1", "Nurse at Kestrel", "You hire."), ("library:hiring/1", "Hiring", "People hire.")],
        ),
        (
            "get_user_profile",
            {"profile": {"name": "Ada", "headline": "Nurse", "skills": ["care"]}},
            [("profile:own", "Your profile", "Ada\nNurse")],
        ),
        ("get_user_profile", {"profile": None, "note": "None yet."}, []),
        ("remember", {"memories": []}, []),
    ],
)
def test_a_tool_result_names_its_records(tool: str, result: dict[str, Any], told: list[tuple[str, str, str]]) -> None:
    assert [(each.source.id, each.source.title, each.source.text) for each in records_of(tool, result)] == told


def test_a_truncated_result_names_only_its_complete_records() -> None:
    memories = [{"id": f"m{number}", "content": "Lives in Lisbon.", "quote": "I live in Lisbon"} for number in range(3)]
    written = to_json({"memories": memories}).decode()
    cut = {"beginning": written[: written.index("m2") + 3], "note": "Too long."}
    assert [each.source.id for each in records_of("query_user_knowledge", cut)] == ["memory:m0", "memory:m1"]
