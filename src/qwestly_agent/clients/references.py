"""Look up the values of references: `ssm:/path` in Parameter Store, `secret:name` in Secrets Manager."""

import random
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

from qwestly_agent.base.errors import InvalidSettings, Unavailable

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

PARAMETERS_A_CALL = 10
"""Limit of `GetParameters`."""
WAITS_SECONDS = (0.3, 0.6, 1.2, 2.4, 3.9)
"""Maximum delays before retries, 8.4 s in total and at least half of that: permissions of a new role take a moment to
apply, and Parameter Store throttles when many containers start together. A state is tried five times, so it outlasts 20
seconds (statemachines/common.yaml)."""
LONGEST_SECONDS = 10.0
"""Time after which nothing is tried again: one try of a store that does not answer takes long itself, and a function
must end before its own time limit."""
_NOT_YET_ALLOWED = "AccessDeniedException"

ClientOf = Callable[[str], Any]
"""Returns the AWS client of a service."""


def look_up_all(
    references: Collection[str],
    client_of: ClientOf,
    sleep: Callable[[float], None] = time.sleep,
    # Environments restored from one snapshot share the state of `random`.
    chance: Callable[[], float] = random.SystemRandom().random,
    now: Callable[[], float] = time.monotonic,
) -> dict[str, str]:
    """Return the values by reference. Raises `InvalidSettings`, which names those that cannot be read, and
    `Unavailable` if the store throttles or cannot be reached."""
    patiently = partial(_patiently, sleep=sleep, chance=chance, now=now)
    parameters = sorted({each.removeprefix("ssm:") for each in references if each.startswith("ssm:")})
    secrets = sorted({each.removeprefix("secret:") for each in references if each.startswith("secret:")})
    values: dict[str, str] = {}
    for start in range(0, len(parameters), PARAMETERS_A_CALL):
        names = parameters[start : start + PARAMETERS_A_CALL]
        found = patiently(names, lambda names=names: _parameters(client_of, names))
        values |= {f"ssm:{name}": value for name, value in found.items()}
    for name in secrets:
        values[f"secret:{name}"] = patiently([name], lambda name=name: _secret(client_of, name))
    if missing := [each for each in references if each not in values]:
        raise InvalidSettings(f"{', '.join(missing)} cannot be read: there is no such parameter.")
    return values


def _parameters(client_of: ClientOf, names: list[str]) -> dict[str, str]:
    found = client_of("ssm").get_parameters(Names=names, WithDecryption=True)["Parameters"]
    return {each["Name"]: each["Value"] for each in found}


def _secret(client_of: ClientOf, name: str) -> str:
    return client_of("secretsmanager").get_secret_value(SecretId=name)["SecretString"]


def _patiently(
    names: list[str],
    read: Callable[[], Any],
    *,
    sleep: Callable[[float], None],
    chance: Callable[[], float],
    now: Callable[[], float],
) -> Any:
    """Read the values, retrying transient failures for a few seconds."""
    from botocore.exceptions import BotoCoreError, ClientError

    begun = now()
    for tried, wait in enumerate((*WAITS_SECONDS, 0.0)):
        try:
            return read()
        except (ClientError, BotoCoreError) as error:
            is_last = tried == len(WAITS_SECONDS) or now() - begun > LONGEST_SECONDS
            if is_last and _passes(error):
                raise Unavailable from error
            if is_last or not (_passes(error) or _cause(error) == _NOT_YET_ALLOWED):
                raise InvalidSettings(f"{', '.join(names)} cannot be read: {_cause(error)}.") from error
            sleep(wait * (1 + chance()) / 2)  # with jitter, since other containers start at the same time
    raise AssertionError("unreachable")


def _passes(error: "ClientError | BotoCoreError") -> bool:
    """True if the store throttles, fails, or cannot be reached."""
    from botocore.exceptions import ClientError, HTTPClientError
    from botocore.exceptions import ConnectionError as NoConnection

    if not isinstance(error, ClientError):
        return isinstance(error, (NoConnection, HTTPClientError))
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= 500 or any(each in _cause(error) for each in ("Throttl", "InternalS", "LimitExceeded"))


def _cause(error: "ClientError | BotoCoreError") -> str:
    response: Any = getattr(error, "response", None)
    return response["Error"]["Code"] if response else type(error).__name__
