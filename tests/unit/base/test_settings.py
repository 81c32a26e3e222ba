"""Settings: read once, named when missing, resolved in their store, and never displayed."""

import re
from collections.abc import Collection, Iterator

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from moto import mock_aws

from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import MINIMUM_SECRET_BYTES, Settings, is_reference
from qwestly_agent.bootstrap import look_up
from tests.servers import API_SECRET, SECRET

REQUIRED = {
    "MONGODB_URI": "mongodb://127.0.0.1:1",
    "MONGODB_DATABASE": "qwestly_local",
}
OF_CHAT = {
    "QWESTLY_AGENT_SHARED_SECRET": SECRET,
    "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
    "CANDIDATE_API_URL": "http://127.0.0.1:1/api/agent/v1",
}


def never_asked(references: Collection[str]) -> dict[str, str]:
    raise AssertionError(f"a literal was looked up: {references}")


def settings(**changes: str) -> Settings:
    return Settings.from_env({**REQUIRED, **OF_CHAT, **changes})


def test_every_missing_variable_is_named_at_once() -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.from_env({})
    assert [name for name in REQUIRED if name not in str(refused.value)] == []


@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("value", [None, "", "   "], ids=["absent", "empty", "blank"])
def test_only_the_missing_variable_is_named(name: str, value: str | None) -> None:
    environment = {**REQUIRED, name: value or ""}
    with pytest.raises(InvalidSettings) as refused:
        Settings.from_env(environment)
    assert re.findall(r"[A-Z]+(?:_[A-Z]+)+", str(refused.value)) == [name]


def test_all_of_a_functions_missing_settings_are_named_at_once() -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.from_env(REQUIRED).require(*(name.lower() for name in OF_CHAT))
    assert [name for name in OF_CHAT if name not in str(refused.value)] == []
    settings().require(*(name.lower() for name in OF_CHAT))


def test_trace_headers_are_read_only_if_traces_are_exported() -> None:
    given = settings(TRACES_HEADERS="ssm:/headers")
    assert given.resolve(lambda _: {}).traces_headers == ""
    sent = settings(TRACES_HEADERS="ssm:/headers", TRACES_URL="https://traces.test/v1/traces")
    assert sent.resolve(lambda asked: dict.fromkeys(asked, "X-Key=k")).traces_headers == "X-Key=k"


@pytest.mark.parametrize("secret", ["short", SECRET, SECRET[::-1]])
def test_the_write_apis_secret_is_long_and_not_a_sign_in_secret(secret: str) -> None:
    given = settings(QWESTLY_AGENT_SHARED_SECRET=f"{SECRET},{SECRET[::-1]}", QWESTLY_CANDIDATE_API_SECRET=secret)
    with pytest.raises(InvalidSettings, match="QWESTLY_CANDIDATE_API_SECRET") as refused:
        given.resolve(never_asked)
    assert secret not in str(refused.value).split()


def test_settings_are_read_from_the_environment_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**REQUIRED, "AGENT_DESIGN": " another ", "LOG_LEVEL": ""}.items():
        monkeypatch.setenv(name, value)
    read = Settings.from_env()
    assert (read.mongodb_database, read.agent_design, read.log_level) == ("qwestly_local", "another", "INFO")


def test_other_environment_variables_are_ignored() -> None:
    assert settings(PATH="/bin", MONGODB_HOST="elsewhere") == settings()


@pytest.mark.parametrize(
    "secret",
    [
        "short",
        "x" * (MINIMUM_SECRET_BYTES - 1),
        f"{SECRET},short",
        f"short,{SECRET}",
        ",",
        f"{SECRET} , {'x' * 31}",
    ],
)
def test_each_of_several_secrets_must_be_long_enough(secret: str) -> None:
    with pytest.raises(InvalidSettings, match="QWESTLY_AGENT_SHARED_SECRET") as refused:
        settings(QWESTLY_AGENT_SHARED_SECRET=secret).resolve(never_asked)
    assert SECRET not in str(refused.value)


KEY_FILES = {
    "PEM": rsa.generate_private_key(65537, 2048)
    .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    .decode(),
    "SSH": f"ssh-rsa {'A' * 200} somebody@example.com",
    "JWK": '{"kty": "a-kind-of-key-that-nobody-has-heard-of"}',
}


@pytest.mark.parametrize("name", ["QWESTLY_AGENT_SHARED_SECRET", "QWESTLY_CANDIDATE_API_SECRET"])
@pytest.mark.parametrize("secret", KEY_FILES.values(), ids=list(KEY_FILES))
def test_a_key_file_is_rejected_as_a_secret(name: str, secret: str) -> None:
    with pytest.raises(InvalidSettings, match=f"{name} must be a random text") as refused:
        settings(**{name: "ssm:/kept"}).resolve(lambda references: dict.fromkeys(references, secret))
    assert secret not in str(refused.value)


def test_a_key_file_is_rejected_as_a_second_secret_too() -> None:
    with pytest.raises(InvalidSettings, match="QWESTLY_AGENT_SHARED_SECRET must be a random text"):
        settings(QWESTLY_AGENT_SHARED_SECRET=f"{SECRET},{KEY_FILES['PEM']}").resolve(never_asked)


def test_a_secrets_length_is_measured_in_bytes() -> None:
    settings(QWESTLY_AGENT_SHARED_SECRET="é" * 16).resolve(never_asked)


def test_the_current_one_of_several_secrets_comes_first() -> None:
    several = settings(QWESTLY_AGENT_SHARED_SECRET=f" {SECRET} ,, {SECRET[::-1]},")
    assert several.shared_secrets == (SECRET, SECRET[::-1])


def test_no_settings_repr_shows_a_secret() -> None:
    secrets = {
        "MONGODB_URI": "mongodb://user:hunter2@cluster.example",
        "QWESTLY_AGENT_SHARED_SECRET": SECRET,
        "QWESTLY_CANDIDATE_API_SECRET": API_SECRET,
        "DEEPSEEK_API_KEY": "sk-deepseek",
        "OPENAI_API_KEY": "sk-openai",
    }
    shown = f"{settings(**secrets)!r} {settings(**secrets)}"
    assert [value for value in secrets.values() if value in shown] == []


def test_a_literal_value_is_not_looked_up() -> None:
    assert settings().resolve(never_asked) == settings()
    assert [is_reference(value) for value in ("ssm:/a", "secret:a", "https://ssm:1", "Secret:a", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    parameters.clear_caches()
    with mock_aws():
        yield
    parameters.clear_caches()


def test_references_are_resolved_in_their_store(cloud: None) -> None:
    boto3.client("ssm").put_parameter(Name="/qwestly-agent/dev/uri", Value="mongodb://u:p@c", Type="SecureString")
    boto3.client("secretsmanager").create_secret(Name="shared", SecretString=f"{SECRET}\n")
    given = settings(MONGODB_URI="ssm:/qwestly-agent/dev/uri", QWESTLY_AGENT_SHARED_SECRET="secret:shared")
    resolved = given.resolve(look_up)
    assert (resolved.mongodb_uri, resolved.shared_secrets) == ("mongodb://u:p@c", (SECRET,))
    assert resolved.mongodb_database == given.mongodb_database


def test_a_short_secret_is_rejected_after_being_resolved_too(cloud: None) -> None:
    boto3.client("ssm").put_parameter(Name="/shared", Value="short", Type="SecureString")
    with pytest.raises(InvalidSettings, match="at least 32 bytes"):
        settings(QWESTLY_AGENT_SHARED_SECRET="ssm:/shared").resolve(look_up)


@pytest.mark.parametrize("hours", ["apply", "apply=", "apply=soon", "apply=0", "apply=-1", "apply=169", "apply=nan"])
def test_approval_hours_must_be_within_a_week(hours: str) -> None:
    with pytest.raises(InvalidSettings, match="APPROVAL_HOURS must be tool=hours"):
        settings(APPROVAL_HOURS=hours).resolve(never_asked)
    given = settings(APPROVAL_HOURS="apply=2, delete_card=1").resolve(never_asked)
    assert given.hours_by_tool == {"apply": 2, "delete_card": 1}
