"""Tools do not repeat reads of their turn."""

import json
from collections import Counter

import pytest

from infra.local.model_server import ModelServer, Reply
from tests.mongo_rule import READS, Watch
from tests.servers import Client


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_user_profile", {}),
        ("query_user_knowledge", {"query": "leads a team"}),
        ("get_my_work", {}),
        ("query_qwestly_docs", {"query": "cards"}),
        ("explain_memory", {"about": "team"}),
    ],
)
def test_a_tool_does_not_repeat_reads_of_its_turn(
    client: Client, model: ModelServer, watch: Watch, tool: str, arguments: dict[str, str]
) -> None:
    conversation_id = client.say("Hello").conversation_id
    watch.complaints()
    model.script(Reply(tool_calls=[{"name": tool, "arguments": arguments}]), Reply(text="That is all."))
    answer = client.say("What do you know?", conversation_id)
    assert [event.data["ok"] for event in answer.events if event.name == "tool_result"] == [True]
    read = Counter[str]()
    for command in watch.commands():
        name, of = next(iter(command.items()))
        if name in READS and of != "agent_signals":  # the stop signal is read repeatedly
            read[json.dumps([of, command.get("filter", command.get("pipeline"))], default=str, sort_keys=True)] += 1
    twice = [each for each, times in read.items() if times > 1]
    assert not twice
