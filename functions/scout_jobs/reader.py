"""The states of scout_jobs that read adverts and call models."""

from qwestly_agent import container
from qwestly_agent.jobs import SCOUT_JOBS

handler = container.serve(SCOUT_JOBS, "reader")
