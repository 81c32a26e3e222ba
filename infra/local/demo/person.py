"""The demo user: a product manager who was an engineer, nearly became one again, and now wants to work on climate.

Everything here, in her résumé and in her interview describes one person at the time of that interview.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qwestly_agent.domain.memory import MemoryType

CANDIDATE: dict[str, Any] = {
    "name": "Maya Okafor",
    "headline": "Senior Product Manager, payments and developer platforms",
    "location": "Lisbon, Portugal",
    "summary": "Product manager with an engineer's past. At home between backend teams and their users.",
    "skills": ["Product strategy", "API design", "Payments", "SQL", "Python", "User research"],
    "education": [{"degree": "BSc Computer Science", "school": "University of Lagos", "year": 2013}],
    "languages": ["English", "Portuguese", "Yoruba"],
    "years_of_experience": 11,
    "email": "maya@example.com",
    "salary_current": 98000,
}

EMPLOYMENT: list[dict[str, Any]] = [
    {
        "company": "Northwind Pay",
        "title": "Senior Product Manager",
        "location": "Lisbon",
        "start_date": "2021-04",
        "end_date": None,
        "is_current": True,
        "description": "Owns the merchant API and its dashboard, with a team of eight.",
    },
    {
        "company": "Ledgerline",
        "title": "Product Manager",
        "location": "Berlin",
        "start_date": "2018-02",
        "end_date": "2021-03",
        "is_current": False,
        "description": "Took the reconciliation product from pilot to 140 customers.",
    },
    {
        "company": "Kora Systems",
        "title": "Backend Engineer",
        "location": "Lagos",
        "start_date": "2015-04",
        "end_date": "2017-12",
        "is_current": False,
        "description": "Built settlement services in Python and PostgreSQL.",
    },
]

PREFERENCES: dict[str, Any] = {
    "roles": ["Group Product Manager", "Head of Product"],
    "locations": ["Lisbon", "Remote in Europe"],
    "work_mode": "remote first, or hybrid in Lisbon",
    "industries": ["Climate", "Developer tools"],
    "company_sizes": ["50-500"],
}

LINKEDIN: dict[str, Any] = {
    "url": "https://www.linkedin.com/in/maya-okafor-demo",
    "headline": "Senior Product Manager at Northwind Pay",
    "about": "I build payment products that developers like to use.",
}

LINKEDIN_SUMMARY: dict[str, Any] = {"summary": "A product manager for payments and APIs, in Lisbon since 2021."}
PROFILE_SUMMARY: dict[str, Any] = {
    "summary": "Product manager for payments and developer platforms, with an engineer's past.",
    "strengths": ["Payments", "APIs for developers", "Product strategy"],
}


@dataclass(frozen=True)
class Told:
    """A memory of the demo user, with its quote and age."""

    type: MemoryType
    content: str
    quote: str
    importance: float
    days_ago: int


MEMORIES = (
    Told(
        "goal",
        "Wants to lead a product team at a climate company within a year.",
        "within a year I want to lead a product team at a climate company",
        importance=0.95,
        days_ago=12,
    ),
    Told(
        "preference",
        "Prefers remote-first companies and does not want to leave Lisbon.",
        "I don't want to leave Lisbon, so remote-first is best",
        importance=0.8,
        days_ago=12,
    ),
    Told("decision", "Decided not to apply to banks any more.", "no more banks, that is decided", 0.7, days_ago=30),
    Told(
        "experience",
        "Mentored four junior product managers at Northwind Pay.",
        "I mentored four junior product managers here",
        importance=0.6,
        days_ago=45,
    ),
    Told(
        "constraint",
        "Can start a new job in March at the earliest, because of a three-month notice period.",
        "three months notice, so March at the earliest",
        importance=0.75,
        days_ago=12,
    ),
    Told(
        "skill",
        "Reads German well enough for contracts, since the years in Berlin.",
        "since Berlin my German is good enough to read contracts",
        importance=0.4,
        days_ago=80,
    ),
)
BEFORE = Told("goal", "Wants to become a staff engineer.", "I want to become a staff engineer", 0.9, days_ago=85)
"""The earlier goal that her first goal in `MEMORIES` replaced."""

_HERE = Path(__file__).parent

DOCUMENTS: list[tuple[str, str, str]] = [
    ("Résumé Maya Okafor, 2026", "resume", (_HERE / "resume.txt").read_text(encoding="utf-8").strip()),
    ("Interview of 14 September 2026", "transcript", (_HERE / "transcript.txt").read_text(encoding="utf-8").strip()),
]
