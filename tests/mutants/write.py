"""Write a seeded sample of mutants, one JSON object a line, with cosmic-ray: the only module that its environment runs.

.venv-mutants/bin/python tests/mutants/write.py SEED MODULE…
"""

import difflib
import json
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast  # type: ignore[import-not-found]
from cosmic_ray.mutating import mutate_code  # type: ignore[import-not-found]
from cosmic_ray.plugins import get_operator, operator_names  # type: ignore[import-not-found]


def main(seed: str, modules: Sequence[str]) -> None:
    """Print all that compile, in the order of the sample: whoever reads stops when there are enough."""
    texts = {module: Path(module).read_text(encoding="utf-8") for module in modules}
    places = [(module, *each) for module in sorted(texts) for each in _places(texts[module])]
    random.Random(seed).shuffle(places)
    print(json.dumps({"places": len(places)}))
    for module, operator, occurrence in places:
        mutated = mutate_code(texts[module], operator, occurrence)
        if mutated and _compiles(mutated):
            diff = difflib.unified_diff(texts[module].splitlines(), mutated.splitlines(), module, module, "", "", 1, "")
            print(json.dumps({"module": module, "mutated": mutated, "diff": "\n".join(diff)}), flush=True)


def _places(text: str) -> Iterator[tuple[Any, int]]:
    tree = list(ast_nodes(get_ast(text)))
    for name in operator_names():
        if not (kind := get_operator(name)).arguments():  # the others need a configuration of their own
            count = sum(len(list(kind().mutation_positions(node))) for node in tree)
            yield from ((kind(), occurrence) for occurrence in range(count))


def _compiles(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # as in the tests, where `is` beside a literal is an error
            compile(text, "mutant", "exec")
    except (SyntaxError, Warning):
        return False
    return True


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2:])
    except BrokenPipeError:
        sys.stderr.close()
