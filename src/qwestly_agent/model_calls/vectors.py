"""Vectors of many texts, for a state. Their cost counts towards the user's day."""

from collections.abc import Sequence

from qwestly_agent.llm.embeddings import cost_usd
from qwestly_agent.model_calls.structured import account
from qwestly_agent.services import ModelServices


async def counted_vectors(services: ModelServices, user_id: str, texts: Sequence[str]) -> list[list[float]]:
    """Raises `Unavailable`."""
    vectors = await services.embeddings.embed(texts)
    await account(services, user_id, cost_usd(texts))
    return vectors
