"""The outline of a card: its sections, and the writer's instructions for each."""

from collections.abc import Mapping
from dataclasses import dataclass

from qwestly_agent.domain.card import Style

HEADLINE, SUMMARY, EXPERIENCE, ACHIEVEMENTS = "headline", "summary", "experience", "achievements"
SKILLS, EDUCATION, PREFERENCES = "skills", "education", "preferences"
ABOUT = "about"


@dataclass(frozen=True)
class Outlined:
    kind: str
    heading: str
    ask: str
    """The instruction, placed after the evidence."""
    most_claims: int


CARD: Mapping[str, Outlined] = {
    each.kind: each
    for each in (
        Outlined(HEADLINE, "Headline", "One claim of at most 120 characters that says what this person is.", 1),
        Outlined(SUMMARY, "Summary", "Two to four claims that introduce this person.", 4),
        Outlined(
            EXPERIENCE,
            "Experience",
            "Where they worked, as what and when, the latest first, with what they did there: up to three claims each.",
            12,
        ),
        Outlined(
            ACHIEVEMENTS,
            "Achievements",
            "What they achieved, with the numbers that the evidence gives; nothing that is merely a duty.",
            6,
        ),
        Outlined(SKILLS, "Skills", "What they can do and which languages they speak, grouped in a few claims.", 6),
        Outlined(EDUCATION, "Education", "Degrees, schools, certificates and years, one claim each.", 6),
        Outlined(
            PREFERENCES,
            "Looking for",
            "What they would like next, each claim beginning with “Would like”; nothing as if they had it already.",
            5,
        ),
    )
}
"""In the order of the card."""

LINKEDIN_ABOUT = Outlined(
    ABOUT, "About", "The About section of their LinkedIn profile, in the first person: up to eight claims in a row.", 8
)

HEADLINES = Outlined(
    "headlines",
    "Headlines",
    "Three different headlines for their profile, one claim each, of at most 120 characters: what this person is, from "
    "three sides.",
    3,
)

_SHORT = "up to twenty claims of one to four words each"
PROFILE: Mapping[str, Outlined] = {
    each.kind: each
    for each in (
        Outlined("profile_headline", "Headline", CARD[HEADLINE].ask, 1),
        Outlined("profile_summary", "Summary", "The summary of their profile: up to six claims in a row.", 6),
        Outlined("profile_location", "Location", "One claim: the place alone where they are, and nothing else.", 1),
        Outlined("profile_skills", "Skills", f"Their skills: {_SHORT}.", 20),
        Outlined("profile_languages", "Languages", f"The languages they speak: {_SHORT}.", 20),
    )
}
"""Fields of the profile."""

OUTLINES: Mapping[str, Outlined] = {**CARD, **PROFILE, ABOUT: LINKEDIN_ABOUT}
"""What generate_card drafts."""

STYLES: Mapping[Style, str] = {
    "standard": "Plain and complete: whole sentences, no adjectives that nobody could check.",
    "concise": "As short as it can be: fragments instead of sentences, numbers first, no filler.",
    "story": "As a story that goes on from claim to claim, warm but sober; each claim still stands by itself.",
}
