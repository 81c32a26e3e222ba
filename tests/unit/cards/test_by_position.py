"""Claims about a position are listed under it, and never under another."""

from qwestly_agent.cards.publication import by_position, details
from qwestly_agent.domain.card import Claim, Evidence, Fields, Section
from qwestly_agent.grounding.model import Quote


def stint(number: int, company: str) -> Evidence:
    fields = Fields(company=company, title="Lead")
    return Evidence(
        id=f"employment:{number}", kind="employment", trust="user_said", text=company, source="", fields=fields
    )


RESUME = "ACME, Porto. Cut costs by 9%.\n\nTalks. Spoke to 300 people.\n\nFrom Acme to Beta I saved 4 teams."
EVIDENCE = {
    each.id: each
    for each in (
        stint(1, "Acme"),
        stint(2, "Beta"),
        Evidence(id="document:1", kind="document", trust="user_document", text=RESUME, source="résumé"),
    )
}


def claim(text: str, source: str = "document:1") -> Claim:
    return Claim(text=text, quotes=(Quote(source=source, text=text),))


ACME, BETA = claim("Lead at Acme, 2020", "employment:1"), claim("Lead at Beta, 2018", "employment:2")
CUT, SPOKE, SAVED = (
    claim("Cut costs by 9%."),
    claim("Spoke to 300 people."),
    claim("From Acme to Beta I saved 4 teams."),
)
OWNS = claim("Owns the API.", "employment:1")


def sections(*experience: Claim) -> list[Section]:
    return [
        Section(kind="experience", heading="Experience", claims=experience),
        Section(kind="achievements", heading="Achievements", claims=(CUT, SPOKE, SAVED)),
    ]


def test_an_achievement_is_listed_under_the_only_position_its_paragraph_names():
    experience, achievements = by_position(sections(BETA, ACME, OWNS), EVIDENCE)
    assert experience.claims == (BETA, ACME, OWNS, CUT)
    assert details(experience, EVIDENCE) == (False, False, True, True)
    assert achievements.claims == (SPOKE, SAVED)


def test_a_claim_without_its_position_is_not_nested_under_another():
    left = sections(BETA, OWNS, CUT)[0]
    assert details(left, EVIDENCE) == (False, False, False)
