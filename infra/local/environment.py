"""What the parts of the stack are started with: the environment that template.yaml gives the function, with local
values in place of what a deployment would fill in. What is already set in the real environment wins."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

ROOT = Path(__file__).parents[2]
DEMO_DATABASE = "qwestly_local"
DEMO_USER = "auth0|demo"

VARIABLES: dict[str, str] = {
    "PORT": "the one address: page, /api and /healthz (8000)",
    "QWESTLY_AGENT_SHARED_SECRET": "signs the tokens (made anew at each start)",
    "MONGODB_URI": "the database (a MongoDB-wire server on SQLite, in .local/)",
    "MONGODB_DATABASE": f"its name ({DEMO_DATABASE})",
    "MODEL_BASE_URL": "any OpenAI-compatible server; wins over a provider's own, keys are still sent (scripted)",
    "EMBEDDINGS_BASE_URL": "the same for embeddings (scripted)",
    "DEEPSEEK_API_KEY": "the real model answers",
    "OPENAI_API_KEY": "real embeddings",
    "CANDIDATE_APP_URL": "mints the page's tokens at /api/agent/token (a stub)",
    "AGENT_DESIGN": "the design of new conversations (default)",
}
"""What may be set before `make run`, each with what stands in for it. The README's table says the same."""


def is_local(mongodb_uri: str, database: str) -> bool:
    """Whether demo data and the scripted model may be used with this database."""
    hosts = urlsplit(mongodb_uri).netloc.rpartition("@")[2].split(",")
    return database.startswith(DEMO_DATABASE) or all(_is_loopback(host) for host in hosts)


def _is_loopback(address: str) -> bool:
    host = urlsplit(f"//{address}").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def new_secret() -> str:
    return secrets.token_urlsafe(48)


@dataclass(frozen=True)
class Template:
    """template.yaml, read far enough to start a function as Lambda would."""

    resources: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls) -> "Template":
        document = yaml.load((ROOT / "template.yaml").read_text(), Loader=_Loader)
        defaults = {name: parameter.get("Default", "") for name, parameter in document["Parameters"].items()}
        return cls(document["Resources"], defaults)

    def environment(self, function: str) -> dict[str, str]:
        """The function's variables; a reference to a secret is left for the caller to replace."""
        variables = self.resources[function]["Properties"]["Environment"]["Variables"]
        return {name: self._text(value) for name, value in variables.items()}

    def cors(self, function: str) -> Mapping[str, Any]:
        return self.resources[function]["Properties"]["FunctionUrlConfig"]["Cors"]

    def timeout(self, function: str) -> int:
        return self.resources[function]["Properties"]["Timeout"]

    def _text(self, value: Any) -> str:
        match value:
            case ("Ref", name):
                return str(self.parameters.get(name, ""))
            case ("Sub", text):
                return re.sub(r"\$\{([\w:]+)\}", lambda found: str(self.parameters.get(found[1], "")), text)
            case _:
                return str(value)


class _Loader(yaml.SafeLoader):
    """CloudFormation's short tags, as pairs of their name and what follows."""


def _tagged(loader: yaml.SafeLoader, tag: str, node: yaml.Node) -> tuple[str, Any]:
    if isinstance(node, yaml.SequenceNode):
        return tag, loader.construct_sequence(node, deep=True)
    if isinstance(node, yaml.MappingNode):
        return tag, loader.construct_mapping(node, deep=True)
    return tag, loader.construct_scalar(node)  # type: ignore[arg-type]


_Loader.add_multi_constructor("!", _tagged)
