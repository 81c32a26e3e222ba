"""Measure the size of the layer and of the functions, and the import time of each: the table after `make build`.

A handler is imported as in a Lambda cold start: by its own Python, from the layer alone, with nothing loaded before.
The layer built by `sam build` has Lambda's architecture; on a machine with another one, a layer for that is built too.
"""

import ast
import contextlib
import io
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.environment import FUNCTION, ROOT, Template

BUILT = ROOT / ".aws-sam" / "build"
LAYER = "AgentLayer"
ARCHITECTURE = "aarch64"
"""Lambda's architecture, as in template.yaml."""
RUNS = 5

CLIENTS = {"ssm": "ssm", "kms": "kms", "ses": "sesv2", "states": "stepfunctions"}
"""The boto3 client for the actions of a service. Lambda itself writes logs and traces."""

BASE = "pydantic-ai and FastAPI"
"""The imports of any comparable chat handler, for comparison."""
_IMPORT_BASE = "import fastapi, pydantic_ai, pydantic_ai.models.openai"

EVERY_ROUTE = "chat/app with every route"
"""The chat handler's imports after a request that is not a turn."""

IMPORT_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}
"""Environment for importing a handler and making its clients; none of them sends a request."""

_MEASURE = """
import re, sys, time

begun = time.process_time()
exec(sys.argv[1])
if services := sys.argv[2:]:
    from qwestly_agent.clients.aws import AWS
    aws = AWS()
    for service in services:
        aws.client(service)
ended = time.process_time()
print(ended - begun, re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""


@dataclass(frozen=True)
class Handler:
    name: str
    """`approve/pages`"""
    logical_id: str
    calls_model: bool
    actions: tuple[str, ...]
    """The AWS operations that its role allows, each as `client:Operation`."""

    @property
    def services(self) -> list[str]:
        return sorted({action.partition(":")[0] for action in self.actions})

    @property
    def imports(self) -> str:
        _, module = self.name.split("/")
        functions = [
            *(["bootstrap_models"] if self.calls_model else []),
            *(["bootstrap_chat"] if module == "app" else []),
        ]
        return ", ".join([f"import {module}", *_imports_of_bootstrap(*functions)])


def _imports_of_bootstrap(*functions: str) -> list[str]:
    """Return the imports within these functions of `bootstrap`."""
    module = ast.parse((ROOT / "src/qwestly_agent/bootstrap.py").read_text(encoding="utf-8"))
    called = [each for each in module.body if isinstance(each, ast.AsyncFunctionDef) and each.name in functions]
    nodes = [node for each in called for node in ast.walk(each)]
    return [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


@dataclass(frozen=True)
class ImportCost:
    handler: str
    cpu_seconds: float
    """The shortest of several runs, because disturbances only add time. Includes the AWS clients of a handler that
    calls no model."""
    rss_mb: float
    calls_model: bool


def handlers_of(template: Template) -> list[Handler]:
    return [_handler(template, logical_id, each) for logical_id, each in template.of_type(FUNCTION).items()]


def _handler(template: Template, logical_id: str, properties: Any) -> Handler:
    folder, module = Path(properties["CodeUri"]).name, properties["Handler"].partition(".")[0]
    if module == "run":  # a script that Lambda runs, which starts the app
        module = "app"
    calls_model = "DEEPSEEK_API_KEY" in template.environment(logical_id)
    return Handler(f"{folder}/{module}", logical_id, calls_model, tuple(_operations(template, properties["Role"])))


def _operations(template: Template, role: Any) -> list[str]:
    named = [action.partition(":") for action, _ in template.grants(role)]
    return sorted({f"{CLIENTS[service]}:{operation}" for service, _, operation in named if service in CLIENTS})


def import_costs(packages: Path, python: str, runs: int = RUNS) -> list[ImportCost]:
    """Measure the imports of each handler, of `BASE` and of `EVERY_ROUTE`; on Linux.

    The runs alternate, so that a busy moment does not affect only one of them.
    """
    handlers = handlers_of(Template.load())
    measured: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        bare, functions = Path(folder, "bare"), Path(folder, "functions")
        subprocess.run([python, "-m", "venv", "--without-pip", bare], check=True)  # noqa: S603
        # Without bytecode, as they are deployed.
        shutil.copytree(ROOT / "functions", functions, ignore=shutil.ignore_patterns("__pycache__"))

        def measure(name: str, imports: str, services: Sequence[str]) -> None:
            paths = os.pathsep.join([str(functions / name.partition("/")[0]), str(packages)])
            command = [bare / "bin" / "python", "-c", _MEASURE, imports, *services]
            said = subprocess.check_output(command, env=IMPORT_ENVIRONMENT | {"PYTHONPATH": paths}, text=True)  # noqa: S603
            cpu, rss = said.split()
            measured.setdefault(name, []).append((float(cpu), int(rss) / 1024))

        for _ in range(runs):
            measure(BASE, _IMPORT_BASE, ())
            for handler in handlers:
                measure(handler.name, handler.imports, () if handler.calls_model else handler.services)
                if handler.name == "chat/app":
                    measure(EVERY_ROUTE, f"{handler.imports}; app.app.add_other_routes()", ())
    calls_model = {BASE: True, EVERY_ROUTE: True} | {handler.name: handler.calls_model for handler in handlers}
    return [
        ImportCost(name, min(cpu for cpu, _ in each), min(rss for _, rss in each), calls_model[name])
        for name, each in measured.items()
    ]


def lambda_python() -> str:
    """Return Lambda's Python version if it is installed, otherwise the current Python."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["pyenv", "prefix", "3.13"]
        prefix = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL).strip()  # noqa: S603
        return f"{prefix}/bin/python3.13"
    return shutil.which("python3.13") or sys.executable


def build_layer(folder: Path, python: str, architecture: str) -> Path:
    """Build the layer with SAM's recipe. Returns the folder of its packages. Raises `CalledProcessError`."""
    recipe = ["make", "--silent", "--makefile", "src/Makefile", f"build-{LAYER}"]
    variables = [f"ARTIFACTS_DIR={folder}", f"LAYER_PYTHON={python}", f"LAYER_ARCHITECTURE={architecture}"]
    subprocess.run([*recipe, *variables], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    return folder / "python"


def unpacked_size(folder: Path) -> int:
    """Return the size in bytes."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def zipped_size(folder: Path) -> int:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.rglob("*"):
            archive.write(file, file.relative_to(folder))
    return len(packed.getvalue())


@contextlib.contextmanager
def packages_for_here(python: str) -> Iterator[Path]:
    if platform.machine() == ARCHITECTURE:
        yield BUILT / LAYER / "python"
        return
    with tempfile.TemporaryDirectory() as folder:
        yield build_layer(Path(folder), python, platform.machine())


def main() -> None:
    layer = BUILT / LAYER
    print(f"\nThe layer: {unpacked_size(layer) / 1e6:.1f} MB, zipped {zipped_size(layer) / 1e6:.1f} MB\n")
    if platform.system() != "Linux":
        print("What importing costs is measured on Linux alone: the layer holds Linux wheels.")
        return
    python = lambda_python()
    with packages_for_here(python) as packages:
        runs = 1 if "CI" in os.environ else RUNS  # nobody reads the table there
        costs = {each.handler: each for each in import_costs(packages, python, runs)}
    print(f"{'function':36}{'size, kB':>10}{'import, CPU s':>15}{'memory, MB':>12}")
    for handler in handlers_of(Template.load()):
        cost, size = costs[handler.name], unpacked_size(BUILT / handler.logical_id)
        print(f"{handler.name:36}{size / 1e3:10.1f}{cost.cpu_seconds:15.2f}{cost.rss_mb:12.0f}")
    base, chat, every_route = costs[BASE], costs["chat/app"], costs[EVERY_ROUTE]
    print(f"{EVERY_ROUTE:36}{'':10}{every_route.cpu_seconds:15.2f}{every_route.rss_mb:12.0f}")
    print(f"{BASE:36}{'':10}{base.cpu_seconds:15.2f}{base.rss_mb:12.0f}")
    print(f"\nThe chat handler takes {chat.cpu_seconds / base.cpu_seconds:.2f} times what {BASE} take.")


if __name__ == "__main__":
    main()
