"""A stage as `samconfig.toml` deploys it: what it is called, and template.yaml with its parameters."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from infra.local.environment import ROOT, Template

SAMCONFIG = ROOT / "samconfig.toml"


class NoSuchStage(Exception):
    """With a sentence for whoever typed its name."""


@dataclass(frozen=True)
class Stage:
    stack: str
    template: Template

    @classmethod
    def load(cls, name: str, samconfig: Path = SAMCONFIG) -> Self:
        """Raises `NoSuchStage`."""
        configured = tomllib.loads(samconfig.read_text(encoding="utf-8"))
        stages = [each for each, commands in configured.items() if isinstance(commands, dict) and "deploy" in commands]
        if name not in stages:
            raise NoSuchStage(f"{samconfig.name} has no stage {name!r}; there are {', '.join(stages)}.")
        given = configured[name]["deploy"]["parameters"]
        pairs = (each.split("=", 1) for each in given.get("parameter_overrides", []))
        # SAM takes quotes off, and without them cuts a value at its first space.
        overrides = {parameter: value.strip('"') for parameter, value in pairs}
        template = Template.load()
        names = {"AWS::StackName": given["stack_name"]}
        return cls(given["stack_name"], replace(template, parameters={**template.parameters, **overrides, **names}))

    def parameter(self, name: str) -> str:
        return str(self.template.parameters[name])
