"""The operators' command: its subcommands, its exit codes, and the origin of its settings."""

import fcntl
import os
import re
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from pymongo import MongoClient

from infra import brake
from infra.__main__ import COMMANDS, WITHOUT_STAGE
from infra.local.aws import AwsServer
from infra.local.environment import MACHINE, ROOT
from infra.stages import Stage
from qwestly_agent.domain.approval import EVERYBODY
from tests.recorded_calls import compare, recording
from tests.servers import mongo_server

pytestmark = pytest.mark.thorough

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run() -> Run:
    def run(*typed: str, options: tuple[str, ...] = (), **given: str) -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **given}
        command = [sys.executable, *options, "-m", "infra", *typed]
        return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)

    return run


def test_the_installed_script_is_this_command() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, function = scripts["qwestly-agent"].partition(":")
    assert callable(getattr(import_module(module), function))


def test_help_lists_each_command_without_importing_its_dependencies(run: Run) -> None:
    said = run("--help", options=("-X", "importtime"))
    assert said.returncode == 0
    assert [
        name for name in COMMANDS if f"\n    {name} " not in said.stdout and f"\n    {name}\n" not in said.stdout
    ] == []
    assert [each for each in ("pydantic_ai", "pymongo", "qwestly_agent", "yaml") if each in said.stderr] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_describes_its_arguments(run: Run, name: str) -> None:
    said = run(name, "--help")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith(f"usage: qwestly-agent {name} ")
    assert ("--stage STAGE" in said.stdout) == (name not in WITHOUT_STAGE)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "brakes",
        "brake",
        "brake pull",
        "brake show --stage production",
        "users export",
        "memories undo --user u",
        "extractions again u",
        "restore check",
        "restore check --since yesterday",
        "mongo ingest",
        "smoke",
        "smoke https://chat.example --stage dev",
        "fire --stage dev",
    ],
)
def test_wrong_usage_exits_with_2_and_an_explanation(run: Run, typed: str) -> None:
    said = run(*typed.split())
    assert (said.returncode, said.stdout) == (2, "")
    assert "error: " in said.stderr.splitlines()[-1]


@pytest.mark.parametrize("typed", ["brake show", "extractions list", "mongo check", "memories list --user u"])
def test_a_missing_setting_exits_with_2(run: Run, typed: str) -> None:
    said = run(*typed.split())
    assert said.returncode == 2
    assert said.stderr.endswith("error: Missing in the environment: MONGODB_URI, MONGODB_DATABASE.\n")


@pytest.mark.nightly
@pytest.mark.parametrize("typed", ["brake show", "extractions list", "mongo check"])
def test_an_unreachable_database_exits_with_1(run: Run, typed: str) -> None:
    said = run(*typed.split(), MONGODB_URI="mongodb://127.0.0.1:9", MONGODB_DATABASE="any")
    assert (said.returncode, said.stderr) == (1, "The database at MONGODB_URI cannot be reached.\n")


def test_an_aws_command_without_settings_prints_one_line(run: Run) -> None:
    said = run("release", "list", "--stage", "dev", AWS_EC2_METADATA_DISABLED="true", AWS_CONFIG_FILE="/nowhere")
    assert (said.returncode, said.stdout) == (1, "")
    assert said.stderr == "AWS cannot be asked: You must specify a region.\n"


def test_make_help_lists_each_described_target() -> None:
    said = subprocess.check_output(["make", "--no-print-directory", "help"], cwd=ROOT, text=True)
    rules = [
        line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if re.match(r"\S+:.*## ", line)
    ]
    assert [line.split()[0] for line in said.splitlines()] == rules


# --- of a stage -------------------------------------------------------------------------------------------------------


@pytest.fixture
def mongo() -> Iterator[str]:
    """A separate server: the stage's database is named as in production."""
    with mongo_server() as (uri, _):
        yield uri


def test_the_brake_commands_calls_are_in_the_table_of_rights(
    parameter_store: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in parameter_store.items():
        monkeypatch.setenv(name, value)
    with recording() as calls:
        assert brake.command(Namespace(what="show", user=EVERYBODY), Stage.load("staging").environment) == 0
    compare({"brake": calls})


@pytest.fixture
def parameter_store(mongo: str) -> Iterator[dict[str, str]]:
    """The environment of someone who may read the stage's secrets."""
    stage = Stage.load("staging")
    with AwsServer(stage.template.without(MACHINE), {"MONGODB_URI": mongo}) as aws:
        yield aws.variables


def test_a_stages_database_is_resolved_from_its_reference(
    run: Run, mongo: str, parameter_store: dict[str, str]
) -> None:
    pulled = run("brake", "on", "--stage", "staging", **parameter_store, MONGODB_URI="mongodb://127.0.0.1:9")
    assert (pulled.returncode, pulled.stderr) == (0, "")
    with MongoClient(mongo) as client:
        signals = client["candidate_portal"]["agent_signals"].find_one({"_id": "everybody"})
        assert signals
        assert signals["brake_since"]


@pytest.mark.nightly
def test_an_admin_connects_instead_of_the_stages_user(run: Run, mongo: str, parameter_store: dict[str, str]) -> None:
    made = run("mongo", "apply", "--stage", "staging", **parameter_store)
    assert (made.returncode, made.stderr) == (0, "")
    refused = run("mongo", "check", "--stage", "staging", **parameter_store, ADMIN_MONGODB_URI="mongodb://127.0.0.1:9")
    assert (refused.returncode, refused.stderr) == (1, "The database at MONGODB_URI cannot be reached.\n")


def test_no_stage_setting_names_another_account() -> None:
    stage = Stage.load("prod")
    assert stage.environment["MONGODB_URI"] == "ssm:/qwestly-agent/prod/mongodb-uri"
    assert [value for value in stage.environment.values() if value.startswith("arn:")] == []


def test_if_functions_differ_the_chats_setting_is_used() -> None:
    environment = Stage.load("prod").environment
    assert environment["MONGODB_URI"] == "ssm:/qwestly-agent/prod/mongodb-uri"
    assert environment["READER_MONGODB_URI"] == "ssm:/qwestly-agent/prod/mongodb-reader-uri"
    assert environment["OPENER_MONGODB_URI"] == "ssm:/qwestly-agent/prod/mongodb-opener-uri"


# --- what is kept on this machine -------------------------------------------------------------------------------------


def test_reset_clears_local_data_only_if_no_stack_runs(tmp_path: Path) -> None:
    (tmp_path / "infra").symlink_to(ROOT / "infra")
    kept = tmp_path / ".local"
    (kept / "data").mkdir(parents=True)

    def reset() -> "subprocess.CompletedProcess[str]":
        environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-m", "infra.local.reset"]
        return subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)

    folder = os.open(kept, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_SH)  # as a stack does
    refused = reset()
    assert (refused.returncode, refused.stderr) == (1, "The stack runs: end it before its data is cleared.\n")
    assert (kept / "data").is_dir()
    os.close(folder)
    assert reset().returncode == 0
    assert not kept.exists()
