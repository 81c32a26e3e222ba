"""GitHub's workflows run the same commands as a checkout, with only the permissions they need. actionlint checks the
rest."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.local.environment import ROOT
from infra.rights.policies import ACCOUNT, Stack, parse
from infra.stages import Stage

GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.load(path.read_text(), yaml.BaseLoader) for path in GITHUB.glob("workflows/*.yml")}
CHANGES, DEPLOY = (
    yaml.load((GITHUB / f"actions/{name}/action.yml").read_text(), yaml.BaseLoader) for name in ("changes", "deploy")
)
WRITTEN = "".join(path.read_text() for path in GITHUB.glob("**/*.yml"))
JOBS: dict[str, dict[str, Any]] = {
    f"{workflow}/{name}": job for workflow, body in WORKFLOWS.items() for name, job in body["jobs"].items()
}
STEPS: list[dict[str, Any]] = [
    *(step for job in JOBS.values() for step in job.get("steps", [])),
    *CHANGES["runs"]["steps"],
    *DEPLOY["runs"]["steps"],
]
COMMANDS = [step["run"] for step in STEPS if "run" in step]


def test_a_workflow_jobs_permissions_match_its_task() -> None:
    assert all(body["permissions"] == {"contents": "read"} for body in WORKFLOWS.values())
    for name, job in JOBS.items():
        more = {"contents": "read", "id-token": "write"} if "environment" in job else None
        more = {"issues": "write"} if job.get("if") == "failure()" else more
        more = {**more, "attestations": "read"} if more and name.endswith("-changes") else more
        more = {"contents": "read", "id-token": "write", "attestations": "write"} if name == "deploy/build" else more
        assert job.get("permissions") == more, name
    assert set(re.findall(r"secrets\.(\w+)", WRITTEN)) == {"DEPLOY_ROLE"}, "no long-lived key"


def test_no_step_keeps_the_token_or_interpolates_untrusted_input() -> None:
    checkouts = [step for step in STEPS if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)
    assert not [run for run in COMMANDS if "${{" in run], "give it to the step as a variable"


def test_actions_are_from_github_or_aws_and_pinned_to_a_release_commit() -> None:
    """A tag can be moved. Dependabot moves the commit, and the comment with it."""
    lines = re.findall(r"uses: (.*)", WRITTEN)
    used = {line for line in lines if not line.startswith("./.github/")}
    assert used
    pinned = r"(aws-)?actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+"
    assert not [each for each in used if not re.fullmatch(pinned, each)]
    names = [each.partition("@")[0] for each in used]
    assert len(names) == len(set(names)), "one version of each"
    dependabot = yaml.safe_load((GITHUB / "dependabot.yml").read_text())["updates"][0]["directories"]
    assert {each for each in dependabot if each != "/"} == {
        f"/.github/actions/{name}" for name in ("changes", "deploy")
    }


def test_gate_staging_and_prod_run_in_order_with_the_same_build() -> None:
    jobs = WORKFLOWS["deploy"]["jobs"]
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "gate": None,
        "build": "gate",
        "staging-changes": "build",
        "staging": "staging-changes",
        "prod-changes": ["build", "staging"],
        "prod": "prod-changes",
    }
    for stage in ("staging", "prod"):
        assert Stage.load(stage)
        assert jobs[stage]["concurrency"] == {"group": f"deploy-{stage}", "cancel-in-progress": "false"}
        planned = jobs[f"{stage}-changes"]["steps"][-1]["with"]
        assert (planned["stage"], planned["build"]) == (stage, "${{ env.BUILD }}")


def test_the_printed_change_set_is_executed_by_a_separate_job() -> None:
    """The roles that create and execute a change set differ, as do their environments (infra/bootstrap.yaml)."""
    jobs = WORKFLOWS["deploy"]["jobs"]
    for stage in ("staging", "prod"):
        planning, deploying = jobs[f"{stage}-changes"], jobs[stage]
        assert (planning["environment"], deploying["environment"]) == (f"{stage}-changes", stage)
        assert planning["outputs"] == {"changes": "${{ steps.changes.outputs.changes }}"}
        given = deploying["steps"][-1]["with"]
        assert (given["stage"], given["changes"]) == (stage, f"${{{{ needs.{stage}-changes.outputs.changes }}}}")
    commands = [
        [step["run"].split()[:2] for step in each["runs"]["steps"] if "run" in step] for each in (CHANGES, DEPLOY)
    ]
    assert commands == [
        [["gh", "attestation"], ["tar", "-xzf"], ["make", "changes"]],
        [["make", "deploy-changes"], ["make", "doctor"], ["make", "smoke"]],
    ]
    roles = parse((ROOT / "infra/bootstrap.yaml").read_text())["Resources"]
    for role, environment in (("PlanRole", "${Stage}-changes"), ("DeployRole", "${Stage}"), ("SmokeRole", "smoke")):
        [trust] = roles[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        subject = trust["Condition"]["StringEquals"]["token.actions.githubusercontent.com:sub"]
        assert subject == {"Fn::Sub": f"repo:${{Repository}}:environment:{environment}"}
    executing = [name for name, body in roles.items() if "cloudformation:ExecuteChangeSet" in json.dumps(body)]
    making = [name for name, body in roles.items() if "cloudformation:CreateChangeSet" in json.dumps(body)]
    assert (executing, making) == (["DeployRole"], ["PlanRole"])


def test_a_build_is_attested_with_its_sbom_before_it_is_passed_on() -> None:
    steps = WORKFLOWS["deploy"]["jobs"]["build"]["steps"]
    names = [step.get("uses", step.get("run", "")).partition("@")[0] for step in steps]
    archive = next(step for step in steps if step.get("run", "").startswith("tar "))
    signed = [step["with"] for step in steps if step.get("uses", "").startswith("actions/attest-")]
    assert [each["subject-path"] for each in signed] == ["build.tar.gz"] * 2
    assert f"python3 infra/sbom.py > {signed[1]['sbom-path']}" in [step.get("run") for step in steps]
    order = [steps.index(archive), names.index("actions/attest-build-provenance"), names.index("actions/attest-sbom")]
    assert order == sorted(order)
    assert order[-1] < names.index("actions/upload-artifact")


def test_a_finding_of_the_hourly_walk_notifies_the_alarm_topic() -> None:
    *_, walk, tell = WORKFLOWS["smoke"]["jobs"]["prod"]["steps"]
    assert walk["run"].startswith("make smoke STAGE=prod ")
    assert tell["if"] == "failure()"
    stage = Stage.load("prod")
    assert f":{stage.stack}-alarms" in tell["run"]
    [topic] = stage.template.of_type("AWS::SNS::Topic")
    assert stage.template.resources[topic]["Properties"]["TopicName"] == ("Sub", "${AWS::StackName}-alarms")


def test_a_build_is_passed_on_with_its_file_permissions() -> None:
    upload = next(step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact@"))
    archive, _ = upload["with"]["path"].split()
    assert f"tar -czf {archive} .aws-sam/build .aws-sam/statemachines" in COMMANDS, (
        "a start script must stay executable"
    )


@pytest.mark.parametrize("target", ["deploy-built", "deploy-changes"])
def test_a_deployment_ends_by_pruning(target: str) -> None:
    *_, deployed = recipe(target)
    protect, prune = deployed.split(" && ")
    stack = Stage.load("prod").stack
    assert protect.startswith("aws cloudformation update-termination-protection --enable-termination-protection ")
    assert protect.endswith(f"--stack-name {stack}")
    assert prune.endswith("qwestly-agent release prune --stage prod")


@pytest.mark.parametrize(("target", "executes"), [("deploy-built", True), ("changes", False)])
def test_sam_deploys_with_the_bootstraps_role_and_bucket(target: str, executes: bool) -> None:
    [deploy] = [line for line in recipe(target) if " deploy --config-env prod " in line]
    bootstrap = Stack.of(
        parse((ROOT / "infra/bootstrap.yaml").read_text()),
        "any",
        {"Stage": "prod", "Repository": "any/any", "AlertAddress": "any@any"},
    )
    for name in (bootstrap.name("Artifacts"), bootstrap.arn("ExecutionRole")):
        assert name.replace(ACCOUNT, "$account") in deploy
    assert ("--no-execute-changeset" in deploy) != executes
    assert "--no-confirm-changeset" not in deploy


def recipe(target: str) -> list[str]:
    """The lines that make would run, each in one."""
    make, alone = ["make", "--dry-run", target, "STAGE=prod", "CHANGES=arn"], {"PATH": os.environ["PATH"]}
    ran = subprocess.check_output(make, cwd=ROOT, env=alone, text=True)
    return [re.sub(r"\s+", " ", line).strip() for line in ran.replace("\\\n", " ").splitlines()]


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith(("make ", ".ci/"))])
def test_all_files_that_a_workflow_runs_exist(command: str) -> None:
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
