"""Find jobs on job boards, at night or on demand, and rank them, with reasons that quote the advert and the user."""

from qwestly_agent.workflow import Workflow

SCOUT_JOBS = Workflow(
    "scout_jobs",
    __name__,
    summary="job wishes, to jobs with reasons",
    page="[jobs](jobs.md)",
    receipt_name="`scout-…` by user and night, or by user and ten minutes if the user started it",
    recovery="nothing: the next night's search finds the same jobs",
    reader=("reader.rank", "reader.check"),
    writer=("writer.find", "writer.keep", "writer.note_end"),
    sweep="writer.sweep",
    routers=("jobs",),
    actions=("actions.APPLY", "actions.UPDATE_APPLICATION"),
    reasons={
        "jobs.found": "You let your agent look for jobs, each night or when you ask.",
        "jobs.failed": "You let your agent look for jobs; it tries again.",
    },
)
