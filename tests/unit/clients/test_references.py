"""References are resolved together, and with patience."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, NoCredentialsError

from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.clients.aws import LONGEST_SECONDS, WAITS_SECONDS, look_up_all


class Store:
    """Parameter Store and Secrets Manager, which first fail the given number of times."""

    def __init__(self, failures: int = 0, code: str = "AccessDeniedException") -> None:
        self.kept = {f"/stage/{number}": f"value {number}" for number in range(12)}
        self.calls: list[Any] = []
        self.failures = failures
        self.code = code

    def client(self, _: str) -> "Store":
        return self

    def get_parameters(self, *, Names: list[str], WithDecryption: bool) -> dict[str, Any]:  # noqa: N803  AWS's names
        self._hear(Names)
        assert WithDecryption
        return {"Parameters": [{"Name": name, "Value": self.kept[name]} for name in Names if name in self.kept]}

    def get_secret_value(self, *, SecretId: str) -> dict[str, Any]:  # noqa: N803
        self._hear(SecretId)
        return {"SecretString": f"secret {SecretId}"}

    def _hear(self, what: Any) -> None:
        self.calls.append(what)
        if len(self.calls) <= self.failures:
            raise ClientError({"Error": {"Code": self.code, "Message": ""}}, "GetParameters")


@pytest.fixture
def waited() -> list[float]:
    return []


def test_all_references_of_a_container_are_read_in_one_call(waited: list[float]) -> None:
    store = Store()
    found = look_up_all(["ssm:/stage/1", "ssm:/stage/2", "ssm:/stage/1"], store.client, waited.append)
    assert found == {"ssm:/stage/1": "value 1", "ssm:/stage/2": "value 2"}
    assert store.calls == [["/stage/1", "/stage/2"]]
    assert not waited


def test_references_above_the_limit_take_several_calls_and_include_secrets(waited: list[float]) -> None:
    store = Store()
    references = [*(f"ssm:{name}" for name in store.kept), "secret:one"]
    assert look_up_all(references, store.client, waited.append).keys() == set(references)
    assert [len(call) for call in store.calls[:2]] == [10, 2]


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
@pytest.mark.parametrize("chance", [lambda: 1.0, lambda: 0.0])
def test_a_throttled_parameter_store_is_retried_for_some_seconds(
    code: str, chance: Callable[[], float], waited: list[float]
) -> None:
    store = Store(failures=len(WAITS_SECONDS), code=code)
    assert look_up_all(["ssm:/stage/1"], store.client, waited.append, chance) == {"ssm:/stage/1": "value 1"}
    assert sum(waited) == pytest.approx(4.2 * (1 + chance()))


def test_a_lasting_failure_of_the_parameter_store_is_one_clear_error(waited: list[float]) -> None:
    store = Store(failures=99)
    with pytest.raises(InvalidSettings, match=r"^/stage/1 cannot be read: AccessDeniedException\.$"):
        look_up_all(["ssm:/stage/1"], store.client, waited.append)
    assert len(store.calls) == len(WAITS_SECONDS) + 1


def test_a_permanent_error_of_the_parameter_store_is_raised_at_once(waited: list[float]) -> None:
    store = Store(failures=1, code="ValidationException")
    with pytest.raises(InvalidSettings, match="ValidationException"):
        look_up_all(["ssm:/stage/1"], store.client, waited.append)
    with pytest.raises(InvalidSettings, match="ssm:/gone cannot be read: there is no such parameter"):
        look_up_all(["ssm:/stage/1", "ssm:/gone"], store.client, waited.append)
    assert not waited


def test_a_store_that_keeps_throttling_is_unavailable_and_not_misconfigured(waited: list[float]) -> None:
    store = Store(failures=99, code="ThrottlingException")
    with pytest.raises(Unavailable):
        look_up_all(["ssm:/stage/1"], store.client, waited.append)
    assert len(store.calls) == len(WAITS_SECONDS) + 1


def test_an_unreachable_store_is_retried_only_briefly(waited: list[float]) -> None:
    seconds = 0.0

    def client(_: str) -> Any:
        nonlocal seconds
        seconds += 4
        raise ConnectTimeoutError(endpoint_url="nowhere")

    with pytest.raises(Unavailable):
        look_up_all(["ssm:/stage/1"], client, waited.append, now=lambda: seconds)
    assert LONGEST_SECONDS < seconds <= LONGEST_SECONDS + 4 + 4
    assert len(waited) == 2


def test_missing_credentials_are_reported_at_once(waited: list[float]) -> None:
    def client(_: str) -> Any:
        raise NoCredentialsError

    with pytest.raises(InvalidSettings, match="NoCredentialsError"):
        look_up_all(["ssm:/stage/1"], client, waited.append)
    assert not waited


def test_environments_from_one_snapshot_wait_for_different_times() -> None:
    """The state of `random` is part of a snapshot."""

    def waits() -> list[float]:
        random.seed(1)
        waited: list[float] = []
        look_up_all(["ssm:/stage/1"], Store(failures=3, code="ThrottlingException").client, waited.append)
        return waited

    assert waits() != waits()
