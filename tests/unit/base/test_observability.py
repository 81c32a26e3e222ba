"""Log lines: each has the run's id, and none contains user text or keys."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from aws_lambda_powertools import Logger

from infra.local.aws_functions import Context
from infra.local.model_server import ModelServer, Reply
from qwestly_agent.base.errors import Internal
from qwestly_agent.base.observability import NEVER_LOGGED, Event, make_logger
from qwestly_agent.workflow_state import WorkflowState, dispatch, state
from tests.servers import USER, ChatServer, Client, settings_for

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    """The log so far, one dictionary per line."""
    stream = io.StringIO()
    logger = make_logger("INFO")
    level = logger.log_level
    logger.setLevel("INFO")
    monkeypatch.setattr(logger.registered_handler, "stream", stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.setLevel(level)


@pytest.fixture
def logger(written: Lines) -> Logger:
    return make_logger("INFO")


def test_a_log_line_is_one_json_object_with_its_event(logger: Logger, written: Lines) -> None:
    logger.info(Event.TURN_STARTED, extra={"status": "complete"})
    [line] = written()
    assert (line["message"], line["level"], line["service"], line["status"]) == (
        "turn started",
        "INFO",
        "qwestly-agent",
        "complete",
    )


def test_a_runs_id_is_in_all_of_its_log_lines_and_no_others(logger: Logger, written: Lines) -> None:
    async def run(run_id: str) -> None:
        logger.thread_safe_append_keys(run_id=run_id)
        logger.info(Event.TURN_STARTED)
        await asyncio.sleep(0)
        logger.info(Event.TURN_ENDED)

    async def two_runs() -> None:
        await asyncio.gather(asyncio.create_task(run("r1")), asyncio.create_task(run("r2")))
        logger.info(Event.REQUEST_FAILED)

    asyncio.run(two_runs())
    assert [line.get("run_id") for line in written()] == ["r1", "r2", "r1", "r2", None]


@pytest.mark.parametrize("key", sorted(NEVER_LOGGED))
def test_forbidden_fields_are_masked_at_any_depth_of_a_log_line(key: str, logger: Logger, written: Lines) -> None:
    inner = {key: "hunter2", key.upper(): ["hunter2"], "kept": 1}
    logger.info(
        Event.TURN_ENDED, extra={"a": {"b": [inner, (inner,)]}, **({} if key == "message" else {key: "hunter2"})}
    )
    [line] = written()
    assert "hunter2" not in json.dumps(line)
    assert line["a"]["b"][0]["kept"] == 1


def test_text_in_place_of_an_event_name_is_not_logged(logger: Logger, written: Lines) -> None:
    logger.info({"content": "hunter2"})
    assert "hunter2" not in json.dumps(written())


@pytest.mark.thorough
@pytest.mark.parametrize("fault", [None, 400], ids=["answered", "failed"])
def test_a_turn_logs_its_id_and_receipt_but_no_content(
    written: Lines, model: ModelServer, mongodb_uri: str, database_name: str, fault: Any
) -> None:
    model.script(Reply(text="WORDS of the model", fault=fault))
    settings = settings_for(mongodb_uri, model.base_url, database_name, log_level="INFO")
    with ChatServer(settings) as server, Client(server.url) as client:
        client.http.headers["x-amzn-request-context"] = json.dumps({"requestId": "request-1"})
        run_id = client.say("WORDS of the user").events[0].data["run_id"]
    lines = [line for line in written() if line.get("run_id") == run_id]
    assert [line["message"] for line in lines if line["level"] == "INFO"] == ["turn started", "turn ended"]
    assert lines[-1]["status"] == ("failed" if fault else "complete")
    assert {line["request_id"] for line in lines} == {"request-1"}
    said = json.dumps(written())
    assert "WORDS" not in said
    assert USER not in said
    assert "Bearer" not in said


def test_a_states_log_lines_have_lambdas_request_id(logger: Logger, written: Lines) -> None:
    @state(WorkflowState, ignores_brake=True)
    async def stumble(services: Any, given: WorkflowState) -> WorkflowState:
        raise ValueError("WORDS")

    event = {"state": "stumble", "given": {"run_id": "run-1"}}
    work = dispatch({("any", stumble.name): stumble}, event, Context("writer", 1024, 30, aws_request_id="request-1"))
    with pytest.raises(Internal):
        asyncio.run(_awaited(work(SimpleNamespace(logger=logger, traces=None))))
    [line] = written()
    assert (line["run_id"], line["request_id"], line["cause"]) == ("run-1", "request-1", ["ValueError"])


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
