"""The states of scout_jobs that ask job boards and store matches, and ask no model; a schedule calls `sweep` every five
minutes."""

from qwestly_agent import container
from qwestly_agent.jobs import SCOUT_JOBS

handler = container.serve(SCOUT_JOBS, "writer")
