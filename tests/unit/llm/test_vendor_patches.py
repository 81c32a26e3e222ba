"""Private methods may change in any version: the library is reviewed again before its pin is raised."""

from pathlib import Path

import pytest
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIStreamedResponse

from qwestly_agent.llm import client


@pytest.mark.parametrize(("library", "read"), [("openai", "3.52.0"), ("pydantic-ai-slim", "2.68.0")])
def test_the_pinned_version_is_the_one_whose_private_methods_were_reviewed(library: str, read: str) -> None:
    pins = (Path(__file__).parents[3] / "requirements/layer.txt").read_text(encoding="utf-8")
    assert f"\n{library}=={read} " in pins


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (client.PatchedClient, AsyncOpenAI),
        (client.PatchedChatModel, OpenAIChatModel),
        (client.PatchedStreamedResponse, OpenAIStreamedResponse),
    ],
)
def test_each_overridden_method_still_exists(ours: type, theirs: type) -> None:
    overridden = {name for name in vars(ours) if name.startswith("_") and not name.startswith("__")} - {"_abc_impl"}
    assert overridden
    assert not {name for name in overridden if not hasattr(theirs, name)}
