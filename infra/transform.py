"""template.yaml as CloudFormation gets it, on the standard output: for whoever looks at what SAM makes of it.

It runs in the environment of the SAM CLI, and asks no cloud: `.venv-sam/bin/python infra/transform.py`.
"""

from pathlib import Path

from samcli.lib.translate.sam_template_validator import SamTemplateValidator  # type: ignore[import-not-found]
from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]

TEMPLATE = Path(__file__).parents[1] / "template.yaml"


class NoPolicies:
    """In place of AWS's managed ones, which SAM would ask the account for; the template names none."""

    def load(self) -> dict[str, str]:
        return {}


def main() -> None:
    written = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    print(SamTemplateValidator(written, NoPolicies(), region="us-east-1").get_translated_template_if_valid())


if __name__ == "__main__":
    main()
