"""The stack that a team would write first: FastAPI and pydantic-ai, streaming through the library's own adapter.

The same model, settings, instructions and tools as ours. It has no users, stores nothing and joins no deltas.
"""

import os

from fastapi import FastAPI, Request, Response
from openai import AsyncOpenAI
from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

from qwestly_agent.agents.default.design import INSTRUCTIONS
from qwestly_agent.agents.tools.catalog import TOOLS
from qwestly_agent.llm.models import DEFAULT_MODELS, PROFILES, TIER_SETTINGS


async def unavailable(**_: object) -> str:
    """Offered but never called: the scripted model only produces text."""
    return "Nothing is stored."


def create_app(model_base_url: str) -> FastAPI:
    model = OpenAIChatModel(
        DEFAULT_MODELS["fast"].removeprefix("deepseek:"),
        provider=DeepSeekProvider(openai_client=AsyncOpenAI(api_key="none", base_url=model_base_url)),
        profile=PROFILES["deepseek"],
        settings=TIER_SETTINGS["fast"],
    )
    offered = [each.tool_def for each in TOOLS]
    tools = [Tool.from_schema(unavailable, e.name, e.description, e.parameters_json_schema) for e in offered]
    agent = Agent(model, instructions=INSTRUCTIONS, tools=tools)
    app = FastAPI()

    @app.post("/api/chat")
    async def chat(request: Request) -> Response:
        return await VercelAIAdapter.dispatch_request(request, agent=agent, sdk_version=6)

    return app


def app() -> FastAPI:
    """Return the app for `uvicorn --factory`."""
    return create_app(os.environ["MODEL_BASE_URL"])
