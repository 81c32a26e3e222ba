"""Every code block of docs/integrate.md is run against the stack: pages of another app in a real browser, with `ai` 6
and 7, assistant-ui, AG-UI and CopilotKit; routes in Node; commands in a shell."""

import json
import re
import shlex
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from infra.local.environment import DEMO_USER, ROOT
from infra.local.ports import listens
from qwestly_agent.chat.outcomes import RememberedView
from qwestly_agent.resumes.writer import MOST_BYTES
from tests.e2e.npm import install_client, installed, packed_client
from tests.e2e.processes import Stack, running_stack, started, tool
from tests.servers import SECRET, Client, free_port, token, until

SECONDS = 120
PATIENCE_MILLISECONDS = 60_000
AGENT, PAGES = "http://localhost:8000", "http://localhost:3000"
SERVER, ALONE = ("agent-token.ts", "agent-route.ts"), ("upload.ts", "settings.ts")
HEADLINE = "Head of Product"


@dataclass(frozen=True)
class Block:
    kind: str
    name: str
    """The file's name, from the first line; empty if there is none."""
    page: str
    """The framework that the page is built with, if its section names one."""
    text: str


def blocks() -> list[Block]:
    found = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "docs/integrate.md").read_text("utf-8"), re.M | re.S)
    begins = re.compile(r"(?:// |<!-- )([\w-]+(?:\.\w+)+)(?: with ([\w-]+))?(?: -->)?\n")
    named = ((begins.match(text), kind, text) for kind, text in found)
    return [Block(kind, *((name[1], name[2] or "") if name else ("", "")), text) for name, kind, text in named]


BLOCKS = blocks()
FILES = {(each.name, each.page): each.text for each in BLOCKS if each.name}


def block(begins: str) -> str:
    """Return the unnamed block that starts with `begins`."""
    [found] = [each.text for each in BLOCKS if not each.name and each.text.startswith(begins)]
    return found


CURLS = ("$ TOKEN=", "$ curl localhost:8000/api/messages/")
UNNAMED = (*CURLS, "make client", "npx tsc", "<!doctype html>", '{"id": "mem_', "export QWESTLY_AGENT_SHARED_SECRET")


def files_of(page: str) -> dict[str, str]:
    """Return the page's own `main.tsx` and the files it needs."""
    needed, left = dict[str, str](), ["main.tsx", "index.html", "vite.config.ts", "tsconfig.json"]
    while left:
        name = left.pop()
        needed[name] = FILES.get((name, page)) or FILES[name, ""]
        imports = re.findall(r'from "\./([\w-]+)"', needed[name])
        left += [each for part in imports for each in (f"{part}.ts", f"{part}.tsx") if (each, "") in FILES]
    return needed


def test_every_code_block_of_the_page_is_run_by_a_test() -> None:
    run = {*SERVER, *ALONE, *(name for _, page in PAGES_WITH for name in files_of(page))}
    assert {each.name for each in BLOCKS if each.name} == run
    unnamed = [each.text for each in BLOCKS if not each.name]
    assert [sum(text.startswith(each) for text in unnamed) for each in UNNAMED] == [1] * len(unnamed)
    assert {page for _, page in FILES} == {page for _, page in PAGES_WITH}


PAGES_WITH = (("ai7", ""), ("ai6", ""), ("ai7", "assistant-ui"), ("ai7", "AG-UI"), ("copilotkit", "CopilotKit"))
each_page = pytest.mark.parametrize(("project", "page"), PAGES_WITH, ids=lambda each: each or "useChat")


@pytest.fixture(scope="module")
def port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def agent(stack_database: str, port: int) -> Iterator[Stack]:
    """The stack, which accepts requests from pages on `port`."""
    with running_stack(stack_database, ALLOWED_ORIGINS=f"http://localhost:{port}") as stack:
        yield stack


def written(project: str, folder: str, files: dict[str, str], stack: Stack) -> Path:
    """Write these files into a folder of the project, changed only in the stack's address."""
    where = installed(Path(__file__).parent / "integrate" / project, "it is a page of somebody else's app")
    install_client(where)
    pages = where / folder
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir()
    for name, text in files.items():
        (pages / name).write_text(text.replace(AGENT, stack.url), encoding="utf-8")
    return pages


@contextmanager
def served(pages: Path, port: int) -> Iterator[str]:
    """Serve with the page's own last command, which compiles strictly."""
    command = f"{block('npx tsc').strip()} --host 127.0.0.1 --port {port}"
    with started("bash", "-euc", f"exec 2>&1; {command}", folder=str(pages.relative_to(ROOT))) as process:
        until(lambda: listens(port) or not process.running(), SECONDS)
        assert process.running(), process.said
        yield f"http://localhost:{port}"


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """Open a tab in which any error fails the test, even a failed request."""
    complaints: list[str] = []
    context = browser.new_context(base_url=address)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("response", lambda answer: complaints.append(refusal(answer)) if answer.status > 399 else None)
    page.goto("/")
    yield page
    context.close()
    assert complaints == []


def refusal(answer: Response) -> str:
    return f"{answer.status} {answer.url}: {answer.text()}"


def say(page: Page, text: str) -> None:
    box, send = page.get_by_role("textbox").first, page.get_by_role("button", name="Send", exact=True)
    box.fill(text)
    if send.count():
        send.click()
    else:
        box.press("Enter")


@pytest.mark.thorough
@pytest.mark.nightly
@each_page
def test_an_approval_works_in_a_page_made_of_the_code_blocks(
    browser: Browser, agent: Stack, port: int, project: str, page: str
) -> None:
    headline = f"{HEADLINE} {uuid.uuid4().hex[:6]}"
    pages = written(project, f"page-{page or 'useChat'}", files_of(page), agent)
    with served(pages, port) as address, opened(browser, address) as tab, Client(agent.url, DEMO_USER) as user:
        say(tab, f"Change my headline to {headline}")
        expect(tab.get_by_role("button", name="Approve").last).to_be_visible()
        tab.reload()
        tab.get_by_role("button", name="Approve").last.click()
        expect(tab.get_by_text("Your profile is changed.").last).to_be_visible()
        expect(tab.get_by_role("button", name="Approve")).to_have_count(0)
        latest = user.get("/api/approvals?state=all")["items"][0]
        assert (latest["status"], latest["args"]["value"]) == ("done", headline)
        tab.reload()
        expect(tab.get_by_text("Your profile is changed.").last).to_be_visible()
        expect(tab.get_by_role("button", name="Approve")).to_have_count(0)


@pytest.mark.thorough
@pytest.mark.nightly
@pytest.mark.parametrize("project", ["ai7", "ai6"])
def test_updates_files_and_settings_work_in_a_page_made_of_the_code_blocks(
    browser: Browser, agent: Stack, port: int, project: str
) -> None:
    files = files_of("") | {name: FILES[name, ""] for name in ALONE}
    upload = (
        "size => import('/upload.ts').then(m => m.upload(new File([new Uint8Array(size)], 'cv.pdf'))).catch(String)"
    )
    with (
        served(written(project, "page-news", files, agent), port) as address,
        opened(browser, address) as tab,
        Client(agent.url, DEMO_USER) as user,
    ):
        say(tab, "Draft my card")
        published = tab.get_by_role("article", name="Publish")
        published.get_by_role("button", name="Approve").click()
        expect(published).to_contain_text("Your card is published")
        assert tab.evaluate(upload, MOST_BYTES + 1) == "Error: A file can have 4 MB at most."
        begun = tab.evaluate(upload, MOST_BYTES)
        assert user.get(f"/api/resumes/{begun}")["id"] == begun
        tab.evaluate("import('/settings.ts').then(() => null)")
        assert user.get("/api/settings")["language"] == "en-US"


@pytest.mark.thorough
@pytest.mark.nightly
def test_the_documented_server_routes_sign_in_and_forward(agent: Stack) -> None:
    files = {each: FILES[each, ""] for each in SERVER}
    tries = """
import { agentToken } from "./agent-token";
import { GET, POST } from "./agent-route";
const user = { id: "auth0|proxied", email: "p@example.com", name: "P" };
Object.assign(globalThis, { signedInUser: async () => user });
const at = (...path: string[]) => ({ params: Promise.resolve({ path }) });
const ask = (method: string, path: string, body: string | null = null, site = "same-origin") =>
  new Request(`http://app.example/agent/${path}`, { method, body, headers: { "sec-fetch-site": site } });
const direct = await fetch(`${process.env.QWESTLY_AGENT_URL}/api/settings`, {
  headers: { authorization: `Bearer ${agentToken(user)}` },
});
const read = await GET(ask("GET", "api/settings"), at("api", "settings"));
const told = await POST(ask("POST", "api/chat", JSON.stringify({ message: "Hello" })), at("api", "chat"));
const foreign = await POST(ask("POST", "api/chat", "{}", "cross-site"), at("api", "chat"));
console.log(JSON.stringify([direct.status, (await read.json()).level, await told.text(), foreign.status]));
"""
    where = written("ai7", "server", files | {"tries.ts": tries, "tsconfig.json": FILES["tsconfig.json", ""]}, agent)
    node(where, "typescript/bin/tsc")
    node(where, "vite/bin/vite.js", "build", "--ssr", "tries.ts", "--outDir", "out", "--logLevel", "error")
    secrets = {"QWESTLY_AGENT_URL": agent.url, "QWESTLY_AGENT_SHARED_SECRET": SECRET}
    said = node(where, "../server/out/tries.js", **secrets)
    direct, level, told, foreign = json.loads(said)
    assert (direct, level, foreign) == (200, "L1", 403)
    assert "event: done" in told


def node(folder: Path, program: str, *arguments: str, **environment: str) -> str:
    """Run a program of `node_modules` and return its output."""
    done = subprocess.run(
        [tool("node", "it runs the routes of a server"), folder.parent / "node_modules" / program, *arguments],
        cwd=folder,
        env={"PATH": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shell(command: str, **environment: str) -> str:
    done = subprocess.run(
        ["bash", "-eu"],
        input=command,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(Path.home()), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(text: str) -> str:
    """Return the typed lines of a session."""
    return "\n".join(re.findall(r"^\$ ((?:.*\\\n)*.*)", text, re.M))


@pytest.mark.thorough
@pytest.mark.nightly
def test_the_documented_shell_sessions_run(agent: Stack) -> None:
    host = agent.url.removeprefix("http://")
    session = block("$ TOKEN=")
    said = shell(commands(session).replace("localhost:8000", host))
    shown = re.findall(r"^event: (\w+)$", session, re.M)
    assert re.findall(r"^event: (\w+)$", said, re.M)[: len(shown)] == shown
    with Client(agent.url, DEMO_USER) as user:
        answer = user.say("Hello").id
        feedback = re.sub(r"msg_\w+", answer, commands(block("$ curl localhost:8000/api/messages/")))
        given = json.loads(
            shell(f"TOKEN={user.headers()['Authorization'][7:]}\n{feedback.replace('localhost:8000', host)}")
        )
    assert (given["id"], given["feedback"]["thumb"]) == (answer, "down")


@pytest.mark.thorough
@pytest.mark.nightly
def test_the_documented_commands_pack_the_client_and_name_tested_packages(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "clients").symlink_to(packed_client().parent)
    # Packages come from the lock files of these tests, not from the latest releases.
    stubs = 'make() { :; }; npm() { if [ "$1" = install ]; then echo "$@"; else command npm "$@"; fi; }\n'
    said = shell(f"cd {shlex.quote(str(tmp_path / 'here'))}\n{stubs}{block('make client')}")
    assert [*tmp_path.glob("qwestly-agent-client-*.tgz")]
    assert json.loads((tmp_path / "career-page" / "package.json").read_text("utf-8"))["type"] == "module"
    pins = {
        project: {**read["dependencies"], **read["devDependencies"]}
        for project in ("ai7", "ai6", "copilotkit")
        for read in [json.loads((Path(__file__).parent / "integrate" / project / "package.json").read_text("utf-8"))]
    }
    rows = re.findall(r"^\|.*`(npm install [^`]+)` \|$", (ROOT / "docs/integrate.md").read_text("utf-8"), re.M)
    for project, line in zip(("ai7", "ai6", "ai7", "ai7", "copilotkit"), rows, strict=True):
        for package in [*line.split()[2:], *said.rpartition("install -D ")[2].split()]:
            name, _, major = package.rpartition("@") if "@" in package[1:] else (package, "", "")
            assert "agent-client" in name or pins[project][name].startswith(major), (project, package)


@pytest.mark.thorough
@pytest.mark.nightly
def test_the_documented_widget_page_shows_the_chat(browser: Browser, agent: Stack) -> None:
    html = block("<!doctype html>").replace(AGENT, agent.url)
    context = browser.new_context(base_url=agent.url)
    page = context.new_page()
    page.route("**/own-page", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.route("**/api/agent/token", lambda route: route.fulfill(json={"token": token(DEMO_USER)}))
    page.goto("/own-page")
    expect(page.locator("qwestly-chat").get_by_label("Your message")).to_be_visible(timeout=PATIENCE_MILLISECONDS)
    context.close()


def test_the_documented_memory_matches_the_api() -> None:
    shown: dict[str, Any] = json.loads(block('{"id": "mem_'))
    assert shown.keys() == RememberedView.model_fields.keys()
    assert shown["status"] == "active"


def test_the_documented_settings_for_your_own_app_exist() -> None:
    settings = (ROOT / "docs/settings.md").read_text("utf-8")
    text = (
        block("export QWESTLY_AGENT_SHARED_SECRET").replace("<the app's>", "a").replace("<another of the app's>", "b")
    )
    given = shell(f"make() {{ test $1 = run; env; }}\n{text}")
    names = re.findall(r"\b([A-Z_]{8,})=", text)
    assert len(names) == 4
    for name in names:
        assert f"{name}=" in given
        assert f"`{name}`" in settings
