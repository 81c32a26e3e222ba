"""The first span of a turn's trace, below which pydantic-ai's own spans hang."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from qwestly_agent.base.traces import Traces, mark_failed

if TYPE_CHECKING:
    from qwestly_agent.chat.turn import Turn


def begin_trace(traces: Traces | None, turn: "Turn") -> Callable[[], None]:
    """Begin it; return what ends it, once the turn is recorded."""
    if traces is None:
        return lambda: None
    attributes = {
        "qwestly.run_id": turn.run_id,
        "qwestly.design": turn.design,
        "qwestly.prompt_version": turn.agent.prompt_version,
        "gen_ai.conversation.id": turn.claim.conversation_id,
        **({"qwestly.variant": turn.variant} if turn.variant else {}),
    }
    span = traces.begin_run("turn", turn.run_id, attributes)

    def end() -> None:
        record = turn.record
        span.set_attribute("qwestly.status", record.status)
        if record.error:
            mark_failed(span, record.error.code)
        span.set_attributes({f"qwestly.{name}": count for name, count in record.tokens().items()})
        if (cost := record.ceiling_usd()) is not None:
            span.set_attribute("qwestly.cost_usd", cost)
        span.end()

    return end
