"""The states of scout_jobs that query job boards and store matches, and call no model. A schedule calls `sweep` every
five minutes."""

from qwestly_agent import container
from qwestly_agent.jobs import SCOUT_JOBS

handler = container.serve(SCOUT_JOBS, "writer")
