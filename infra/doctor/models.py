"""Models and what they cost; and, where that was asked for, whether each of them answers."""

from datetime import UTC, datetime

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.settings import ModelSettings

from infra.doctor.findings import Findings, each_of, right, wrong
from infra.doctor.patient import Patient
from qwestly_agent.bootstrap import make_embeddings, make_http_client
from qwestly_agent.clients.mail import Mail
from qwestly_agent.llm import DEFAULT_MODELS, PRICES, PRICES_NOTED, make_models
from qwestly_agent.settings import Settings

OLDEST_PRICES_DAYS = 90
SIMULATOR = "success@simulator.amazonses.com"
"""SES takes it like any other address, and nobody reads it."""
SHORTEST = ModelSettings(max_tokens=16)
"""Enough for a word, also of a model that thinks before it."""


def names_of(settings: Settings) -> list[str]:
    fast, pro = settings.model_fast or DEFAULT_MODELS["fast"], settings.model_pro or DEFAULT_MODELS["pro"]
    return sorted({fast, pro, *([settings.model_fallback] if settings.model_fallback else [])})


async def check_prices(patient: Patient) -> Findings:
    for name in names_of(patient.settings):
        if name.partition(":")[2] in PRICES:
            yield right("prices", f"{name} has one")
        else:
            yield wrong("prices", f"{name} has none in llm.py: it counts as the dearest, and no cost is shown")
    days = (datetime.fromtimestamp(patient.clock(), UTC).date() - PRICES_NOTED).days
    if days > OLDEST_PRICES_DAYS:
        yield wrong("prices", f"were last compared with the provider's list {days} days ago, on {PRICES_NOTED}")
    else:
        yield right("prices", f"were compared with the provider's list on {PRICES_NOTED}")


async def spend_on_models(patient: Patient) -> Findings:
    settings = patient.settings
    async with make_http_client(settings) as http:
        tiers = make_models(settings, http).values()
        models = {model.model_id: model for tier in tiers for model in (tier.model, tier.fallback) if model}

        async def one(name: str) -> Findings:
            prompt = [ModelRequest.user_text_prompt("Say: ok")]
            said = await model_request(models[name], prompt, model_settings=SHORTEST)
            yield right("a request", f"{name} answers as {said.model_name}")

        async for finding in each_of("a request", models, one):
            yield finding


async def spend_on_embedding(patient: Patient) -> Findings:
    settings = patient.settings
    async with make_http_client(settings) as http:
        [vector] = await make_embeddings(settings, http).embed(["ok"])
        yield right("an embedding", f"{len(vector)} numbers")


async def spend_on_mail(patient: Patient) -> Findings:
    """By the rights of whoever asks: the functions' own are tried by an approval alone."""
    sender = patient.settings.mail_from
    if not sender:
        yield wrong("a mail", "MAIL_FROM is empty")
        return
    words = "A mail of the doctor, to nobody."
    await Mail(patient.aws, sender).send(SIMULATOR, words, words, f"<p>{words}</p>")
    yield right("a mail", f"SES took one to {SIMULATOR}")
