"""Record the demo, and write it as one HTML file that needs no installation: `make tour`.

The page and its widget are the real ones. Their requests are answered with the responses of the real stack, recorded
while a script clicked through the demo user's day. Anything that was not recorded says so.
"""

import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, Route, expect, sync_playwright

from infra.local.demo.record import process
from infra.local.environment import ROOT
from infra.local.ports import free_port

PAGE, WIDGET, HERE = ROOT / "infra/local/page", ROOT / "widget/dist", Path(__file__).parent
PATIENCE_MILLISECONDS, SETTLED_MILLISECONDS = 30_000, 2_500
RECORDED = re.compile(r"^http://[^/]+/(?:api|local)/")
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


@dataclass
class Recording:
    """Responses of the stack in order of arrival. `epoch` counts the requests that changed something: a read after one
    of them is replayed after it."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    epoch: int = 0

    def pass_on(self, route: Route) -> None:
        """Answer the page's request, and store the response."""
        request, answer = route.request, route.fetch(timeout=PATIENCE_MILLISECONDS)
        address = urlsplit(request.url)
        said: Mapping[str, Any] = {}
        if request.method != "GET":
            self.epoch += 1
            said = json.loads(request.post_data or "{}")
        given = {
            "epoch": self.epoch,
            "method": request.method,
            "path": address.path,
            "query": address.query,
            "said": said.get("message"),
            "status": answer.status,
            "type": answer.headers.get("content-type", ""),
            "body": TOKEN.sub("recorded", answer.text()),
        }
        last = next((each for each in reversed(self.answers) if _asked(each) == _asked(given)), None)
        if last is None or last["body"] != given["body"] or request.method != "GET":
            self.answers.append(given)
        route.fulfill(response=answer)


def _asked(answer: Mapping[str, Any]) -> tuple[str, ...]:
    return answer["method"], answer["path"], answer["query"]


# --- the day ----------------------------------------------------------------------------------------------------------


def _look(page: Page, view: str, tab: str = "") -> None:
    page.get_by_role("navigation", name="Views").get_by_role("button", name=view).click()
    if tab:
        page.get_by_role("navigation", name="Parts of this view").get_by_role("button", name=tab).click()
    page.wait_for_load_state("networkidle")


def _say(page: Page, words: str) -> None:
    """Send a message in a new conversation, so that the recording can replay it independently."""
    _look(page, "Chat")
    chat = page.locator("qwestly-chat")
    chat.get_by_role("button", name="New conversation").click()
    chat.get_by_role("textbox", name="Your message").fill(words)
    chat.get_by_role("button", name="Send").click()
    expect(chat.get_by_role("button", name="Stop", exact=True)).to_be_hidden()
    asked = chat.get_by_role("log").get_by_role("group", name=re.compile("^Approval: "))
    if words.startswith("Draft"):
        expect(asked).to_be_visible()
    page.wait_for_timeout(SETTLED_MILLISECONDS)
    if words in APPROVED:
        asked.get_by_role("button", name=re.compile("^(Approve|Publish)")).click()
        expect(asked.locator(".outcome")).to_contain_text("done")
        page.wait_for_timeout(SETTLED_MILLISECONDS)


def sees_home(page: Page) -> None:
    for name in ("Approvals", "Activity", "Today"):
        _look(page, "Home", name)


def works(page: Page) -> None:
    _look(page, "Work", "Jobs")
    jobs = page.locator("qwestly-jobs")
    jobs.get_by_role("button", name="Change what you want").click()
    page.wait_for_load_state("networkidle")
    _look(page, "Work", "Applications")
    _look(page, "Work", "Documents")
    jobs.get_by_role("button", name="Your résumé").click()
    page.wait_for_load_state("networkidle")
    jobs.get_by_role("button", name="Back to Documents").click()
    jobs.get_by_role("button", name=re.compile("^Open")).first.click()
    page.wait_for_load_state("networkidle")
    _look(page, "Work", "Interview")
    _look(page, "Work", "Learning")
    learning = page.locator("qwestly-learning")
    learning.get_by_role("button", name=re.compile("^Read")).first.click()
    learning.get_by_role("button", name="Back").click()
    page.wait_for_load_state("networkidle")


def asks(page: Page) -> None:
    chips = page.locator("qwestly-chat")
    _look(page, "Chat")
    names = [each.inner_text() for each in chips.get_by_role("log").get_by_role("button").all()]
    for words in (*names, *SAID):
        _say(page, words)


SAID = (
    "What do we know about me?",
    "Why do you know that I live in Lisbon?",
    "Remember that I like night trains.",
    "Change my headline to Head of Product",
    "Draft my card, and exaggerate",
)
APPROVED = SAID[-1:]


def decides(page: Page) -> None:
    _look(page, "Home", "Today")
    page.locator("qwestly-home").get_by_role("button", name="Approve", exact=True).click()
    page.wait_for_timeout(4_000)
    sees_home(page)


def looks_after_the_rest(page: Page) -> None:
    _look(page, "Memory")
    _look(page, "Settings")


DAY: tuple[Callable[[Page], None], ...] = (sees_home, looks_after_the_rest, works, decides, asks)


def record() -> tuple[list[dict[str, Any]], float]:
    """Return the stack's responses while the day was played, and its time in seconds since the epoch."""
    heard, port = Recording(), free_port()
    given = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data, database = str(Path(folder) / "data"), free_port()
        environment = {**given, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PORT": str(port)}
        environment["MONGODB_URI"] = f"mongodb://127.0.0.1:{database}"
        python = [sys.executable, "-m"]
        with (
            process([*python, "infra.local.database", "--port", str(database), "--data", data], environment, database),
            process([*python, "infra.local"], environment, port),
        ):
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1_280, "height": 900})
            page.set_default_timeout(PATIENCE_MILLISECONDS)
            expect.set_options(timeout=PATIENCE_MILLISECONDS)
            page.route(RECORDED, heard.pass_on)
            began = time.time()
            page.goto(f"http://127.0.0.1:{port}/")
            page.wait_for_load_state("networkidle")
            for act in DAY:
                print(act.__name__.replace("_", " "), flush=True)
                act(page)
            browser.close()
    return heard.answers, began


# --- the file ---------------------------------------------------------------------------------------------------------


def page_of(answers: list[dict[str, Any]], began: float) -> str:
    """Return the page including its script, the widget and the responses."""
    recording = json.dumps({"began": began, "answers": answers}, ensure_ascii=False).replace("</", "<\\/")
    icon = "data:image/svg+xml;base64," + base64.b64encode((PAGE / "favicon.svg").read_bytes()).decode()
    replay = (HERE / "replay.js").read_text("utf-8").replace("RECORDING", recording)
    html = (PAGE / "index.html").read_text("utf-8").replace("/favicon.svg", icon)
    styles = '<link rel="stylesheet" href="/widget/tokens.css">'
    script = '<script type="module" src="/page.js" blocking="render"></script>'
    assert styles in html
    assert script in html
    html = html.replace(styles, f"<style>{(WIDGET / 'tokens.css').read_text('utf-8')}</style>")
    return _packed(html.replace(script, f'<script>{replay}</script>\n<script type="module">{_bundle()}</script>'))


def _packed(page: str) -> str:
    """Return a page that unpacks this one: a third of the size, and without a second searchable copy of the sources."""
    packed = base64.b64encode(gzip.compress(page.encode(), mtime=0)).decode()
    return (HERE / "unpack.html").read_text("utf-8").replace("PACKED", packed)


def _bundle() -> str:
    """Return the page's script including the widget."""
    with tempfile.TemporaryDirectory() as folder:
        for source in (PAGE / "page.js", PAGE / "graphs.js", WIDGET / "qwestly.js"):
            text = source.read_text("utf-8").replace('import("/widget/', 'import("./')
            (Path(folder) / source.name).write_text(text, "utf-8")
        esbuild = ROOT / "widget/node_modules/.bin/esbuild"
        command = [str(esbuild), "page.js", "--bundle", "--minify", "--format=esm", "--charset=utf8"]
        return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout  # noqa: S603


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    given = parser.parse_args()
    given.file.write_text(page_of(*record()), "utf-8")
    print(f"{given.file.name}: {given.file.stat().st_size:,} bytes. Open it in a browser.")


if __name__ == "__main__":
    main()
