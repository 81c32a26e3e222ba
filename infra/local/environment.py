"""The environment of the stack's parts: the function's environment from template.yaml, with local values for what a
deployment would set. Variables of the real environment take precedence."""

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

import yaml

ROOT = Path(__file__).parents[2]
DEMO_DATABASE = "qwestly_local"
DEMO_USER = "auth0|demo"
API_PATH = "/api/agent/v1"
"""Path of the candidate app's write API."""
SENDER = "Qwestly <agent@qwestly.example>"

REGION, ACCOUNT = "us-east-1", "123456789012"
PSEUDO_PARAMETERS = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::StackName": "qwestly-agent-local",
    "AWS::URLSuffix": "amazonaws.com",
}
FUNCTION, MACHINE = "AWS::Serverless::Function", "AWS::Serverless::StateMachine"
CHAT, API = "ChatFunction", "ApiFunction"
KEY, ALIAS, SCHEDULE = "AWS::KMS::Key", "AWS::KMS::Alias", "AWS::Scheduler::Schedule"
LOG_GROUP = "AWS::Logs::LogGroup"

VARIABLES: dict[str, str] = {
    "PORT": "the one address: page, /api and /healthz (8000)",
    "QWESTLY_AGENT_SHARED_SECRET": "signs the tokens (generated once, in .local/)",
    "MONGODB_URI": "the database (a MongoDB-wire server on SQLite, in .local/)",
    "MONGODB_DATABASE": f"its name ({DEMO_DATABASE})",
    "MODEL_BASE_URL": "any OpenAI-compatible server; wins over a provider's own, keys are still sent (scripted)",
    "EMBEDDINGS_BASE_URL": "the same for embeddings (see LOCAL_EMBEDDING)",
    "CLOCK_OFFSET": "seconds added to the clock of all parts, to play another day (0)",
    "DEMO_WEEKS": "0: the demo user without the two recorded weeks (with them)",
    "LOCAL_EMBEDDING": "scripted: vectors of words and letters (all-MiniLM-L6-v2, if it is installed)",
    "DEEPSEEK_API_KEY": "its key, for real chat models (scripted)",
    "OPENAI_API_KEY": "its key, for real embeddings (see LOCAL_EMBEDDING)",
    "CANDIDATE_APP_URL": "mints the page's tokens at /api/agent/token (a stub)",
    "CANDIDATE_API_URL": "the candidate app's write API (/api/agent/v1 there)",
    "QWESTLY_CANDIDATE_API_SECRET": "signs our requests to it (generated once, in .local/)",
    "ADZUNA_APP_ID": "Adzuna's id of your application: with it and a key, real jobs (a stub)",
    "ADZUNA_APP_KEY": "its key (a stub)",
    "JSEARCH_API_KEY": "its key; JSearch is queried for jobs (a stub)",
    "SEARCH_API_KEY": "its key; Brave is queried for pages (a stub)",
    "AWS_ENDPOINT_URL": "Lambda, Step Functions, SES, SSM, KMS and Logs, with your own AWS settings (a moto server)",
    "AGENT_DESIGN": "the design of new conversations (default)",
    "AGENT_DESIGN_PATHS": "folders with designs besides ours, separated by commas (none)",
    "AGENT_DESIGN_SETTINGS": "settings of designs, a JSON object by their names (none)",
    "LAMBDA_CONCURRENCY": "the account's limit of concurrent invocations (1000)",
}
"""Variables that can be set before `make run`, with their defaults. docs/settings.md has the same table."""


def is_local(mongodb_uri: str, database: str) -> bool:
    """True if demo data and the scripted model are allowed with this database."""
    hosts = urlsplit(mongodb_uri).netloc.rpartition("@")[2].split(",")
    return database.startswith(DEMO_DATABASE) or all(_is_loopback(host) for host in hosts)


def _is_loopback(address: str) -> bool:
    host = urlsplit(f"//{address}").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def aws_variables(url: str) -> dict[str, str]:
    """Variables that send all AWS clients of a process to this address, whatever the machine's configuration."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def new_secret() -> str:
    return secrets.token_urlsafe(48)


Properties: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Template:
    """template.yaml, parsed as far as needed to start its resources like AWS. Names and ARNs are computed in advance,
    so that a function can be given the ARN of a state machine that does not exist yet."""

    resources: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = ROOT
    """The folder to which its paths are relative."""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    """The declarations of the parameters."""
    rules: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = ROOT / "template.yaml") -> Self:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
        parameters = document.get("Parameters", {})
        defaults = {name: parameter.get("Default", "") for name, parameter in parameters.items()}
        shared = document.get("Globals", {}).get("Function", {})
        resources = {
            name: {**body, "Properties": _merged(shared, body["Properties"])} if body["Type"] == FUNCTION else body
            for name, body in document["Resources"].items()
        }
        conditions, rules = document.get("Conditions", {}), document.get("Rules", {})
        return cls(resources, defaults, path.parent, conditions, parameters, rules)

    def of_type(self, kind: str) -> dict[str, Properties]:
        """Return the properties of each resource of this type, by logical id."""
        found = {name: body for name, body in self.resources.items() if body["Type"] == kind}
        return {name: body.get("Properties", {}) for name, body in found.items()}

    def without(self, kind: str) -> Self:
        return replace(self, resources={name: body for name, body in self.resources.items() if body["Type"] != kind})

    def python_functions(self) -> dict[str, Properties]:
        """Return the functions with a Python handler; the others start a program."""
        functions = self.of_type(FUNCTION)
        return {name: each for name, each in functions.items() if not str(each["Handler"]).endswith(".sh")}

    def environment(self, function: str) -> dict[str, str]:
        """Return the function's variables; references to secrets are not resolved."""
        variables = self.resources[function]["Properties"].get("Environment", {}).get("Variables", {})
        return {name: self.text(value) for name, value in variables.items()}

    def cors(self, function: str) -> Mapping[str, Any]:
        return self.resources[function]["Properties"]["FunctionUrlConfig"]["Cors"]

    def timeout(self, function: str) -> int:
        return int(self.text(self.resources[function]["Properties"].get("Timeout", 3)))

    def reserved(self, function: str) -> int | None:
        """Return the function's reserved concurrency, or None."""
        given = self.text(self.resources[function]["Properties"].get("ReservedConcurrentExecutions", ""))
        return int(given) if given else None

    def grants(self, role: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield each allowed action of the role that `!GetAtt` names, with its resource's ARN."""
        properties = self._named(role)
        shared = [self._named(each) for each in properties.get("ManagedPolicyArns", [])]
        for policy in (*shared, *properties.get("Policies", [])):
            for statement in policy["PolicyDocument"]["Statement"]:
                for action in _listed(statement["Action"]):
                    yield from ((action, self.text(resource)) for resource in _listed(statement["Resource"]))

    def name(self, logical_id: str) -> str:
        """Return the resource's name."""
        body = self.resources[logical_id]
        properties = body.get("Properties", {})
        match body["Type"]:
            case "AWS::Serverless::Function":
                given = properties.get("FunctionName")
            case "AWS::Logs::LogGroup":
                given = properties.get("LogGroupName")
            case "AWS::KMS::Alias":
                given = properties["AliasName"]
            case "AWS::KMS::Key":
                given = str(uuid5(NAMESPACE_URL, logical_id))
            case _:
                given = properties.get("Name")
        return self.text(given) if given else logical_id

    def arn(self, logical_id: str) -> str:
        kinds = {FUNCTION: "lambda", MACHINE: "states", KEY: "kms", ALIAS: "kms", SCHEDULE: "scheduler"}
        name, kind = self.name(logical_id), self.resources[logical_id]["Type"]
        path = {FUNCTION: f"function:{name}", MACHINE: f"stateMachine:{name}", KEY: f"key/{name}"}.get(kind, name)
        return f"arn:aws:{kinds.get(kind, 'none')}:{REGION}:{ACCOUNT}:{path}"

    def text(self, value: Any) -> str:
        """Evaluate the value's intrinsic function. Empty if only a deployment knows the value."""
        match value:
            case ("Ref", name):
                return self._referred(name)
            case ("GetAtt", path):
                return self._attribute(path)
            case ("Sub", text):
                return re.sub(r"\$\{([\w:.]+)\}", lambda found: self._referred(found[1]), text)
            case ("If", [condition, then, otherwise]):
                return self.text(then if self.holds(("Condition", condition)) else otherwise)
            case _:
                return str(value)

    def holds(self, condition: Any) -> bool:
        """Evaluate a condition of a resource or a rule. Raises `ValueError` for an unsupported function."""
        match condition:
            case ("Condition", name):
                return self.holds(self.conditions[name])
            case ("Equals", [one, other]):
                return self.text(one) == self.text(other)
            case ("Not", [one]):
                return not self.holds(one)
            case ("And", several):
                return all(map(self.holds, several))
            case ("Or", several):
                return any(map(self.holds, several))
            case _:
                raise ValueError(f"{condition} is no condition.")

    def _named(self, reference: tuple[str, str]) -> Properties:
        """Return the properties of the resource that `!Ref` or `!GetAtt` names."""
        return self.resources[reference[1].partition(".")[0]]["Properties"]

    def _referred(self, name: str) -> str:
        if "." in name:
            return self._attribute(name)
        if name in self.resources:
            return self.arn(name) if self.resources[name]["Type"] == MACHINE else self.name(name)
        return str(self.parameters.get(name, PSEUDO_PARAMETERS.get(name, "")))

    def _attribute(self, path: str) -> str:
        logical_id, _, attribute = path.partition(".")
        if logical_id not in self.resources:  # such as the URL that SAM creates for a function
            return ""
        match attribute:
            case "Arn":
                return self.arn(logical_id)
            case "Name" | "KeyId":
                return self.name(logical_id)
            case "Alias":  # created by SAM for a function
                return f"{self.arn(logical_id)}:{self.resources[logical_id]['Properties']['AutoPublishAlias']}"
            case _:
                return ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _merged(shared: Any, own: Any) -> Any:
    """Merge `Globals` as SAM does: maps by key, lists concatenated, otherwise the resource's own value."""
    match shared, own:
        case dict(), dict():
            return {**shared, **{name: _merged(shared.get(name), value) for name, value in own.items()}}
        case list(), list():
            return [*shared, *own]
        case _:
            return own


# libyaml's loader, if PyYAML was built with it: ten times faster.
SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(SafeLoader):
    """CloudFormation's short tags, as pairs of name and argument."""


def _tagged(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> tuple[str, Any]:
    if isinstance(node, yaml.SequenceNode):
        return tag, loader.construct_sequence(node, deep=True)
    if isinstance(node, yaml.MappingNode):
        return tag, loader.construct_mapping(node, deep=True)
    return tag, loader.construct_scalar(node)  # type: ignore[arg-type]


_Loader.add_multi_constructor("!", _tagged)
