"""The target of the checks: the settings of a stage or of this environment, with references resolved."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from infra.stages import Stage
from qwestly_agent.base.clock import Clock, system_clock
from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.base.settings import Settings, is_reference, unused_keys
from qwestly_agent.bootstrap import look_up


@dataclass(frozen=True)
class Target:
    aws: Callable[[str], Any]
    """Returns the client of a service."""
    variables: Mapping[str, str] = field(repr=False)
    """With references resolved; those that could not be read are left out."""
    unread: list[str]
    """A sentence for each reference that could not be read."""
    stage: Stage | None = None
    clock: Clock = system_clock
    admin_uri: str = field(default="", repr=False)
    """MONGODB_URI of a user that may list indexes; empty if only the functions' own user is known."""

    @classmethod
    async def read(cls, environment: Mapping[str, str], aws: Callable[[str], Any], **more: Any) -> Self:
        variables, unread = dict(environment), []
        for name in unused_keys({each.lower(): value for each, value in variables.items()}):
            variables.pop(name.upper(), None)
        for name, value in list(variables.items()):
            if is_reference(value):
                try:
                    variables[name] = (await asyncio.to_thread(look_up, [value]))[value].strip()
                except (InvalidSettings, Unavailable) as error:
                    del variables[name]
                    is_away = isinstance(error, Unavailable)
                    unread.append(f"{value}: Parameter Store does not answer" if is_away else str(error))
        return cls(aws, variables, unread, **more)

    @property
    def settings(self) -> Settings:
        """The settings. Raises `InvalidSettings`."""
        return Settings.from_env(self.variables)
