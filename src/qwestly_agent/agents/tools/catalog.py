"""Every tool of the default design, including one that lists the others and one that reports a person in trouble."""

from qwestly_agent.agents.tools import (
    applications,
    capabilities,
    cards,
    changes,
    confirm,
    documents,
    jobs,
    memories,
    profile,
    publishing,
    qwestly,
    trouble,
    work,
)

_DESCRIBED = [
    *profile.TOOLS,
    *memories.TOOLS,
    *documents.TOOLS,
    *qwestly.TOOLS,
    *cards.TOOLS,
    *jobs.TOOLS,
    *applications.TOOLS,
    *changes.TOOLS,
    *publishing.TOOLS,
    *work.TOOLS,
    confirm.CONFIRM,
]

TOOLS = [*_DESCRIBED, capabilities.capabilities_tool(_DESCRIBED), trouble.REPORT_TROUBLE]
