"""The composition root: the only place that builds clients and stores. Its parameters are what tests replace."""

import asyncio
import threading
from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import httpx2
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase

from qwestly_agent.base.clock import Clock, system_clock
from qwestly_agent.base.ids import NewId, new_id
from qwestly_agent.base.observability import make_logger, measure_refusal
from qwestly_agent.base.settings import Settings
from qwestly_agent.clients.candidate_app import CandidateApp
from qwestly_agent.clients.mail import Mail
from qwestly_agent.clients.references import look_up_all
from qwestly_agent.clients.workflows import Workflows
from qwestly_agent.services import ModelServices, Services
from qwestly_agent.stores.activity import Activity
from qwestly_agent.stores.approvals import Approvals
from qwestly_agent.stores.autonomy import Autonomy
from qwestly_agent.stores.briefing_plans import BriefingPlans
from qwestly_agent.stores.briefings import Briefings
from qwestly_agent.stores.conversation_search import ConversationSearch
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.docs import Docs
from qwestly_agent.stores.drafts import Drafts
from qwestly_agent.stores.due import Sweeps
from qwestly_agent.stores.extractions import Extractions
from qwestly_agent.stores.journal import Journal
from qwestly_agent.stores.knowledge import Knowledge
from qwestly_agent.stores.memories import Memories
from qwestly_agent.stores.merges import Merges
from qwestly_agent.stores.messages import Messages
from qwestly_agent.stores.profiles import Profiles
from qwestly_agent.stores.runs import Runs
from qwestly_agent.stores.search import Document
from qwestly_agent.stores.signals import Signals
from qwestly_agent.stores.tombstones import Tombstones
from qwestly_agent.stores.tool_calls import ToolCalls
from qwestly_agent.stores.unchecked import Unchecked
from qwestly_agent.stores.usage import Usage
from qwestly_agent.stores.user_data import UserData
from qwestly_agent.stores.user_settings import UserSettingsStore
from qwestly_agent.stores.watermarks import Watermarks

if TYPE_CHECKING:
    from qwestly_agent.chat.services import ChatServices
    from qwestly_agent.llm.embeddings import Embeddings

DATABASE_ANSWERS_WITHIN_SECONDS = 3
"""Short, so that the user gets an error within five seconds when the database is gone, instead of the driver's
retries."""


FIRST_COMMANDS = 11
"""Parallel commands with which a turn begins."""

AWS_ATTEMPTS, AWS_CONNECT_SECONDS, AWS_ANSWERS_WITHIN_SECONDS = 2, 2, 5


async def bootstrap(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> Services:
    """Raises `InvalidSettings` before anything is opened."""
    aws = AWS()
    settings = await asyncio.to_thread(settings.resolve, partial(look_up, aws=aws))
    return _services(settings, httpx2.AsyncClient(), aws, clock, new_id)


async def bootstrap_models(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> ModelServices:
    """Raises `InvalidSettings` before anything is opened."""
    # Lazy: the slowest import, which commands and handlers without models do not need.
    from qwestly_agent.llm.models import make_judges, make_models

    aws = AWS()
    settings = await asyncio.to_thread(settings.resolve, partial(look_up, aws=aws))
    http = make_http_client(settings)
    models, judges = make_models(settings, http), make_judges(settings, http)
    services = _services(settings, http, aws, clock, new_id)
    return ModelServices(
        **vars(services),
        docs=Docs.of(services.mongo[settings.mongodb_database]),
        embeddings=make_embeddings(settings, http, measure_refusal),
        models=models,
        judges=judges,
    )


async def bootstrap_chat(settings: Settings, *, clock: Clock = system_clock, new_id: NewId = new_id) -> "ChatServices":
    """Raises `InvalidSettings` before anything is opened."""
    from qwestly_agent.agents.registry import build_designs, find_designs, read_design_settings
    from qwestly_agent.chat.services import ChatServices
    from qwestly_agent.chat.turn_registry import TurnRegistry

    found = find_designs(settings.agent_design, settings.agent_design_paths)
    own_settings = read_design_settings(found, settings.agent_design_settings)
    services = await bootstrap_models(settings, clock=clock, new_id=new_id)
    return ChatServices(
        **vars(services),
        designs=build_designs(settings.agent_design, found, own_settings, services.models),
        running=TurnRegistry(services.signals, services.conversations, clock, services.logger),
    )


def _services(settings: Settings, http: httpx2.AsyncClient, aws: "AWS", clock: Clock, new_id: NewId) -> Services:
    mongo = make_mongo_client(settings.mongodb_uri)
    database: AsyncDatabase[Document] = mongo[settings.mongodb_database]
    return Services(
        settings=settings,
        clock=clock,
        new_id=new_id,
        logger=make_logger(settings.log_level),
        mongo=mongo,
        http=http,
        conversations=Conversations(database),
        conversation_search=ConversationSearch(database),
        messages=Messages(database),
        watermarks=Watermarks(database),
        signals=Signals(database),
        runs=Runs(database),
        autonomy=Autonomy(database),
        user_settings=UserSettingsStore(database),
        profiles=Profiles(database),
        memories=Memories.of(database),
        unchecked=Unchecked(database),
        tombstones=Tombstones(database),
        merges=Merges(database),
        journal=Journal(database),
        knowledge=Knowledge.of(database),
        approvals=Approvals(database),
        drafts=Drafts(database),
        extractions=Extractions(database),
        tool_calls=ToolCalls(database),
        usage=Usage(database),
        activity=Activity(database),
        briefings=Briefings(database),
        briefing_plans=BriefingPlans(database),
        user_data=UserData(database),
        sweeps=Sweeps(database),
        candidate_app=CandidateApp(
            http, settings.candidate_api_url, settings.qwestly_candidate_api_secret, clock, new_id
        ),
        workflows=Workflows(aws.client, settings.task_token_key),
        mail=Mail(aws.client, settings.mail_from),
    )


class AWS:
    """AWS clients, each created on first use: botocore is slow to import. Creating one is not thread-safe, hence the
    lock.

    Made by botocore, without boto3, whose other imports (for S3) take a third of the time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    @cached_property
    def _session(self) -> Any:
        from botocore.session import get_session

        return get_session()

    def client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                from botocore.config import Config

                config = Config(
                    connect_timeout=AWS_CONNECT_SECONDS,
                    read_timeout=AWS_ANSWERS_WITHIN_SECONDS,
                    retries={"total_max_attempts": AWS_ATTEMPTS, "mode": "standard"},
                )
                self._clients[service] = self._session.create_client(service, config=config)
            return self._clients[service]


def make_mongo_client(uri: str) -> AsyncMongoClient[Document]:
    return AsyncMongoClient(
        uri,
        appname="qwestly-agent",
        tz_aware=True,
        timeoutMS=DATABASE_ANSWERS_WITHIN_SECONDS * 1000,
        serverSelectionTimeoutMS=DATABASE_ANSWERS_WITHIN_SECONDS * 1000,
        # Of each member of the replica set and each Lambda environment; Atlas limits their sum.
        minPoolSize=0,
        maxPoolSize=20,
        # While Lambda had frozen the process, a connection may have been lost without a word.
        maxIdleTimeMS=60_000,
        # By default a cold pool opens two connections at a time.
        maxConnecting=FIRST_COMMANDS,
    )


async def open_connections(mongo: AsyncMongoClient[Document]) -> None:
    """Open the connections that a turn begins with; a database that does not answer is left to the turn."""
    await asyncio.gather(*(mongo.admin.command("ping") for _ in range(FIRST_COMMANDS)), return_exceptions=True)


def make_http_client(settings: Settings) -> httpx2.AsyncClient:
    from openai import DEFAULT_CONNECTION_LIMITS, DefaultAsyncHttpx2Client

    from qwestly_agent.llm.coalesce_deltas import CoalescingTransport

    transport = httpx2.AsyncHTTPTransport(limits=DEFAULT_CONNECTION_LIMITS)
    return DefaultAsyncHttpx2Client(
        transport=CoalescingTransport(transport, settings.join_window_ms / 1000),
        # An API has no reason to redirect, and user data would go wherever the redirect points.
        follow_redirects=False,
        # Compressed streams cannot be coalesced or measured before they are decompressed.
        headers={"Accept-Encoding": "identity"},
    )


def make_embeddings(
    settings: Settings, http: httpx2.AsyncClient, note_refusal: Callable[[str, int], None] | None = None
) -> "Embeddings":
    from qwestly_agent.llm.client import PROVIDER_ADDRESSES, make_openai_client
    from qwestly_agent.llm.embeddings import LONGEST_WAIT_SECONDS, Embeddings

    client = make_openai_client(
        api_key=settings.openai_api_key,
        base_url=settings.embeddings_base_url or PROVIDER_ADDRESSES["openai"],
        key_needed_for=None if settings.embeddings_base_url else "OPENAI_API_KEY",
        http=http,
        longest_wait_seconds=LONGEST_WAIT_SECONDS,
    )
    return Embeddings(client, note_refusal)


def look_up(references: Collection[str], aws: AWS | None = None) -> dict[str, str]:
    """The values of references (`ssm:/path`, `secret:name`). Raises `InvalidSettings` if one cannot be read."""
    return look_up_all(references, (aws or AWS()).client)
