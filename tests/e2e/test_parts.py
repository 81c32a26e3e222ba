"""Each part starts alone, and reports in a sentence why it cannot."""

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx2
import pytest

from infra.local.environment import DEMO_USER
from tests.e2e.processes import CANDIDATE_API, Process, python, started
from tests.servers import Client, free_port, wait_for_port

pytestmark = pytest.mark.thorough

NOWHERE = "mongodb://127.0.0.1:1"
MODELS = {"MODEL_BASE_URL": "http://127.0.0.1:1/v1", "EMBEDDINGS_BASE_URL": "http://127.0.0.1:1/v1"}
UPSTREAMS = ("--chat-url", "http://127.0.0.1:1", "--candidate-app-url", "http://127.0.0.1:1")
ALONE = {
    "database": python("infra.local.database", "--data", "memory"),
    "model server": python("infra.local.model_server"),
    "candidate app": python("infra.local.candidate_app"),
    "page": python("infra.local.front", *UPSTREAMS),
}


@pytest.fixture(scope="module")
def refused(stack_database: str) -> Iterator[dict[str, Process]]:
    """Parts, and the whole stack, that cannot start, by reason; started together, for speed."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as processes:
        taken = str(listening.getsockname()[1])
        candidate_app, stack = ALONE["candidate app"], python("infra.local")

        def start(*command: str, folder: str = ".", **environment: str) -> Process:
            given = {"PORT": str(free_port()), "MONGODB_URI": stack_database, **environment}
            return processes.enter_context(started(*command, folder=folder, **given))

        yield {
            **{f"{name} on a taken port": start(*command, "--port", taken) for name, command in ALONE.items()},
            "stack on a taken port": start(*stack, PORT=taken),
            "chat function on a taken port": start(
                "./run.sh", folder="functions/chat", AWS_LWA_PORT=taken, **MODELS, **CANDIDATE_API
            ),
            "port that is no number": start(*stack, PORT="eighty"),
            "no secret": start(*candidate_app, "--port", str(free_port()), QWESTLY_AGENT_SHARED_SECRET=""),
            "unknown design": start(*stack, AGENT_DESIGN="no-such-design"),
            "no database": start(*stack, MONGODB_URI=NOWHERE),
        }


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*ALONE, "stack"])
def test_a_port_in_use_is_reported_in_a_sentence(refused: dict[str, Process], name: str) -> None:
    sentence = refusal(refused[f"{name} on a taken port"])
    assert re.search(r"[Pp]ort \d+ is taken|cannot listen on port \d+", sentence)


@pytest.mark.nightly
def test_the_chat_function_reports_that_its_port_is_in_use(refused: dict[str, Process]) -> None:
    chat = refused["chat function on a taken port"]
    assert chat.wait() != 0
    assert "address already in use" in chat.said
    assert "Traceback" not in chat.said


def test_a_port_that_is_not_a_number_is_reported_in_a_sentence(refused: dict[str, Process]) -> None:
    assert "PORT" in refusal(refused["port that is no number"])


def test_the_candidate_app_reports_which_setting_is_missing(refused: dict[str, Process]) -> None:
    assert "QWESTLY_AGENT_SHARED_SECRET" in refusal(refused["no secret"])


@pytest.mark.nightly
def test_an_unknown_design_prevents_startup_and_lists_the_known_ones(refused: dict[str, Process]) -> None:
    sentence = refusal(refused["unknown design"])
    assert "no-such-design" in sentence
    assert "default" in sentence


def test_a_missing_database_prevents_startup_with_a_sentence(refused: dict[str, Process]) -> None:
    sentence = refusal(refused["no database"])
    assert "127.0.0.1:1" in sentence
    assert "TopologyDescription" not in sentence


def test_the_candidate_app_alone_mints_tokens() -> None:
    with alone("candidate app") as url:
        minted = httpx2.get(f"{url}/api/agent/token").json()["token"]
        assert minted.count(".") == 2


def test_the_page_alone_reports_the_missing_parts() -> None:
    with alone("page") as url, Client(url, DEMO_USER) as user:
        assert "<qwestly-chat" in user.http.get(f"{url}/").text
        missing = user.request("GET", "/api/conversations")
        assert (missing.status_code, missing.json()["error"]["code"]) == (502, "unavailable")
        assert user.http.get(f"{url}/local/token").json()["error"]["code"] == "unavailable"


@contextmanager
def alone(name: str) -> Iterator[str]:
    """Run one part alone; yield its address."""
    port = free_port()
    with started(*ALONE[name], "--port", str(port)) as part:
        wait_for_port(port, part.popen)
        yield f"http://127.0.0.1:{port}"


def refusal(part: Process) -> str:
    """Return the one sentence with which the part ended."""
    assert part.wait() != 0
    assert len(part.said.splitlines()) == 1, part.said
    return part.said
