"""Sections of the documentation are added, replaced and removed by id."""

import pytest
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.platform.collection import Document
from qwestly_agent.stores.candidate_data import Docs, DocSection

pytestmark = pytest.mark.anyio

PRICES = DocSection("1", "plans.md", "Prices", "Qwestly is free for candidates.")
CARDS = DocSection("2", "cards.md", "Cards", "A card tells who you are.")


@pytest.fixture
async def docs(database: AsyncDatabase[Document]) -> Docs:
    docs = Docs.of(database)
    await docs.add([PRICES, CARDS], [[1.0, 0.0], [0.0, 1.0]])
    return docs


async def test_sections_are_found_by_meaning_and_by_keywords(docs: Docs) -> None:
    assert await docs.search("unheard of", [0.1, 1.0], 1) == [CARDS]
    assert await docs.search("what is free?", None, 3) == [PRICES]
    assert await docs.search("weather", None, 3) == []


async def test_a_section_added_again_is_stored_once(docs: Docs) -> None:
    await docs.add([CARDS], [[1.0, 0.1]])
    assert await docs.ids() == {"1", "2"}
    assert await docs.search("", [1.0, 0.1], 1) == [CARDS]


async def test_removing_a_page_keeps_the_others(docs: Docs) -> None:
    await docs.remove([])
    await docs.remove(["1", "never-there"])
    assert await docs.ids() == {"2"}


async def test_adding_sections_with_too_few_vectors_is_rejected(docs: Docs) -> None:
    with pytest.raises(ValueError, match="shorter"):
        await docs.add([PRICES, CARDS], [[1.0, 0.0]])
