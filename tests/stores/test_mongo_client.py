"""Private methods are not guaranteed to stay: another version of pymongo is reviewed before it is installed."""

from importlib.metadata import version

from pymongo import AsyncMongoClient
from pymongo.pool_options import PoolOptions

from qwestly_agent.stores.mongo_client import RenewingMongoClient


def test_the_version_is_the_one_whose_private_methods_were_reviewed() -> None:
    assert version("pymongo").startswith("4.20.")


def test_the_overridden_driver_methods_exist() -> None:
    assert vars(RenewingMongoClient).keys() & vars(AsyncMongoClient).keys() >= {"_retry_internal"}
    assert "__credentials" in PoolOptions.__slots__
