"""The database as code: it was never applied, so its names are compared with the published schemas."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from infra.local.environment import FUNCTION, Template
from infra.mongo.roles import ROLES
from infra.rights.policies import parse
from tests.infra.test_documents import tables

ROOT = Path(__file__).parents[2]
ATLAS = ROOT / "infra/atlas.yaml"
RESOURCES = parse(ATLAS.read_text())["Resources"]
TYPES = [json.loads(path.read_text()) for path in (ROOT / "infra/mongo/atlas_types").glob("*.json")]
PUBLISHED = {each["typeName"]: {**each, "type": "object"} for each in TYPES}


FROM_ELSEWHERE = "of another resource or a parameter"


def problems(text: str) -> list[str]:
    """What the published types reject, reduced to names and types in infra/mongo/atlas_types. (cfn-lint knows registry
    types only by name.)"""
    return [
        f"{name}: {error.message}"
        for name, body in parse(text)["Resources"].items()
        for error in Draft7Validator(PUBLISHED[body["Type"]]).iter_errors(resolved(body["Properties"]))
        if error.instance != FROM_ELSEWHERE
    ]


def resolved(value: Any) -> Any:
    match value:
        case {"Ref": _} | {"Fn::Sub": _} | {"Fn::GetAtt": _}:
            return FROM_ELSEWHERE
        case dict():
            return {key: resolved(each) for key, each in value.items()}
        case list():
            return [resolved(each) for each in value]
        case _:
            return value


def test_each_property_is_in_the_published_schema_with_its_type() -> None:
    assert problems(ATLAS.read_text()) == []


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("PitEnabled: true", "PitEnable: true", "'PitEnable' was unexpected"),
        ("NodeCount: 3", "NodeCount: three", "'three' is not of type 'integer'"),
        ("NodeCount: 3", "Nodes: 3", "'Nodes' was unexpected"),
        ("AWSIAMType: ROLE", "AWSIAMType: FUNCTION", "'FUNCTION' is not one of"),
        ("OrgId: ", "Organization: ", "'OrgId' is a required property"),
    ],
)
def test_an_unpublished_property_is_found(right: str, wrong: str, told: str) -> None:
    assert right in ATLAS.read_text()
    assert any(told in each for each in problems(ATLAS.read_text().replace(right, wrong)))


def test_each_function_has_a_passwordless_user_and_each_role_is_created() -> None:
    users = {
        name.removesuffix("User"): body["Properties"]
        for name, body in RESOURCES.items()
        if name.endswith("FunctionUser")
    }
    template = Template.load()
    assert users.keys() == template.of_type(FUNCTION).keys()
    for name, user in users.items():
        assert "Password" not in user
        role = template.resources[template.resources[name]["Properties"]["Role"][1].partition(".")[0]]
        named = role["Properties"]["RoleName"][1].removeprefix("${AWS::StackName}")
        assert user["Username"]["Fn::Sub"].endswith(f":role/qwestly-agent-${{Stage}}{named}")
    made = {
        body["Properties"]["RoleName"] for body in RESOURCES.values() if body["Type"] == "MongoDB::Atlas::CustomDBRole"
    }
    assert made == {each.name for each in ROLES} == {each["Roles"][0]["RoleName"] for each in users.values()}


def test_the_atlas_template_fits_into_one_cloudformation_call() -> None:
    """51,200 bytes without a bucket."""
    for path in (ATLAS, ROOT / "infra/bootstrap.yaml", ROOT / "infra/front.yaml"):
        assert path.stat().st_size < 51_200, path.name


def test_the_atlas_template_says_it_was_never_applied() -> None:
    told = {row[0] for table in tables(ROOT / "docs/never-run.md", "never seen") for row in table}
    for name in ("infra/atlas.yaml", "infra/bootstrap.yaml"):
        assert [each for each in told if each.startswith(f"`{name}`")], name
