"""The candidate's data by an allow-list: no other field is read."""

from typing import Any

import pytest
from bson import ObjectId
from pydantic_core import to_json
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.candidate_data import (
    CANDIDATES,
    CARDS,
    EMPLOYMENT,
    LINKEDIN,
    LINKEDIN_SUMMARIES,
    PREFERENCES,
    PROFILE_CACHE,
    READ_FIELDS,
    STINTS_LIMIT,
    Profiles,
)
from tests.servers import USER
from tests.stores.conftest import Sent

pytestmark = pytest.mark.anyio

PRIVATE = {
    "salary_current": "PRIVATE",
    "salary_expectation": "PRIVATE",
    "email": "PRIVATE",
    "phone": "PRIVATE",
    "password_hash": "PRIVATE",
    "added_later": "PRIVATE",
}


@pytest.fixture
def profiles(database: AsyncDatabase[Document]) -> Profiles:
    return Profiles(database)


async def keep(database: AsyncDatabase[Document], collection: str, user_id: str = USER, **fields: Any) -> None:
    count = await database[collection].count_documents({})
    await database[collection].insert_one({"_id": f"{collection}-{count}", "user_id": user_id, **PRIVATE, **fields})


async def test_fields_outside_the_allow_list_are_never_read(
    profiles: Profiles, database: AsyncDatabase[Document], sent: Sent
) -> None:
    for collection, fields in READ_FIELDS.items():
        await keep(database, collection, **dict.fromkeys(fields, "public"))
    sent.commands.clear()
    told = f"{await profiles.get_full(USER)} {await profiles.get_summary(USER)} {await profiles.card(USER, 'public')}"
    told += f"{await profiles.linkedin_suggestion(USER, 'public')}"
    # Of the cards both times without sections: these are no list. Of positions, whether it goes on is no text.
    more = len(READ_FIELDS[CANDIDATES]) + len(READ_FIELDS[CARDS]) - 2 * len(["sections"])
    more += len(READ_FIELDS[EMPLOYMENT]) - len(["is_current"])
    assert told.count("public") == sum(map(len, READ_FIELDS.values())) + more
    assert "PRIVATE" not in told
    assert USER not in told
    for command in sent.named("find"):
        assert set(command["projection"]) <= {"_id", *READ_FIELDS[command["find"]]}
        assert command["projection"]
        assert command["filter"]["user_id"] == USER


def test_pay_and_contact_details_are_not_on_the_allow_list() -> None:
    listed = {name for fields in READ_FIELDS.values() for name in fields}
    assert not [name for name in listed if any(word in name for word in ("salary", "pay", "email", "phone", "address"))]


async def test_a_profiles_parts_are_read_together_latest_job_first(
    profiles: Profiles, database: AsyncDatabase[Document]
) -> None:
    await keep(database, CANDIDATES, name="Ada", years_of_experience=0)
    await keep(database, EMPLOYMENT, company="Old", start_date="2014-01", is_current=False)
    await keep(database, EMPLOYMENT, company="New", start_date="2021-04", end_date=None, is_current=True)
    await keep(database, PREFERENCES, roles=["Lead"], industries=[])
    await keep(database, LINKEDIN, url="https://example.com/ada", about="")
    assert await profiles.get_full(USER) == {
        "name": "Ada",
        "years_of_experience": 0,
        "employment": [
            {"company": "New", "start_date": "2021-04", "is_current": True},
            {"company": "Old", "start_date": "2014-01", "is_current": False},
        ],
        "preferences": {"roles": ["Lead"]},
        "linkedin": {"url": "https://example.com/ada"},
    }
    assert await profiles.get_summary(USER) == {
        "name": "Ada",
        "years_of_experience": 0,
        "positions": [
            {"company": "New", "start": "2021-04", "end": "present"},
            {"company": "Old", "start": "2014-01"},
        ],
    }


async def test_summaries_and_card_texts_are_read_without_hidden_text(
    profiles: Profiles, database: AsyncDatabase[Document]
) -> None:
    await keep(database, PROFILE_CACHE, summary="Builds payments.", strengths=["APIs"])
    await keep(database, LINKEDIN_SUMMARIES, summary="Eleven years in payments.")
    section = {"heading": "Experience", "claims": ["Led a team of eight."], "kind": "experience", "notes": "PRIVATE"}
    await keep(database, CARDS, card_id="card_1", headline="Builder", sections=[section], active=True)
    told = await profiles.get_full(USER)
    shown = {"heading": "Experience", "claims": ["Led a team of eight."]}
    assert told == {
        "profile_summary": {"summary": "Builds payments.", "strengths": ["APIs"]},
        "linkedin_summary": {"summary": "Eleven years in payments."},
        "cards": [{"card_id": "card_1", "headline": "Builder", "active": True, "sections": [shown]}],
    }
    assert await profiles.get_career(USER) == {}


async def test_an_unknown_user_has_an_empty_profile(profiles: Profiles, database: AsyncDatabase[Document]) -> None:
    theirs = {"name": "Stranger", "company": "Theirs", "url": "theirs", "roles": ["x"], "draft_id": "d", "text": "x"}
    for collection in READ_FIELDS:
        await keep(database, collection, "auth0|stranger", **theirs)
    assert await profiles.get_summary(USER) == {}
    assert await profiles.get_full(USER) == {}
    assert await profiles.linkedin_suggestion(USER, "d") == {}


@pytest.mark.thorough
async def test_only_the_latest_of_a_hundred_jobs_are_read(
    profiles: Profiles, database: AsyncDatabase[Document]
) -> None:
    for year in range(1990, 1990 + STINTS_LIMIT + 5):
        await keep(database, EMPLOYMENT, company=str(year), start_date=f"{year}-01")
    stints = (await profiles.get_full(USER))["employment"]
    assert [stint["company"] for stint in stints] == [str(year) for year in range(2024, 1994, -1)]


@pytest.mark.parametrize(
    "value",
    [
        [{"_id": ObjectId("65a000000000000000000001"), "degree": "BSc"}],
        [{"school": "Lagos", "from": to_datetime(1_700_000_000.5)}],
    ],
    ids=["the ids of parts", "dates"],
)
async def test_any_value_of_the_candidate_app_can_be_serialized_for_a_model(
    profiles: Profiles, database: AsyncDatabase[Document], value: Any
) -> None:
    await keep(database, CANDIDATES, name="Ada", education=value)
    told = to_json(await profiles.get_full(USER)).decode()
    assert "Ada" in told
    assert "65a000000000000000000001" not in told


async def test_a_field_renamed_by_the_candidate_app_is_mapped_in_one_place(
    profiles: Profiles, database: AsyncDatabase[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(READ_FIELDS, CANDIDATES, {"headline": "professionalHeadline"})  # type: ignore[arg-type]
    monkeypatch.setitem(READ_FIELDS, CARDS, {"card_id": "cardId", "active": "isActive", "sections": "qcSections"})  # type: ignore[arg-type]
    await keep(database, CANDIDATES, professionalHeadline="Builder", headline="Older")
    await keep(database, CARDS, cardId="card_1", isActive=True, qcSections=[{"claims": ["Led a team."]}])
    section = {"heading": "", "claims": ["Led a team."]}
    card = {"card_id": "card_1", "active": True, "sections": [section]}
    assert await profiles.get_full(USER) == {"headline": "Builder", "cards": [card]}
    assert await profiles.card(USER, "card_1") == card
    assert await profiles.card_shown_first(USER) == "card_1"


async def test_a_section_without_claims_or_heading_is_read_unchanged(
    profiles: Profiles, database: AsyncDatabase[Document]
) -> None:
    await keep(database, CARDS, card_id="card_1", sections=[{"heading": "No interview yet"}, "text", None])
    shown = [{"heading": "No interview yet", "claims": []}]
    assert (await profiles.card(USER, "card_1"))["sections"] == shown
