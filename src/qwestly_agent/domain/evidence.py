"""Ids of evidence: from a memory, a résumé or an interview."""

from qwestly_agent.domain.memory import Memory
from qwestly_agent.text.clean import visible

MEMORY, RESUME, INTERVIEW = "memory:", "resume:", "interview:"
"""Prefixes of the ids."""
MOST_CHARACTERS_OF_ONE = 2_000
"""Limit of one piece of evidence."""


def evidence_id(memory_id: str) -> str:
    return f"{MEMORY}{memory_id}"


def evidence_id_of_topic(conversation_id: str, place: int) -> str:
    return f"{INTERVIEW}{conversation_id}:{place}"


def resume_of(evidence_id: str) -> str:
    """Return the id of the résumé that the evidence comes from."""
    return evidence_id.removeprefix(RESUME).partition(":")[0]


def words_of_memory(memory: Memory) -> str:
    """Return a memory's text as evidence of a draft: the user's quote, not our sentence."""
    return visible(memory.quote or memory.content)[:MOST_CHARACTERS_OF_ONE]
