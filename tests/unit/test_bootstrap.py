"""The only composition root rejects invalid settings before it opens anything."""

import gc
import socket
from importlib import import_module

import pytest

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.bootstrap import bootstrap, bootstrap_chat, make_mongo_client
from tests.servers import settings_for


@pytest.fixture
def nothing_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr("qwestly_agent.bootstrap.make_mongo_client", refuse)


@pytest.mark.anyio
@pytest.mark.usefixtures("nothing_opens")
@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"qwestly_agent_shared_secret": "short"}, "QWESTLY_AGENT_SHARED_SECRET"),
        ({"agent_design": "no-such-design"}, "no-such-design.*default"),
        ({"model_base_url": ""}, "DEEPSEEK_API_KEY"),
        ({"model_fast": "unheard-of:model"}, "unheard-of:model"),
        ({"approval_hours": "apply=3,nobody=3"}, "APPROVAL_HOURS names nobody"),
    ],
    ids=["a short secret", "an unknown design", "no key", "an unknown provider", "an unknown tool"],
)
async def test_invalid_settings_are_named_before_anything_is_opened(changes: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidSettings, match=named):
        await bootstrap_chat(settings_for("mongodb://127.0.0.1:1", "http://127.0.0.1:1/v1", **changes))


@pytest.mark.anyio
async def test_a_missing_embeddings_key_is_named() -> None:
    with pytest.raises(InvalidSettings, match="OPENAI_API_KEY"):
        await bootstrap_chat(settings_for("mongodb://127.0.0.1:1", "http://127.0.0.1:1/v1", embeddings_base_url=""))


@pytest.mark.anyio
async def test_garbage_collection_is_enabled_again_after_the_imports() -> None:
    gc.set_threshold(400_000)
    services = await bootstrap(settings_for("mongodb://127.0.0.1:1", "http://127.0.0.1:1/v1"))
    await services.close()
    assert gc.get_threshold()[0] == 50_000


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({"openai_api_key": "sk-1", "embeddings_base_url": ""}, "https://api.openai.com/v1/"),
        ({"openai_api_key": "sk-1", "embeddings_base_url": "", "moderation_base_url": "off"}, None),
        ({"openai_api_key": "sk-1", "embeddings_base_url": "https://elsewhere.example/v1"}, None),
        ({"openai_api_key": ""}, None),
        ({"moderation_base_url": "https://elsewhere.example/v1"}, "https://elsewhere.example/v1/"),
    ],
)
async def test_moderation_needs_openais_own_key_or_a_configured_address(
    changes: dict[str, str], address: str | None
) -> None:
    services = await bootstrap_chat(settings_for("mongodb://127.0.0.1:1", "http://127.0.0.1:1/v1", **changes))
    client = services.moderation.client
    assert (str(client.base_url) if client else None) == address
    await services.close()


def test_functions_can_sign_in_to_the_database_by_role() -> None:
    client = make_mongo_client("mongodb://atlas.example/?authMechanism=MONGODB-AWS&authSource=%24external")
    credentials = client.options.pool_options._credentials  # type: ignore[attr-defined]
    assert credentials
    assert (credentials.mechanism, credentials.source, credentials.password) == ("MONGODB-AWS", "$external", None)
    assert import_module("pymongo_auth_aws"), "what the driver signs by is in the layer"
