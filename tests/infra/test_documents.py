"""The documents agree with the code, wherever both can be parsed."""

import ast
import re
import tomllib
from dataclasses import fields
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from botocore import xform_name
from botocore.session import Session

from infra.doctor.quotas import reserved_by
from infra.documents import DOCUMENTS as MADE
from infra.documents import LLMS, PART, PARTS, llms_text, settings, with_parts
from infra.local.environment import API, FUNCTION, MACHINE, Template, _Loader
from infra.local.front import TURNS
from infra.mongo.roles import AGENT
from infra.stages import Stage
from qwestly_agent.agents.base import contract_of
from qwestly_agent.agents.tools.catalog import TOOLS
from qwestly_agent.approvals.autonomy import TABLE
from qwestly_agent.approvals.pause import PATIENCE_SECONDS
from qwestly_agent.base import errors
from qwestly_agent.base.errors import AgentError
from qwestly_agent.base.http import ORIGIN_HEADER
from qwestly_agent.base.observability import Event
from qwestly_agent.base.settings import LONGEST_HOURS_TO_DECIDE, Settings, is_reference
from qwestly_agent.cards import GENERATE_CARD
from qwestly_agent.chat.stream import KEEP_ALIVE_SECONDS
from qwestly_agent.clients import job_boards
from qwestly_agent.domain import briefing
from qwestly_agent.domain.approval import Level, Status, Verb
from qwestly_agent.jobs import model
from qwestly_agent.llm import embeddings, moderation
from qwestly_agent.llm.client import PROVIDER_ADDRESSES
from qwestly_agent.llm.models import DEFAULT_MODELS
from qwestly_agent.stores import collections
from qwestly_agent.workflow import Workflow
from qwestly_agent.workflow_state import UserState
from qwestly_agent.workflows import ACTIONS, WORKFLOWS
from tests.api_document import api_document

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("[!.]*/README.md")})
README, CONTRIBUTING, SECURITY = (ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY"))
INTEGRATE, GLOSSARY = (ROOT / "docs" / f"{name}.md" for name in ("integrate", "glossary"))
APPROVALS, ARCHITECTURE, ABOUT_TOOLS = (ROOT / "docs" / f"{name}.md" for name in ("approvals", "architecture", "tools"))

RUNBOOK, NEVER_RUN, RESTORE, DATA = (
    ROOT / "docs" / f"{name}.md" for name in ("runbook", "never-run", "restore", "data")
)

IN_WORDS = re.compile(r"`([a-z_]+)`")
NAMES = re.compile(r"`([\w.]+/?)`")


def rows(document: Path, first_column: str) -> list[list[str]]:
    """Return the rows of the only table whose header starts like this."""
    [table] = tables(document, first_column)
    return table


def tables(document: Path, first_column: str) -> list[list[list[str]]]:
    """The rows of each table whose header starts like this."""
    lines = document.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith(f"| {first_column} |")]
    found = [takewhile(lambda line: line.startswith("|"), lines[head + 2 :]) for head in heads]
    return [[[cell.strip() for cell in line.strip("|").split("|")] for line in table] for table in found]


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(document: Path) -> set[str]:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_internal_link_of_the_documents_resolves(document: Path) -> None:
    text = without_code(document.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


DATED = ROOT / "docs/decisions"
RUN_IDS = {"brief": briefing.run_of, "scout_jobs": model.run_of}
"""Ids of runs that have no other name."""
EXAMPLE = "src/qwestly_agent/agents/tools/goals.py"
"""The tool that tools.md writes."""


@pytest.mark.parametrize(
    "document", [each for each in DOCUMENTS if each.parent != DATED], ids=lambda path: str(path.relative_to(ROOT))
)
def test_each_file_and_folder_named_in_a_document_exists(document: Path) -> None:
    code = (
        "src",
        "functions",
        "statemachines",
        "infra",
        "tests",
        "evals",
        "benchmarks",
        "widget",
        "examples",
        "clients",
    )
    paths = [*ROOT.glob("*"), *(path for folder in (".github", "docs", *code) for path in (ROOT / folder).glob("**/*"))]
    there = [str(path) for path in paths]
    text = document.read_text(encoding="utf-8")
    for name in set(re.findall(r"`((?:[\w.-]+/)*[\w.-]+(?:\.(?:py|yaml|js|svg)|/))`", text)) - {EXAMPLE}:
        assert any(path.endswith(f"/{name.rstrip('/')}") for path in there), name


def test_each_module_and_package_is_on_the_map_or_is_a_workflow() -> None:
    package = ROOT / "src/qwestly_agent"
    there = {f"{path.name}/" if path.is_dir() else path.name for path in package.iterdir() if path.name[0] != "_"}
    mapped = {name for row in rows(CONTRIBUTING, "in `src/qwestly_agent/`") for name in NAMES.findall(row[0])}
    assert there - mapped <= {f"{each.package.rpartition('.')[2]}/" for each in WORKFLOWS}
    assert mapped <= there


def test_each_function_outside_workflows_and_each_docs_page_is_listed() -> None:
    text = README.read_text(encoding="utf-8")
    tops = " ".join(row[0] for row in rows(CONTRIBUTING, "top-level folder"))
    there = {path.name for path in (ROOT / "functions").iterdir() if path.is_dir() and path.name[0] != "_"}
    assert {name for name in there if f"{name}/`" not in tops} == set()
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert {name for name in pages if f"](docs/{name}" not in text} == set()


def test_every_setting_is_described() -> None:
    assert [name for name, _, _ in settings()] == [field.name.upper() for field in fields(Settings)]


def test_cloudfront_routes_turns_to_the_streaming_url_with_sufficient_timeouts() -> None:
    written = (ROOT / "infra/front.yaml").read_text(encoding="utf-8")
    distribution = yaml.load(written, _Loader)["Resources"]["Agent"]["Properties"]["DistributionConfig"]
    patience = {each["Id"]: each["CustomOriginConfig"]["OriginReadTimeout"] for each in distribution["Origins"]}
    assert patience["chat"] > 2 * KEEP_ALIVE_SECONDS
    assert TEMPLATE.timeout(API) >= patience["api"] > PATIENCE_SECONDS
    (turns, pages), others = distribution["CacheBehaviors"], distribution["DefaultCacheBehavior"]
    assert (pages["PathPattern"], pages["TargetOriginId"]) == ("/approve/*", "approve")
    assert patience["approve"] >= TEMPLATE.timeout("ApprovePagesFunction")
    assert all(each["OriginCustomHeaders"][0]["HeaderName"] == ORIGIN_HEADER for each in distribution["Origins"])
    assert (turns["PathPattern"], turns["TargetOriginId"], others["TargetOriginId"]) == (f"{TURNS}*", "chat", "api")
    url = TEMPLATE.cors(API)
    assert {*url["AllowMethods"], "OPTIONS"} <= {*turns["AllowedMethods"]} & {*others["AllowedMethods"]}


def test_every_route_is_listed() -> None:
    listed = {path for cell, _ in rows(INTEGRATE, "route") for path in re.findall(r"/[\w/{}]+", cell)}
    assert listed == {re.sub(r"\{\w+\}", "{id}", path) for path in api_document()["paths"]}


def test_every_error_code_is_listed_with_its_status() -> None:
    listed = {
        (int(status), code)
        for statuses, codes, _ in rows(INTEGRATE, "status")
        for status in statuses.split(", ")
        for code in IN_WORDS.findall(codes)
    }
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, AgentError)]
    assert listed == {(kind.http_status, kind.code) for kind in kinds}


def test_every_stream_event_is_listed() -> None:
    encoders = sorted((ROOT / "src/qwestly_agent/chat").glob("encode_*.py"))
    source = "".join(each.read_text(encoding="utf-8") for each in encoders)
    listed = rows(INTEGRATE, "plain event")
    named = {name for row in listed for name in IN_WORDS.findall(row[0])}
    assert named == set(re.findall(r'(?:_sse\(|\[\()"([a-z_]+)", ', source))
    parts = {part for row in listed for part in re.findall(r"`(data-[a-z]+)`", row[1])}
    assert parts == set(re.findall(r'type="(data-[a-z]+)"', source))


def test_the_approvals_table_matches_the_gate() -> None:
    for effects, *answers in rows(APPROVALS, "a tool's effect"):
        for effect in set(IN_WORDS.findall(effects)) & TABLE.keys():
            assert dict(zip(get_args(Level), answers, strict=True)) == TABLE[effect], effect
    assert {effect for row in rows(APPROVALS, "a tool's effect") for effect in IN_WORDS.findall(row[0])} == set(TABLE)
    told = {effect.strip("`"): answers for effect, _, *answers in rows(ABOUT_TOOLS, "effect | a call")}
    assert told == {effect: list(answers.values()) for effect, answers in TABLE.items()}


def test_each_approval_waits_at_most_a_week() -> None:
    assert all(0 < action.hours <= LONGEST_HOURS_TO_DECIDE for action in ACTIONS.values())


def test_every_status_and_every_answer_is_explained() -> None:
    named = [name for row in rows(APPROVALS, "`status`") for name in IN_WORDS.findall(row[0])]
    assert sorted(named) == sorted(get_args(Status))
    assert [name.strip("`") for name, _ in rows(APPROVALS, "`decision`")] == list(get_args(Verb))


def test_each_tool_is_listed_with_its_effect() -> None:
    listed = {
        name: effect.strip("`") for names, effect in rows(ABOUT_TOOLS, "tool") for name in IN_WORDS.findall(names)
    }
    declared = {tool.name: contract_of(tool.name, tool.metadata).effect for tool in TOOLS}
    assert listed == declared, "list the tool in docs/tools.md, in the row of its effect"


def test_generated_parts_of_documents_are_current() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in MADE}
    assert sorted(part[2] for text in texts.values() for part in PART.finditer(text)) == sorted(PARTS)
    assert {path.name for path, text in texts.items() if with_parts(text) != text} == set(), "run `make docs`"


def test_coding_agents_get_the_integration_page_written_by_make_docs() -> None:
    assert LLMS.read_text(encoding="utf-8") == llms_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_workflows_declared_receipt_name_matches_its_states(workflow: Workflow) -> None:
    run_id = RUN_IDS[workflow.name]("auth0|ada", "a day") if workflow.name in RUN_IDS else "r1"
    models = {state.model for side in workflow.sides for state in workflow.load_states(side).values()}
    given = [{**dict.fromkeys(model.model_fields, "x"), "run_id": run_id} for model in models]
    inputs = [model.model_construct(**each) for model, each in zip(models, given, strict=True)]
    names = [each.run_name for each in inputs if isinstance(each, UserState)]
    declared = re.findall(r"`([a-z]+-)", workflow.receipt_name)
    assert {name[: name.index("-") + 1] for name in names} == set(declared)


def test_each_host_and_model_that_receives_text_is_named() -> None:
    text = DATA.read_text(encoding="utf-8")
    addresses = [*PROVIDER_ADDRESSES.values(), job_boards.ADZUNA, job_boards.JSEARCH, job_boards.BRAVE]
    hosts = {address.split("/")[2] for address in addresses}
    models = {*(name.partition(":")[2] for name in DEFAULT_MODELS.values()), embeddings.MODEL, moderation.MODEL}
    assert not [each for each in hosts | models if f"`{each}`" not in text]
    off = re.findall(r"`(Moderation|JobBoards)=(\w+)`|`(TracesUrl|EventBus)`", text)
    assert {name or alone for name, _, alone in off} <= TEMPLATE.parameters.keys()
    assert all(TEMPLATE.parameters[name] == "" for name in ("TracesUrl", "EventBus", "FallbackModel", "JudgeModel"))
    assert TEMPLATE.parameters["JobBoards"] == "none"


def test_each_folder_of_tests_is_described() -> None:
    folders = {path.relative_to(ROOT / "tests").parts[0] for path in (ROOT / "tests").glob("**/test_*.py")}
    assert {name.strip("`").removeprefix("tests/") for name, _ in rows(CONTRIBUTING, "folder")} == folders


def test_each_card_state_is_explained() -> None:
    explained = {name for table in tables(ARCHITECTURE, "state") for row in table for name in IN_WORDS.findall(row[0])}
    assert {state for side in GENERATE_CARD.sides for state in GENERATE_CARD.load_states(side)} <= explained


def test_the_one_click_tour_names_only_what_exists_and_is_short() -> None:
    files = (ROOT / "tests").glob("**/test_*.py")
    tests = {name for path in files for name in re.findall(r"def (test_\w+)\(", path.read_text(encoding="utf-8"))}
    steps, lines = rows(ROOT / "docs/tour.md", "step"), 0
    for _, read, _, guarded_by in steps:
        file, *functions = re.findall(r"`([^`]+)`", read)
        path = ROOT / file if file.startswith("functions/") else ROOT / "src/qwestly_agent" / file
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        assert {*functions} <= {node.name for node in defined}, file
        lines += sum((node.end_lineno or 0) - node.lineno + 1 for node in defined if node.name in functions)
        assert {*re.findall(r"`(test_\w+)`", guarded_by)} <= tests
    assert (len(steps), lines <= 1000) == (11, True)


def test_the_glossary_can_be_read_in_one_go() -> None:
    terms, _, verbs = GLOSSARY.read_text(encoding="utf-8").partition("## Verbs")
    for table in (terms, verbs):
        assert 0 < sum(line.startswith("| ") for line in table.splitlines()) - 1 <= 30


def test_the_runbook_gives_no_counts_of_template_resources() -> None:
    """Nobody updates a count in words when they add the next one."""
    number = "two|three|four|five|six|seven|eight|nine|ten"
    text = RUNBOOK.read_text(encoding="utf-8")
    assert re.findall(rf"\b(?:{number}) (?:others|groups|schedules)\b|the other (?:{number})\b", text) == []


# --- the runbook ------------------------------------------------------------------------------------------------------

TEMPLATE = Template.load()
ALARM, LOG_GROUP = "AWS::CloudWatch::Alarm", "AWS::Logs::LogGroup"
OF_THE_CLI = {"--query", "--output", "--max-items"}
"""Options that the command line adds to an operation's own."""


def commands() -> list[str]:
    """The commands of the operators' documents: each line of a block, and the targets of make in between."""
    text = "".join(each.read_text(encoding="utf-8") for each in (RUNBOOK, RESTORE, NEVER_RUN))
    blocks = "".join(re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).replace("\\\n", " ")
    return [*blocks.splitlines(), *re.findall(r"`(make [^`]+)`", text)]


def backticked(document: Path, pattern: str) -> set[str]:
    return set(re.findall(rf"`({pattern})`", document.read_text(encoding="utf-8")))


def test_each_documented_command_exists_with_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["qwestly-agent"].partition(":")
    main = getattr(import_module(module), function)
    written = "".join(document.read_text(encoding="utf-8") for document in DOCUMENTS if document.parent != DATED)
    run = set(re.findall(r"qwestly-agent((?: [a-z]+)+)([^`\n]*)", "\n".join([*commands(), *in_line(written)])))
    assert len(run) > 10
    for words, rest in run:
        monkeypatch.setattr("sys.argv", ["qwestly-agent", *words.split(), "--help"])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr().out
        assert ended.value.code in (0, None), words
        assert all(option in told for option in re.findall(r"--[a-z-]+", rest)), (words, rest)


def in_line(text: str) -> list[str]:
    return re.findall(r"`((?:[\w./]*/)?qwestly-agent [^`]+)`", text)


def test_each_make_target_in_the_runbook_exists_with_its_variables() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = [found for line in commands() if (found := re.match(r"make ([a-z]+)(.*)", line))]
    assert made
    for found in made:
        assert re.search(rf"^{found[1]}: .*## ", makefile, re.MULTILINE), found[0]
        for variable in re.findall(r"([A-Z]+)=", found[2]):
            assert f"$({variable})" in makefile, found[0]


def test_each_documented_aws_operation_exists_with_its_options() -> None:
    session = Session()
    for line in commands():
        asked = re.findall(r"aws ([a-z0-9-]+) ([a-z-]+)", line)
        known = set(OF_THE_CLI)
        for service, operation in asked:
            model: Any = session.get_service_model(service)
            named = {xform_name(name, "-"): name for name in model.operation_names}
            shape = model.operation_model(named[operation]).input_shape
            known |= {f"--{xform_name(member, '-')}" for member in shape.members}
        if asked:
            assert set(re.findall(r" (--[a-z-]+)", line)) <= known, line


def test_each_collection_named_in_the_runbook_exists() -> None:
    named = set(re.findall(r"\bagent_\w+", RUNBOOK.read_text(encoding="utf-8")))
    assert named
    assert named <= AGENT.actions.keys()


def test_each_alarm_has_a_row_in_the_runbook() -> None:
    named = [name for row in rows(RUNBOOK, "alarm") for name in re.findall(r"`(\w+)`", row[0])]
    machines = [machine.removesuffix("Machine") for machine in TEMPLATE.of_type(MACHINE)]
    named.remove("ExecutionsFailed")
    assert sorted([*named, *(f"{machine}Failed" for machine in machines)]) == sorted(TEMPLATE.of_type(ALARM))
    explained = {severity for severity, *_ in rows(RUNBOOK, "severity")}
    assert {row[1] for row in rows(RUNBOOK, "alarm")} == explained


def test_the_page_on_what_never_ran_names_its_tests() -> None:
    proofs = {proof for proof, _ in rows(NEVER_RUN, "proof")}
    told = {row[1] for table in tables(NEVER_RUN, "never seen") for row in table}
    assert told == proofs


def test_the_page_on_restores_names_each_collection() -> None:
    named = [name for row in rows(RESTORE, "collection") for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(named) == sorted(collections())


def test_the_runbook_lists_exactly_the_existing_log_groups() -> None:
    there = {
        TEMPLATE.name(name).replace("qwestly-agent-local", "qwestly-agent-dev") for name in TEMPLATE.of_type(LOG_GROUP)
    }
    assert {name.strip("`") for name, _ in rows(RUNBOOK, "log group")} == there


@pytest.mark.parametrize("document", [RUNBOOK, NEVER_RUN], ids=lambda path: path.stem)
def test_the_runbooks_log_searches_match_the_events(document: Path) -> None:
    events, doctor = list(Event), "".join(path.read_text() for path in (ROOT / "infra/doctor").glob("*.py"))
    searched = set(re.findall(r'message = "([^"]+)"', document.read_text(encoding="utf-8")))
    for words in searched | backticked(document, r"[a-z]+(?: [a-z]+)+"):
        told = any(event.startswith(words) for event in events) or words in doctor
        assert told or words.startswith("make "), words


def test_each_name_in_the_runbook_exists_in_the_code_or_template() -> None:
    places = (
        "template.yaml",
        "infra/bootstrap.yaml",
        "infra/atlas.yaml",
        "src/qwestly_agent/base/observability.py",
        "src/qwestly_agent/base/errors.py",
    )
    machines = (ROOT / "statemachines").glob("*.yaml")
    text = "".join(path.read_text(encoding="utf-8") for path in [*(ROOT / place for place in places), *machines])
    for name in backticked(RUNBOOK, r"(?:[A-Z][a-z]+){2,}…?"):
        pattern = name.removesuffix("…") if name.endswith("…") else rf"{name}\b"
        assert re.search(rf"\b{pattern}", text), name


def test_the_runbook_names_each_alarm_raised_by_missing_data_in_the_first_hour() -> None:
    alarms = TEMPLATE.of_type("AWS::CloudWatch::Alarm").items()
    silent = {name for name, alarm in alarms if alarm["TreatMissingData"] == "breaching"}
    [paragraph] = [
        each for each in RUNBOOK.read_text(encoding="utf-8").split("\n\n") if "**7. Look, and try.**" in each
    ]
    assert silent == set(re.findall(r"`(\w+)`", paragraph)) - {"SPEND"}


def test_dev_fits_a_new_account() -> None:
    assert reserved_by(Stage.load("dev")) == 0


def test_the_documents_name_every_secret_and_its_rotation() -> None:
    kept = {
        value.rpartition("/")[2]
        for function in TEMPLATE.of_type(FUNCTION)
        for value in TEMPLATE.environment(function).values()
        if is_reference(value)
    }
    assert {name for cell, _ in rows(RUNBOOK, "parameter") for name in re.findall(r"`([\w-]+)`", cell)} == kept
    rotated = {name for row in rows(RUNBOOK, "secret") for name in re.findall(r"`([\w-]+)`", row[0])}
    assert rotated == kept
    put = {found[1] for line in commands() if (found := re.search(r"--name /qwestly-agent/\$STAGE/([\w-]+)", line))}
    assert put == kept
