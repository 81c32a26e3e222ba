"""Compare a stage's parameters with what template.yaml asks of them, as CloudFormation would, before anything is built.

python -m infra.parameters dev
"""

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from infra.stages import Stage, WrongUsage

PLACEHOLDER = re.compile(r"<[^<>@]+>")
"""A placeholder in samconfig.toml for a value that only its owner knows. The address in `Name <a@b>` is not one."""


def problems(stage: Stage) -> Iterator[str]:
    """Yield a sentence for each reason why the stage cannot be deployed."""
    yield from (
        f"{name} is no parameter of template.yaml." for name in stage.overrides if name not in stage.template.declared
    )
    for name, declared in stage.template.declared.items():
        if name not in stage.overrides and "Default" not in declared:
            yield f"{name} is missing: it has no default."
            continue
        value = stage.parameter(name)
        if PLACEHOLDER.fullmatch(value):
            yield f"{name} is still {value}: {declared['Description']}"
        else:
            yield from (f"{name} is {value!r}, but {why}." for why in _violations(declared, value))
    yield from _broken_rules(stage)


def _broken_rules(stage: Stage) -> Iterator[str]:
    for name, rule in stage.template.rules.items():
        if stage.template.holds(rule["RuleCondition"]) if "RuleCondition" in rule else True:
            for each in rule["Assertions"]:
                if not stage.template.holds(each["Assert"]):
                    yield f"{each['AssertDescription']} ({name})"


def _violations(declared: Mapping[str, Any], value: str) -> Iterator[str]:
    is_number, is_list = declared["Type"] == "Number", declared["Type"] == "CommaDelimitedList"
    if is_number and not _is_number(value):
        yield "must be a number"
        return
    allowed = [str(each) for each in declared.get("AllowedValues", [])]
    if allowed and not set(value.split(",") if is_list else [value]) <= set(allowed):
        yield f"must be one of {', '.join(each or 'nothing' for each in allowed)}"
    if not re.fullmatch(pattern := declared.get("AllowedPattern", "(?s).*"), value):
        yield f"must match {pattern}"
    for limit, size in (("Value", float(value) if is_number else 0.0), ("Length", len(value))):
        if size < float(declared.get(f"Min{limit}", size)):
            yield f"its {limit.lower()} must be {declared[f'Min{limit}']} or more"
        if size > float(declared.get(f"Max{limit}", size)):
            yield f"its {limit.lower()} must be {declared[f'Max{limit}']} or less"


def _is_number(value: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", value) is not None


def main() -> int:
    [name] = sys.argv[1:]
    try:
        found = list(problems(Stage.load(name)))
    except WrongUsage as error:
        found = [str(error)]
    if found:
        print(f"The stage {name} cannot be deployed; see samconfig.toml.", *found, sep="\n  ", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
