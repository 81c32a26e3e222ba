"""A user's background work other than approvals and drafts. Running work is read from its own records or from
`agent_runs`, and recently ended work from the activity feed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.base.clock import format_moment
from qwestly_agent.domain.activity import ActivityEvent
from qwestly_agent.services import Services
from qwestly_agent.stores import jobs
from qwestly_agent.stores.interviews import ABANDONED_AFTER_SECONDS, describe_status

MOST_READ = 20
ENDED = (*jobs.JOB_SEARCHES.events, "interview.ended", "interview.drafted", "memory.extracted", "memory.merged")
"""Event types for ended work that has no record of its own."""
RUNS: Mapping[str, str] = {
    "memories": "Reading a conversation for what to remember",
    "interview": "Writing the draft of an interview",
    "summary": "Summing up a conversation",
    "consolidation": "Comparing what is remembered",
}
"""Titles of work that has no record of its own, by the first word of its run's name."""


@dataclass(frozen=True)
class BackgroundWork:
    services: Services
    user_id: str

    async def list_running(self) -> list[dict[str, Any]]:
        """Return running work: titles, and also ids and labels if there is a record."""
        services, user_id, now = self.services, self.user_id, self.services.clock()
        search, interviews, work, records = await asyncio.gather(
            services.job_searches.get(user_id),
            services.interviews.newest(user_id, MOST_READ),
            services.sweeps.running_work(user_id, now),
            asyncio.gather(*(each.list_under_way(user_id, now) for each in services.works)),
        )
        begun = [each for each in interviews if each.interview.turns and not each.interview.ended]
        runs = (RUNS.get(name.partition("-")[0]) for name in sorted(work.running))
        return [
            *(
                {f"{store.subject}_id": each.id, "title": store.describe(each), "label": each.label}
                for store, found in zip(services.works, records, strict=True)
                for each in found
            ),
            *([{"title": "Searching for jobs"}] if search.is_searching(now) else []),
            *(
                {"conversation_id": each.conversation_id, "title": describe_status(each)}
                for each in begun
                if each.last_used > now - ABANDONED_AFTER_SECONDS
            ),
            *({"title": title} for title in runs if title),
        ]

    async def list_ended(self) -> list[dict[str, Any]]:
        """Return recently ended work, newest first."""
        types = [*ENDED, *(each for work in self.services.works for each in work.ended_types())]
        return [
            _event_summary(each) for each in await self.services.activity.newest(self.user_id, MOST_READ, types=types)
        ]


def _event_summary(event: ActivityEvent) -> dict[str, Any]:
    return {"title": event.title, "at": format_moment(event.at)}
