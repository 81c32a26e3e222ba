"""Secrets are read again after one is rejected, and not more often."""

import asyncio
import threading
from dataclasses import replace

import pytest

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.observability import make_logger
from qwestly_agent.base.settings import READ_AGAIN_AFTER_SECONDS, Secrets, Settings
from tests.servers import FakeClock, settings_for

pytestmark = pytest.mark.anyio


class Store:
    """The current secret, which may be unreachable."""

    def __init__(self) -> None:
        self.settings = settings_for("", "", deepseek_api_key="key 1")
        self.failure: Exception | None = None
        self.readings = 0
        self.open = threading.Event()
        self.open.set()

    def read(self) -> Settings:
        self.readings += 1
        assert self.open.wait(5)
        if self.failure:
            raise self.failure
        return self.settings

    def rotate(self, key: str) -> None:
        self.settings = replace(self.settings, deepseek_api_key=key)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def secrets(store: Store, clock: FakeClock) -> Secrets:
    return Secrets(store.read, store.settings, clock, make_logger("CRITICAL"))


async def test_a_rotated_secret_is_read_as_soon_as_the_old_one_is_rejected(secrets: Secrets, store: Store) -> None:
    store.rotate("key 2")
    assert secrets.settings.deepseek_api_key == "key 1"
    assert (await secrets.renew()).deepseek_api_key == "key 2"
    assert secrets.settings.deepseek_api_key == "key 2"


async def test_a_secret_is_reread_at_most_once_a_minute(secrets: Secrets, store: Store, clock: FakeClock) -> None:
    for _ in range(3):
        await secrets.renew()
    assert store.readings == 1
    clock.advance(READ_AGAIN_AFTER_SECONDS)
    store.rotate("key 2")
    assert (await secrets.renew()).deepseek_api_key == "key 2"
    assert (await secrets.renew(at_once=True)) == store.settings
    assert store.readings == 3


async def test_concurrent_callers_share_a_read_that_outlives_the_first_caller(secrets: Secrets, store: Store) -> None:
    store.rotate("key 2")
    store.open.clear()
    first, *others = [asyncio.create_task(secrets.renew()) for _ in range(5)]
    await asyncio.sleep(0)
    first.cancel()
    store.open.set()
    assert {each.deepseek_api_key for each in await asyncio.gather(*others)} == {"key 2"}
    assert store.readings == 1


async def test_values_are_kept_while_rereading_fails(secrets: Secrets, store: Store, clock: FakeClock) -> None:
    store.failure = InvalidSettings("/stage/key cannot be read: AccessDeniedException.")
    assert (await secrets.renew()).deepseek_api_key == "key 1"
    assert not secrets.is_readable
    store.failure = None
    clock.advance(READ_AGAIN_AFTER_SECONDS)
    await secrets.renew()
    assert secrets.is_readable
