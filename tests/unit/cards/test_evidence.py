"""The evidence about a user: its origin, its words, its sections and its amount."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from infra.local.demo import person
from qwestly_agent.cards.evidence import MOST_CHARACTERS, GatheredEvidence, gather, sections_for, sources_of
from qwestly_agent.domain.card import person_said
from qwestly_agent.domain.interview import DraftSentence as Sentence
from qwestly_agent.domain.interview import Interview, Said, Topic
from qwestly_agent.domain.memory import Memory
from qwestly_agent.domain.resume import ReadField, ResumeRecord, ResumeStatus
from qwestly_agent.grounding.ground import check
from qwestly_agent.grounding.model import Quote, Statement
from qwestly_agent.stores.candidate_data import Passage
from qwestly_agent.stores.interviews import StoredInterview

TODAY = datetime(2026, 11, 21, tzinfo=UTC).date()


@dataclass
class Kept:
    kept: list[Any]

    async def newest(self, _: str, limit: int) -> list[Any]:
        return self.kept[:limit]


@dataclass
class Known:
    """The stores that are queried only for one user's data."""

    profile: dict[str, Any] = field(default_factory=dict)
    remembered: list[Memory] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    interviews: list[StoredInterview] = field(default_factory=list)
    resumes: list[ResumeRecord] = field(default_factory=list)

    async def get_career(self, _: str) -> dict[str, Any]:
        return self.profile

    async def most_salient(self, _: str, limit: int) -> list[Memory]:
        return self.remembered[:limit]

    async def search(self, _: str, words: str, vector: None, limit: int) -> list[Passage]:
        self.searched.append(words)
        return self.passages[:limit]

    async def gathered(self) -> dict[str, GatheredEvidence]:
        stores: Any = SimpleNamespace(
            profiles=self,
            memories=self,
            knowledge=self,
            interviews=Kept(self.interviews),
            resumes=Kept(self.resumes),
        )
        return {each.evidence.id: each for each in await gather(stores, "u1")}


def maya(**more: Any) -> Known:
    candidate = {name: value for name, value in person.CANDIDATE.items() if name not in ("email", "salary_current")}
    profile = {**candidate, "employment": person.EMPLOYMENT, "preferences": person.PREFERENCES, **more}
    return Known(profile)


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("text", "cited", "quote"),
    [
        (
            "Senior Product Manager at Northwind Pay since April 2021",
            "employment:1",
            "Senior Product Manager, Northwind Pay, Lisbon\nApril 2021 – present",
        ),
        ("Product Manager at Ledgerline for three years", "employment:2", "Product Manager, Ledgerline"),
        ("BSc Computer Science, University of Lagos, 2013", "education:1", "University of Lagos, 2013"),
        ("11 years of experience", "profile", "11 years of experience"),
        ("Would like to work as Head of Product", "preferences", "to work as Group Product Manager, Head of Product"),
    ],
)
async def test_profile_facts_can_be_quoted_with_their_dates(text: str, cited: str, quote: str) -> None:
    evidence = {name: each.evidence for name, each in (await maya().gathered()).items()}
    statement = Statement(text=text, quotes=(Quote(source=cited, text=quote),), language="en")
    assert check(statement, sources_of(evidence)).reasons == ()


async def test_inferred_and_external_memories_are_no_evidence() -> None:
    guess = Memory(id="m2", type="fact", content="Is probably a manager.", trust="inferred")
    found = await Known(remembered=[guess]).gathered()
    assert sources_of({name: each.evidence for name, each in found.items()}) == {}


async def test_a_stint_is_current_only_if_marked_so() -> None:
    known = Known({"employment": [{"company": "Acme", "title": "Cook", "start_date": "2020-01"}]})
    assert (await known.gathered())["employment:1"].evidence.fields.end == ""
    known.profile["employment"][0]["is_current"] = True
    assert (await known.gathered())["employment:1"].evidence.fields.end == "present"


async def test_database_dates_are_written_as_months() -> None:
    began = datetime(2020, 1, 31, tzinfo=UTC)
    known = Known({"employment": [{"company": "Acme", "title": "Cook", "start_date": began}]})
    assert (await known.gathered())["employment:1"].evidence.fields.start == "2020-01"


async def test_a_memory_is_evidence_in_the_users_own_words_and_with_its_trust() -> None:
    said = Memory(
        id="m1",
        type="experience",
        content="Mentored four managers.",
        quote="I mentored four managers here",
        valid_from=datetime(2026, 5, 3, tzinfo=UTC),
    )
    guessed = Memory(id="m2", type="fact", content="Is probably a manager.", trust="inferred")
    strange = Memory(id="m3", type="fact", content="Is a king.", trust="of a kind to come")
    found = await Known(remembered=[said, guessed, strange]).gathered()
    first = found["memory:m1"].evidence
    assert (first.text, first.source, first.trust) == (said.quote, "your message of Sunday, May 3, 2026", "user_said")
    assert not found["memory:m2"].evidence.publishable
    assert not found["memory:m3"].evidence.publishable


async def test_documents_are_found_by_profile_names_in_any_language() -> None:
    known = Known({"employment": [{"company": "Bäckerei Huber", "title": "Bäckerin"}]})
    known.passages = [
        Passage("p1", "Lebenslauf.pdf", "resume", "Bäckerei Huber, Bäckerin"),
        Passage("p2", "", "transcript", "Ja."),
    ]
    found = await known.gathered()
    assert "Bäckerei Huber Bäckerin" in known.searched[0]
    assert (found["document:p1"].evidence.kind, found["document:p1"].evidence.source) == ("document", "Lebenslauf.pdf")
    assert (found["document:p2"].evidence.kind, found["document:p2"].evidence.source) == ("interview", "your document")


async def test_evidence_is_capped_to_the_prompt_and_keeps_the_profile() -> None:
    known = maya(summary="s" * 100_000)
    known.passages = [Passage(f"p{n}", "cv", "resume", "x" * 5_000) for n in range(50)]
    found = await known.gathered()
    assert sum(len(each.evidence.text) for each in found.values()) <= MOST_CHARACTERS
    assert {"profile", "employment:1", "education:1", "preferences"} <= found.keys()


async def test_only_sections_with_evidence_are_planned() -> None:
    assert sections_for([]) == ()
    assert sections_for(list((await Known({"preferences": person.PREFERENCES}).gathered()).values())) == (
        "preferences",
    )
    skill = Memory(id="m", type="skill", content="Speaks German.")
    assert sections_for(list((await Known(remembered=[skill]).gathered()).values())) == ("skills",)
    guessed = skill.model_copy(update={"trust": "inferred"})
    assert sections_for(list((await Known(remembered=[guessed]).gathered()).values())) == ()


async def test_malformed_values_are_left_out_without_an_error() -> None:
    known = Known(
        {
            "skills": [None, {"name": "SQL"}, "Python"],
            "education": ["Harvard", {"degree": None, "school": "MIT"}],
            "employment": [{}],
            "years_of_experience": "many",
        }
    )
    found = await known.gathered()
    assert found["skills"].evidence.fields.skills == ("Python",)
    assert found["education:1"].evidence.text == "MIT"
    assert "employment:1" not in found


def test_a_users_note_is_confirmed_and_publishable() -> None:
    noted = person_said(2, "Say that I coach.")
    assert (noted.id, noted.by_person, noted.publishable, noted.source) == ("person:2", True, True, "your note")


# --- interviews -------------------------------------------------------------------------------------------------------


def sentence(text: str, quote: str, until: int | None = None) -> Sentence:
    said = (Said(message_id="m1", text=quote),)
    return Sentence(topic="Acme", aspects=(), text=text, quotes=said, since=1, until=until)


async def test_interview_answers_are_evidence_by_topic_in_the_users_words() -> None:
    told = Interview(
        topics=(Topic(title="Studies"), Topic(title="Acme")),
        statements=(
            sentence("Led eight people.", "I led eight people"),
            sentence("Won a prize.", "I won a prize", until=2),
        ),
    )
    known = Known(interviews=[StoredInterview("c1", "My work", "interview", 1.0, told)])
    [found] = (await known.gathered()).values()
    assert (found.evidence.id, found.evidence.kind, found.evidence.text) == (
        "interview:c1:1",
        "interview",
        "I led eight people",
    )
    assert (found.evidence.trust, found.evidence.source) == ("user_said", "your interview: Acme")


# --- the résumé -------------------------------------------------------------------------------------------------------

TEXT = """\
Product Manager for payments
Product Manager
Contoso Bank
06/2017 – today
Launched instant transfers in four countries.
SQL, Pricing"""


def read(place: str, quote: str, value: str = "", *, is_checked: bool = True) -> ReadField:
    start = TEXT.index(quote)
    return ReadField(
        path=f"/{place}", value=value, original=value or quote, quote=quote, start=start, end=start + len(quote),
        is_checked=is_checked,
    )  # fmt: skip


READ = (
    read("skills/0/name", "SQL", "SQL"),
    read("skills/1/name", "Pricing", "Pricing"),
    read("work/0/highlights/0", "Launched instant transfers in four countries.", "Launched instant transfers."),
    read("work/0/startDate", "06/2017 – today", "2017-06"),
    read("work/0/endDate", "06/2017 – today").model_copy(update={"original": "today"}),
    read("work/0/name", "Contoso Bank", "Contoso Bank"),
    read("work/0/position", "Product Manager", "Product Manager"),
)


def resume(*fields: ReadField, status: ResumeStatus = "proposed", id: str = "res_1") -> ResumeRecord:
    return ResumeRecord(
        id=id, user_id="u1", run_id=id, name="cv.pdf", status=status, label="", text=TEXT, read=fields, created_at=0,
        updated_at=0,
    )  # fmt: skip


async def test_a_resume_position_is_verbatim_evidence_with_employer_and_dates() -> None:
    found = await Known(resumes=[resume(*READ)]).gathered()
    assert list(found) == ["resume:res_1:work:0", "resume:res_1:skills"]
    work = found["resume:res_1:work:0"].evidence
    header = "Product Manager\nContoso Bank\n06/2017 – today"
    assert work.text == f"{header}\n\nLaunched instant transfers in four countries."
    assert (work.trust, work.source) == ("user_document", "your résumé: cv.pdf")
    fields = work.fields
    assert (fields.title, fields.company, fields.start, fields.end) == (
        "Product Manager", "Contoso Bank", "2017-06", "today",
    )  # fmt: skip
    assert found["resume:res_1:skills"].evidence.text == "SQL\nPricing"
    assert sections_for(list(found.values()), "resume") == ("headline", "summary", "positions", "skills")


async def test_unsupported_and_unfinished_interview_statements_are_not_evidence() -> None:
    unchecked = resume(*(each.model_copy(update={"is_checked": False}) for each in READ))
    assert await Known(resumes=[unchecked]).gathered() == {}
    assert await Known(resumes=[resume(*READ, status="checking")]).gathered() == {}


async def test_only_the_newest_resume_is_evidence() -> None:
    scan, newer, older = resume(status="failed", id="res_3"), resume(READ[0], id="res_2"), resume(*READ)
    assert list(await Known(resumes=[scan, newer, older]).gathered()) == ["resume:res_2:skills"]


async def test_a_long_resume_leaves_room_for_memories() -> None:
    lines = [read(f"work/{n}/highlights/0", TEXT[:60], TEXT[:60]) for n in range(30)]
    long = resume(*(each.model_copy(update={"quote": "x" * 1_900}) for each in lines))
    said = Memory(id="m1", type="experience", content="Mentored four.", quote="I mentored four")
    found = await Known(resumes=[long], remembered=[said]).gathered()
    assert "memory:m1" in found
    assert "resume:res_1:work:0" in found
