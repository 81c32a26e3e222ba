"""A stage as `samconfig.toml` deploys it: its name, template.yaml with its parameters, and its settings."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from infra.local.environment import ACCOUNT, CHAT, FUNCTION, ROOT, Template
from infra.mongo.roles import OTHER_ROLES
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import look_up

SAMCONFIG = ROOT / "samconfig.toml"


def uri_variable(role: str) -> str:
    """Return the name for the MONGODB_URI of a role's functions, to distinguish it from that of all others."""
    return f"{role.upper()}_MONGODB_URI"


def stage_names(samconfig: Path = SAMCONFIG) -> list[str]:
    configured = tomllib.loads(samconfig.read_text(encoding="utf-8"))
    return [name for name, commands in configured.items() if isinstance(commands, dict) and "deploy" in commands]


class WrongUsage(Exception):
    """Has a sentence for the operator."""


@dataclass(frozen=True)
class Stage:
    stack: str
    template: Template
    overrides: Mapping[str, str]
    """The parameters that samconfig.toml sets, as SAM reads them."""

    @classmethod
    def load(cls, name: str, samconfig: Path = SAMCONFIG) -> Self:
        """Load a stage. Raises `WrongUsage`."""
        configured = tomllib.loads(samconfig.read_text(encoding="utf-8"))
        if name not in (stages := stage_names(samconfig)):
            raise WrongUsage(f"{samconfig.name} has no stage {name!r}; there are {', '.join(stages)}.")
        given = configured[name]["deploy"]["parameters"]
        pairs = (each.split("=", 1) for each in given.get("parameter_overrides", []))
        overrides = {parameter: _as_sam_reads(value) for parameter, value in pairs}
        template = Template.load()
        parameters = {**template.parameters, **overrides, "AWS::StackName": given["stack_name"]}
        return cls(given["stack_name"], replace(template, parameters=parameters), overrides)

    def parameter(self, name: str) -> str:
        return str(self.template.parameters[name])

    @property
    def environment(self) -> dict[str, str]:
        """The variables of all functions together (the chat's if they differ) and of the other database users. Without
        ARNs, because only AWS knows the account."""
        functions = [*(each for each in self.template.of_type(FUNCTION) if each != CHAT), CHAT]
        environments = [self.template.environment(each) for each in functions]
        variables = {name: value for each in environments for name, value in each.items()}
        uris = {each["MONGODB_URI"].rpartition("/")[2]: each["MONGODB_URI"] for each in environments}
        shared = variables["MONGODB_URI"]  # one address if functions sign in to the database by role
        variables["MONGODB_URI"] = uris.get("mongodb-uri", shared)
        variables |= {uri_variable(role): uris.get(f"mongodb-{role}-uri", shared) for role in OTHER_ROLES}
        return {name: value for name, value in variables.items() if ACCOUNT not in value}


def _as_sam_reads(value: str) -> str:
    """Remove quotes, or cut an unquoted value at its first space, as SAM does."""
    return value[1:-1] if value[:1] == value[-1:] == '"' else value.partition(" ")[0]


def parse_moment(text: str) -> datetime:
    """Parse a time in ISO 8601, in UTC if it names no zone. Raises `WrongUsage`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsage(f"“{text}” is no time in ISO 8601") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def database_settings(environment: Mapping[str, str], *others: str) -> Settings:
    """Resolve the settings of the database and these others. Others may refer to secrets that do not exist yet.

    Raises `InvalidSettings`.
    """
    names = ("MONGODB_URI", "MONGODB_DATABASE", *others)
    return Settings.from_env({name: environment.get(name, "") for name in names}).resolve(look_up)
