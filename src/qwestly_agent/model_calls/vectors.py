"""Embed texts for a workflow state. The cost counts towards the user's daily limit."""

from collections.abc import Sequence

from qwestly_agent.llm.embeddings import cost_usd
from qwestly_agent.model_calls.structured import record_cost
from qwestly_agent.services import ModelServices


async def embed_and_record(services: ModelServices, user_id: str, texts: Sequence[str]) -> list[list[float]]:
    """Embed the texts, and add the cost to the user's day. Raises `Unavailable`."""
    vectors = await services.embeddings.embed(texts)
    await record_cost(services, user_id, cost_usd(texts))
    return vectors
