"""The learning loop in a real browser until the next morning: gap, lesson, answers, and the next gap."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from infra.topics import read_library
from tests.e2e.page import PATIENCE_MILLISECONDS
from tests.e2e.processes import running_stack, until
from tests.local_page import look_at
from tests.servers import mongo_server

pytestmark = [pytest.mark.thorough, pytest.mark.nightly]

DAY_SECONDS = 86_400
QUESTIONS = {each.asks: each for module in read_library(Path("library")) for each in module.questions}


@contextmanager
def on_day(uri: str, day: int, browser: Browser, user: str) -> Iterator[Page]:
    """Run the stack with a clock so many days ahead, and open its page."""
    with running_stack(uri, CLOCK_OFFSET=str(day * DAY_SECONDS), DEMO_WEEKS="0") as stack:
        context = browser.new_context(base_url=stack.url, locale="en-US")
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        expect.set_options(timeout=PATIENCE_MILLISECONDS)
        page = context.new_page()
        page.goto(f"/?user={user}")
        yield page
        context.close()


def api(page: Page, method: str, path: str) -> Any:
    """Send a request as the page does, with a token at the stack's time."""
    call = """async ([method, path]) => {
        const { token } = await (await fetch(`/local/token${location.search}`)).json();
        return (await fetch(path, { method, headers: { Authorization: `Bearer ${token}` } })).json();
    }"""
    return page.evaluate(call, [method, path])


def answer(group: Locator, *, is_right: bool) -> str:
    """Answer a question of the library; return the right option."""
    asked = QUESTIONS[group.locator("legend").inner_text()]
    right = asked.options[asked.right]
    wrong = next(each for each in asked.options if each != right)
    group.get_by_role("button", name=right if is_right else wrong, exact=True).click()
    expect(group.get_by_role("status")).to_contain_text("That’s right." if is_right else "Not quite.")
    expect(group.get_by_role("status")).to_contain_text(asked.because)
    return asked.asks


def test_a_gap_leads_to_a_lesson_a_repeated_question_and_the_next_gap(
    browser: Browser,
) -> None:
    user = f"auth0|{uuid.uuid4().hex}"
    with mongo_server() as (uri, _):
        with on_day(uri, 0, browser, user) as page:
            look_at(page, "Learning")
            learning = page.locator("qwestly-learning")
            learning.get_by_role("combobox", name="Your goal").fill("Lead a product team")
            learning.get_by_role("button", name="Save").click()
            gaps = learning.get_by_role("list", name="What you still need").get_by_role("listitem")
            first = gaps.first.locator("strong").inner_text()
            gaps.first.get_by_role("button", name="Start lesson").first.click()
            expect(gaps.first.get_by_role("button", name="Read")).to_be_visible()  # without a reload
            work = page.get_by_role("navigation", name="Views").get_by_role("button", name="Work")
            expect(work).to_contain_text("1 to read", use_inner_text=True)
            look_at(page, "Chat")
            page.get_by_role("button", name="Open the lesson").click()
            expect(learning).to_contain_text("Every sentence cites our library.")
            asked = learning.get_by_role("group").filter(has=page.locator("legend"))
            expect(asked).to_have_count(3)
            wrong = answer(asked.nth(0), is_right=False)
            expect(asked.nth(0).get_by_role("status")).to_contain_text("We’ll ask again tomorrow.")
            explained = asked.nth(0).get_by_role("group", name="Explanation")
            explained.get_by_role("button", name="Explain differently").click()
            expect(explained.get_by_text("The lesson:").first).to_be_visible()
            for number in (1, 2):
                answer(asked.nth(number), is_right=True)
            learning.get_by_role("button", name="Back").click()
            expect(gaps.first).to_contain_text("Answered")
            expect(learning).to_contain_text("Nothing’s due.")
            expect(work).not_to_contain_text("1 to", use_inner_text=True)
        with on_day(uri, 1, browser, user) as page:
            work = page.get_by_role("navigation", name="Views").get_by_role("button", name="Work")
            expect(work).to_contain_text("1 to answer", use_inner_text=True)
            api(page, "POST", "/api/briefings/now")
            until(lambda: api(page, "GET", "/api/briefings")["items"])
            [lines] = [each["lines"] for each in api(page, "GET", "/api/briefings")["items"]]
            [due] = [each["text"] for each in lines if each["source"] == "lessons"]
            assert due.startswith("Answer 1 question of your lesson: ")
            page.locator("qwestly-home").get_by_role("button", name="Practice").click()
            learning = page.locator("qwestly-learning")
            again = learning.get_by_role("group").filter(has=page.locator("legend", has_text=wrong))
            answer(again, is_right=True)
            learning.get_by_role("button", name="Back").click()
            gaps = learning.get_by_role("list", name="What you still need").get_by_role("listitem")
            expect(gaps.filter(has=page.get_by_text(first, exact=True))).to_contain_text("Learned")
            expect(learning).to_contain_text("Nothing’s due.")
            following = learning.locator(".module", has_text=re.compile("Next:"))
            expect(following).to_contain_text("It is between you and your goal")
            expect(following).not_to_contain_text(f": {first}.")
            following.get_by_role("button", name="Start lesson").click()
            expect(gaps.get_by_role("button", name="Read")).to_have_count(2)
