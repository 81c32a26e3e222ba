"""Play schedules: one by its seed or code, or many until one breaks a rule.

python -m tests.simulation 4711
python -m tests.simulation x0103
python -m tests.simulation --schedules 10000 --base 20261126
"""

import argparse
import sys
import time

from tests.simulation.schedule import play
from tests.simulation.scheduler import Choices
from tests.simulation.search import search


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", nargs="?", help="a number, or the code of a schedule that was found")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--base", type=int, default=0, help="seed of the search")
    given = parser.parse_args()
    if given.seed:
        played = play(Choices.of(given.seed))
        print("\n".join([*played.script, *(f"BROKEN: {each}" for each in played.broken)]))
        return bool(played.broken)
    begun = time.monotonic()
    found = search(play, given.schedules, given.base)
    print(found or f"{given.schedules} schedules from base {given.base} in {time.monotonic() - begun:.0f} s: all hold")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
