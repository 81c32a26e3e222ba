"""Measure how many of a set's messages the code decides: `python -m evals.plain_words FILE…`, files of JSON or YAML.

A file's name contains its kind. A case has its `text` and the correct result: `means` ("yes" or "no") for a plain
answer; `field`, `value` and `plain` for an order. Each is read by the code that decides in a turn, as if each judge
said yes.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from qwestly_agent.action import FieldValues
from qwestly_agent.approvals.unasked import is_plain_order, is_short_and_typed
from qwestly_agent.text.plain_words import answer_in, is_stop

Case = Mapping[str, Any]
FIELDS: Mapping[str, str] = {
    "target role": "roles",
    "target roles": "roles",
    "years of experience": "years_of_experience",
}


def is_done(case: Case) -> bool:
    """True if a proposal with the case's value runs at L3 if the judge says yes: to set, to add or to remove it."""
    field, value = str(case["field"]).casefold(), case["value"]
    named = FIELDS.get(field, field.replace(" ", "_"))
    values = list(map(str, value if isinstance(value, list) else [value]))
    proposals = [FieldValues(named, values), FieldValues(named, [], values, ["Other"])]
    return is_short_and_typed(case["text"]) and any(is_plain_order(case["text"], [each]) for each in proposals)


def failures(cases: Iterable[Case], kind: str) -> list[str]:
    """Return the texts of the cases that are decided wrongly."""
    match kind:
        case "unclear":
            wrong = (each for each in cases if answer_in(each["text"]))
        case "plain":
            wrong = (each for each in cases if answer_in(each["text"]) != each["means"])
        case "story":
            wrong = (each for each in cases if is_stop(each["text"]))
        case "stop":
            wrong = (each for each in cases if not is_stop(each["text"]))
        case _:
            wrong = (each for each in cases if is_done(each) != each["plain"])
    return [each["text"] for each in wrong]


def main(names: Iterable[str]) -> None:
    for name in names:
        cases = yaml.safe_load(Path(name).read_text())
        kind = next(each for each in ("unclear", "plain", "story", "stop", "orders") if each in Path(name).name)
        wrong = failures(cases, kind)
        print(f"{name}: {len(cases) - len(wrong)} of {len(cases)} as they should be")
        if kind == "orders":
            for plain in (True, False):
                of_kind = [each for each in cases if each["plain"] is plain]
                print(f"  {'plain' if plain else 'unclear'}: {sum(map(is_done, of_kind))} of {len(of_kind)} done")
        for text in wrong:
            print(f"  {text!r}")


if __name__ == "__main__":
    main(sys.argv[1:])
