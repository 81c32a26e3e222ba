"""The layer, built for this machine with SAM's recipe, for tests of what runs in it."""

import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.sizes import build_layer, lambda_python


@dataclass(frozen=True)
class Layer:
    python: str
    packages: Path


def index_answers(python: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        pip = [python, "-m", "pip", "download", "--quiet", "--no-cache-dir", "--no-deps", "--retries", "0"]
        return subprocess.run([*pip, "--dest", folder, "annotated-types"], capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    python = lambda_python()
    if "CI" not in os.environ:
        if platform.system() != "Linux":
            pytest.skip("the layer holds Linux wheels, which cannot be started here")
        if not index_answers(python):
            pytest.skip("pip reaches no package index, so that there is nothing to build the layer from")
    folder = tmp_path_factory.mktemp("layer")
    try:
        return Layer(python, build_layer(folder, python, platform.machine()))
    except subprocess.CalledProcessError as failed:
        pytest.fail(failed.stdout + failed.stderr)
