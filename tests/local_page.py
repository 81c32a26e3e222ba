"""The local stack's page, in a browser."""

from playwright.sync_api import Page

_GROUPS = {"Approvals": "Home", "Activity": "Home", "Jobs": "Work", "Interview": "Work", "Learning": "Work"}
_ALONE = {"Memories": "Memory"}


def look_at(page: Page, view: str) -> None:
    """Open a view by its name, through the group that it stands in."""
    group = _GROUPS.get(view) or _ALONE.get(view, view)
    page.get_by_role("navigation", name="Views").get_by_role("button", name=group).click()
    if view in _GROUPS:
        page.get_by_role("navigation", name="Parts of this view").get_by_role("button", name=view).click()
