"""Check that the settings are complete and the secrets exist. No secret is printed."""

from botocore.exceptions import BotoCoreError, ClientError

from infra.doctor.results import Results, call, kind_of, note, right, wrong
from infra.doctor.target import Target
from qwestly_agent.base.errors import InvalidSettings

HIGH_THROUGHPUT = "/ssm/parameter-store/high-throughput-enabled"
NEEDED = ("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
"""Settings that the chat needs in addition to those of every function."""


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
    if target.stage:
        async for result in _throughput(target):
            yield result


async def _throughput(target: Target) -> Results:
    """Check the throughput: each starting environment reads its secrets at once, and a throttled one waits."""
    try:
        answer = await call(target.aws("ssm"), "get_service_setting", SettingId=HIGH_THROUGHPUT)
    except (BotoCoreError, ClientError) as error:  # nothing depends on it
        yield note("secrets", f"the throughput of Parameter Store could not be looked at: {kind_of(error)}")
        return
    if answer["ServiceSetting"]["SettingValue"] == "true":
        yield right("secrets", "Parameter Store has high throughput")
    else:
        turn_on = f"aws ssm update-service-setting --setting-id {HIGH_THROUGHPUT} --setting-value true"
        yield note("secrets", f"Parameter Store takes 40 requests a second; for more, at a price: {turn_on}")
