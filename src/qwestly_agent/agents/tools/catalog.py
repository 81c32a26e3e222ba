"""Every tool of the default design, and the one that describes the others."""

from qwestly_agent.agents.tools import (
    capabilities,
    cards,
    changes,
    documents,
    memories,
    profile,
    publishing,
    qwestly,
    work,
)

_ABLE = [
    *profile.TOOLS,
    *memories.TOOLS,
    *documents.TOOLS,
    *qwestly.TOOLS,
    *cards.TOOLS,
    *changes.TOOLS,
    *publishing.TOOLS,
    *work.TOOLS,
]

TOOLS = [*_ABLE, capabilities.describe(_ABLE)]
