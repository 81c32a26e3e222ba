"""The layer, built for this machine by the recipe that SAM uses, starts the chat function with nothing else."""

import contextlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHAT = ROOT / "functions" / "chat"

UNPACKED_LIMIT = 160_000_000
"""Lambda's own is 250 MB. A third is numpy, nearly a third bytecode, which halves a cold start; the rest is sources."""

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


@dataclass(frozen=True)
class Layer:
    python: str
    packages: Path


def find_python() -> str:
    """Lambda's own minor version where it is installed, else the one that runs this."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        prefix = subprocess.check_output(["pyenv", "prefix", "3.13"], text=True, stderr=subprocess.DEVNULL).strip()
        return f"{prefix}/bin/python3.13"
    return shutil.which("python3.13") or sys.executable


def index_answers(python: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        pip = [python, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps", "--retries", "0"]
        return subprocess.run([*pip, "--dest", folder, "annotated-types"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    python = find_python()
    if "CI" not in os.environ:
        if platform.system() != "Linux":
            pytest.skip("the layer holds Linux wheels, which cannot be started here")
        if not index_answers(python):
            pytest.skip("pip reaches no package index, so that there is nothing to build the layer from")
    folder = tmp_path_factory.mktemp("layer")
    recipe = ["make", "--silent", "--makefile", "src/Makefile", "build-AgentLayer"]
    variables = [f"ARTIFACTS_DIR={folder}", f"LAYER_PYTHON={python}", f"LAYER_ARCHITECTURE={platform.machine()}"]
    built = subprocess.run([*recipe, *variables], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return Layer(python, folder / "python")


@pytest.fixture
def server(layer: Layer, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    # An environment without a single package, so that whatever the function imports can only be the layer's.
    subprocess.run([layer.python, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    environment = ENVIRONMENT | {"PATH": f"{tmp_path}/bare/bin:/usr/bin:/bin", "PYTHONPATH": str(layer.packages)}
    command = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), "./run.sh"]
    with subprocess.Popen(command, cwd=CHAT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        yield process
        process.terminate()


def test_chat_starts_from_the_layer_alone_and_says_that_it_is_ready(server: subprocess.Popen[str]) -> None:
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


def test_every_module_is_compiled_so_that_a_read_only_folder_costs_no_cold_start(layer: Layer) -> None:
    tag = subprocess.check_output([layer.python, "-c", "import sys; print(sys.implementation.cache_tag)"], text=True)
    for source in layer.packages.rglob("*.py"):
        assert (source.parent / "__pycache__" / f"{source.stem}.{tag.strip()}.pyc").is_file(), source


def test_the_bytecode_is_never_checked_against_its_source(layer: Layer) -> None:
    compiled = list(layer.packages.rglob("qwestly_agent/**/*.pyc"))
    assert compiled
    # PEP 552: the second word of the header is 1 where a hash is kept and not compared.
    assert {int.from_bytes(file.read_bytes()[4:8], "little") for file in compiled} == {1}


def test_a_traceback_names_the_place_in_lambda_and_not_that_of_the_build(layer: Layer) -> None:
    [settings] = layer.packages.glob("qwestly_agent/__pycache__/settings.*.pyc")
    assert b"/opt/python/qwestly_agent/settings.py" in settings.read_bytes()
    assert str(layer.packages).encode() not in settings.read_bytes()


def test_the_layer_leaves_room_below_the_limit(layer: Layer) -> None:
    size = sum(file.stat().st_size for file in layer.packages.rglob("*") if file.is_file())
    assert size < UNPACKED_LIMIT


def test_each_service_that_the_code_calls_is_described_in_the_layer(layer: Layer) -> None:
    described = {folder.name for folder in (layer.packages / "botocore" / "data").iterdir() if folder.is_dir()}
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "functions").rglob("*.py")]
    called = {name for file in sources for name in re.findall(r"\bclient\(\s*\"([\w-]+)\"", file.read_text())}
    # By way of Powertools: the references of settings.py.
    assert called | {"ssm", "secretsmanager"} <= described
