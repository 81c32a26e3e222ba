"""What an agent may call, one module per subject. A tool's docstring is a prompt."""

from qwestly_agent.tools import capabilities, cards, changes, documents, memories, profile, publishing, qwestly

_ABLE = [
    *profile.TOOLS,
    *memories.TOOLS,
    *documents.TOOLS,
    *qwestly.TOOLS,
    *cards.TOOLS,
    *changes.TOOLS,
    *publishing.TOOLS,
]

TOOLS = [*_ABLE, capabilities.describe(_ABLE)]
