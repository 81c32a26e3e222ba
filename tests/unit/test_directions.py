"""The allowed imports between modules, read from the sources."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
PACKAGE = sorted((SRC / "qwestly_agent").rglob("*.py"))
HANDLERS = sorted((ROOT / "functions").rglob("*.py"))

CLIENTS = {
    "PatchedClient",
    "AsyncMongoClient",
    "AsyncOpenAI",
    "AsyncClient",
    "DefaultAsyncHttpx2Client",
    "Session",
    "client",
}
"""Constructors of clients for the database, providers, HTTP and AWS."""


def name_of(path: Path) -> str:
    """Return the name that the rules use: `stores.search` in the package, `functions/chat/app.py` elsewhere."""
    if path.is_relative_to(SRC):
        return ".".join(path.relative_to(SRC / "qwestly_agent").with_suffix("").parts).removesuffix(".__init__")
    return path.relative_to(ROOT).as_posix()


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports anywhere; `from a import b` counts as `a.b` too, because b may be a module."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            module = node.module or ""
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


def imports_from_package(path: Path) -> set[str]:
    return {name.removeprefix("qwestly_agent.") for name in imports_of(path) if name.startswith("qwestly_agent.")}


def calls_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    yield name


def those_under(*folders: str) -> list[Path]:
    return [path for path in PACKAGE if name_of(path).partition(".")[0] in folders]


def begins_with(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


@pytest.mark.thorough
def test_the_package_imports_no_handler_infra_or_test() -> None:
    for path in PACKAGE:
        wrong = {name for name in imports_of(path) if begins_with(name, "functions", "infra", "tests", "app")}
        assert not wrong, name_of(path)


def test_a_handler_imports_the_package_and_no_other_handler() -> None:
    neighbours = (
        {path.parent.name for path in HANDLERS} | {path.stem for path in HANDLERS} | {"functions", "infra", "tests"}
    )
    for path in HANDLERS:
        assert not {name for name in imports_of(path) if begins_with(name, *neighbours)}, name_of(path)
        assert imports_from_package(path), name_of(path)


def test_agents_and_tools_use_external_services_only_through_their_deps() -> None:
    world = ("pymongo", "openai", "httpx2", "boto3", "botocore", "os", "socket", "time", "urllib")
    for path in those_under("agents"):
        assert not {name for name in imports_of(path) if begins_with(name, *world)}, name_of(path)
        assert not {
            name for name in imports_from_package(path) if begins_with(name, "bootstrap", "base.settings", "chat")
        }


def test_agents_and_tools_use_store_types_but_create_none() -> None:
    seen = set[str]()
    for path in those_under("agents"):
        named = [name.split(".") for name in imports_from_package(path) if begins_with(name, "stores", "clients")]
        kinds = {name for _, _, name in (parts for parts in named if len(parts) == 3)}
        assert not {kind for kind in kinds if not kind[:1].isupper()} | (kinds & set(calls_in(path))), name_of(path)
        seen |= kinds
    assert "Memories" in seen


@pytest.mark.thorough
def test_only_the_settings_module_reads_the_environment() -> None:
    readers = set()
    for path in [*PACKAGE, *HANDLERS]:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case (
                    ast.Attribute(attr="environ" | "environb" | "getenv" | "getenvb")
                    | ast.Name(id="environ" | "getenv")
                ):
                    readers.add(name_of(path))
    assert readers == {"base.settings"}


@pytest.mark.thorough
def test_only_bootstrap_and_the_provider_module_create_clients() -> None:
    builders = {name_of(path) for path in [*PACKAGE, *HANDLERS] if CLIENTS & set(calls_in(path))}
    assert builders == {"bootstrap", "llm.client"}


@pytest.mark.thorough
def test_only_bootstrap_and_the_models_use_the_provider_module() -> None:
    callers = {name_of(path) for path in [*PACKAGE, *HANDLERS] if "make_openai_client" in calls_in(path)}
    assert callers == {"bootstrap", "llm.models"}


@pytest.mark.thorough
def test_only_bootstrap_creates_stores() -> None:
    for path in [*PACKAGE, *HANDLERS]:
        stores = {name for name in imports_from_package(path) if begins_with(name, "stores", "clients")}
        made = {name.rpartition(".")[2] for name in stores} & set(calls_in(path)) & STORES
        assert not made or name_of(path) == "bootstrap" or name_of(path).startswith("stores."), name_of(path)


STORES = {"Conversations", "Docs", "Embeddings", "Knowledge", "Memories", "Profiles", "Searchable", "Signals"} | {
    "ToolCalls",
    "Usage",
    "Autonomy",
    "Sweeps",
}


IMPORT_HANDLERS = """
import json, runpy, sys, threading

opened, asked = [], []
SRC, *handlers = sys.argv[1:]
OURS = (SRC, *(handler.rpartition("/")[0] for handler in handlers))
CLOCKS = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "now", "utcnow", "today", "sleep"}
CHANCE = {"urandom", "getrandbits", "uuid4", "token_bytes", "token_urlsafe"}

def audit(event, arguments):
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if event.startswith(("socket.connect", "socket.bind", "socket.getaddrinfo", "subprocess.", "os.fork")) or writes:
        opened.append([event, str(arguments[0])])

def ask(frame, event, called):
    if event != "c_call" or called.__name__ not in CLOCKS | CHANCE:
        return
    while frame and not frame.f_code.co_filename.startswith(OURS):
        # A library that reads a clock while it is imported itself is its own affair.
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        frame = frame.f_back
    if frame:
        asked.append([called.__name__, f"{frame.f_code.co_filename}:{frame.f_lineno}"])

sys.addaudithook(audit)
sys.setprofile(ask)
for handler in handlers:
    runpy.run_path(handler, run_name="handler")
sys.setprofile(None)
print(json.dumps({"opened": opened, "asked": asked, "threads": threading.active_count()}))
"""


def import_handlers(*handlers: Path) -> dict[str, object]:
    """Import the handlers as Lambda does, in a process without settings. Modules imported by several of them are
    executed, and checked, once."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_HANDLERS, str(SRC), *map(str, handlers)],
        env={"PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.nightly
@pytest.mark.thorough
def test_importing_the_handlers_opens_nothing_and_reads_no_clock() -> None:
    assert import_handlers(*HANDLERS) == {"opened": [], "asked": [], "threads": 1}


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("import time; NOW = time.time()", "asked"),
        ("from datetime import UTC, datetime; NOW = datetime.now(UTC)", "asked"),
        ("import uuid; ID = uuid.uuid4()", "asked"),
        ("import socket; socket.getaddrinfo('127.0.0.1', 80)", "opened"),
        ("open(__file__ + '.log', 'w').close()", "opened"),
    ],
)
def test_a_handler_that_opens_something_or_reads_a_clock_is_detected(line: str, seen: str, tmp_path: Path) -> None:
    handler = tmp_path / "app.py"
    handler.write_text(line)
    assert import_handlers(handler)[seen]
