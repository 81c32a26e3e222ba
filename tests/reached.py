"""What a function asks `Services` for, itself and through every function and class that it names."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any

Named = Callable[..., Any]

_PACKAGE = "qwestly_agent."
_HOLD_NO_SERVICES = tuple(f"{_PACKAGE}{each}" for each in ("base", "domain", "services", "stores"))


def asked_of_services(function: Named) -> Mapping[str, str]:
    """Names in `Services`, each with one of the functions that ask for it."""
    todo, seen, asked = [inspect.unwrap(function)], set[Named](), dict[str, str]()
    while todo:
        if (each := todo.pop()) not in seen:
            seen.add(each)
            names, named = _read(each)
            asked |= dict.fromkeys(names, f"{each.__module__}.{each.__qualname__}")
            todo += named
    return asked


@cache
def _read(function: Named) -> tuple[frozenset[str], tuple[Named, ...]]:
    scope = vars(sys.modules[function.__module__])
    names, named = set[str](), list[Any]()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        match node:
            case ast.Attribute(ast.Name("services" | "_services") | ast.Attribute(_, "services" | "_services"), name):
                names.add(name)
            case ast.Attribute(ast.Name(module), name) if isinstance(scope.get(module), ModuleType):
                named.append(getattr(scope[module], name, None))
            case ast.Name(name):
                named.append(scope.get(name))
            case _:
                pass
    return frozenset(names), tuple(each for each in named if _may_hold_services(each))


def _may_hold_services(value: Any) -> bool:
    is_code = inspect.isfunction(value) or inspect.isclass(value)
    return is_code and value.__module__.startswith(_PACKAGE) and not value.__module__.startswith(_HOLD_NO_SERVICES)
