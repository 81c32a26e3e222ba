"""Each stage's parameters are what template.yaml asks for: neither SAM nor cfn-lint evaluates its rules."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from infra.local.environment import FUNCTION
from infra.parameters import PLACEHOLDER, problems
from infra.stages import SAMCONFIG, Stage, stage_names

ROOT = Path(__file__).parents[2]
FILLED_IN = {
    "AllowedOrigins": "https://app.qwestly.example",
    "CandidateApiUrl": "https://app.qwestly.example/api/agent/v1",
    "AppUrl": "https://app.qwestly.example",
    "MailFrom": '"Qwestly <agent@qwestly.example>"',
    "MailIdentity": "qwestly.example",
    "AlarmAddress": "alarms@qwestly.example",
}


def filled_in(stage: str, folder: Path, **others: str) -> Stage:
    """The stage once each placeholder is replaced, and these parameters are added or replaced."""
    lines = SAMCONFIG.read_text(encoding="utf-8").splitlines()
    begin = lines.index(f"[{stage}.deploy.parameters]")
    for name, value in {**FILLED_IN, **others}.items():
        line = re.compile(rf"    ['\"]{name}=(.*)['\"],")
        at = [i for i in range(begin, len(lines)) if line.match(lines[i])]
        first = min((i for i in range(begin + 1, len(lines)) if lines[i].startswith("[")), default=len(lines))
        at = [i for i in at if i < first]
        if not at and name in others:
            at = [next(i for i in range(begin, len(lines)) if "parameter_overrides" in lines[i]) + 1]
            lines.insert(at[0], "")
        for i in at:
            if name in others or PLACEHOLDER.search(lines[i]):
                lines[i] = f"    '{name}={value}',"
    written = folder / "samconfig.toml"
    written.write_text("\n".join(lines), encoding="utf-8")
    return Stage.load(stage, written)


def test_dev_deploys_without_edits() -> None:
    assert list(problems(Stage.load("dev"))) == []


@pytest.mark.parametrize("stage", [each for each in stage_names() if each != "dev"])
def test_other_stages_lack_only_values_their_owner_knows(stage: str, tmp_path: Path) -> None:
    unedited = list(problems(Stage.load(stage)))
    assert unedited
    assert all(" is still <" in each for each in unedited), unedited
    assert list(problems(filled_in(stage, tmp_path))) == []


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ({"MailFrom": '"Qwestly <a@b.example>"'}, "must say where their readers sign in. (MailsLeadToTheApp)"),
        ({"LogRetentionDays": "91"}, "LogRetentionDays is '91', but must be one of 1, 3,"),
        ({"AdzunaCountry": "usa"}, "AdzunaCountry is 'usa', but must match ^[a-z]{2}$."),
        ({"ChatMemory": "256"}, "ChatMemory is '256', but its value must be 512 or more."),
        ({"ChatMemory": "4096"}, "ChatMemory is '4096', but its value must be 3008 or less."),
        ({"TurnCeilingUsd": "5c"}, "TurnCeilingUsd is '5c', but must be a number."),
        ({"ReserveConcurrency": "no"}, "ReserveConcurrency is 'no', but must be one of true, false."),
        ({"LogLvl": "INFO"}, "LogLvl is no parameter of template.yaml."),
    ],
)
def test_a_wrong_override_is_found(override: dict[str, str], found: str, tmp_path: Path) -> None:
    [problem] = problems(filled_in("dev", tmp_path, **override))
    assert found in problem


def test_three_wrong_overrides_are_all_found(tmp_path: Path) -> None:
    wrong = {"LogLevel": "debug", "BrandColor": "teal", "DayCeilingUsd": "-1"}
    found = list(problems(filled_in("prod", tmp_path, **wrong)))
    assert sorted(each.partition(" ")[0] for each in found) == sorted(wrong)


def test_lengths_and_required_parameters_are_checked_too() -> None:
    dev = Stage.load("dev")
    declared = {
        **dev.template.declared,
        "JwtIssuer": {"Type": "String", "Description": "", "Default": "", "MinLength": 1},
        "BrandName": {"Type": "String", "Description": "", "Default": "", "MaxLength": 3},
        "Owner": {"Type": "String", "Description": ""},
    }
    found = list(problems(replace(dev, template=replace(dev.template, declared=declared))))
    assert [each.partition(" ")[0] for each in found] == ["JwtIssuer", "BrandName", "Owner"]


@pytest.mark.parametrize(("value", "read"), [("A <a@b>", "A"), ('"A <a@b>"', "A <a@b>"), ('""', ""), ("a=b", "a=b")])
def test_a_value_is_read_as_sam_reads_it(value: str, read: str, tmp_path: Path) -> None:
    assert filled_in("dev", tmp_path, BrandName=value).overrides["BrandName"] == read


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT / ".venv-sam").exists(), reason=".venv-sam is missing: make .venv-sam/ready")
def test_sam_reads_the_parameter_file_the_same_way() -> None:
    program = """
import json, sys, tomllib
from samcli.cli.types import CfnParameterOverridesType
read = CfnParameterOverridesType().convert
stages = tomllib.load(open("samconfig.toml", "rb"))
given = {name: each["deploy"]["parameters"] for name, each in stages.items() if name != "version" and "deploy" in each}
print(json.dumps({name: read(each["parameter_overrides"], None, None) for name, each in given.items()}))
"""
    ran = subprocess.check_output([ROOT / ".venv-sam/bin/python", "-c", program], cwd=ROOT, text=True)
    assert json.loads(ran) == {name: dict(Stage.load(name).overrides) for name in stage_names()}


def test_make_deploy_names_missing_parameters_before_it_builds() -> None:
    plan = subprocess.check_output(["make", "--dry-run", "deploy", "STAGE=staging"], cwd=ROOT, text=True)
    order = [plan.index(each) for each in ("infra.parameters staging", "sam build", "sam deploy")]
    assert order == sorted(order)
    check = [sys.executable, "-m", "infra.parameters", "staging"]
    paths = {**os.environ, "PYTHONPATH": f"src{os.pathsep}."}
    ran = subprocess.run(check, cwd=ROOT, env=paths, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "AppUrl is still <https://… where users sign in>: Where users sign in" in ran.stderr


def test_links_in_mails_use_the_custom_domain_if_there_is_one(tmp_path: Path) -> None:
    address = "https://agent.qwestly.example/approve"
    stage = filled_in("prod", tmp_path, ApproveUrl=address, BehindDistribution="1")
    assert list(problems(stage)) == []
    mailing = {"ApproveClockFunction", "GenerateWriterFunction"}
    assert {stage.template.environment(each)["APPROVE_URL"] for each in mailing} == {address}
    without = Stage.load("prod").template.environment("ApproveClockFunction")["APPROVE_URL"]
    assert without.endswith("approve"), "the function's own"


def test_with_database_roles_every_function_has_the_address_and_no_secret(tmp_path: Path) -> None:
    address = "mongodb+srv://cluster.example.mongodb.net/?authMechanism=MONGODB-AWS&authSource=%24external"
    stage = filled_in("prod", tmp_path, MongodbUri=address)
    assert list(problems(stage)) == []
    functions = stage.template.of_type(FUNCTION)
    assert {stage.template.environment(each)["MONGODB_URI"] for each in functions} == {address}
    assert stage.environment["READER_MONGODB_URI"] == address
