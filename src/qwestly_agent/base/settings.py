"""The only module that reads the environment; and the secrets in it, kept current."""

import asyncio
import base64
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Self, TypeGuard

from aws_lambda_powertools import Logger

from qwestly_agent.base.errors import InvalidSettings, Unavailable
from qwestly_agent.base.observability import Event

# --- settings ---------------------------------------------------------------------------------------------------------
# The only module that reads the environment.
#
# A value is a literal or a reference (`ssm:/path`, `secret:name`), which `bootstrap` resolves. Production therefore has
# no secret in its environment, and local processes need no cloud.


CLOCK_OFFSET_SECONDS = float(os.environ.get("CLOCK_OFFSET") or 0)
"""Added to the machine's time, so that a local process can run on another day. No function of the template sets it."""
MINIMUM_SECRET_BYTES = 32
LONGEST_HOURS_TO_DECIDE = 168.0
"""The longest time in hours that a state machine waits for a user."""
P256_BEGINNING = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
_COLOR = re.compile("#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class Settings:
    """Each field is the environment variable of the same name in capitals. A field without a default is required."""

    mongodb_uri: str = field(repr=False)
    """The database server."""
    mongodb_database: str
    """Its name."""
    qwestly_agent_shared_secret: str = field(default="", repr=False)
    """Verifies the candidate app's tokens. Several secrets are separated by commas during a rotation. Empty in
    functions that serve no signed-in users."""
    qwestly_jwt_audience: str = ""
    """Required in every token of the candidate app, if set."""
    qwestly_jwt_issuer: str = ""
    """Required in every token of the candidate app, if set."""
    qwestly_jwt_public_keys: str = ""
    """The candidate app's public keys (P-256), each in base64 as `openssl ec -pubout` prints it in one line, separated
    by commas during a rotation. With them its tokens are signed by ES256, which no function here can do, and the
    shared secret is not used."""
    qwestly_candidate_api_secret: str = field(default="", repr=False)
    """Signs our own tokens for the candidate app, and seals each approval. Several secrets are separated by commas
    during a rotation: the first signs, and the seals of all count."""
    candidate_api_url: str = ""
    """URL of the candidate app's write API, including its path: docs/candidate-app-api.yaml."""
    behind_distribution: int = 0
    """1 if only the distribution before the functions' URLs may call them; it adds `origin_secret` to each request."""
    origin_secret: str = field(default="", repr=False)
    """Proves that the distribution sent a request. Several secrets are separated by commas during a rotation."""
    approve_url: str = ""
    """URL that the links in mails point to."""
    app_url: str = ""
    """URL where users sign in, linked from mails and approval pages."""
    brand_name: str = "Qwestly"
    """Used in mails and on approval pages."""
    brand_color: str = ""
    """`#rrggbb`; replaces our accent color in mails and on approval pages."""
    brand_logo: str = ""
    """URL of an image (https), shown instead of the name."""
    mail_from: str = ""
    """Sender of our mails; empty to send none."""
    mail_configuration_set: str = ""
    """SES's configuration set of our mails, which reports bounces and complaints; empty for none."""
    task_token_key: str = ""
    """The KMS key, or its alias, that encrypts task tokens."""
    erasure_log: str = ""
    """CloudWatch log group that lists erasures, to repeat them after a restore of the database; empty for
    none."""
    erasure_key: str = field(default="", repr=False)
    """Hashes ids in that log. Several keys are separated by commas: the first hashes, and all recognize."""
    act_function: str = ""
    """Name and alias of the function that decides and executes approvals for functions without that right; empty to do
    so in this process."""
    machine_arn_prefix: str = ""
    """Beginning of the state machines' ARNs, which names such as `write-lesson` complete."""
    job_boards: str = "adzuna,jsearch,web"
    """Job boards and web search to use, separated by commas. Each also needs its key; keys of boards that are not
    listed are ignored."""
    adzuna_app_id: str = ""
    """Id of your application at Adzuna."""
    adzuna_app_key: str = field(default="", repr=False)
    """The key of that application."""
    adzuna_country: str = "us"
    """Two letters, as in Adzuna's paths."""
    jsearch_api_key: str = field(default="", repr=False)
    """The key of JSearch."""
    search_api_key: str = field(default="", repr=False)
    """The key of Brave's web search."""
    job_board_quotas: str = "adzuna=25/250,jsearch=60/300"
    """Maximum requests to a board per minute and per day (UTC), for all users together."""
    job_boards_url: str = ""
    """One URL in place of those of Adzuna, JSearch and the web search; used on the laptop."""
    mongodb_connections: int = 5
    """Maximum connections of this process to each member of the replica set; Atlas limits their sum. An environment of
    Lambda serves one request at a time; on the laptop a process serves all."""
    deepseek_api_key: str = field(default="", repr=False)
    """The key of DeepSeek's models."""
    openai_api_key: str = field(default="", repr=False)
    """The key of OpenAI's embeddings and moderation, and of its models if they are chosen."""
    model_base_url: str = ""
    """URL of any OpenAI-compatible server; takes precedence over the providers' own URLs."""
    embeddings_base_url: str = ""
    """URL of any server with OpenAI's embeddings route."""
    moderation_base_url: str = ""
    """The moderation endpoint that detects people in danger: empty for OpenAI (if its key is used for embeddings),
    `off` for none, or the URL of another server."""
    model_fast: str = ""
    """`provider:name`; overrides the model that routes, extracts and answers."""
    model_pro: str = ""
    """`provider:name`; overrides the model that writes texts for people, and judges."""
    model_fallback: str = ""
    """`provider:name`; used if the first provider cannot answer; empty for none."""
    model_judge: str = ""
    """`provider:name`; judges both tiers' output. If empty, each tier's output is judged by the other tier's model."""
    answers_turns: int = 1
    """0 in the function that handles everything but turns."""
    agent_design: str = "default"
    """The design of new conversations."""
    agent_design_paths: str = ""
    """Folders with additional designs, separated by commas."""
    agent_design_settings: str = ""
    """Settings of designs, as a JSON object by design name: `{"default": {}}`."""
    link_hosts: str = "qwestly.com"
    """Hosts that links and images in an answer may point to, with their subdomains, separated by commas. Do not list
    hosts that track visits or redirect to other sites."""
    event_bus: str = ""
    """Name of the EventBridge bus that events are sent to; empty for none."""
    turn_ceiling_usd: float = 0.05
    """Cost of a turn above which it makes no further model request."""
    day_ceiling_usd: float = 1.0
    """Cost of a user's turns in one day (UTC) above which no turn makes a model request."""
    stage_day_ceiling_usd: float = 0.0
    """Cost of all users together in one day (UTC) above which no turn starts. From 80 % of it, workflows wait. 0 for no
    limit."""
    running_turns: int = 3
    """Maximum number of a user's concurrent turns."""
    messages_a_minute: int = 20
    """Maximum number of a user's messages per minute; 1,000 and more means no limit."""
    conversations_a_sweep: int = 40
    """Maximum number of conversations that one sweep picks for memory extraction; a sweep runs every five minutes. Four
    are read at once, each within three minutes, so that all are done before another sweep may pick them again."""
    users_a_night: int = 1_500
    """Maximum number of users whose memories one night consolidates, of five a day; the next continues with the
    others. An execution's history has room for 25,000 events, about fifteen per user."""
    approvals_a_sweep: int = 500
    """Maximum number of due approvals handled per minute; the next minute continues with the others."""
    briefings_a_sweep: int = 10_000
    """Maximum number of users whose briefing is started per minute; the next minute continues with the others."""
    job_searches_a_sweep: int = 40
    """Maximum number of nightly job searches that one sweep starts; the next one, five minutes later, continues with
    the others. Limited by the capacity of the model slots: slots x 300 s / (two states of about 30 s)."""
    approval_hours: str = ""
    """Overrides of the hours that approvals wait, by tool: `apply=12,publish_card=72`."""
    follow_ups_a_sweep: int = 500
    """Maximum number of due application steps that one sweep reports, every five minutes."""
    briefing_mails_a_day: int = 40_000
    """Maximum number of briefings mailed per day (UTC), below the sending quota of SES; the others are shown only in
    the app."""
    memory_forgotten_from: float = 0.4
    """Minimum estimated cosine at which new text may repeat something forgotten, so that its user must approve it. With
    a real embedding 75 % of retellings are above it, and 10 % of unrelated statements by the same person; the estimate
    adds a standard deviation of 0.07."""
    join_window_ms: float = 80
    """Text that a model sends within this many milliseconds is sent on together; 0 to send each piece at once."""
    traces_url: str = ""
    """URL that traces are sent to by OTLP over HTTP, including its path (`…/v1/traces`); empty for none."""
    traces_headers: str = field(default="", repr=False)
    """Headers with our credentials for the collector: `name=value,name=value`."""
    traces_content: int = 0
    """1 to include prompts, answers and tool arguments, which contain user text."""
    log_level: str = "INFO"
    """The least severe level that is logged."""
    aws_lambda_initialization_type: str = ""
    """Set by Lambda; `snap-start` while Lambda creates the snapshot from which environments are restored."""

    @classmethod
    def from_env(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the environment. Raises `InvalidSettings`, which names every missing variable."""
        environment = os.environ if environment is None else environment
        given = {f.name: value for f in fields(cls) if (value := environment.get(f.name.upper(), "").strip())}
        missing = [f.name.upper() for f in fields(cls) if f.default is MISSING and f.name not in given]
        if missing:
            raise InvalidSettings(f"Missing in the environment: {', '.join(missing)}.")
        return cls(**{name: _typed(cls, name, value) for name, value in given.items()})

    @property
    def is_snapshot(self) -> bool:
        """True if this process becomes a snapshot; its connections do not survive that."""
        return self.aws_lambda_initialization_type == "snap-start"

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        return tuple(host.strip().lower() for host in self.link_hosts.split(",") if host.strip())

    @property
    def hours_by_tool(self) -> Mapping[str, float]:
        """The overrides of how long approvals wait. Raises `InvalidSettings`."""
        return _parse_hours(self.approval_hours)

    @property
    def shared_secrets(self) -> tuple[str, ...]:
        """The accepted secrets, the current one first."""
        return tuple(secret.strip() for secret in self.qwestly_agent_shared_secret.split(",") if secret.strip())

    @property
    def public_keys(self) -> tuple[str, ...]:
        """The candidate app's public keys, in base64."""
        return tuple("".join(key.split()) for key in self.qwestly_jwt_public_keys.split(",") if key.strip())

    @property
    def candidate_api_secrets(self) -> tuple[str, ...]:
        """The secrets of the write API, the one that signs first."""
        return tuple(secret.strip() for secret in self.qwestly_candidate_api_secret.split(",") if secret.strip())

    @property
    def erasure_keys(self) -> tuple[str, ...]:
        """The keys of the erasure log, the one that hashes first."""
        return tuple(key.strip() for key in self.erasure_key.split(","))

    @property
    def has_job_boards(self) -> bool:
        """True if the stage uses a job board, whether or not this process has its key."""
        return not {"adzuna", "jsearch"}.isdisjoint(self.job_boards.split(","))

    @property
    def signing_secret(self) -> str:
        """The secret of the write API that is used to sign; empty if there is none."""
        return next(iter(self.candidate_api_secrets), "")

    def resolve(self, look_up: Callable[[Collection[str]], Mapping[str, str]]) -> Self:
        """Return these settings with each reference replaced by its value from `look_up(references)`, and validate
        them.

        Raises `InvalidSettings` for a secret that is shorter than 32 bytes, is a key file, or is used in both
        directions.
        """
        needed = replace(self, **dict.fromkeys(unused_keys(vars(self)), ""))
        references = {f.name: value for f in fields(needed) if is_reference(value := getattr(needed, f.name))}
        values = look_up(tuple(references.values())) if references else {}
        resolved = replace(needed, **{name: values[value].strip() for name, value in references.items()})
        own = resolved.qwestly_candidate_api_secret and (resolved.candidate_api_secrets or ("",))
        given = resolved.qwestly_agent_shared_secret and (resolved.shared_secrets or ("",))
        if given and any(len(s.encode()) < MINIMUM_SECRET_BYTES for s in given):
            raise InvalidSettings(
                f"QWESTLY_AGENT_SHARED_SECRET must be at least {MINIMUM_SECRET_BYTES} bytes long, each of several too."
            )
        if own and any(len(s.encode()) < MINIMUM_SECRET_BYTES or s in resolved.shared_secrets for s in own):
            raise InvalidSettings(
                f"QWESTLY_CANDIDATE_API_SECRET must be at least {MINIMUM_SECRET_BYTES} bytes long, and none of those "
                "that sign users in."
            )
        if resolved.erasure_log and any(len(key.encode()) < MINIMUM_SECRET_BYTES for key in resolved.erasure_keys):
            raise InvalidSettings(f"ERASURE_KEY must be at least {MINIMUM_SECRET_BYTES} bytes long.")
        for name, secrets in (
            ("QWESTLY_AGENT_SHARED_SECRET", given or ()),
            ("QWESTLY_CANDIDATE_API_SECRET", own or ()),
        ):
            if any(_is_key_file(secret) for secret in secrets if secret):
                raise InvalidSettings(f"{name} must be a random text. This is a key file (PEM, SSH or JWK).")
        if self.brand_color and not _COLOR.fullmatch(self.brand_color):
            raise InvalidSettings("BRAND_COLOR must be a color as #0d6a59.")
        _parse_hours(resolved.approval_hours)
        parse_quotas(resolved.job_board_quotas)
        if not all(map(_is_public_key, resolved.public_keys)):
            raise InvalidSettings("QWESTLY_JWT_PUBLIC_KEYS must be public keys of P-256, in base64 (SPKI).")
        for name in ("APP_URL", "BRAND_LOGO", "TRACES_URL"):
            if (url := getattr(self, name.lower())) and not url.startswith(("https://", "http://127.0.0.1:")):
                raise InvalidSettings(f"{name} must be an address that begins with https://.")
        return resolved

    def require(self, *names: str) -> None:
        """Raise `InvalidSettings` if any of these settings is empty; the message names all empty ones."""
        if missing := [name.upper() for name in names if not getattr(self, name)]:
            raise InvalidSettings(f"Missing in the environment: {', '.join(missing)}.")


def bare_environment() -> dict[str, str]:
    """Return the variables that a Python process of ours needs to start, without secrets."""
    return {name: value for name in ("LD_LIBRARY_PATH", "LANG") if (value := os.environ.get(name))}


def _typed(settings: type[Settings], name: str, value: str) -> Any:
    kind = type(getattr(settings, name, ""))  # type of an optional field's default; a required field is text
    if kind not in (int, float):
        return value
    try:
        return _not_negative(kind(value))
    except ValueError:
        raise InvalidSettings(f"{name.upper()} must be a number that is not negative.") from None


def _not_negative(number: float) -> float:
    if not number >= 0:
        raise ValueError
    return number


def _parse_hours(approval_hours: str) -> Mapping[str, float]:
    given = (each.partition("=") for each in filter(None, map(str.strip, approval_hours.split(","))))
    try:
        hours = {tool: float(number) for tool, _, number in given}
    except ValueError:
        hours = {"": 0.0}
    if not all(0 < each <= LONGEST_HOURS_TO_DECIDE for each in hours.values()):
        raise InvalidSettings(
            "APPROVAL_HOURS must be tool=hours,tool=hours: tools of docs/approvals.md, "
            f"and hours above 0 and up to {LONGEST_HOURS_TO_DECIDE:g}."
        )
    return hours


def parse_quotas(job_board_quotas: str) -> Mapping[str, tuple[int, int]]:
    """Parse the quotas: requests per minute and per day, by board. Raises `InvalidSettings`."""
    try:
        named = dict(each.split("=") for each in job_board_quotas.split(",") if each)
        limits = {board: tuple(map(int, each.split("/"))) for board, each in named.items()}
        return {board: (a_minute, a_day) for board, (a_minute, a_day) in limits.items()}
    except ValueError:
        raise InvalidSettings("JOB_BOARD_QUOTAS is not as adzuna=25/250,jsearch=60/300.") from None


def _is_key_file(secret: str) -> bool:
    import jwt  # imported late: most functions have no secret, and it is slow to import

    try:
        jwt.get_algorithm_by_name("HS256").prepare_key(secret)
    except jwt.InvalidKeyError:  # PyJWT raises the same for each token signed or verified with it
        return True
    return False


def _is_public_key(text: str) -> bool:
    """True for 91 bytes that begin like every P-256 public key (RFC 5480)."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return len(raw) == len(P256_BEGINNING) + 65 and raw.startswith(P256_BEGINNING)


def unused_keys(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the field names of the secrets that are not needed with these settings."""
    keys = {"adzuna": "adzuna_app_key", "jsearch": "jsearch_api_key", "web": "search_api_key"}
    boards = settings.get("job_boards", "").split(",")
    unused = [key for name, key in keys.items() if name not in boards]
    models = [settings.get(f"model_{name}", "") for name in ("fast", "pro", "fallback", "judge")]
    if all(models[:2]) and not any(each.startswith("deepseek:") for each in models):
        unused.append("deepseek_api_key")
    if settings.get("qwestly_jwt_public_keys"):
        unused.append("qwestly_agent_shared_secret")
    if str(settings.get("behind_distribution", 0)) != "1":
        unused.append("origin_secret")
    if not settings.get("erasure_log"):
        unused.append("erasure_key")
    return (*unused, *(() if settings.get("traces_url") else ("traces_headers",)))


def is_reference(value: object) -> TypeGuard[str]:
    """True if the value is a reference to a stored secret: `ssm:/path` or `secret:name`."""
    return isinstance(value, str) and value.startswith(("ssm:", "secret:"))


# --- secrets ----------------------------------------------------------------------------------------------------------
# Keep the secrets current: a process whose secret is rejected reads all of them again.


READ_AGAIN_AFTER_SECONDS = 60
"""Rate limit, because anybody can trigger a reload by sending a token with an invalid signature."""


class Secrets:
    """Settings with all references resolved. `settings` holds the latest values."""

    def __init__(
        self, read: Callable[[], Settings], settings: Settings, clock: Callable[[], float], logger: Logger
    ) -> None:
        self.settings = settings
        self.is_readable = True
        """False if the last reload failed; the previous values are kept."""
        self._read, self._clock, self._logger = read, clock, logger
        self._begun_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def renew(self, *, at_once: bool = False) -> Settings:
        """Read all references again, at most once a minute unless `at_once`. Concurrent callers share one reload, which
        continues if one of them is cancelled."""
        if self._reading is None or self._reading.done():
            now = self._clock()
            if not at_once and now - self._begun_at < READ_AGAIN_AFTER_SECONDS:
                return self.settings
            self._begun_at, self._reading = now, asyncio.create_task(self._read_again())
        await asyncio.shield(self._reading)
        return self.settings

    async def _read_again(self) -> None:
        try:
            settings = await asyncio.to_thread(self._read)
        except (InvalidSettings, Unavailable) as error:
            self.is_readable = False
            self._logger.error(Event.SECRETS_UNREADABLE, extra={"reason": str(error)})
            return
        changed = [f.name for f in fields(settings) if getattr(settings, f.name) != getattr(self.settings, f.name)]
        self.settings, self.is_readable = settings, True
        self._logger.info(Event.SECRETS_READ, extra={"changed": changed})
