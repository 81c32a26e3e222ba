"""The input and output of the states of `generate_card`, and the outline of each kind of document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from qwestly_agent.base.clock import Clock
from qwestly_agent.base.errors import AgentError
from qwestly_agent.domain.approval import Answer
from qwestly_agent.domain.card import Style
from qwestly_agent.stores.drafts import Drafts, DraftStatus, pipeline_id_of
from qwestly_agent.text.language import language_of
from qwestly_agent.workflow_state import TokenAnswer, WorkState

# --- card state -------------------------------------------------------------------------------------------------------
# The input and output of the states of `generate_card`, their errors, and their messages to the user.
#
# Only ids and counts pass from state to state; texts are in the draft. A state that is invoked again finds its stored
# results and changes nothing.


MOST_ROUNDS = 4
"""Maximum number of rounds of a draft: the first, and three with the user's change requests."""


class NothingToTell(AgentError):
    code, http_status = "nothing_to_tell", 422
    sentence = (
        "There is too little to write from. Tell me where you worked, as what and since when, or add your résumé."
    )


class NothingSupported(AgentError):
    code, http_status = "nothing_supported", 422
    sentence = (
        "Nothing that was drafted is supported by what you told and gave us. Tell me more about your work, or add your "
        "résumé."
    )


class Overtaken(AgentError):
    code, http_status = "overtaken", 409
    sentence = "Drafted, but you were asked about it again, changed it, or deleted its conversation meanwhile."


class PublishingFailed(AgentError):
    code, http_status, sentence = "publishing_failed", 502, "The card could not be published."


class CardState(WorkState):
    subject, later = "draft", "Please try again later"
    messages: ClassVar[Mapping[str, str]] = {
        "NothingToTell": NothingToTell.sentence,
        "NothingSupported": NothingSupported.sentence,
        "ModelRefused": "We’re fixing a problem on our side. Please try again later",
        "ContentRefused": "Our AI couldn’t work with this. Please tell us, so that we can mend it",
    }
    draft_id: str
    round: int = Field(default=1, ge=1)
    sections: tuple[str, ...] = ()
    """Kinds of the sections to draft next."""
    is_tailored: bool = False
    """True if the document is written for a job, and compared with its advert."""
    section: str = ""
    """The section that this state drafts."""
    answer: Answer | None = None
    """The gate's answer."""
    decided: TokenAnswer | None = Field(default=None, exclude=True)
    """None if the wait timed out."""
    approval_id: str | None = None
    revises: str | None = None
    """The approval that the next one replaces."""
    decision: Literal["approved", "revised", "rejected", "expired"] | None = None
    outcome: Literal["published", "changed"] | None = None

    @property
    def run_name(self) -> str:
        return pipeline_id_of(self.draft_id)


async def update_progress(
    drafts: Drafts, clock: Clock, card: CardState, *, label: str, status: DraftStatus | None = None, **more: Any
) -> None:
    """Show progress to the user."""
    fields = {"label": label, **({"status": status} if status else {}), **more}
    await drafts.update(card.user_id, card.draft_id, clock(), **fields)


# --- outline ----------------------------------------------------------------------------------------------------------
# The outline of a card: its sections, and the instructions to the writer for each.


HEADLINE, SUMMARY, EXPERIENCE, ACHIEVEMENTS = "headline", "summary", "experience", "achievements"
SKILLS, EDUCATION, PREFERENCES = "skills", "education", "preferences"
ABOUT, POSITIONS, LETTER = "about", "positions", "letter"


@dataclass(frozen=True)
class Outlined:
    kind: str
    heading: str
    ask: str
    """The instruction, placed after the evidence."""
    most_claims: int


_HEADLINE = "one claim of at most 120 characters that says what this person is."

CARD: Mapping[str, Outlined] = {
    each.kind: each
    for each in (
        Outlined(HEADLINE, "Headline", f"The headline of their profile, word for word; without one, {_HEADLINE}", 1),
        Outlined(SUMMARY, "Summary", "Two to four claims that introduce this person.", 4),
        Outlined(
            EXPERIENCE,
            "Experience",
            "Each position, the latest first: one claim with its title, employer and time, then up to three claims of "
            "what they did there.",
            12,
        ),
        Outlined(
            ACHIEVEMENTS,
            "Achievements",
            "What they achieved, with the numbers that the evidence gives; nothing that is merely a duty.",
            6,
        ),
        Outlined(
            SKILLS,
            "Skills",
            "What they can do and which languages they speak: one to four words and one skill a claim.",
            16,
        ),
        Outlined(EDUCATION, "Education", "Degrees, schools, certificates and years, one claim each.", 6),
        Outlined(
            PREFERENCES,
            "Looking for",
            "What they would like next, one to six words a claim, as it stands below “Looking for”: a role, a place, a "
            "field, a way of working.",
            6,
        ),
    )
}
"""Sections in the order in which they appear on the card."""

RESUME_SECTIONS: Mapping[str, Outlined] = {
    HEADLINE: Outlined(HEADLINE, "Headline", _HEADLINE.capitalize(), 1),
    SUMMARY: CARD[SUMMARY],
    POSITIONS: Outlined(
        POSITIONS,
        "Experience",
        "What they did and achieved at each employer, the latest first, up to four claims each, each with words of the "
        "evidence on that employer. Employer, title and dates stand above the claims already: do not repeat them.",
        16,
    ),
    SKILLS: CARD[SKILLS],
    EDUCATION: CARD[EDUCATION],
}
"""Sections of a résumé for a job, in order."""
COVER_LETTER = Outlined(
    LETTER,
    "Letter",
    "The body of a letter of application, in the first person and the language of the advert: up to eight claims, each "
    "a whole sentence with its full stop, that say what of this person fits the job best. No greeting, no farewell, "
    "nothing about the company.",
    8,
)

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
        Outlined("profile_headline", "Headline", _HEADLINE.capitalize(), 1),
        Outlined("profile_summary", "Summary", "The summary of their profile: up to six claims in a row.", 6),
        Outlined("profile_location", "Location", "One claim: the place alone where they are, and nothing else.", 1),
        Outlined("profile_skills", "Skills", f"Their skills: {_SHORT}.", 20),
        Outlined("profile_languages", "Languages", f"The languages they speak: {_SHORT}.", 20),
    )
}
"""Profile fields that can be redrafted."""

OUTLINES: Mapping[str, Outlined] = {**CARD, **PROFILE, **RESUME_SECTIONS, ABOUT: LINKEDIN_ABOUT, LETTER: COVER_LETTER}
"""The outlines of everything that `generate_card` drafts."""

_IN_OTHER_LANGUAGES: Mapping[str, Mapping[str, str]] = {
    "Headline": {"de": "Überschrift", "fr": "Titre", "es": "Titular", "pt": "Título"},
    "Summary": {"de": "Kurzprofil", "fr": "Profil", "es": "Resumen", "pt": "Resumo"},
    "Experience": {"de": "Berufserfahrung", "fr": "Expérience", "es": "Experiencia", "pt": "Experiência"},
    "Achievements": {"de": "Erfolge", "fr": "Réalisations", "es": "Logros", "pt": "Conquistas"},
    "Skills": {"de": "Kenntnisse", "fr": "Compétences", "es": "Competencias", "pt": "Competências"},
    "Education": {"de": "Ausbildung", "fr": "Formation", "es": "Formación", "pt": "Formação"},
    "Looking for": {"de": "Was ich suche", "fr": "Ce que je recherche", "es": "Qué busco", "pt": "O que procuro"},
    "Letter": {"de": "Anschreiben", "fr": "Lettre", "es": "Carta", "pt": "Carta"},
    "About": {"de": "Über mich", "fr": "À propos", "es": "Acerca de mí", "pt": "Sobre mim"},
}


def usual_heading(outlined: Outlined, text: str) -> str:
    """Return the section's heading in the language of its text, or in English if the language is unclear or
    unsupported."""
    return _IN_OTHER_LANGUAGES.get(outlined.heading, {}).get(language_of(text), outlined.heading)


STYLES: Mapping[Style, str] = {
    "standard": "Plain and complete: whole sentences, no adjectives that nobody could check.",
    "concise": "As short as it can be: fragments instead of sentences, numbers first, no filler.",
    "story": "As a story that goes on from claim to claim, warm but sober; each claim still stands by itself.",
}
