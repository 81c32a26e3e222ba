"""List each host that a stage sends personal text to, and its country."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from botocore.session import get_session

from infra.doctor.results import Results, right
from infra.doctor.target import Target
from qwestly_agent.clients.job_boards import ADZUNA, BRAVE, JSEARCH
from qwestly_agent.llm.client import PROVIDER_ADDRESSES
from qwestly_agent.llm.models import DEFAULT_MODELS

COUNTRIES = {
    "api.deepseek.com": "China",
    "api.openai.com": "USA",
    "eu.api.openai.com": "European Union",
    "api.adzuna.com": "United Kingdom",
    "jsearch.p.rapidapi.com": "USA",
    "api.search.brave.com": "USA",
}
"""As named in the providers' terms, read in November 2026: docs/data.md."""
BOARDS = {"adzuna": ADZUNA, "jsearch": JSEARCH, "web": BRAVE}
UNKNOWN = "a country that its owner knows"


async def check_hosts(target: Target) -> Results:
    for purpose, url in _addresses(target):
        if host := urlsplit(url).hostname:
            yield right("hosts", f"{host} ({purpose}): {COUNTRIES.get(host, UNKNOWN)}")
    if target.stage:
        region = target.aws("ssm").meta.region_name
        yield right("hosts", f"AWS {region} (functions, workflows, mail, logs): {_place_of(region)}")


def _addresses(target: Target) -> Iterator[tuple[str, str]]:
    settings = target.settings
    names = {
        *(getattr(settings, f"model_{tier}") or name for tier, name in DEFAULT_MODELS.items()),
        *filter(None, (settings.model_fallback, settings.model_judge)),
    }
    addresses = {settings.model_base_url or PROVIDER_ADDRESSES.get(each.partition(":")[0], "") for each in names}
    yield from (("models", each) for each in sorted(addresses))
    yield "embeddings", settings.embeddings_base_url or PROVIDER_ADDRESSES["openai"]
    if settings.moderation_base_url != "off" and (settings.moderation_base_url or not settings.embeddings_base_url):
        yield "moderation", settings.moderation_base_url or PROVIDER_ADDRESSES["openai"]
    yield "candidate app", settings.candidate_api_url
    yield "traces", settings.traces_url
    yield from (("jobs", BOARDS[each]) for each in settings.job_boards.split(",") if each in BOARDS)
    yield "database", f"//{urlsplit(settings.mongodb_uri).netloc.rpartition('@')[2].partition(',')[0]}"


def _place_of(region: str) -> str:
    """AWS's own name of a region: "Europe (Ireland)"."""
    partitions = get_session().get_data("endpoints")["partitions"]
    return next((each["regions"][region]["description"] for each in partitions if region in each["regions"]), UNKNOWN)
