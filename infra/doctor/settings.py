"""Check that the settings are complete and the secrets exist. No secret is printed."""

from infra.doctor.results import Results, right, wrong
from infra.doctor.target import Target
from qwestly_agent.base.errors import InvalidSettings

NEEDED = ("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
"""Settings that the chat needs besides those of every function."""


async def check_settings(target: Target) -> Results:
    try:
        target.settings.require(*NEEDED)
    except InvalidSettings as error:
        yield wrong("settings", str(error))
    else:
        yield right("settings", "complete")


async def check_secrets(target: Target) -> Results:
    for why in target.unread:
        yield wrong("secrets", why)
    try:
        target.settings.resolve(lambda references: dict.fromkeys(references, ""))
    except InvalidSettings as error:
        yield wrong("secrets", str(error))
    else:
        if not target.unread:
            yield right("secrets", "there, long enough, and none is used in both directions")
