"""The routers of everything but turns, in matching order."""

from importlib import import_module

from qwestly_agent.workflows import WORKFLOWS

ROUTERS = tuple(
    import_module(f"{__package__}.{each}").router
    for each in (
        *("conversations", "approvals", "documents"),
        *(router for workflow in WORKFLOWS for router in workflow.routers),
        "settings",
    )
)
