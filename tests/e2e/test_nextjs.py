"""examples/nextjs in a real browser, built as it is deployed, against the running stack."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from infra.local.environment import ROOT
from tests.e2e.npm import install_client, installed, npm, packed_client
from tests.e2e.processes import Stack, running_stack, started, tool
from tests.servers import SECRET, free_port, wait_for_port

pytestmark = pytest.mark.thorough

WHY = "the Next.js example needs it"
PATIENCE_MILLISECONDS = 90_000


@pytest.fixture(scope="module")
def page_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def agent(stack_database: str, page_port: int) -> Iterator[Stack]:
    """The stack, which accepts requests from the example's page."""
    with running_stack(stack_database, ALLOWED_ORIGINS=f"http://127.0.0.1:{page_port}") as stack:
        yield stack


@pytest.fixture(scope="module")
def example(agent: Stack, page_port: int) -> Iterator[str]:
    packed_client()  # the lock names its folder
    project = installed(ROOT / "examples" / "nextjs", WHY)
    install_client(project)
    npm(project, "run", "build")
    command = (tool("node", WHY), "node_modules/next/dist/bin/next", "start", "-H", "127.0.0.1", "-p", str(page_port))
    environment = {"QWESTLY_AGENT_URL": agent.url, "QWESTLY_AGENT_SHARED_SECRET": SECRET}
    with started(*command, folder=str(project.relative_to(ROOT)), **environment) as process:
        wait_for_port(page_port, process.popen)
        yield f"http://127.0.0.1:{page_port}"


@pytest.fixture
def page(browser: Browser, example: str) -> Iterator[Page]:
    """The example's page; a script error fails the test."""
    errors: list[str] = []
    context = browser.new_context(base_url=example)
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto("/")
    yield page
    context.close()
    assert errors == []


def say(page: Page, text: str) -> None:
    page.get_by_label("Message").fill(text)
    page.get_by_role("button", name="Send").click()


@pytest.mark.nightly
def test_a_requested_card_is_approved_after_a_reload_and_published(page: Page, agent: Stack) -> None:
    chat, queue, memories = (page.get_by_label(name) for name in ("Chat", "Waiting for you", "Memories"))
    agent.model("script", steps=[{"text": ["Half of ", "it."], "hold_after": 1}])
    say(page, "Tell me something")
    expect(chat.get_by_text("Half of")).to_be_visible()
    page.reload()
    expect(chat.get_by_text("Half of")).to_have_count(1)
    agent.release()
    expect(chat.get_by_text("Half of it.")).to_have_count(1)
    say(page, "Change my headline to Head of Product")
    chat.get_by_role("article").get_by_role("button", name="Approve").click()
    expect(chat.get_by_role("article")).to_contain_text("Your profile is changed.")
    expect(chat.get_by_text("Thank you. Your profile is changed.")).to_be_visible()
    say(page, "Remember that I live in Lisbon")
    expect(memories.get_by_text("Lisbon")).to_be_visible()
    say(page, "Draft my card")
    queue.get_by_role("article", name="Publish").get_by_role("button", name="Approve").click()
    published = chat.get_by_role("article", name="Publish")
    expect(published).to_contain_text("Your card is published")
    assert published.get_by_role("link").get_attribute("href")
