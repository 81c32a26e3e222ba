"""The local stack's page, in a browser."""

import re

from playwright.sync_api import Page

_GROUPS = {"Approvals": "Home", "Activity": "Home"} | dict.fromkeys(
    ("Jobs", "Applications", "Documents", "Interview", "Learning"), "Work"
)
_ALONE = {"Memories": "Memory"}
_BEHIND = {"What you want": "Jobs", "Your résumé": "Documents"}
"""The view that has a button for it."""


def look_at(page: Page, view: str) -> None:
    """Open a view by its name, through the group or the view that it stands in."""
    if view in _BEHIND:
        look_at(page, _BEHIND[view])
        page.get_by_role("button", name=re.compile(f"{view}$", re.IGNORECASE)).click()
        return
    group = _GROUPS.get(view) or _ALONE.get(view, view)
    page.get_by_role("navigation", name="Views").get_by_role("button", name=group).click()
    if view in _GROUPS:
        page.get_by_role("navigation", name="Parts of this view").get_by_role("button", name=view).click()
