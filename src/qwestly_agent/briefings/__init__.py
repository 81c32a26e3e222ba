"""Briefings: new and pending items, delivered at the time that each user chose."""

from qwestly_agent.workflow import Workflow

BRIEF = Workflow(
    "brief",
    __name__,
    summary="news for a user, to one briefing in the app and by mail",
    page="[briefings](briefings.md)",
    receipt_name="`brief-…` by user and local day, or by user and minute if the user started it",
    recovery="nothing: the next briefing has the items of this one",
    writer=("writer.deliver", "writer.gather", "writer.note_read"),
    sweep="writer.sweep",
    routers=("briefings",),
    reasons={"briefing.told": "It comes at the hour in your settings, where you can switch briefings off."},
)
