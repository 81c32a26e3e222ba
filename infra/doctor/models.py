"""Check models and their prices and, with requests that cost something, each model, embeddings, moderation and mail."""

import math
import time
from collections.abc import AsyncIterable, Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from textwrap import shorten
from typing import Any, TypeAlias

from aws_lambda_powertools import Logger
from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError
from pydantic_ai import Agent, AgentRunResult, Tool
from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRequestTimeout,
    ModelTimeoutError,
    RunTimedOut,
)
from pydantic_ai.messages import ModelResponse, ModelResponsePart, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage

from evals import trouble
from infra.doctor.results import Results, note, right, run_check_for_each, wrong
from infra.doctor.target import Target
from qwestly_agent.agents.base import AgentDeps
from qwestly_agent.agents.tools.catalog import TOOLS
from qwestly_agent.base.errors import OverBudget
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_embeddings, make_http_client, make_moderation
from qwestly_agent.cards.reader import INSTRUCTIONS, OUTPUT_RETRIES, DraftedSection
from qwestly_agent.clients.aws import Mail
from qwestly_agent.domain.memory import DIMENSIONS
from qwestly_agent.llm.embeddings import MODEL
from qwestly_agent.llm.models import DEFAULT_MODELS, PRICES_NOTED, TierModel, make_judges, make_models, price_of
from qwestly_agent.llm.moderation import MODEL as MODERATION_MODEL
from qwestly_agent.model_calls import Budget, BudgetOnly, make_typed_agent

OLDEST_PRICES_DAYS = 90
SIMULATOR = "success@simulator.amazonses.com"
"""SES's simulator accepts mail like any other address, and nobody reads it."""
ANSWER_SECONDS = 25.0
"""Shorter than the time limit of a check, so that the result names the model that does not respond."""
LONGEST_SAID = 200
LEAST_FOUND, MOST_FALSE = 0.8, 0.02
"""Minimum share to be detected among people in danger, and maximum share among others."""


def names_of(settings: Settings) -> list[str]:
    fast, pro = settings.model_fast or DEFAULT_MODELS["fast"], settings.model_pro or DEFAULT_MODELS["pro"]
    return sorted({fast, pro, *filter(None, (settings.model_fallback, settings.model_judge))})


async def check_prices(target: Target) -> Results:
    now = target.clock()
    for name in names_of(target.settings):
        if price_of(name, None, RequestUsage(), now) is not None:
            yield right("prices", f"{name} has one")
        else:
            yield wrong("prices", f"{name} has none: it counts as the dearest, and no cost is shown")
    days = (datetime.fromtimestamp(now, UTC).date() - PRICES_NOTED).days
    if days > OLDEST_PRICES_DAYS:
        yield wrong("prices", f"were last compared with the provider's list {days} days ago, on {PRICES_NOTED}")
    else:
        yield right("prices", f"were compared with the provider's list on {PRICES_NOTED}")


# --- what costs: a request, an embedding, a mail ----------------------------------------------------------------------


class NotAnswered(Exception):
    """The response does not do what was requested; the error has a clause for the operator."""


Answer: TypeAlias = tuple[AgentRunResult[Any], str]
"""The response, and a short description of it."""


async def words(model: Model) -> Answer:
    """Request text, streamed as in the chat."""
    result = await Agent(model).run("Say: ok", event_stream_handler=_streamed, timeout=ANSWER_SECONDS)
    return result, f"“{_short(result.output)}”"


async def tool_call(model: Model) -> Answer:
    """Request a tool call with all tools of the chat, because a provider may reject the schema of one. No tool is
    run."""
    agent = Agent(model, tools=[_without_effect(each) for each in TOOLS])
    prompt = "What can you do? Look it up with a tool before you answer."
    result = await agent.run(prompt, event_stream_handler=_streamed, timeout=ANSWER_SECONDS)
    if not (called := [part.tool_name for part in _said(result) if isinstance(part, ToolCallPart)]):
        raise NotAnswered("it called no tool")
    return result, f"called {', '.join(called)}"


async def typed_answer(model: Model) -> Answer:
    """Request a typed answer: a section of a card without evidence."""
    agent = make_typed_agent(
        TierModel(model, None), DraftedSection, name="doctor", instructions=INSTRUCTIONS, retries=OUTPUT_RETRIES
    )
    budget = BudgetOnly(Budget(math.inf, OverBudget(), time.time()))
    result = await agent.run("There is no evidence.", deps=budget, timeout=ANSWER_SECONDS)
    return result, f"a section with {len(result.output.claims)} claims"


QUESTIONS: Mapping[str, Callable[[Model], Awaitable[Answer]]] = {
    "words": words,
    "a tool call": tool_call,
    "a typed answer": typed_answer,
}


async def spend_on_models(about: str, target: Target) -> Results:
    """Query each tier's model and its fallback once, and `MODEL_JUDGE` for a typed answer only."""
    settings = target.settings
    async with make_http_client(settings) as http:
        tiers = make_models(settings, http)
        models = {f"{tier} {each.model.model_id}": each.model for tier, each in tiers.items()} | {
            f"{tier} fallback {each.fallback.model_id}": each.fallback for tier, each in tiers.items() if each.fallback
        }
        if settings.model_judge and QUESTIONS[about] is typed_answer:
            models |= {f"judge {each.model.model_id}": each.model for each in make_judges(settings, http).values()}

        async def one(name: str) -> Results:
            try:
                result, told = await QUESTIONS[about](models[name])
            except (AgentRunError, NotAnswered) as error:
                yield wrong(about, f"{name}: {_why(error, settings)}")
                return
            yield right(about, f"{name} answers as {result.response.model_name}: {told}")
            for problem in _problems(models[name], result):
                yield wrong(about, f"{name}: {problem}")

        async for result in run_check_for_each(about, models, one):
            yield result


def _problems(model: Model, result: AgentRunResult[Any]) -> Iterator[str]:
    """Yield problems of a model that responded: no known price, or thinking although it must not."""
    answered_as = f"{model.system}:{result.response.model_name}"
    if price_of(answered_as, None, RequestUsage(), time.time()) is None:
        yield f"{result.response.model_name} has no price that we know: it counts as {model.model_name}"
    thought = any(isinstance(part, ThinkingPart) for part in _said(result))
    if (model.settings or {}).get("thinking") is False and (thought or result.usage.details.get("reasoning_tokens")):
        yield "it thinks, and must not: each answer is late and dearer"


async def spend_on_embedding(target: Target) -> Results:
    settings = target.settings
    async with make_http_client(settings) as http:
        try:
            answer = await make_embeddings(settings, http).request(["ok"])
        except OpenAIError as error:
            yield wrong("an embedding", f"{MODEL}: {_why(error, settings)}")
            return
    size = len(answer.data[0].embedding)
    mark = right if size == DIMENSIONS else wrong
    yield mark("an embedding", f"{MODEL} answers as {answer.model}: {size} numbers of {DIMENSIONS}")


async def spend_on_moderation(target: Target) -> Results:
    """Measure on a sample of `evals/trouble.tsv.gz` how many people in danger the endpoint detects, and how many
    others. It is free."""
    settings = target.settings
    async with make_http_client(settings) as http:
        moderation = make_moderation(settings, http, Logger(service="doctor"))
        if moderation.client is None:
            why = "nobody is asked, without OpenAI's key for embeddings or by the setting: a release needs its figure"
            yield wrong("moderation", why)
            return
        try:
            await moderation.client.moderations.create(model=MODERATION_MODEL, input="ok")
        except OpenAIError as error:
            yield wrong("moderation", f"{MODERATION_MODEL}: {_why(error, settings)}")
            return
        messages = trouble.load("unseen")
        danger = [each for each in messages if each.label == "s"][::2]
        others = [each for each in messages if not each.in_trouble][::3]
        found, false = await trouble.by_moderation(danger, moderation), await trouble.by_moderation(others, moderation)
    shares = sum(found) / len(found), sum(false) / len(false)
    mark = right if shares[0] >= LEAST_FOUND and shares[1] <= MOST_FALSE else wrong
    said = f"finds {sum(found)} of {len(found)} in danger, and takes {sum(false)} of {len(false)} others for one"
    yield mark("moderation", f"{MODERATION_MODEL} {said} (a release asks 80 % and 2 %)")


async def spend_on_mail(target: Target) -> Results:
    """Send a mail with the operator's permissions; the functions' own are used only for approvals."""
    sender = target.settings.mail_from
    if not sender:
        yield note("a mail", "none is sent: MAIL_FROM is empty")
        return
    words = "A mail of the doctor, to nobody."
    await Mail(target.aws, sender).send(SIMULATOR, words, words, f"<p>{words}</p>")
    yield right("a mail", f"SES took one to {SIMULATOR}")


def _why(error: Exception, settings: Settings) -> str:
    """Return the reason for a failure: the provider's own message if there is one, without our keys."""
    match error:
        case ModelHTTPError() | APIStatusError():
            said = error.body.get("message") if isinstance(error.body, dict) else None
            why = f"answers {error.status_code}" + (f": {said}" if said else "")
        case RunTimedOut() | ModelTimeoutError() | ModelRequestTimeout() | APITimeoutError():
            why = "no answer in time"
        case ModelConnectionError() | APIConnectionError():
            why = "cannot be reached"
        case AgentRunError():
            why = error.message
        case _:
            why = str(error)
    for key in filter(None, (settings.deepseek_api_key, settings.openai_api_key)):
        why = why.replace(key, "…")
    return _short(why)


def _short(words: str) -> str:
    return shorten(words, LONGEST_SAID, placeholder="…")


def _said(result: AgentRunResult[Any]) -> list[ModelResponsePart]:
    return [part for each in result.all_messages() if isinstance(each, ModelResponse) for part in each.parts]


async def _streamed(_: object, events: AsyncIterable[object]) -> None:
    async for _event in events:
        pass


def _without_effect(tool: Tool[AgentDeps]) -> Tool:
    async def nothing(**_: Any) -> str:
        return "Nothing is stored."

    return Tool.from_schema(nothing, tool.name, tool.description, tool.function_schema.json_schema)
