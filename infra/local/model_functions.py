"""What the scripted model says by a function, where the data of a script does not suffice: by the names that scripts
give (`function`). Each gets the texts of the messages, the user's first."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from infra.local import model_judge, model_writer


def _tell_decisions(texts: Sequence[str]) -> str:
    """What the user is told of decisions, where they only decided."""
    lines = [line.removeprefix("- ") for line in texts[0].splitlines() if line.startswith("- ")]
    return " ".join(map(_decision, lines))


def _decision(line: str) -> str:
    if line.startswith("The user said no"):
        return "All right, I leave it as it is."
    if line.startswith("The user wants"):
        return "How shall it be instead?"
    outcome = re.search(r"\)\. ([^“]+?)(?: As they put it| They wrote|$)", line)
    return f"Thank you. {outcome[1].strip()}" if outcome else "Thank you, I have noted that."


FUNCTIONS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "tell_decisions": _tell_decisions,
    "write_section": model_writer.write_section,
    "judge": model_judge.judge,
}
