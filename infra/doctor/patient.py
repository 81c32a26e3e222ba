"""Who is examined: the settings of a deployed stage, or of this environment, and what is behind their references."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from infra.doctor.findings import call, kind_of
from infra.local.environment import FUNCTION
from infra.stages import Stage
from qwestly_agent.base.clock import Clock, system_clock
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import Settings, is_reference

HERE = "this environment"


class NotThere(Exception):
    """With a sentence for whoever asked."""


@dataclass(frozen=True)
class Patient:
    aws: Callable[[str], Any]
    """A client of boto3 by its service's name."""
    environments: Mapping[str, Mapping[str, str]] = field(repr=False)
    """The variables of each function, by its name."""
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What is behind each reference that could be read."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why another one could not be read, by the reference."""
    live: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """The configuration of each function's version behind the alias, which is the one that is called."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why a function's could not be read, by its name."""
    stage: Stage | None = None
    admin_uri: str = field(default="", repr=False)
    """Of a database user that may list indexes; empty where there is none but the functions' own."""
    clock: Clock = system_clock

    @classmethod
    async def of_environment(cls, environment: Mapping[str, str], **more: Any) -> Self:
        return await cls._resolved({HERE: environment}, **more)

    @classmethod
    async def of_stage(cls, stage: Stage, aws: Callable[[str], Any], **more: Any) -> Self:
        """Raises `NotThere` where there is nothing of it."""
        names = [stage.template.name(function) for function in stage.template.of_type(FUNCTION)]
        found = dict(zip(names, await asyncio.gather(*(_live(aws, name) for name in names)), strict=True))
        live = {name: each for name, each in found.items() if not isinstance(each, str)}
        missing = {name: each for name, each in found.items() if isinstance(each, str)}
        if not live:
            raise NotThere(f"Nothing of {stage.stack} is to be seen: {', '.join(sorted({*missing.values()}))}.")
        variables = {name: each.get("Environment", {}).get("Variables", {}) for name, each in live.items()}
        return await cls._resolved(variables, aws=aws, stage=stage, live=live, missing=missing, **more)

    @classmethod
    async def _resolved(
        cls, environments: Mapping[str, Mapping[str, str]], *, look_up: Callable[[str], str], **more: Any
    ) -> Self:
        references = {value for each in environments.values() for value in each.values() if is_reference(value)}
        values: dict[str, str] = {}
        unread: dict[str, str] = {}
        for reference in sorted(references):
            try:
                values[reference] = (await asyncio.to_thread(look_up, reference)).strip()
            except Exception as error:
                unread[reference] = str(error) if isinstance(error, InvalidSettings) else kind_of(error)
        return cls(environments=environments, values=values, unread=unread, **more)

    @cached_property
    def variables(self) -> dict[str, str]:
        """Of all functions together, with values in place of references; without those that could not be read."""
        all_of_them = {name: value for each in self.environments.values() for name, value in each.items()}
        return {name: self.values.get(value, value) for name, value in all_of_them.items() if value not in self.unread}

    @property
    def settings(self) -> Settings:
        """Raises `InvalidSettings`."""
        return Settings.from_env(self.variables)


async def _live(aws: Callable[[str], Any], function: str) -> Mapping[str, Any] | str:
    """Or why it could not be read."""
    try:
        return await call(aws("lambda"), "get_function_configuration", FunctionName=function, Qualifier="live")
    except Exception as error:
        return kind_of(error)
