"""Trace model calls with the library's instrumentation."""

from dataclasses import replace

from qwestly_agent.base.traces import Traces
from qwestly_agent.llm.models import Tier, TierModel


def with_tracing(models: dict[Tier, TierModel], traces: Traces | None) -> dict[Tier, TierModel]:
    """Return the models with tracing; unchanged without `traces`."""
    if traces is None:
        return models
    from pydantic_ai.models.instrumented import InstrumentationSettings

    instrumentation = InstrumentationSettings(
        tracer_provider=traces.provider,
        include_content=traces.includes_content,
        include_binary_content=False,
        # It would repeat every tool and instruction in each span.
        include_model_request_parameters=False,
    )
    return {tier: replace(model, instrumentation=instrumentation) for tier, model in models.items()}
