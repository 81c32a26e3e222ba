"""The stage `eu` of samconfig.toml, started as it is deployed, sends no request outside its region."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.httpsession import URLLib3Session

from infra.doctor.models import words
from infra.local.environment import FUNCTION
from infra.local.model_server import ModelServer
from infra.stages import Stage
from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_chat
from tests.infra.test_parameters import filled_in
from tests.servers import API_SECRET, SECRET, ChatServer, Client

MODELS = "eu.api.openai.com"
CANDIDATE_APP = "app.qwestly.example"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return filled_in("eu", tmp_path)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model server that knows the names of the stage's models."""
    with ModelServer(more_models=["gpt-4.1-mini", "gpt-4.1"]) as server:
        yield server


@pytest.fixture
def asked(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the hosts of all requests; requests to models reach the model server."""
    asked, send = set[str](), httpx2.AsyncHTTPTransport.handle_async_request

    async def sent(self: Any, request: httpx2.Request) -> httpx2.Response:
        asked.add(request.url.host)
        assert request.url.host in {MODELS, CANDIDATE_APP}, f"a request to {request.url.host}"
        request.url = request.url.copy_with(scheme="http", host="127.0.0.1", port=model.port)
        return await send(self, request)

    def sent_to_aws(_: Any, request: Any) -> Any:
        asked.add(urlsplit(request.url).hostname or "")
        raise EndpointConnectionError(endpoint_url=request.url)

    monkeypatch.setattr(httpx2.AsyncHTTPTransport, "handle_async_request", sent)
    monkeypatch.setattr(URLLib3Session, "send", sent_to_aws)
    for name in ("AWS_ENDPOINT_URL", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nobody")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    return asked


def settings_of(stage: Stage, function: str, mongodb_uri: str) -> Settings:
    """Return the settings as the function resolves them, without DeepSeek's key."""
    secrets = {
        "mongodb-uri": mongodb_uri,
        "mongodb-chat-uri": mongodb_uri,
        "shared-secret": SECRET,
        "candidate-api-secret": API_SECRET,
        "erasure-key": "e" * 64,
        "openai-api-key": "sk-eu",
    }
    path = stage.parameter("ConfigurationPath")
    values = {f"ssm:{path}/{name}": value for name, value in secrets.items()}
    settings = Settings.from_env(stage.template.environment(function))
    return settings.resolve(lambda references: {each: values[each] for each in references})


def test_a_single_region_stage_sends_no_request_outside_its_region(
    stage: Stage, asked: set[str], mongodb_uri: str
) -> None:
    settings = settings_of(stage, "ChatFunction", mongodb_uri)
    with ChatServer(settings) as chat, Client(chat.url, "auth0|one-region") as client:
        assert client.say("What have I done so far?").last.name == "done"
    assert asked == {MODELS}

    async def ask() -> None:
        """Make all requests of turns: each tier, each judge, an embedding, moderation, and AWS."""
        services = await bootstrap_chat(settings)
        for each in (*services.models.values(), *services.judges.values()):
            await words(each.model)
            assert each.fallback is None
        await services.embeddings.request(["a memory"])
        assert services.moderation.client
        await services.moderation.client.moderations.create(model="omni-moderation-latest", input="ok")
        with pytest.raises(Unavailable):
            await services.workflows.start("generate_card", "card-1", {})
        with pytest.raises(Unavailable):
            await services.mail.send("maya@example.com", "A question", "A question", "<p>A question</p>")
        await services.close()
        acting = await bootstrap(settings_of(stage, "ActFunction", mongodb_uri))
        await acting.candidate_app.outcome_of("auth0|one-region", "doctor", "key")
        await acting.close()

    asyncio.run(ask())
    aws = {host for host in asked if host.endswith(".amazonaws.com")}
    assert asked - aws == {MODELS, CANDIDATE_APP}
    assert aws
    assert all(".eu-west-1." in host for host in aws), aws
    assert (settings.job_boards, settings.traces_url, settings.event_bus) == ("none", "", "")


def test_the_workflow_readers_use_the_same_models(stage: Stage) -> None:
    chat = stage.template.environment("ChatFunction")
    names = ("MODEL_FAST", "MODEL_PRO", "MODEL_BASE_URL", "EMBEDDINGS_BASE_URL", "MODEL_FALLBACK", "MODEL_JUDGE")
    every = map(stage.template.environment, stage.template.of_type(FUNCTION))
    asking = [each for each in every if "OPENAI_API_KEY" in each]
    assert len(asking) == 5
    for environment in asking:
        assert {name: environment[name] for name in names} == {name: chat[name] for name in names}
