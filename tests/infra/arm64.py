"""The layer and the chat function that `make build` made, on an emulated arm64 Python: `make test-arm64`."""

import os
import re
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from pymongo import MongoClient

from infra.local.model_server import ModelServer
from infra.sizes import BUILT, LAYER
from tests.servers import API_SECRET, SECRET, Client

PYTHON = Path(os.environ["ARM64_PYTHON"])
PACKAGES = BUILT / LAYER / "python"
SLOW = 180
"""Seconds. Emulated, the imports alone take half a minute."""


@pytest.fixture
def chat(mongodb_uri: str, model: ModelServer) -> Iterator[str]:
    """The address of the function, once it listens."""
    database = f"qwestly_test_{uuid.uuid4().hex[:12]}"
    environment = {
        "PATH": f"{PYTHON.parent}:/usr/bin:/bin",
        "PYTHONPATH": str(PACKAGES),
        "MONGODB_URI": mongodb_uri,
        "MONGODB_DATABASE": database,
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "CANDIDATE_API_URL": "http://127.0.0.1:9/api/agent/v1",
        "MODEL_BASE_URL": model.base_url,
        "EMBEDDINGS_BASE_URL": model.base_url,
        "AWS_LWA_PORT": "0",
    }
    command = ["./run.sh"]
    folder = BUILT / "ChatFunction"
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        said: list[str] = []
        while not (address := re.search(r"running on (http://127\.0\.0\.1:\d+)", said[-1] if said else "")):
            line = process.stdout.readline()
            assert line, "it ended: " + "".join(said)
            said.append(line)
        yield address[1]
        process.terminate()
    with MongoClient(mongodb_uri) as client:
        client.drop_database(database)


def test_the_layers_binaries_are_built_for_this_processor() -> None:
    program = "import platform, numpy, pydantic_core; from bson import _cbson; print(platform.machine())"
    ran = subprocess.run([PYTHON, "-c", program], env={"PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True)
    assert ran.stdout == "aarch64\n", ran.stderr


def test_the_chat_function_is_ready_and_answers_a_turn(chat: str) -> None:
    begun = time.monotonic()
    with httpx2.Client(timeout=SLOW) as http:
        assert http.get(f"{chat}/healthz").status_code == 200
        answer = Client(chat, "auth0|arm64", http=http).say("Hello")
    assert answer.text
    print(f"Ready, and a turn: {time.monotonic() - begun:.1f} s, emulated.")
