"""The mail of a briefing, and how to unsubscribe from it."""

import re

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.links import INVALID_TOKEN_COUNTS, Limits, LinkPage, error_page, find_mail, hash_of
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.clock import format_time
from qwestly_agent.base.errors import AgentError, NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.base.settings import Settings
from qwestly_agent.briefings.view import action_of, counted, sources_of, summary_of, when_of
from qwestly_agent.domain.briefing import EVERY_DAY, Briefing, Line
from qwestly_agent.services import Services
from qwestly_agent.stores.briefings import BriefingPlan

# --- mail -------------------------------------------------------------------------------------------------------------
# The mail of a briefing. Its links lead to the app, except the one to unsubscribe.


def message_of(
    briefing: Briefing, settings: Settings, person: str, unsubscribe: str, plan: BriefingPlan, *, is_first: bool
) -> tuple[str, str, str]:
    """Return subject, text and HTML. The first mail explains when briefings come and how to switch them off."""
    lines, brand = briefing.lines, Brand.of(settings)
    given = {
        "first_name": person.partition(" ")[0],
        "summary": summary_of(briefing, plan.zone),
        "lines": [(line, when_of(line, briefing.created_at, plan.zone), *_way_to(line, brand)) for line in lines],
        "unsubscribe": unsubscribe,
        "as_of": _as_of(briefing),
        "zone": plan.zone,
        "first": _first_words(plan) if is_first else "",
    }
    first = counted(briefing.counts, {}).partition(";")[0].rstrip(".")
    subject = ": ".join(filter(None, ("Your first briefing" if is_first else "Your briefing", first)))
    return subject, render("briefing.txt", brand, **given), render("briefing.html", brand, **given)


def _way_to(line: Line, brand: Brand) -> tuple[str, str]:
    """Return the label and URL of a line's link; both are empty if the app has no URL."""
    action = action_of(line)
    return (action.label, brand.place(action.place, action.id)) if brand.app_url else ("", "")


def _as_of(briefing: Briefing) -> dict[float, list[str]]:
    """Group the sources by the time at which they were queried."""
    labels: dict[float, list[str]] = {}
    for each in sources_of(briefing):
        if each.as_of is not None:
            labels.setdefault(each.as_of, []).append(each.label)
    return labels


def _first_words(plan: BriefingPlan) -> str:
    days = "each day" if plan.settings.days == EVERY_DAY else "on the days you chose"
    at = f"{format_time(plan.settings.hour, plan.settings.minute)} ({plan.zone})"
    return (
        f"This is your first briefing. One comes {days} at {at}. To switch them off or move them, open Settings and "
        "choose Briefings. The link below ends these mails and nothing else."
    )


# --- unsubscribe ------------------------------------------------------------------------------------------------------
# Unsubscribe from one kind of mail with the link in such a mail. The link can do nothing else.


_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


async def unsubscribe(services: Services, limits: Limits, token: str, source: str, *, posted: bool) -> LinkPage:
    """Return the page; if `posted`, unsubscribe first. The POST needs no form, as RFC 8058 requires: mail programs send
    it when their user unsubscribes. Mail scanners may send it too, so the app reports each unsubscription."""
    brand = Brand.of(services.settings)
    try:
        limits.count(services.clock(), f"link {hash_of(token)}", f"from {source}")
        mail = await find_mail(services, hash_of(token)) if _TOKEN.fullmatch(token) else None
        if mail is None:
            limits.count(services.clock(), f"from {source}", times=INVALID_TOKEN_COUNTS)
            raise NotFound("Part of it may be missing. You can also turn off these emails in the app.")
        user_id, kind = mail
        if posted:
            await services.user_settings.unsubscribe(user_id, kind, services.clock())
        return LinkPage(200, render("unsubscribe.html", brand, ended=posted, kind=kind), brand)
    except AgentError as error:
        return error_page(error, brand)
    except PyMongoError as error:
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        return error_page(Unavailable("We can’t reach your settings right now. Please try again."), brand)
