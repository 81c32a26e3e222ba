"""The tool schemas, which each request repeats, are transformed for the provider only once."""

import pydantic_ai.models
import pytest

from infra.local.model_server import ModelServer
from tests.servers import Client


def test_the_second_turn_transforms_no_tool_schema(
    client: Client, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    transformed = list[str]()
    transform = pydantic_ai.models._customize_tool_def

    def counted(transformer, tool):  # type: ignore[no-untyped-def]
        transformed.append(tool.name)
        return transform(transformer, tool)

    monkeypatch.setattr(pydantic_ai.models, "_customize_tool_def", counted)
    client.say("Remind me about myself.")
    first = model.requests[-1].json["tools"]
    transformed.clear()
    client.say("Remind me about myself.")
    assert transformed == []
    assert model.requests[-1].json["tools"] == first
