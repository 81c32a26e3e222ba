"""MongoDB stores that take and return domain objects. Every method takes a user id, except those on data that belongs
to no user and those marked `across_users`."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from qwestly_agent.platform.collection import MongoCollection


@cache
def collections() -> tuple[MongoCollection, ...]:
    """Return all collections declared in this package, sorted by name."""
    modules = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, MongoCollection)}
    return tuple(sorted(found))
