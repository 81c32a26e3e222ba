"""The parts of `Services` that a function uses, directly or through the functions and classes that it names."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

from qwestly_agent.platform.collection import MongoCollection

Named = Callable[..., Any]

_PACKAGE = "qwestly_agent."
_HOLD_NO_SERVICES = tuple(f"{_PACKAGE}{each}" for each in ("base", "domain", "platform", "services", "stores"))
_OF_STORES = tuple(f"{_PACKAGE}{each}" for each in ("platform.", "stores."))


def asked_of_services(function: Named) -> Mapping[str, str]:
    """Names in `Services`, each with one of the functions that use it."""
    return {
        name: f"{each.__module__}.{each.__qualname__}"
        for each in functions_reached(function)
        for name in _read(each)[0]
    }


def functions_reached(function: Named) -> frozenset[Named]:
    """The function itself, and each of our functions and classes that it names, directly or indirectly."""
    todo, seen = [inspect.unwrap(function)], set[Named]()
    while todo:
        if (each := todo.pop()) not in seen:
            seen.add(each)
            todo += _read(each)[1]
    return frozenset(seen)


@cache
def _read(function: Named) -> tuple[frozenset[str], tuple[Named, ...]]:
    names = set[str]()
    for node in ast.walk(_tree(function)):
        match node:
            case ast.Attribute(ast.Name("services" | "_services") | ast.Attribute(_, "services" | "_services"), name):
                names.add(name)
            case _:
                pass
    return frozenset(names), tuple(each for each in _values_named(function) if _may_hold_services(each))


@cache
def _values_named(function: Named) -> tuple[Any, ...]:
    """Values of the names in a function or a class that its module defines or imports."""
    scope, named = vars(sys.modules[function.__module__]), list[Any]()
    for node in ast.walk(_tree(function)):
        match node:
            case ast.Attribute(ast.Name(module), name) if isinstance(scope.get(module), ModuleType):
                named.append(getattr(scope[module], name, None))
            case ast.Name(name):
                named.append(scope.get(name))
            case _:
                pass
    return tuple(named)


@cache
def _tree(function: Named) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _is_code(value: Any) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value)


def _may_hold_services(value: Any) -> bool:
    return (
        _is_code(value) and value.__module__.startswith(_PACKAGE) and not value.__module__.startswith(_HOLD_NO_SERVICES)
    )


def collections_of(store: type[Any]) -> frozenset[str]:
    """Collections that a store names, directly or through functions and classes of the stores that it names."""
    todo, seen, found = [store], set[Named](), set[str]()
    while todo:
        if (each := todo.pop()) not in seen:
            seen.add(each)
            for value in _values_named(each):
                if isinstance(value, MongoCollection):
                    found.add(value)
                elif _is_code(value) and value.__module__.startswith(_OF_STORES):
                    todo.append(value)
    return frozenset(found)
