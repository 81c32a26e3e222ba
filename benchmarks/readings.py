"""Measure the cost of reading one conversation for memories: `python -m benchmarks.readings`.

Every third labelled conversation of `evals/memories`, filled up to six messages, of a person with forty memories, goes
through the states of `extract_memories` to the model's wire. The model finds its correct notes. The scripted server
counts tokens, as in `prompts.py`. The figures are the constants of `costs.py`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar
from unittest import mock

import yaml

from benchmarks.capacity import Load
from evals.memories import FOLDER
from infra.local.model_server import ModelServer
from infra.local.model_wire import PromptCache
from qwestly_agent.memory.model import ExtractionState
from tests.functions.talking import Talk, finds, note, talking
from tests.functions.test_forgetting import put
from tests.servers import mongo_server

EACH = 3
ANSWER = "So. Shall we go on with that?"
FILLER = "What does my résumé say about the projects that I led in {year}, and what is missing there?"
REQUESTS = {"extract": "You note what is worth", "judge": "You are the second reader", "compare": "You compare notes"}


class CountedCache(PromptCache):
    """Counts the tokens by kind of request."""

    totals: ClassVar[Counter[tuple[str, str]]] = Counter()

    def usage(self, body: Any, said: str) -> Any:
        usage = super().usage(body, said)
        opening = str(body["messages"][0]["content"])
        [kind] = [name for name, words in REQUESTS.items() if opening.startswith(words)]
        self.totals[kind, "requests"] += 1
        self.totals[kind, "input"] += int(usage["prompt_cache_miss_tokens"])
        self.totals[kind, "cached"] += int(usage["prompt_cache_hit_tokens"])
        self.totals[kind, "output"] += int(usage["completion_tokens"])
        return usage


async def measure(mongodb_uri: str, model: ModelServer) -> int:
    """Read the conversations, and return their number."""
    known = {each["language"]: [one["text"] for one in each["memories"]] for each in _read("queries.yaml")}
    told = [(file.stem[-2:], each) for file in sorted(FOLDER.glob("conversations-*.yaml")) for each in _read(file.name)]
    async with talking(mongodb_uri, "readings", model) as talk:
        for number, (language, conversation) in enumerate(told[::EACH]):
            person = replace(talk, user_id=f"auth0|{number}")
            person.turns = number * 1_000  # message ids
            for content in known.get(language, known["mixed"]):
                await put(person, content)
            await _reads(person, conversation)
    return len(told[::EACH])


async def _reads(person: Talk, conversation: Mapping[str, Any]) -> None:
    said = {each["id"]: each["text"] for each in conversation["messages"] if each["by"] != "agent"}
    names = {message_id: f"m{2 * number}" for number, message_id in enumerate(said, 1)}  # each after a “Go on.”
    filler = [FILLER.format(year=2010 + number) for number in range(Load.turns - len(said))]
    await person.says(*((ANSWER, text) for text in (*said.values(), *filler)))
    found = [note(each["content"], each["quote"], names[each["message"]]) for each in conversation["memories"]]
    person.model.script(finds(*found))
    await person.is_read(ExtractionState(user_id=person.user_id, conversation_id="c1", run_id="r1"))


def _read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def main() -> None:
    with (
        mock.patch("infra.local.model_server.PromptCache", CountedCache),
        mongo_server() as (mongodb_uri, _),
        ModelServer() as model,
    ):
        count = asyncio.run(measure(mongodb_uri, model))
    for kind in REQUESTS:
        figures = (
            f"{CountedCache.totals[kind, each] / count:7.2f} {each}"
            for each in ("requests", "input", "cached", "output")
        )
        print(f"{kind:8}", *figures)


if __name__ == "__main__":
    main()
