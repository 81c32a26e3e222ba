"""Onboarding on a phone, by keyboard alone: from an empty profile to an approved one."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from pymongo import MongoClient

from infra.local.environment import DEMO_DATABASE
from tests.e2e.test_page import stranger
from tests.onboarding_answers import ANSWERS

pytestmark = pytest.mark.thorough

PHONE = {"viewport": {"width": 360, "height": 640}, "has_touch": True, "is_mobile": True}
MOST_TABS = 80
WRITTEN = ("candidates_enhanced", "preferences_enhanced", "agent_job_searches")


def go_to(target: Locator, key: str = "Tab") -> None:
    """Press Tab until the target has the focus, as a user without a pointer does."""
    expect(target).to_be_visible()
    for _ in range(MOST_TABS):
        if target.evaluate("node => node.getRootNode().activeElement === node"):
            return
        target.page.keyboard.press(key)
    raise AssertionError(f"{MOST_TABS} times {key} do not reach {target}")


def press(target: Locator, key: str = "Tab") -> None:
    go_to(target, key)
    target.page.keyboard.press("Enter")


def is_as_wide_as_the_phone(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.nightly
def test_onboarding_fills_an_empty_profile_by_keyboard_on_a_phone(
    open_page: Callable[..., Page], stack_database: str
) -> None:
    user = stranger()
    page = open_page(user, **PHONE)
    press(page.get_by_role("navigation", name="Views").get_by_role("button", name="Work"))
    press(page.get_by_role("navigation", name="Parts of this view").get_by_role("button", name="Interview"))
    interviews = page.locator("qwestly-interview")
    press(interviews.get_by_role("button", name="Set up my profile"))
    box = interviews.get_by_role("textbox", name="Your message")
    expect(interviews.get_by_role("log").get_by_text("What do you do at present?")).to_be_visible()
    expect(interviews.get_by_role("button", name="Send", exact=True)).to_be_visible()
    for number, line in enumerate(ANSWERS, 2):  # after the message that started it
        expect(box).to_be_focused()
        page.keyboard.type(line)
        page.keyboard.press("Enter")
        for speaker in ("You", "Qwestly"):
            expect(interviews.get_by_role("group", name=speaker, exact=True)).to_have_count(number)
        expect(interviews.get_by_role("button", name="Send", exact=True)).to_be_visible()
    assert is_as_wide_as_the_phone(page)
    press(interviews.get_by_role("button", name="Draft", exact=True), "Shift+Tab")
    expect(interviews.get_by_text("100% covered")).to_be_visible()
    assert is_as_wide_as_the_phone(page)
    press(interviews.get_by_role("button", name="Conversation", exact=True), "Shift+Tab")
    go_to(box)
    page.keyboard.type("Is that all?")
    page.keyboard.press("Enter")
    what = "Approval: Change your profile and what you look for"
    card = interviews.get_by_role("dialog", name="Your decision").get_by_role("group", name=what)
    press(card.get_by_role("button", name="Edit", exact=True))
    go_to(card.get_by_label("Take Way to work"))
    page.keyboard.press("Space")
    press(card.get_by_role("button", name="Approve as edited"))
    expect(interviews.get_by_role("log").get_by_role("group", name=what)).to_contain_text("Approved · done")
    assert is_as_wide_as_the_phone(page)
    with MongoClient[dict[str, Any]](stack_database) as mongo:
        of_user = {name: mongo[DEMO_DATABASE][name].find_one({"user_id": user}) or {} for name in WRITTEN}
    profile, preferences, wishes = of_user.values()
    assert (profile["headline"], profile["years_of_experience"]) == ("Nurse at Mercy Hospital", 12)
    assert (preferences["roles"], preferences.get("work_mode")) == (["head nurse"], None)
    assert json.loads(wishes["wishes"])["never"] == ["night shifts"]
