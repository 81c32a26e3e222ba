"""Unsubscribe from one kind of mail by the link in such a mail. The link can do nothing else."""

import re

from pymongo.errors import PyMongoError

from qwestly_agent.approvals.links import INVALID_TOKEN_COUNTS, Limits, LinkPage, error_page, hash_of
from qwestly_agent.approvals.templates import Brand, render
from qwestly_agent.base.errors import AgentError, NotFound, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.services import Services

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


async def unsubscribe(services: Services, limits: Limits, token: str, source: str, *, posted: bool) -> LinkPage:
    """Return the page; with `posted`, unsubscribe first. The POST needs no form, as RFC 8058 requires: mail programs
    send it when their user unsubscribes. Mail scanners may send it too, so the app reports it."""
    brand = Brand.of(services.settings)
    try:
        limits.count(services.clock(), f"link {hash_of(token)}", f"from {source}")
        mail = await services.sweeps.find_mail_by_token(hash_of(token)) if _TOKEN.fullmatch(token) else None
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
