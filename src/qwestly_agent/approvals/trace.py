"""Spans of an approval's mail, decision and effect, below the span of its run."""

from contextlib import AbstractContextManager

from qwestly_agent.base.traces import Traces, child_span
from qwestly_agent.domain.approval import Approval


def approval_span(traces: Traces | None, name: str, approval: Approval, **more: str) -> AbstractContextManager[None]:
    given = {"tool": approval.tool, "approval_id": approval.id, "status": approval.status, **more}
    return child_span(traces, name, approval.run_id, {f"qwestly.{key}": value for key, value in given.items()})
