"""The agent's work for the user, and its abilities."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext, Tool
from pydantic_ai.messages import CustomEvent

from qwestly_agent.action import ApprovalId
from qwestly_agent.agents.base import AgentDeps, contract_of
from qwestly_agent.agents.tools.base import NEEDS, tool
from qwestly_agent.approvals.view import ApprovalView, approval_view
from qwestly_agent.background_work import BackgroundWork
from qwestly_agent.domain.approval import FINAL, Approval
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.drafts import Drafts

# --- work -------------------------------------------------------------------------------------------------------------
# List the agent's work for the user by id and title, without texts, and show an approval's card again.


MOST_APPROVALS, MOST_DRAFTS = 40, 20


@dataclass(kw_only=True)
class ApprovalShown(CustomEvent):
    """Sent when the card of a pending approval is shown to the user again."""

    approval: ApprovalView


async def get_my_work(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
    """List what you have under way for the user, the newest first: what waits for them, runs, or
    ended and how: approvals, drafts, résumés, searches, interviews, lessons. read_draft reads one."""
    user_id, now = ctx.deps.user_id, ctx.deps.turn.clock()
    approvals, drafts, under_way, happened = await asyncio.gather(
        ctx.deps.feature(Approvals).list_all(user_id, MOST_APPROVALS),
        ctx.deps.feature(Drafts).newest(user_id, MOST_DRAFTS),
        ctx.deps.feature(BackgroundWork).list_running(),
        ctx.deps.feature(BackgroundWork).list_ended(),
    )
    waiting = [each for each in approvals if each.waits(now)]
    ended = [each for each in approvals if each.status in FINAL or (each.status == "pending" and each not in waiting)]
    work = {
        "waits_for_their_decision": [_approval_summary(each) for each in waiting],
        "being_carried_out": [
            _approval_summary(each) for each in approvals if each not in waiting and each not in ended
        ],
        "ended": [_approval_summary(each) for each in ended],
        "drafts": [_without_empty({"draft_id": each.id, **each.model_dump(include=_OF_DRAFTS)}) for each in drafts],
        "also_under_way": [_without_empty(each) for each in under_way],
        "also_ended": happened,
    }
    return work if any(work.values()) else {**work, "note": "Nothing was begun or asked for this user yet."}


async def show_approval(ctx: RunContext[AgentDeps], approval_id: ApprovalId) -> dict[str, Any]:
    """Put the card of something that waits for the user's decision before them again, when they say yes or no to it in
    words ("yes, do it"): you decide nothing.

    Args:
        approval_id: Of what waits, as you were told it or as get_my_work lists it.
    """
    approval = await ctx.deps.feature(Approvals).get(ctx.deps.user_id, approval_id)
    if not approval.waits(ctx.deps.turn.clock()):
        return {**_approval_summary(approval), "note": "It does not wait any more. Say what became of it."}
    await ctx.emit(ApprovalShown(approval=approval_view(approval)))
    return {
        **_approval_summary(approval),
        "note": "They see its card now. Ask them to decide on it there, and end your answer.",
    }


_OF_DRAFTS = {"kind", "style", "status", "label", "approval_id", "flagged"}


def _approval_summary(approval: Approval) -> dict[str, Any]:
    known = approval.model_dump(include={"tool", "status", "draft_id", "outcome", "undone_by"})
    return _without_empty(
        {"approval_id": approval.id, "title": approval.preview.title, **known, "they_wrote": approval.reason}
    )


def _without_empty(known: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if value not in (None, False)}


TOOLS = [
    tool(get_my_work, effect="read", label="Looking at what I have under way…"),
    tool(show_approval, effect="read", label="Putting it before you again…"),
]


# --- capabilities -----------------------------------------------------------------------------------------------------
# List what the agent can do, generated from the tools.


def capabilities_tool(tools: Sequence[Tool[AgentDeps]]) -> Tool[AgentDeps]:
    async def list_capabilities(ctx: RunContext[AgentDeps]) -> dict[str, Any]:
        """List what you can do for the user here, and what is not set up."""
        missing = [each for each in tools if NEEDS in _metadata(each) and await each.prepare_tool_def(ctx) is None]
        told: dict[str, Any] = {"capabilities": [_capability(each) for each in tools if each not in missing]}
        if missing:
            told["not_set_up"] = [{**_capability(each), NEEDS: _metadata(each)[NEEDS]} for each in missing]
        return told

    return tool(list_capabilities, effect="read", label="Checking what I can do…")


def _metadata(each: Tool[AgentDeps]) -> dict[str, Any]:
    return each.metadata or {}


def _capability(each: Tool[AgentDeps]) -> dict[str, str]:
    what = " ".join((each.description or "").split())  # put on one line, because sentences may span lines
    return {"name": each.name, "what": what, "effect": contract_of(each.name, each.metadata).effect}
