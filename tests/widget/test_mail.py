"""A mail in a browser, as a mail program shows it."""

from typing import Any

import pytest
from playwright.sync_api import Page

from qwestly_agent.approvals.mail import message_of
from qwestly_agent.domain.approval import Preview, ShownClaim, ShownSection
from tests.unit.approvals.test_mail import NOW, PERSON, TOKEN, approval, at
from tests.widget.test_widget import luminance

COLORS = """() => {
    const colorOf = node => getComputedStyle(node).color;
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = "Canvas";
    const texts = [...document.querySelectorAll("p, h1, h2, td")];
    return { canvas: colorOf(probe), texts: Object.fromEntries(texts.map(node => [node.textContent, colorOf(node)])) };
}"""


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_mail_is_readable_in_light_and_dark(page: Page, scheme: Any):
    sections = tuple(
        ShownSection(heading=kind, kind=kind, claims=(ShownClaim(text="Led a team."),))
        for kind in ("headline", "experience", "achievements")
    )
    given = approval(preview=Preview(title="Publish", sections=sections))
    page.emulate_media(color_scheme=scheme)
    page.set_content(message_of(given, at("https://x.test/approve"), PERSON, TOKEN, NOW)[2])
    found = page.evaluate(COLORS)
    canvas = luminance(found["canvas"])
    unreadable = []
    for text, color in found["texts"].items():
        darker, lighter = sorted((canvas, luminance(color)))
        if (lighter + 0.05) / (darker + 0.05) < 4.5:
            unreadable.append(text)
    assert found["texts"]
    assert unreadable == []
