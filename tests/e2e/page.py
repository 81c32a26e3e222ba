"""What tests of the stack's page do with it."""

import uuid

from playwright.sync_api import Page

PATIENCE_MILLISECONDS = 30_000


def stranger() -> str:
    """A user nobody has heard of."""
    return f"auth0|{uuid.uuid4().hex}"


def look_at(page: Page, view: str) -> None:
    page.get_by_role("navigation", name="Views").get_by_role("button", name=view).click()
