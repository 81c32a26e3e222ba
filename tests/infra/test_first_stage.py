"""The runbook's path from nothing to a working stage, as far as it goes without an account: each of its commands is run
by a shell and the AWS CLI on this machine, against moto and a separate database."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.local.aws import AwsServer
from infra.local.environment import ROOT
from tests.servers import mongo_server

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.nightly,
    pytest.mark.filterwarnings("ignore:Tried to parse:UserWarning"),
    pytest.mark.skipif(not shutil.which("aws"), reason="the AWS CLI is not installed"),
]
CHAPTER = (
    (ROOT / "docs/runbook.md").read_text().partition("## From nothing to a working stage")[2].partition("\n## ")[0]
)
BLOCKS = re.findall(r"^```\n(.*?)^```", CHAPTER, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines()]
GIVEN = {
    "AlertAddress": "ops@qwestly.com",
    "ApiUrl": "https://api.lambda-url.eu-west-1.on.aws",
    "ApproveUrl": "https://approve.lambda-url.eu-west-1.on.aws",
    "ChatUrl": "https://chat.lambda-url.eu-west-1.on.aws",
    "Domain": "agent.qwestly.com",
    "OrganizationId": "0123456789abcdef01234567",
    "Repository": "qwestly/agent",
}
"""Values for each ellipsis of the commands."""
TYPE = "arn:aws:cloudformation:eu-west-1::type/resource/0123456789012345678901234567890123456789/MongoDB-Atlas-Project"
ROLE = "arn:aws:iam::123456789012:role/atlas"
UNKNOWN_TO_MOTO = {
    " activate-type ": "Atlas's types are not there",
    " list-types ": "no types of others",
    " put-account-details ": "no sandbox",
    " request-service-quota-increase ": "no quotas that grow",
    " --template-body file://infra/atlas.yaml ": "no resources of Atlas",
    " --template-body file://infra/front.yaml ": "no distribution with these parts",
}
"""They are read by the CLI and sent; moto answers that it does not know them."""
ELSEWHERE = {
    "make doctor": "tests/infra/test_doctor.py",
    "make smoke": "tests/e2e/test_smoke.py",
    "OPENAI_API_KEY=": "tests/infra/test_mongo.py",
    "qwestly-agent topics ingest library": "tests/infra/test_topics.py",
    ".venv-sam/bin/sam ": "its options are in tests below",
}
"""Commands that other tests run in the same way."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """An operator's environment, and the files that a person wrote."""
    folder = tmp_path_factory.mktemp("operator")
    for name in ("mongodb-uri", "mongodb-chat-uri", "mongodb-reader-uri", "mongodb-opener-uri", "deepseek", "openai"):
        (folder / f"{name}.txt").write_text("a-value-of-thirty-two-bytes-or-more")
    for name in ("infra", "library"):
        (folder / name).symlink_to(ROOT / name)
    paths = {"PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with mongo_server() as (uri, _), AwsServer() as aws:
        stage = {"STAGE": "dev", "STACK": "qwestly-agent-dev", "MONGODB_DATABASE": "candidate_portal"}
        yield {
            **paths,
            **aws.variables,
            "AWS_MAX_ATTEMPTS": "1",
            **stage,
            "ADMIN_MONGODB_URI": uri,
            "HOME": str(folder),
            "PWD": str(folder),
        }


def written(command: str) -> str:
    """Return a command as a reader of the runbook types it."""
    for name, value in GIVEN.items():
        command = command.replace(
            f"ParameterKey={name},ParameterValue=…", f"ParameterKey={name},ParameterValue={value}"
        )
    return command.replace("--public-type-arn …", f"--public-type-arn {TYPE}").replace("arn …", f"arn {ROLE}")


def run(command: str, shell: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], env=shell, cwd=shell["HOME"], capture_output=True, text=True
    )


def test_the_chapters_commands_run_in_order_as_far_as_possible_locally(shell: Mapping[str, str]) -> None:
    ran = 0
    for line in COMMANDS:
        command = written(line)
        assert "…" not in command or line.startswith("export "), line
        if line.startswith(("export ", *ELSEWHERE)):
            continue
        ended, ran = run(command, shell), ran + 1
        operation = next((name for name in UNKNOWN_TO_MOTO if name in line), None)
        if operation:
            # The CLI understood it: it ends with 252 where it does not.
            assert ended.returncode in (0, 254, 255), (line, ended.stderr)
            assert "usage:" not in ended.stderr, line
            assert "arameter validation" not in ended.stderr, line
        elif "mongo check" in line:
            # The laptop's server has no search indexes, and no other user.
            assert ended.returncode in (0, 1), (line, ended.stderr)
        else:
            assert ended.returncode == 0, (line, ended.stderr)
    assert ran >= 20


@pytest.mark.skipif(not (ROOT / ".venv-sam").exists(), reason=".venv-sam is missing: make .venv-sam/ready")
def test_sam_supports_the_options_used_in_the_chapter(shell: Mapping[str, str]) -> None:
    for line in COMMANDS:
        if line.startswith(".venv-sam/bin/sam "):
            _, command, *options = line.split()
            told = subprocess.check_output([ROOT / ".venv-sam/bin/sam", command, "--help"], text=True)
            assert all(option in told for option in options if option.startswith("--")), line


def test_each_command_tested_elsewhere_is_in_the_chapter_and_its_test_exists() -> None:
    for begins, where in ELSEWHERE.items():
        assert any(line.startswith(begins) for line in COMMANDS), begins
        assert where.startswith("its ") or Path(ROOT, where).exists()
