"""State machines as CloudFormation reads them: with the aliases of `statemachines/common.yaml` resolved.

python infra/machines.py

writes each to `.aws-sam/statemachines`, where template.yaml takes it from.
"""

import json
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
SOURCES, BUILT = "statemachines", ".aws-sam/statemachines"
SUFFIX = ".asl.yaml"
_COMMON = "common.yaml"
SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def source_of(definition_uri: str) -> str:
    """Return the path of the YAML that a `DefinitionUri` is built from."""
    return f"{SOURCES}/{Path(definition_uri).name.partition('.')[0]}{SUFFIX}"


def read_machine(path: Path) -> dict[str, Any]:
    """Return the definition with its aliases resolved and its workflow's name, before any other substitution."""
    common = path.with_name(_COMMON)
    shared = common.read_text(encoding="utf-8") if common.exists() else ""
    written = (shared + path.read_text(encoding="utf-8")).replace("${Workflow}", path.name.removesuffix(SUFFIX))
    definition = yaml.load(written, SAFE_LOADER)  # noqa: S506
    definition.pop("Common", None)
    return definition


def build(root: Path = ROOT) -> None:
    target = root / BUILT
    target.mkdir(parents=True, exist_ok=True)
    for path in (root / SOURCES).glob(f"*{SUFFIX}"):
        definition = json.dumps(read_machine(path), indent=1, ensure_ascii=False)
        (target / f"{path.name.removesuffix(SUFFIX)}.json").write_text(definition, encoding="utf-8")


if __name__ == "__main__":
    build()
