"""End the mails of briefings by the link in one of them: whoever has it can do nothing else."""

import re
from typing import Protocol

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.links import INVALID_TOKEN_COUNTS, Limits, LinkPage, failed, hash_of
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.errors import AgentError, NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.services import HasBriefingPlans, HasClock, HasLogger, HasSettings, HasSweeps


class UnsubscribeServices(HasBriefingPlans, HasClock, HasLogger, HasSettings, HasSweeps, Protocol): ...


_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


async def unsubscribe(
    services: UnsubscribeServices, limits: Limits, token: str, source: str, *, posted: bool
) -> LinkPage:
    """Show the page; with `posted`, end the mails first. It is the one POST without a choice, as RFC 8058 asks: a mail
    program sends it when its user says so. Programs that scan mails may send it, too: so the user is told in the
    app."""
    brand = Brand.of(services.settings)
    try:
        limits.count(services.clock(), f"link {hash_of(token)}", f"from {source}")
        user_id = await services.sweeps.user_of_briefing_mail(hash_of(token)) if _TOKEN.fullmatch(token) else None
        if user_id is None:
            limits.count(services.clock(), f"from {source}", times=INVALID_TOKEN_COUNTS)
            raise NotFound("Part of it may be missing. You can also turn off these emails in the app.")
        if posted:
            await services.briefing_plans.end_mails(user_id, services.clock())
        return LinkPage(200, render("unsubscribe.html", brand, ended=posted), brand)
    except AgentError as error:
        return failed(error, brand)
    except PyMongoError as error:
        services.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        return failed(Unavailable("We can’t reach your settings right now. Please try again."), brand)
