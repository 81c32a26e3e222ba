"""The routers of everything but turns, in the order in which their routes are looked at."""

from qwestly_agent.chat.routers import (
    account,
    activity,
    applications,
    approvals,
    briefings,
    conversations,
    designs,
    documents,
    interviews,
    jobs,
    learning,
    memories,
    resumes,
    settings,
)

ROUTERS = tuple(
    module.router
    for module in (
        conversations,
        designs,
        approvals,
        activity,
        briefings,
        interviews,
        applications,
        documents,
        jobs,
        learning,
        memories,
        resumes,
        settings,
        account,
    )
)
