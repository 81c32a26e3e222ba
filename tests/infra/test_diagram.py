"""The diagram in docs/architecture.md shows all functions and the edges between them."""

import re
from functools import cache

import pytest

from infra.diagram import diagram, edges, functions, template


@cache
def lines() -> list[str]:
    return "\n".join(diagram()).splitlines()


def test_exactly_the_existing_edges_are_drawn() -> None:
    drawn = set[tuple[str, str, str]]()
    for line in lines():
        if arrow := re.fullmatch(r'\s*([\w &]+) (?:-->|-\.->)(?:\|"(.+)"\|)? ([\w &]+)', line):
            drawn |= {(one, other, arrow[2] or "") for one in arrow[1].split(" & ") for other in arrow[3].split(" & ")}
    assert drawn == edges()


def test_functions_and_boxes_of_the_diagram_correspond() -> None:
    boxes = [line.strip() for line in lines() if re.fullmatch(r" +\w+", line) and line.strip() != "end"]
    assert sorted(boxes) == sorted(functions())


@pytest.mark.parametrize("name", functions())
def test_each_function_refers_to_the_database_and_secrets_as_drawn(name: str) -> None:
    variables = functions()[name]["Environment"]["Variables"]
    assert template().text(variables["MONGODB_URI"]).startswith("ssm:")
    has_keys = "DEEPSEEK_API_KEY" in variables
    assert has_keys == ((name, "models", "") in edges())
