"""The widget in a browser: how soon a long conversation is there, how long a frame takes, what the bundle weighs.

An answer is streamed in 2,000 pieces, 250 a second, which no model does: lines of short lists, of one list, of one
table, and of one block of code; and 200 kB of one paragraph. A frame is the time between two callbacks of the browser's
animation, until what the end of the turn changed is drawn.
"""

import gzip
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks.figures import Row, Target
from tests.widget.backend import ROOT, RunningBackend, ScriptedBackend
from tests.widget.conftest import ARGUMENTS
from tests.widget.test_widget import answered, asked, ready

MESSAGES, LINES, LINE_SECONDS = 300, 2_000, 0.004
OPENING_SECONDS, FRAME_SECONDS, BUNDLE_BYTES = 1.0, 0.1, 120_000
LINE = "- **Item {n}** of a list, with `code`, a [link](https://example.com/{n}) and some more words to wrap.\n"
ROW = "| {n} | **Lead** | some words about it, with `code` |\n"
CODE = "    total_{n} = sum(part.cost for part in parts if part.number > {n})\n"
WORDS = "You led team {n} there, **as you say**, with `care`, and [this](https://example.com/{n}) came of it later; "
TABLE_HEAD = ("| Year | Role | Note |\n", "|---|---|---|\n")
ANSWERS: dict[str, Callable[[int], str]] = {
    f"{LINES:,} lines of short lists": lambda n: LINE.format(n=n) if n % 50 else f"\n## Part {n // 50}\n\n",
    f"{LINES:,} lines of one list": lambda n: LINE.format(n=n),
    f"{LINES:,} lines of one table": lambda n: ROW.format(n=n) if n > 1 else TABLE_HEAD[n],
    f"{LINES:,} lines of one block of code": lambda n: CODE.format(n=n) if n else "```python\n",
    "200 kB of one paragraph": lambda n: WORDS.format(n=n),
}
FRAMES = """() => {
    const chat = document.querySelector("qwestly-chat");
    const frame = () => new Promise(requestAnimationFrame);
    window.over = new Promise(resolve => chat.addEventListener("turnend", resolve)).then(frame).then(frame);
    window.frames_ms = [];
    let before = performance.now();
    const note = now => { window.frames_ms.push(now - before); before = now; requestAnimationFrame(note); };
    requestAnimationFrame(note);
}"""


def measure() -> dict[str, Any]:
    bundle = (ROOT / "widget/dist/qwestly.js").read_bytes()
    with RunningBackend() as (address, backend), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        found = {
            "opening": _opening(browser.new_page(base_url=address), backend),
            "frames": {
                what: _longest_frame(browser.new_page(base_url=address), backend, piece)
                for what, piece in ANSWERS.items()
            },
        }
        browser.close()
    return {**found, "bundle": len(gzip.compress(bundle))}


def _opening(page: Page, backend: ScriptedBackend) -> float:
    """Seconds from the click on a conversation until its last message is drawn."""
    text = "\n".join(LINE.format(n=n) for n in range(5))
    pairs = [
        (asked(f"m{n}", f"Question {n}"), answered(f"{text}\nAnswer {n}.", id=f"a{n}")) for n in range(MESSAGES // 2)
    ]
    backend.keep("c1", "Long", *(message for pair in pairs for message in pair))
    page.goto("/host")
    widget = ready(page)
    widget.rows.get_by_role("button", name="Long").first.wait_for()
    return page.evaluate(
        """async last => {
            const root = document.querySelector("qwestly-chat").shadowRoot;
            const began = performance.now();
            root.querySelector(".rows .open").click();
            while (!root.querySelector(".log")?.textContent.includes(last)) await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            return (performance.now() - began) / 1000;
        }""",
        f"Answer {MESSAGES // 2 - 1}.",
    )


def _longest_frame(page: Page, backend: ScriptedBackend, piece: Callable[[int], str]) -> float:
    """Seconds of the longest frame while the answer streams."""
    page.goto("/host")
    widget = ready(page)
    stream = backend.stream("c2").begin()
    widget.say("Write a long list")
    page.evaluate(FRAMES)
    for n in range(LINES):
        stream.text(piece(n))
        time.sleep(LINE_SECONDS)
    stream.text("\nThe end.").done("")
    page.evaluate("() => window.over")  # looking for words in so long a page would itself take a frame
    return max(page.evaluate("window.frames_ms")) / 1000


def rows(found: dict[str, Any]) -> Iterator[Row]:
    for what, unit, value, bound in (
        (f"a conversation of {MESSAGES} messages, opened", "s", found["opening"], OPENING_SECONDS),
        *((f"longest frame while {what} stream", "s", found["frames"][what], FRAME_SECONDS) for what in ANSWERS),
        ("all elements, gzipped", "bytes", found["bundle"], BUNDLE_BYTES),
    ):
        yield Row(what, unit, value, target=Target(unit, value, at_most=bound))
