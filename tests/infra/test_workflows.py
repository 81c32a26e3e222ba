"""GitHub's workflows run what is run here, with no more rights than that takes. actionlint looks at the rest."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local.environment import ROOT
from infra.stages import Stage

GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.load(path.read_text(), yaml.BaseLoader) for path in GITHUB.glob("workflows/*.yml")}
DEPLOY = yaml.load((GITHUB / "actions/deploy/action.yml").read_text(), yaml.BaseLoader)
WRITTEN = "".join(path.read_text() for path in GITHUB.glob("**/*.yml"))
JOBS: dict[str, dict[str, Any]] = {
    f"{workflow}/{name}": job for workflow, body in WORKFLOWS.items() for name, job in body["jobs"].items()
}
STEPS: list[dict[str, Any]] = [
    *(step for job in JOBS.values() for step in job.get("steps", [])),
    *DEPLOY["runs"]["steps"],
]
COMMANDS = [step["run"] for step in STEPS if "run" in step]


def test_a_job_may_read_the_code_only_where_it_deploys_ask_for_credentials_and_where_one_failed_say_so() -> None:
    assert all(body["permissions"] == {"contents": "read"} for body in WORKFLOWS.values())
    for name, job in JOBS.items():
        more = {"contents": "read", "id-token": "write"} if "environment" in job else None
        more = {"issues": "write"} if job.get("if") == "failure()" else more
        assert job.get("permissions") == more, name
    assert set(re.findall(r"secrets\.(\w+)", WRITTEN)) == {"DEPLOY_ROLE"}, "no long-lived key"


def test_no_step_is_left_the_token_or_runs_what_somebody_wrote() -> None:
    checkouts = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)
    assert not [run for run in COMMANDS if "${{" in run], "give it to the step as a variable"


def test_actions_are_of_github_or_aws_in_a_major_version() -> None:
    used = {step["uses"] for step in STEPS if "uses" in step}
    assert used
    assert not [each for each in used if not re.fullmatch(r"(aws-)?actions/[\w-]+@v\d+|\./\.github/actions/\w+", each)]


def test_prod_comes_after_staging_and_staging_after_the_gate_each_with_the_same_build_and_alone() -> None:
    jobs = WORKFLOWS["deploy"]["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "gate": None,
        "build": "gate",
        "staging": "build",
        "prod": "staging",
    }
    assert jobs["gate"]["uses"] == "./.github/workflows/gate.yml"
    for stage in ("staging", "prod"):
        assert Stage.load(stage)
        assert jobs[stage]["environment"] == stage
        assert jobs[stage]["concurrency"] == {"group": f"deploy-{stage}", "cancel-in-progress": "false"}
        given = jobs[stage]["steps"][-1]["with"]
        assert (given["stage"], given["build"]) == (stage, "${{ env.BUILD }}")
    assert [step["run"].split()[:2] for step in DEPLOY["runs"]["steps"] if "run" in step] == [
        ["tar", "-xzf"],
        ["make", "deploy-built"],
        ["make", "doctor"],
        ["make", "smoke"],
    ]


def test_what_an_hourly_walk_finds_rings_where_alarms_do() -> None:
    *_, walk, tell = WORKFLOWS["smoke"]["jobs"]["prod"]["steps"]
    assert walk["run"].startswith("make smoke STAGE=prod ")
    assert tell["if"] == "failure()"
    stage = Stage.load("prod")
    assert f":{stage.stack}-alarms" in tell["run"]
    [topic] = stage.template.of_type("AWS::SNS::Topic")
    assert stage.template.resources[topic]["Properties"]["TopicName"] == ("Sub", "${AWS::StackName}-alarms")


def test_a_build_is_handed_on_with_its_files_rights() -> None:
    upload = next(step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact@"))
    assert f"tar -czf {upload['with']['path']} .aws-sam/build .aws-sam/statemachines" in COMMANDS, (
        "a start script must stay executable"
    )


@pytest.mark.parametrize(("variables", "asks"), [([], ""), (["CI=true"], " --no-confirm-changeset")])
def test_a_deployment_ends_by_pruning_and_asks_nobody_where_an_environment_did(variables: list[str], asks: str) -> None:
    make, alone = ["make", "--dry-run", "deploy-built", "STAGE=prod", *variables], {"PATH": os.environ["PATH"]}
    *_, deploy, protect, prune = subprocess.check_output(make, cwd=ROOT, env=alone, text=True).splitlines()
    assert protect.startswith("aws cloudformation update-termination-protection --enable-termination-protection ")
    assert protect.endswith(f"--stack-name {Stage.load('prod').stack}")
    assert deploy.rstrip().endswith(f"sam deploy --config-env prod{asks}")
    assert prune.endswith("qwestly-agent release prune --stage prod")


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith(("make ", ".ci/"))])
def test_what_a_workflow_runs_is_there(command: str) -> None:
    name = command.split()[-1 if command.startswith(".ci/") else 1]
    makefile = (ROOT / "Makefile").read_text()
    assert (ROOT / name).is_file() if name.startswith(".ci/") else re.search(rf"^{name}:", makefile, re.MULTILINE)


def test_every_pin_is_audited() -> None:
    makefile = (ROOT / "Makefile").read_text()
    [audited] = re.findall(r"^AUDITED = \$\(addprefix requirements/,(.*)\)$", makefile, re.MULTILINE)
    lists = {path.name: pins(path) for path in (ROOT / "requirements").glob("*.txt")}
    assert set().union(*lists.values()) == set().union(*(lists[each] for each in audited.split()))


def pins(path: Path) -> set[str]:
    return set(re.findall(r"^([\w.-]+==[^ ;]+)", path.read_text(), re.MULTILINE))
