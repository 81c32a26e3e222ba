"""The layer, built for this machine with SAM's recipe, starts the chat function without anything else."""

import json
import platform
import re
import subprocess
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from infra.local.environment import Template
from infra.sizes import IMPORT_ENVIRONMENT, Handler, build_layer, handlers_of, unpacked_size
from tests.counts import sample
from tests.infra.conftest import Layer

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
CHAT = ROOT / "functions" / "chat"

UNPACKED_LIMIT = 120_000_000
"""Lambda's own is 250 MB. Half is numpy with its algebra, and most of the rest bytecode, which halves a cold start.
Tokens by public keys take 16 MB of it (cryptography)."""

ENVIRONMENT = {
    "MONGODB_URI": "mongodb://127.0.0.1:1",
    "MONGODB_DATABASE": "qwestly_test_build",
    "QWESTLY_AGENT_SHARED_SECRET": "a-secret-that-is-long-enough-for-a-test",
    "QWESTLY_CANDIDATE_API_SECRET": "another-secret-that-is-long-enough-for-a-test",
    "CANDIDATE_API_URL": "http://127.0.0.1:1/api/agent/v1",
    "DEEPSEEK_API_KEY": "none",
    "OPENAI_API_KEY": "none",
    "AWS_LWA_PORT": "0",
}

DEAR = {"boto3", "fastapi", "jinja2", "mangum", "numpy", "openai", "pydantic_ai", "s3transfer", "starlette"}
"""Packages that are expensive to import, alone or with their dependencies."""
MODELS = {"openai", "pydantic_ai"}
NEEDED = {
    "chat/app": MODELS | {"fastapi", "starlette"},
    "approve/pages": {"jinja2", "mangum", "starlette"},
    "approve/clock": {"jinja2"},
    "generate/writer": {"jinja2"},
}


@pytest.fixture
def server(layer: Layer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    # An environment without any packages, so that everything the function imports must come from the layer.
    subprocess.run([layer.python, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    environment = ENVIRONMENT | {"PATH": f"{tmp_path}/bare/bin:/usr/bin:/bin", "PYTHONPATH": str(layer.packages)}
    command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "./run.sh"]
    with subprocess.Popen(command, cwd=CHAT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        yield process
        process.terminate()


@pytest.mark.nightly
def test_the_chat_starts_from_the_layer_alone_and_reports_ready(server: subprocess.Popen[str]) -> None:
    assert server.stdout
    said: list[str] = []
    while not (address := re.search(r"running on http://127\.0\.0\.1:(\d+)", said[-1] if said else "")):
        line = server.stdout.readline()
        assert line, "it ended: " + "".join(said)
        said.append(line)
    connection = HTTPConnection("127.0.0.1", int(address[1]), timeout=10)
    connection.request("GET", "/healthz")
    assert connection.getresponse().status == 200
    connection.close()


def test_every_module_is_precompiled_for_the_read_only_folder(layer: Layer) -> None:
    tag = subprocess.check_output([layer.python, "-c", "import sys; print(sys.implementation.cache_tag)"], text=True)
    sources = list(layer.packages.rglob("*.py"))
    assert {source.relative_to(layer.packages).parts[0] for source in sources} == {"qwestly_agent", "anyio"}
    for source in sources:
        assert (source.parent / "__pycache__" / f"{source.stem}.{tag.strip()}.pyc").is_file(), source


def test_bytecode_is_not_validated_against_its_source(layer: Layer) -> None:
    compiled = list(layer.packages.rglob("*.pyc"))
    assert compiled
    # PEP 552: the second word of the header is 1 where a hash is kept and not compared.
    assert {int.from_bytes(file.read_bytes()[4:8], "little") for file in compiled} == {1}


def test_a_traceback_shows_lambda_paths_instead_of_build_paths(layer: Layer) -> None:
    [own] = layer.packages.glob("qwestly_agent/base/__pycache__/settings.*.pyc")
    for compiled, path in [
        (own, "qwestly_agent/base/settings.py"),
        (layer.packages / "jwt/api_jwt.pyc", "jwt/api_jwt.py"),
    ]:
        assert f"/opt/python/{path}".encode() in compiled.read_bytes()
        assert str(layer.packages).encode() not in compiled.read_bytes()


def test_a_traceback_through_dependencies_keeps_their_files_and_lines(layer: Layer) -> None:
    command = [layer.python, "-S", "-c", "import jwt; jwt.decode('x', 'y', ['HS256'])"]
    died = subprocess.run(command, env={"PYTHONPATH": str(layer.packages)}, capture_output=True, text=True)
    assert re.search(r'File "/opt/python/jwt/api_jws.py", line \d+, in _load', died.stderr), died.stderr


def test_the_layer_has_time_zones_even_if_the_system_has_none(layer: Layer) -> None:
    command = [layer.python, "-S", "-c", "import zoneinfo; print(zoneinfo.ZoneInfo('America/Argentina/Ushuaia'))"]
    environment = {"PYTHONPATH": str(layer.packages), "PYTHONTZPATH": ""}
    assert subprocess.check_output(command, env=environment, text=True) == "America/Argentina/Ushuaia\n"


ARCHITECTURES = sorted(("x86_64", "aarch64"), key=lambda each: each != platform.machine())
"""Both architectures, this machine's first: `make build` brings the wheels of Lambda's."""


@pytest.mark.parametrize("architecture", sample(ARCHITECTURES, 1))
def test_the_layer_stays_well_below_the_size_limit(architecture: str, layer: Layer, tmp_path: Path) -> None:
    is_ours = architecture == platform.machine()
    packages = layer.packages if is_ours else build_layer(tmp_path, layer.python, architecture)
    assert unpacked_size(packages) < UNPACKED_LIMIT


def test_the_layer_describes_every_recorded_operation(layer: Layer) -> None:
    """tests/infra/test_rights.py compares what the Makefile names with the calls that are made."""
    described = {
        f"{file.parts[-3]}:{operation}"
        for file in (layer.packages / "botocore" / "data").glob("*/*/service-2.json")
        for operation in json.loads(file.read_text())["operations"]
    }
    makefile = (ROOT / "src/Makefile").read_text().replace("\\\n", "")
    named = re.search(r"^AWS_OPERATIONS := (.*)$", makefile, re.MULTILINE)
    assert named
    assert described == set(named[1].split())


@pytest.mark.nightly
def test_no_handler_imports_modules_it_does_not_need(layer: Layer) -> None:
    """Includes the AWS clients. `make build` prints the costs, and a benchmark measures them."""
    handlers = handlers_of(Template.load())
    assert {each.name: dear_imports(layer, each) for each in handlers} == {
        each.name: NEEDED.get(each.name, MODELS if each.calls_model else set()) for each in handlers
    }


def dear_imports(layer: Layer, handler: Handler) -> set[str]:
    clients = "".join(f"; aws.client({service!r})" for service in handler.services)
    aws = f"from qwestly_agent.clients.aws import AWS; aws = AWS(){clients}"
    code = f"{handler.imports}; {aws}; import sys; print(*sys.modules)"
    paths = f"{ROOT / 'functions' / handler.name.partition('/')[0]}:{layer.packages}"
    imported = subprocess.check_output(
        [layer.python, "-S", "-c", code], env=IMPORT_ENVIRONMENT | {"PYTHONPATH": paths}, text=True
    )
    return DEAR & set(imported.split())
