"""The states of brief, which have effects and ask no model; a schedule calls `sweep` every minute."""

from qwestly_agent import container
from qwestly_agent.briefings import BRIEF

handler = container.serve(BRIEF, "writer")
