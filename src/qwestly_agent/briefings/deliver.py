"""Deliver a briefing in the app, and mail it once."""

from qwestly_agent.approvals import pause
from qwestly_agent.approvals.links import hash_of
from qwestly_agent.approvals.mail import new_token, unsubscribe_link
from qwestly_agent.base.clock import to_datetime
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of, measure_briefing, measure_refused_mail
from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.briefings.mail import message_of
from qwestly_agent.domain.briefing import Briefing, Mailed
from qwestly_agent.services import Services
from qwestly_agent.workflow_state import state


@state(BriefingState, ignores_brake=True)
async def deliver(services: Services, given: BriefingState) -> BriefingState:
    """Deliver the briefing. Running it again changes nothing: the briefing is already in the app, and no second mail is
    sent.

    The brake stops it before it starts and before it mails. A mail that is being sent is not interrupted.
    """
    async with pause.named_run(services.runs, given.user_id, given.run_name, services.clock):
        await pause.check(services.signals, given.user_id)
        return await _deliver(services, given)


async def _deliver(services: Services, given: BriefingState) -> BriefingState:
    briefing = await services.briefings.get(given.user_id, given.briefing_id)
    kind = briefing.kind if given.new else "nothing"
    if await services.briefings.deliver(briefing, services.clock(), kind):
        measure_briefing(kind)
    if kind != "nothing" and briefing.day:
        await _mail(services, briefing.model_copy(update={"kind": kind}))
    return given.model_copy(update={"lite": kind == "lite"})


async def _mail(services: Services, briefing: Briefing) -> None:
    """Mail at most once: if the outcome is unknown, the mail is not sent again."""
    plan = await services.briefing_plans.get(briefing.user_id)
    contact = await services.profiles.get_mail_recipient(briefing.user_id)
    if not (services.settings.mail_from and plan.settings.on and plan.settings.mail and contact.address):
        return
    if (await services.user_settings.get(briefing.user_id)).returned_as(contact.address):
        return
    is_first = not await services.briefings.was_mailed(briefing.user_id)
    token = new_token()
    if not await services.briefings.claim_mail(briefing.user_id, briefing.id, hash_of(token)):
        return
    link = unsubscribe_link(services.settings, token)
    message = message_of(briefing, services.settings, contact.name, link, plan, is_first=is_first)
    name = f"mail-{briefing.id}"
    async with pause.named_effect(services.runs, services.signals, briefing.user_id, name, services.clock):
        mailed = await _send(services, briefing, contact.address, message, link, hash_of(token))
    await services.briefings.set_mail_status(briefing.user_id, briefing.id, mailed)


async def _send(
    services: Services, briefing: Briefing, address: str, message: tuple[str, str, str], link: str, tag: str
) -> Mailed:
    today = to_datetime(services.clock()).date().isoformat()
    if not await services.sweeps.count_mail(today, services.settings.briefing_mails_a_day):
        return "paced"
    try:
        await services.mail.send(address, *message, unsubscribe=link, tag=tag)
    except Unavailable as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"briefing_id": briefing.id, **cause_of(error)})
        measure_refused_mail()
        return "refused"
    return "sent"
