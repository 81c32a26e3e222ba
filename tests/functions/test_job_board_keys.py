"""The keys of the job boards and the web search can be rotated without a deployment."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import httpx2
import pytest

from infra.local.job_boards import KEY, JobBoardsServer
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import make_logger
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.clients.job_boards import JobQuery, make_job_boards
from tests.servers import FakeClock, settings_for

NEW = {"adzuna_app_id": KEY, "adzuna_app_key": KEY, "jsearch_api_key": KEY, "search_api_key": KEY}


@pytest.fixture
def boards() -> Iterator[JobBoardsServer]:
    with JobBoardsServer() as server:
        yield server


@pytest.mark.anyio
@pytest.mark.parametrize("board", ["adzuna", "jsearch", "web"])
async def test_a_rejected_api_key_is_read_again_and_fails_if_it_was_not_rotated(
    boards: JobBoardsServer, board: str
) -> None:
    settings = settings_for("mongodb://127.0.0.1:9", "http://127.0.0.1:9/v1", job_boards_url=boards.url)
    old, rotated = replace(settings, **dict.fromkeys(NEW, "old")), replace(settings, **NEW)

    async def ask(secrets: Secrets, times: int = 1) -> list[Sequence[object]]:
        async with httpx2.AsyncClient() as http:
            made = make_job_boards(http, secrets)
            if board == "web":
                assert made.web
                return [await made.web.search("nurse") for _ in range(times)]
            [asked] = [each for each in made.boards if each.name == board]
            return [await asked.search(JobQuery("nurse"), 0.0) for _ in range(times)]

    def secrets_after(after: Settings) -> Secrets:
        return Secrets(lambda: after, old, FakeClock(), make_logger("CRITICAL"))

    await ask(secrets_after(rotated), times=2)
    asked = [each for each in boards.api.requests if each.startswith(board)]
    assert len(asked) == 3
    with pytest.raises(Unavailable):
        await ask(secrets_after(old))
    assert len([each for each in boards.api.requests if each.startswith(board)]) == 4
