"""The repository's npm projects, installed from their lock files into a cache of the tests."""

import fcntl
import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra import openapi
from infra.local.environment import ROOT
from tests.e2e.processes import tool

CLIENT = ROOT / "clients" / "typescript"
WIDGET = ROOT / "widget"
NOT_SOURCES = shutil.ignore_patterns("node_modules", "dist", ".next", "*.tgz")


@contextmanager
def alone(project: Path) -> Iterator[None]:
    """Hold a lock that all test processes share."""
    project.parent.mkdir(parents=True, exist_ok=True)
    with project.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def installed(source: Path, why: str) -> Path:
    """Return a copy of the project with its locked packages; without npm or a registry, the test is skipped except in
    CI."""
    npm = tool("npm", why)
    project = ROOT / ".local" / "npm" / source.relative_to(ROOT)
    with alone(project):
        _install(source, project, npm)
    return project


def _install(source: Path, project: Path, npm: str) -> None:
    done, lock = project / "installed-lock.json", source / "package-lock.json"
    current = done.exists() and done.read_bytes() == lock.read_bytes()
    shutil.copytree(source, project, dirs_exist_ok=True, ignore=NOT_SOURCES)
    if not current:
        done.unlink(missing_ok=True)
        command = [npm, "ci", "--engine-strict=false", "--ignore-scripts", "--no-audit", "--no-fund"]
        npm_ci = subprocess.run(command, cwd=project, capture_output=True, text=True)
        if npm_ci.returncode and not os.environ.get("CI"):
            pytest.skip(f"npm could not install {source.name}: {npm_ci.stderr.strip()[-300:]}")
        assert npm_ci.returncode == 0, npm_ci.stderr
        shutil.copy(lock, done)


def npm(project: Path, *arguments: str) -> str:
    """Run npm, and return its output."""
    done = subprocess.run([shutil.which("npm") or "npm", *arguments], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6_000:]
    return done.stdout


def packed_client() -> Path:
    """Return the TypeScript client's project, with the package that npm packs from it."""
    project = installed(CLIENT, "it builds the TypeScript client")
    (project / "openapi.json").write_text(json.dumps(openapi.document()), encoding="utf-8")
    return _packed(project)


def _packed(project: Path) -> Path:
    for earlier in project.glob("*.tgz"):
        earlier.unlink()
    npm(project, "pack", "--silent")
    return project


def install_client(project: Path) -> None:
    """Install the packed client where npm would, replacing any other."""
    _install_packed(packed_client(), project, "agent-client")


def install_widget(project: Path) -> None:
    """Install the packed widget where npm would, replacing any other."""
    _install_packed(_packed(installed(WIDGET, "it bundles the widget")), project, "agent-widget")


def _install_packed(source: Path, project: Path, name: str) -> None:
    [packed] = source.glob("*.tgz")
    package = project / "node_modules" / "@qwestly" / name
    shutil.rmtree(package, ignore_errors=True)
    with tarfile.open(packed) as archive:
        archive.extractall(project / "packed", filter="data")
    shutil.move(project / "packed" / "package", package)
