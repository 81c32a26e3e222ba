"""Every workflow, in the order of their routes."""

from qwestly_agent.briefings import BRIEF
from qwestly_agent.cards import GENERATE_CARD
from qwestly_agent.interviews import WRITE_DRAFT
from qwestly_agent.jobs import SCOUT_JOBS
from qwestly_agent.learning import WRITE_LESSON
from qwestly_agent.memory import CONSOLIDATE, EXTRACT_MEMORIES
from qwestly_agent.resumes import PARSE_RESUME

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
