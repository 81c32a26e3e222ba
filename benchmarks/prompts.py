"""Measure how much of a prompt its provider has cached, and what a conversation costs.

Both conversations go through the chat function, to the model's wire and back. The scripted server counts tokens, four
characters each, and caches them as providers do: in blocks of 64 tokens of a prefix that was sent before. Prices are
those of `llm/models.py`. No real provider has counted this.
"""

import json
import os
import uuid
from collections.abc import Iterator
from itertools import pairwise
from statistics import mean
from typing import Any

from pydantic_ai.usage import RequestUsage
from pymongo import MongoClient

from benchmarks.figures import OFF_PEAK_TURNS, Row, Target
from benchmarks.servers import Server, World, ours, world
from infra.local.environment import DEMO_DATABASE
from infra.local.model_embedding import embedding
from qwestly_agent.llm.embeddings import DIMENSIONS
from qwestly_agent.llm.models import DEFAULT_MODELS, PEAK, price_of
from qwestly_agent.stores.candidate_data import KNOWLEDGE
from qwestly_agent.stores.search import to_binary
from tests.servers import Client

TURNS, A_TOOL_EACH = 40, 3
LEAST_PREFIX = 0.95
COSTED_TURNS, ANSWER_TOKENS, RESULT_TOKENS = 10, 150, 600
MOST_USD = 0.002
"""The price of a turn outside of peak hours."""
SUNDAY = PEAK - 86_400
CHARACTERS_A_TOKEN = 4
FRAME_CHARACTERS = 1_294
"""Characters of a result apart from the two pieces: its frame, and the person's own messages, whose number grows."""
SENTENCE = "That is a good question, and here is what I would say to it in a few plain sentences. "


def measure() -> dict[str, Any]:
    with world() as given, ours(given) as server:
        shares = _forty_turns(given, _somebody(server))
        user = _somebody(server)
        with MongoClient[dict[str, Any]](given.mongodb_uri) as mongo:
            mongo[DEMO_DATABASE][KNOWLEDGE].insert_many(_chunks(user.user_id))
        costed = _ten_turns(given, user)
    return {"prefix": {"shares": shares, "mean": sum(shares) / len(shares)}, "ten_turns": costed}


def _somebody(server: Server) -> Client:
    return Client(server.url, f"auth0|{uuid.uuid4().hex}")


def _forty_turns(world: World, user: Client) -> list[float]:
    """Return the share of each request's bytes that is a prefix of the next one."""
    conversation_id = None
    for turn in range(TURNS):
        steps = [_look_up("query_user_knowledge")] if turn % A_TOOL_EACH == 0 else []
        world.script(*steps, {"text": f"{turn}: {SENTENCE * 3}"})
        question = f"Question {turn}: what should I do about the thing we discussed?"
        conversation_id = user.say(question, conversation_id).conversation_id
    return [_shared(one.encode(), next_one.encode()) for one, next_one in pairwise(world.prompts())]


def _shared(one: bytes, next_one: bytes) -> float:
    return len(os.path.commonprefix([one, next_one])) / len(one)  # noqa: RUF071  of bytes, not of paths


def _ten_turns(world: World, user: Client) -> dict[str, Any]:
    """Every second turn looks something up."""
    conversation_id, spent = None, list[dict[str, Any]]()
    for turn in range(COSTED_TURNS):
        steps = [_look_up("query_user_knowledge")] if turn % 2 else []
        world.script(*steps, {"text": _words(ANSWER_TOKENS)})
        question = f"Question {turn}: what does my résumé say about the projects that I led, and what is missing?"
        answer = user.say(question, conversation_id)
        conversation_id = answer.conversation_id
        assert answer.last.name == "done", answer.last
        spent.append(answer.last.data["usage"])
    said = json.loads(world.prompts()[-1])["messages"]
    results = [len(message["content"]) / CHARACTERS_A_TOKEN for message in said if message["role"] == "tool"]
    assert len(results) == COSTED_TURNS // 2, results
    assert abs(mean(results) - RESULT_TOKENS) < 5, results
    totals = {name: sum(each[name] for each in spent) for name in ("input_tokens", "cached_tokens", "output_tokens")}
    usd = {hours: sum(_usd(each, at) for each in spent) for hours, at in (("off_peak", SUNDAY), ("peak", PEAK))}
    return {**totals, "usd": usd, "tokens_of_results": results}


def _usd(spent: dict[str, Any], at: float) -> float:
    """The price of a turn at the given time, independent of the current hour."""
    tokens = RequestUsage(
        input_tokens=spent["input_tokens"],
        cache_read_tokens=spent["cached_tokens"],
        output_tokens=spent["output_tokens"],
    )
    price = price_of(DEFAULT_MODELS["fast"], None, tokens, at)
    assert price is not None
    return float(price)


def _look_up(tool: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": {"query": f"projects {uuid.uuid4().hex[:6]}"}}]}


def _words(tokens: int) -> str:
    characters = tokens * CHARACTERS_A_TOKEN
    return (SENTENCE * (characters // len(SENTENCE) + 1))[:characters]


def _chunks(user_id: str) -> list[dict[str, Any]]:
    """Two pieces of a document, long enough for results with so many tokens on average."""
    text = _words(RESULT_TOKENS // 2)[: -FRAME_CHARACTERS // 2]
    vector = to_binary(embedding(text, DIMENSIONS))
    given = {"user_id": user_id, "title": "Résumé", "source_type": "resume", "text": text, "embedding": vector}
    return [{"_id": f"{user_id}:{part}", **given} for part in range(2)]


def rows(found: dict[str, Any]) -> Iterator[Row]:
    share = found["prefix"]["mean"]
    yield Row(f"prefix over {TURNS} turns", "share", share, None, Target("share", share, at_least=LEAST_PREFIX))
    each = found["ten_turns"]
    off_peak, peak = each["usd"]["off_peak"], each["usd"]["peak"]
    yield Row(OFF_PEAK_TURNS, "USD", off_peak, None, Target("USD", off_peak, at_most=MOST_USD))
    yield Row("ten turns, at peak prices", "USD", peak)
    yield Row("its cached input tokens", "share", each["cached_tokens"] / each["input_tokens"])
