"""Operators' commands for a user who cannot sign in."""

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from infra.local.environment import ROOT
from infra.users import NOT_WRITTEN_DOWN
from tests.servers import API_SECRET, ChatServer, Client

pytestmark = pytest.mark.thorough

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(chat: ChatServer) -> Run:
    """`qwestly-agent users …`, as an operator types it."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "MONGODB_URI": chat.settings.mongodb_uri,
        "MONGODB_DATABASE": chat.settings.mongodb_database,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "CANDIDATE_API_URL": chat.settings.candidate_api_url,
    }

    def run(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "infra", "users", *arguments]
        return subprocess.run(command, env={**environment, **changes}, cwd=ROOT, capture_output=True, text=True)

    return run


@pytest.mark.sentinel
def test_all_data_of_a_user_is_exported_and_erased(run: Run, chat: ChatServer, client: Client) -> None:
    with Client(chat.url, f"{client.user_id}-another") as another:
        another.say("Hello")
        client.say("Hello, I am leaving")
        exported = json.loads(run("export", client.user_id).stdout)
        assert exported["complete"]
        assert "Hello, I am leaving" in json.dumps(exported)
        answer = run("erase", client.user_id)
        assert answer.stderr == f"{NOT_WRITTEN_DOWN}\n"
        erased = json.loads(answer.stdout)
        assert erased["agent_messages"] == 2
        assert client.get("/api/conversations")["items"] == []
        assert len(another.get("/api/conversations")["items"]) == 1


@pytest.mark.parametrize("what", ["export", "erase"])
def test_a_user_without_data_is_reported_as_such(run: Run, client: Client, what: str) -> None:
    mistyped = run(what, f"{client.user_id}-mistyped")
    assert (mistyped.returncode, mistyped.stdout) == (1, "")
    assert mistyped.stderr == f"Nothing is kept about {client.user_id}-mistyped.\n"


def test_a_missing_variable_of_users_is_named_in_one_sentence(run: Run, client: Client) -> None:
    failed = run("export", client.user_id, MONGODB_URI="")
    assert failed.returncode == 2
    assert failed.stderr.endswith("error: Missing in the environment: MONGODB_URI.\n")
