"""Compare the rights of all roles with the calls that are made: `python -m infra.rights TEMPLATE`, transformed by SAM.

Prints a line for each call without a right and each right without a call, and exits with 1 if there is one.
"""

import argparse
import sys
from pathlib import Path

from infra.rights.compare import findings, needed
from infra.rights.policies import NotUnderstood, Stack

STAGE, BUS = "qwestly-agent-prod", "any-bus"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("template", type=Path)
    try:
        stack = Stack.load(parser.parse_args().template, STAGE, {"EventBus": BUS})
        found = findings(stack, needed(stack))
    except NotUnderstood as error:
        print(f"Not understood, so nobody knows what it grants: {error}", file=sys.stderr)
        return 1
    print("\n".join(map(str, found)), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
