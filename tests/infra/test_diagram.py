"""The diagram in docs/architecture.md shows all functions and the edges between them."""

import re
from functools import cache

import pytest

from infra.diagram import diagram, edges, functions, template


@cache
def lines() -> list[str]:
    return "\n".join(diagram()).splitlines()


def test_each_edge_is_drawn_and_nothing_else() -> None:
    drawn = set[tuple[str, str, str]]()
    for line in lines():
        if arrow := re.fullmatch(r'\s*([\w &]+) (?:-->|-\.->)(?:\|"(.+)"\|)? ([\w &]+)', line):
            drawn |= {(one, other, arrow[2] or "") for one in arrow[1].split(" & ") for other in arrow[3].split(" & ")}
    assert drawn == edges()


def test_each_function_has_its_box_and_each_box_is_a_function() -> None:
    boxes = [line.strip() for line in lines() if re.fullmatch(r" +\w+", line) and line.strip() != "end"]
    assert sorted(boxes) == sorted(functions())


@pytest.mark.parametrize("name", functions())
def test_each_function_has_the_database_and_its_secrets_by_reference_as_drawn(name: str) -> None:
    variables = functions()[name]["Environment"]["Variables"]
    assert template().text(variables["MONGODB_URI"]).startswith("ssm:")
    has_keys = "DEEPSEEK_API_KEY" in variables
    assert has_keys == ((name, "models", "") in edges())
