"""Look up the values of references: `ssm:/path` in Parameter Store, `secret:name` in Secrets Manager."""

import random
import time
from collections.abc import Callable, Collection
from typing import Any

from qwestly_agent.base.errors import InvalidSettings

PARAMETERS_A_CALL = 10
"""Limit of `GetParameters`."""
WAITS_SECONDS = (0.2, 0.4, 0.8, 1.2, 1.4)
"""Maximum delays before retries, 4 s in total: permissions of a new role take a moment to apply, and Parameter Store
throttles when many containers start together."""
_PASSING = frozenset({"AccessDeniedException", "InternalServerError", "InternalServiceError", "ThrottlingException"})

ClientOf = Callable[[str], Any]
"""Returns the AWS client of a service."""


def look_up_all(
    references: Collection[str],
    client_of: ClientOf,
    sleep: Callable[[float], None] = time.sleep,
    chance: Callable[[], float] = random.random,
) -> dict[str, str]:
    """Return the values by reference. Raises `InvalidSettings`, which names those that cannot be read."""
    parameters = sorted({each.removeprefix("ssm:") for each in references if each.startswith("ssm:")})
    secrets = sorted({each.removeprefix("secret:") for each in references if each.startswith("secret:")})
    values: dict[str, str] = {}
    for start in range(0, len(parameters), PARAMETERS_A_CALL):
        names = parameters[start : start + PARAMETERS_A_CALL]
        found = _patiently(names, lambda names=names: _parameters(client_of, names), sleep, chance)
        values |= {f"ssm:{name}": value for name, value in found.items()}
    for name in secrets:
        values[f"secret:{name}"] = _patiently([name], lambda name=name: _secret(client_of, name), sleep, chance)
    if missing := [each for each in references if each not in values]:
        raise InvalidSettings(f"{', '.join(missing)} cannot be read: there is no such parameter.")
    return values


def _parameters(client_of: ClientOf, names: list[str]) -> dict[str, str]:
    found = client_of("ssm").get_parameters(Names=names, WithDecryption=True)["Parameters"]
    return {each["Name"]: each["Value"] for each in found}


def _secret(client_of: ClientOf, name: str) -> str:
    return client_of("secretsmanager").get_secret_value(SecretId=name)["SecretString"]


def _patiently(
    names: list[str], read: Callable[[], Any], sleep: Callable[[float], None], chance: Callable[[], float]
) -> Any:
    """Read the values, retrying transient failures for a few seconds."""
    from botocore.exceptions import BotoCoreError, ClientError

    for wait in (*WAITS_SECONDS, None):
        try:
            return read()
        except (ClientError, BotoCoreError) as error:
            cause = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
            if wait is None or cause not in _PASSING:
                raise InvalidSettings(f"{', '.join(names)} cannot be read: {cause}.") from error
            sleep(wait * chance())  # with jitter, since other containers start at the same time
    raise AssertionError("unreachable")
