"""Print template.yaml as SAM transforms it for CloudFormation.

Runs in the environment of the SAM CLI, without a cloud: `.venv-sam/bin/python infra/transform.py`.
"""

from pathlib import Path

from samcli.lib.translate.sam_template_validator import SamTemplateValidator  # type: ignore[import-not-found]
from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]

TEMPLATE = Path(__file__).parents[1] / "template.yaml"


class NoPolicies:
    """Replaces AWS's managed policies, which SAM would look up in the account; the template uses none."""

    def load(self) -> dict[str, str]:
        return {}


def main() -> None:
    written = yaml_parse(TEMPLATE.read_text(encoding="utf-8"))
    print(SamTemplateValidator(written, NoPolicies(), region="us-east-1").get_translated_template_if_valid())


if __name__ == "__main__":
    main()
