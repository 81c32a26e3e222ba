"""The mail of a briefing: its one link beside that to the app ends such mails."""

from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.settings import Settings
from qwestly_agent.briefings.view import lines_shown, summary_of
from qwestly_agent.domain.briefing import Briefing

UNSUBSCRIBE = "unsubscribe"


def unsubscribe_link(settings: Settings, token: str) -> str:
    return f"{settings.approve_url.rstrip('/')}/{UNSUBSCRIBE}/{token}"


def message_of(
    briefing: Briefing, settings: Settings, person: str, unsubscribe: str, zone: str
) -> tuple[str, str, str]:
    """Return subject, text and HTML."""
    lines = lines_shown(briefing)
    waiting = sum(line.topic == "needs_you" for line in lines)
    given = {
        "first_name": person.partition(" ")[0],
        "summary": summary_of(briefing, zone),
        "lines": lines,
        "unsubscribe": unsubscribe,
        "at": briefing.created_at,
        "zone": zone,
    }
    subject = f"Your briefing: {waiting} waiting for you" if waiting else "Your briefing"
    brand = Brand.of(settings)
    return subject, render("briefing.txt", brand, **given), render("briefing.html", brand, **given)
