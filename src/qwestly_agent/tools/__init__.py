"""What an agent may call, one module per subject. A tool's docstring is a prompt."""

from qwestly_agent.tools import capabilities, documents, memories, profile, qwestly

_LOOK_UPS = [*profile.TOOLS, *memories.TOOLS, *documents.TOOLS, *qwestly.TOOLS]

TOOLS = [*_LOOK_UPS, capabilities.describe(_LOOK_UPS)]
