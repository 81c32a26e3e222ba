"""The states of brief that have effects and call no model. A schedule calls `sweep` every minute."""

from qwestly_agent import container
from qwestly_agent.briefings import BRIEF

handler = container.serve(BRIEF, "writer")
