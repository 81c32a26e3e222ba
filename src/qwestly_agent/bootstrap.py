"""The composition root: the only module that builds clients and stores. Tests replace its parameters."""

import asyncio
import gc
from collections.abc import Callable, Collection
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import httpx2
from aws_lambda_powertools import Logger
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import Clock, NewId, new_id, system_clock
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.observability import make_logger, measure_refusal
from qwestly_agent.base.settings import Secrets, Settings
from qwestly_agent.base.traces import Traces
from qwestly_agent.clients.aws import AWS, ErasureLog, EventBus, Mail, Workflows, look_up_all
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.clients.job_boards import make_job_boards
from qwestly_agent.platform.collection import Document, Store
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.stores.candidate_data import Docs, Knowledge
from qwestly_agent.stores.mongo_client import RenewingMongoClient
from qwestly_agent.stores.usage import StageDay, Usage
from qwestly_agent.workflows import ACTIONS

if TYPE_CHECKING:
    from qwestly_agent.chat.services import ChatServices
    from qwestly_agent.llm.client import Renew
    from qwestly_agent.llm.embeddings import Embeddings
    from qwestly_agent.llm.moderation import Moderation
    from qwestly_agent.resumes.reader import ResumeServices

DATABASE_ANSWERS_WITHIN_SECONDS = 3
"""Kept short, so that the user gets an error within five seconds if the database is unreachable, rather than after the
driver's retries."""


NEW_OBJECTS_BEFORE_COLLECTING = 50_000
"""Threshold of the garbage collector after the imports (`qwestly_agent/__init__.py`). Python's default of 2,000 is low
for a process with 200,000 objects."""


async def bootstrap(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> Services:
    """Build the services of a handler that calls no model. Raises `InvalidSettings` before anything is opened."""
    aws = AWS()
    secrets = await _read_secrets(settings, aws, clock)
    return _services(secrets, httpx2.AsyncClient(), aws, clock, new_id)


async def bootstrap_models(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> ModelServices:
    """Build the services of a handler that calls models. Raises `InvalidSettings` before anything is opened."""
    # Imported late: the slowest import, which commands and handlers without models do not need.
    from qwestly_agent.llm.models import make_judges, make_models, with_tracing

    aws = AWS()
    secrets = await _read_secrets(settings, aws, clock)
    settings = secrets.settings
    http = make_http_client(settings)
    models, judges = make_models(settings, http, secrets.renew), make_judges(settings, http, secrets.renew)
    services = _services(secrets, http, aws, clock, new_id)
    return ModelServices(
        **vars(services),
        docs=Docs.of(services.mongo[settings.mongodb_database]),
        embeddings=make_embeddings(settings, http, measure_refusal, secrets.renew),
        moderation=make_moderation(settings, http, services.logger, secrets.renew),
        models=with_tracing(models, services.traces),
        judges=with_tracing(judges, services.traces),
    )


async def bootstrap_chat(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> "ChatServices":
    """Build the services of the chat, with its designs. Raises `InvalidSettings` before any client is created."""
    from qwestly_agent.agents.design import find_designs, make_designs, read_design_settings
    from qwestly_agent.chat.services import ChatServices, TurnRegistry

    found = find_designs(settings.agent_design, settings.agent_design_paths)
    own_settings = read_design_settings(found, settings.agent_design_settings)
    services = await bootstrap_models(settings, clock=clock, new_id=new_id)
    return ChatServices(
        **vars(services),
        designs=make_designs(services, found, own_settings),
        running=TurnRegistry(services.signals, services.conversations, clock, services.logger),
    )


async def bootstrap_resumes(
    settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id
) -> "ResumeServices":
    """Build the services of a handler that also reads résumés, with the design's parser. Raises `InvalidSettings`
    before any client is created."""
    from qwestly_agent.agents.design import build_resume_parser, find_designs, read_design_settings
    from qwestly_agent.resumes.reader import ResumeServices

    found = find_designs(settings.agent_design, settings.agent_design_paths)
    own_settings = read_design_settings(found, settings.agent_design_settings)
    services = await bootstrap_models(settings, clock=clock, new_id=new_id)
    parser = partial(build_resume_parser, settings.agent_design, found, own_settings, services.models)
    return ResumeServices(**vars(services), resume_parser=cache(parser))


async def _read_secrets(settings: Settings, aws: AWS, clock: Clock) -> Secrets:
    read = partial(settings.resolve, partial(look_up, aws=aws))
    return Secrets(read, await asyncio.to_thread(read), clock, make_logger(settings.log_level))


def _services(secrets: Secrets, http: httpx2.AsyncClient, aws: AWS, clock: Clock, new_id: NewId) -> Services:
    async def renewed_uri() -> str:
        return (await secrets.renew()).mongodb_uri

    async def renewed_secret() -> str:
        return (await secrets.renew()).signing_secret

    settings = secrets.settings
    if unknown := [tool for tool in settings.hours_by_tool if tool not in ACTIONS]:
        raise InvalidSettings(f"APPROVAL_HOURS names {', '.join(unknown)}. The tools are in docs/approvals.md.")
    gc.set_threshold(NEW_OBJECTS_BEFORE_COLLECTING, 10, 10)
    mongo = make_mongo_client(settings.mongodb_uri, settings.mongodb_connections)
    mongo.renew_uri = renewed_uri
    logger = make_logger(settings.log_level)
    database: AsyncDatabase[Document] = mongo[settings.mongodb_database]
    return Services(
        settings=settings,
        secrets=secrets,
        clock=clock,
        new_id=new_id,
        logger=logger,
        traces=Traces(http, secrets, logger) if settings.traces_url else None,
        mongo=mongo,
        http=http,
        **build_stores(database),
        knowledge=Knowledge.of(database),
        stage_day=StageDay(Usage(database), settings.stage_day_ceiling_usd),
        actions=ACTIONS,
        job_boards=make_job_boards(http, secrets),
        candidate_app=CandidateApp(
            http, settings.candidate_api_url, settings.signing_secret, clock, new_id, renewed_secret
        ),
        workflows=Workflows(aws.client, settings.task_token_key, settings.machine_arn_prefix),
        mail=Mail(aws.client, settings.mail_from, settings.mail_configuration_set),
        event_bus=EventBus(aws.client, settings.event_bus, settings.signing_secret, clock),
        erasure_log=ErasureLog(aws.client, settings.erasure_log, settings.erasure_keys, clock),
    )


def make_mongo_client(uri: str, most_connections: int = 5) -> RenewingMongoClient:
    return RenewingMongoClient(
        uri,
        appname="qwestly-agent",
        tz_aware=True,
        timeoutMS=DATABASE_ANSWERS_WITHIN_SECONDS * 1000,
        serverSelectionTimeoutMS=DATABASE_ANSWERS_WITHIN_SECONDS * 1000,
        minPoolSize=0,
        maxPoolSize=most_connections,
        # A connection may have been lost unnoticed while Lambda had frozen the process.
        maxIdleTimeMS=60_000,
        # By default, a cold pool opens only two connections at a time.
        maxConnecting=most_connections,
    )


def build_stores(database: AsyncDatabase[Document]) -> dict[str, Any]:
    """Build every store that `Services` declares, by field name."""
    kinds = {name: field.type for name, field in Services.__dataclass_fields__.items()}
    return {
        name: kind.of(database) for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Store)
    }


async def open_connections(mongo: AsyncMongoClient[Document]) -> None:
    """Open the connections that a turn needs at its start. Errors are ignored, because the turn itself will raise
    them."""
    pings = (mongo.admin.command("ping") for _ in range(int(mongo.options.pool_options.max_pool_size)))
    await asyncio.gather(*pings, return_exceptions=True)


def make_http_client(settings: Settings) -> httpx2.AsyncClient:
    from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpx2Client

    from qwestly_agent.llm.coalesce_deltas import CoalescingTransport

    transport = httpx2.AsyncHTTPTransport(limits=DEFAULT_CONNECTION_LIMITS)
    return DefaultAsyncHttpx2Client(
        transport=CoalescingTransport(transport, settings.join_window_ms / 1000),
        # An API has no reason to redirect, and a redirect could send user data anywhere.
        follow_redirects=False,
        # Compressed streams cannot be coalesced, or measured before they are decompressed.
        headers={"Accept-Encoding": "identity"},
    )


def make_embeddings(
    settings: Settings,
    http: httpx2.AsyncClient,
    note_refusal: Callable[[str, int], None] | None = None,
    renew: "Renew | None" = None,
) -> "Embeddings":
    from qwestly_agent.llm.client import PROVIDER_ADDRESSES, make_key_reader, make_openai_client
    from qwestly_agent.llm.embeddings import LONGEST_WAIT_SECONDS, Embeddings

    client = make_openai_client(
        api_key=settings.openai_api_key,
        base_url=settings.embeddings_base_url or PROVIDER_ADDRESSES["openai"],
        key_needed_for=None if settings.embeddings_base_url else "OPENAI_API_KEY",
        http=http,
        longest_wait_seconds=LONGEST_WAIT_SECONDS,
        renewed_key=renew and make_key_reader(renew, "openai"),
    )
    return Embeddings(client, note_refusal)


def make_moderation(
    settings: Settings, http: httpx2.AsyncClient, logger: Logger, renew: "Renew | None" = None
) -> "Moderation":
    from qwestly_agent.llm.client import PROVIDER_ADDRESSES, make_key_reader, make_openai_client
    from qwestly_agent.llm.moderation import Moderation

    is_theirs = bool(settings.openai_api_key) and not settings.embeddings_base_url
    address = settings.moderation_base_url or (PROVIDER_ADDRESSES["openai"] if is_theirs else "off")
    if address == "off":
        return Moderation(None, logger)
    client = make_openai_client(
        api_key=settings.openai_api_key,
        base_url=address,
        key_needed_for=None,
        http=http,
        renewed_key=renew and make_key_reader(renew, "openai"),
    )
    return Moderation(client, logger)


def look_up(references: Collection[str], aws: AWS | None = None) -> dict[str, str]:
    """Return the values of references (`ssm:/path`, `secret:name`). Raises `InvalidSettings` if one cannot be read, and
    `Unavailable` if the store throttles or cannot be reached."""
    return look_up_all(references, (aws or AWS()).client)
