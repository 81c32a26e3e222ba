"""The user for comparison with jobs: their wishes, and the evidence of their experience."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.cards.evidence import gather
from qwestly_agent.domain.card import Evidence
from qwestly_agent.domain.job import JobWishes
from qwestly_agent.services import Services
from qwestly_agent.text.clean import quoted

MOST_EVIDENCE = 24
MOST_CHARACTERS = 9_000
MOST_OF_ONE = 900


@dataclass(frozen=True)
class Person:
    wishes: JobWishes
    evidence: Mapping[str, Evidence]

    @property
    def words(self) -> str:
        """The text to which adverts are compared, by words and by vectors."""
        told = " ".join(each.text for each in self.evidence.values())
        return f"{' '.join(self.wishes.titles)} {told}"[:4_000]


async def person_of(services: Services, user_id: str) -> Person:
    """Read the user's job wishes and evidence; missing wishes default to the profile."""
    search = await services.job_searches.get(user_id)
    found = [each.evidence for each in await gather(services, user_id) if each.evidence.publishable]
    evidence: dict[str, Evidence] = {}
    left = MOST_CHARACTERS
    for each in found[:MOST_EVIDENCE]:
        short = each.model_copy(update={"text": quoted(each.text)[:MOST_OF_ONE]})
        if (left := left - len(short.text)) < 0:
            break
        evidence[each.id] = short
    wishes = search.wishes
    if not wishes.titles or not wishes.places:
        profile = await services.profiles.get_career(user_id)
        wishes = wishes.model_copy(update=_from_profile(wishes, profile))
    return Person(wishes, evidence)


def _from_profile(wishes: JobWishes, profile: Mapping[str, Any]) -> dict[str, Any]:
    preferences = profile.get("preferences") or {}
    titles = _texts(preferences.get("roles")) or _texts(profile.get("headline"))[:1]
    places = _texts(preferences.get("locations"))
    return {"titles": wishes.titles or tuple(titles[:3]), "places": wishes.places or tuple(places[:5])}


def _texts(value: Any) -> list[str]:
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [each.strip()[:100] for each in found if isinstance(each, str) and each.strip()]
