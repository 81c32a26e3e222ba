"""Query all sources in parallel. A source that fails, hangs or returns invalid items is listed as missing, and its last
items are repeated."""

import asyncio

from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.briefings.briefing_state import BriefingState
from qwestly_agent.briefings.lines import lines_of
from qwestly_agent.briefings.sources import SOURCES, Source
from qwestly_agent.domain.briefing import Briefing, Gathered, Item
from qwestly_agent.services import Services
from qwestly_agent.stores.briefings import BriefingPlan
from qwestly_agent.workflow_state import state

SOURCE_SECONDS = 15.0
FIRST_DAYS_SECONDS = 2 * 86_400.0
"""How far back the first briefing looks."""


@state(BriefingState)
async def gather(services: Services, given: BriefingState) -> BriefingState:
    """Store the sources' items and the lines. A second run replaces those of a lite briefing."""
    plan = await services.briefing_plans.get(given.user_id)
    gathered = await gather_sources(services, plan)
    briefing = await new_briefing(services, given, gathered)
    if not await services.briefings.add(briefing):
        await services.briefings.replace_items(briefing)
    return given.model_copy(update={"new": gathered.new, "tries": given.tries + 1})


async def new_briefing(services: Services, given: BriefingState, gathered: Gathered) -> Briefing:
    newest = await services.briefings.newest(given.user_id, 2)
    before = next((each for each in newest if each.id != given.briefing_id), None)
    last = [each.model_copy(update={"new": False}) for each in before.gathered.items] if before else []
    kept = tuple(each for each in last if each.source in gathered.missing)
    gathered = gathered.model_copy(update={"items": (*gathered.items, *kept)})
    return Briefing(
        id=given.briefing_id,
        user_id=given.user_id,
        run_id=given.run_id,
        day=given.day,
        created_at=services.clock(),
        since=before.created_at if before else None,
        before=before.counts if before else {},
        kind="lite" if gathered.missing else "full",
        gathered=gathered,
        lines=tuple(lines_of(gathered.items)),
    )


async def gather_sources(services: Services, plan: BriefingPlan) -> Gathered:
    """Return the items of all sources since the marks of this plan, within `SOURCE_SECONDS`."""
    now = services.clock()
    since = {name: plan.marks.get(name, now - FIRST_DAYS_SECONDS) for name in SOURCES}
    told = await asyncio.gather(
        *(_ask(services, name, source, plan.user_id, since[name]) for name, source in SOURCES.items())
    )
    found = {name: items for name, items in zip(SOURCES, told, strict=True) if items is not None}
    return Gathered(
        items=tuple(each for items in found.values() for each in items),
        missing=tuple(name for name in SOURCES if name not in found),
        marks={name: min(now, max((each.at for each in items), default=since[name])) for name, items in found.items()},
        as_of=dict.fromkeys(found, now),
    )


async def _ask(services: Services, name: str, source: Source, user_id: str, since: float) -> list[Item] | None:
    """Return the source's items; None if it failed."""
    try:
        async with asyncio.timeout(SOURCE_SECONDS):
            return [_checked(each, name) for each in await source(services, user_id, since)]
    except Exception as error:
        services.logger.warning(Event.REQUEST_FAILED, extra={"source": name, **cause_of(error)})
        return None


def _checked(item: Item, source: str) -> Item:
    """Return the item. Raises `ValueError` if it has no record, or another source's name."""
    if item.source != source or not item.records or not all(item.records):
        raise ValueError
    return item
