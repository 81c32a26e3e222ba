"""All workflows, in the order of their routes, and all actions that the agent can propose."""

from qwestly_agent.action import Actions
from qwestly_agent.briefings import BRIEF
from qwestly_agent.cards import GENERATE_CARD
from qwestly_agent.interviews import WRITE_DRAFT
from qwestly_agent.jobs import SCOUT_JOBS
from qwestly_agent.learning import WRITE_LESSON
from qwestly_agent.memory import CONSOLIDATE, EXTRACT_MEMORIES
from qwestly_agent.resumes import PARSE_RESUME
from qwestly_agent.services import Services

WORKFLOWS = (
    BRIEF,
    WRITE_DRAFT,
    GENERATE_CARD,
    SCOUT_JOBS,
    WRITE_LESSON,
    EXTRACT_MEMORIES,
    CONSOLIDATE,
    PARSE_RESUME,
)

ACTIONS: Actions[Services] = Actions(
    (
        *(
            f"qwestly_agent.profile.{each}"
            for each in (
                "UPDATE_PROFILE_FIELD",
                "UPDATE_PROFILE",
                "UPDATE_PREFERENCE",
                "INGEST_LINKEDIN_PROFILE",
                "SUGGEST_LINKEDIN_ABOUT",
            )
        ),
        "qwestly_agent.approvals.autonomy.RAISE_AUTONOMY",
        *(f"{workflow.package}.{each}" for workflow in WORKFLOWS for each in workflow.actions),
    )
)
"""The actions, by tool."""
