"""Compare the permissions of all roles with the calls that are made: `python -m infra.rights TEMPLATE`, transformed by
SAM.

Prints a line for each call without a permission and each permission without a call, in the template and in
infra/bootstrap.yaml, and exits with 1 if there is one.
"""

import argparse
import sys
from pathlib import Path

from infra.rights.compare import all_findings, stacks
from infra.rights.policies import NotUnderstood, parse

BOOTSTRAP = Path(__file__).parents[1] / "bootstrap.yaml"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("template", type=Path)
    template = parser.parse_args().template
    try:
        found = all_findings(*stacks(parse(template.read_text()), parse(BOOTSTRAP.read_text())))
    except NotUnderstood as error:
        print(f"Not understood, so nobody knows what it grants: {error}", file=sys.stderr)
        return 1
    print("".join(f"{each}\n" for each in found), end="")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
