"""The demo user's two weeks, restored on another day."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from infra.local.demo import snapshot
from infra.local.environment import DEMO_USER
from infra.local.model_server import ModelServer
from qwestly_agent.approvals.seal import is_sealed
from qwestly_agent.bootstrap import bootstrap_models
from qwestly_agent.chat.home import HomeView, home_of
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.services import ModelServices
from tests.servers import FakeClock, settings_for

pytestmark = pytest.mark.anyio

ENDED = snapshot.read()["ended_at"]
LATER = timedelta(days=40, hours=7)


@pytest.fixture
async def services(mongodb_uri: str, database_name: str, model: ModelServer) -> AsyncIterator[ModelServices]:
    """Services over the restored weeks, forty days and seven hours after they were recorded."""
    clock = FakeClock(ENDED + LATER.total_seconds())
    services = await bootstrap_models(settings_for(mongodb_uri, model.base_url, database_name), clock=clock)
    await snapshot.restore(services.mongo[database_name], services, services.embeddings, clock())
    yield services
    await services.close()


@pytest.fixture
async def home(services: ModelServices) -> HomeView:
    return await home_of(services, DEMO_USER)


async def test_the_demo_users_home_lists_open_tasks(services: ModelServices, home: HomeView) -> None:
    assert home.name == "Maya"
    assert home.first is not None
    assert home.first.status == "pending"
    assert {each.source for each in home.needs_you} == {"approvals", "lessons", "questions"}
    assert home.going.goal == "Lead a product team"
    [application] = await services.applications.newest(DEMO_USER, 10)
    assert (application.status, application.next_step) == ("interview", "Interview with Ana Ribeiro")
    assert {each.kind for each in await services.drafts.newest(DEMO_USER, 10)} == {"card", "resume"}


async def test_the_demo_weeks_end_within_the_last_day(services: ModelServices) -> None:
    newest = (await services.activity.newest(DEMO_USER, 1))[0].at
    assert services.clock() - 86_400 <= newest <= services.clock()
    [briefing, *_] = await services.briefings.newest(DEMO_USER, 10)
    assert briefing.day == f"{datetime.fromtimestamp(briefing.created_at, UTC):%Y-%m-%d}"


async def test_recorded_approvals_are_sealed_again_over_the_shifted_arguments(services: ModelServices) -> None:
    found = await services.approvals.newest(DEMO_USER, 10)
    assert {each.status for each in found} == {"pending", "done"}
    for each in found:
        assert each.args_digest == sha256_hex(each.tool, each.args)
        assert await is_sealed(services, each), each.tool
    assert all(each.seal for each in found if each.status == "done")


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("Due since Monday, November 23.", "Due since Wednesday, December 2."),
        ("On Friday, November 27, 2026 at noon", "On Sunday, December 6, 2026 at noon"),
        ('{"on": "2026-11-27", "since": "2021-04-01"}', '{"on": "2026-12-06", "since": "2021-04-01"}'),
        ('{"a":1795766400.5,"b":3}', '{"a":1796544000.5,"b":3}'),
        ("May 40, 2026-13-45, born in May 1990", "May 40, 2026-13-45, born in May 1990"),
        ("{not JSON", "{not JSON"),
    ],
)
def test_dates_near_the_recording_are_shifted_with_their_weekdays(text: str, moved: str) -> None:
    ended = datetime(2026, 11, 27, 8, tzinfo=UTC).timestamp()
    assert snapshot.Moved(ended, 9).text(text) == moved
