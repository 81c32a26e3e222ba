"""A card while Parameter Store throttles or is unreachable: every invocation starts in a new environment, which must
read its secrets."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from infra.local.environment import Template
from qwestly_agent import bootstrap as composition
from qwestly_agent import container
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import bootstrap, bootstrap_resumes
from qwestly_agent.clients.aws import look_up_all
from qwestly_agent.container import Container
from qwestly_agent.services import Services
from tests.statemachines.conftest import Person, World
from tests.statemachines.second_interpreter import PYTHON

REFERENCE = Template.load().environment("GenerateWriterFunction")["MONGODB_URI"]
THROTTLED = ClientError({"Error": {"Code": "ThrottlingException", "Message": "Rate exceeded"}}, "GetParameters")
AWAY = EndpointConnectionError(endpoint_url="https://ssm.us-east-1.amazonaws.com")


@dataclass
class ParameterStore:
    """Fails for so many seconds of simulated time, which passes only by waiting, in retries and in a function."""

    uri: str
    failure: Exception = THROTTLED
    back_at: float = 0.0
    seconds: float = 0.0
    refused: int = 0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def time(self) -> float:
        return self.seconds

    def get_parameters(self, *, Names: list[str], WithDecryption: bool) -> Any:  # noqa: N803  AWS's names
        assert WithDecryption
        if self.seconds < self.back_at:
            self.refused += 1
            raise self.failure
        return {"Parameters": [{"Name": name, "Value": self.uri} for name in Names]}


class NewEnvironments(Container[Any]):
    """Services that are rebuilt at each invocation."""

    def __init__(self, make_services: Callable[[], Awaitable[Services]]) -> None:
        self.made: list[Services] = []

        async def make() -> Services:
            self.made.append(await make_services())
            return self.made[-1]

        super().__init__(make)

    def start(self, work: Any) -> Any:
        self._services = None
        return super().start(work)

    def close(self) -> None:
        for services in self.made:
            super().start(lambda _, services=services: services.close()).result()
        super().close()


@pytest.fixture
def store(world: World, mongodb_uri: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ParameterStore]:
    store, warm = ParameterStore(mongodb_uri), container.services
    warm.run(lambda services: services.mongo.admin.command("ping"))
    retrier = "moto.stepfunctions.parser.asl.component.common.retry"
    monkeypatch.setattr(f"{retrier}.retrier_decl.time", store)
    # The least that jitter and chance leave of a wait.
    monkeypatch.setattr(f"{retrier}.jitter_strategy_decl.random.uniform", lambda least, _: least)
    looking = partial(look_up_all, sleep=store.sleep, chance=lambda: 0.0, now=store.time)
    monkeypatch.setattr(composition, "look_up_all", lambda references, _: looking(references, lambda _: store))
    monkeypatch.setenv("MONGODB_URI", REFERENCE)
    monkeypatch.setattr(world, "run", warm.run)
    cold = NewEnvironments(lambda: bootstrap(Settings.from_env(), clock=world.clock))
    cold_models = NewEnvironments(lambda: bootstrap_resumes(Settings.from_env(), clock=world.clock))
    monkeypatch.setattr(container, "services", cold)
    monkeypatch.setattr(container, "resume_services", cold_models)
    yield store
    cold.close()
    cold_models.close()


@pytest.mark.parametrize("failure", [THROTTLED, AWAY], ids=["throttles", "is away"])
def test_a_card_is_published_despite_a_20_second_parameter_store_failure(
    ada: Person, store: ParameterStore, failure: Exception
) -> None:
    store.failure, store.back_at = failure, 20.0
    ada.wants_a_card()
    ada.is_asked()
    ada.decides("approve")
    assert ada.outcome() == ("SUCCEEDED", "published")
    assert store.refused


@pytest.mark.skipif(bool(PYTHON), reason="LocalStack's retries wait in a process whose waits the store cannot count")
def test_a_ten_minute_parameter_store_outage_is_reported_and_the_user_can_retry(
    ada: Person, store: ParameterStore
) -> None:
    store.failure, store.back_at = AWAY, 600.0
    ada.wants_a_card()
    assert ada.outcome() == ("FAILED", "failed")
    assert store.seconds > 600
    assert ada.draft().status == "failed"
    assert ada.draft().label.endswith("Please ask for it again.")
    ada.draft_id += "_again"
    ada.wants_a_card()
    ada.is_asked()
