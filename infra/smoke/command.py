"""Walk through a deployed chat as a made-up user: by its URL, or by --stage.

With a stage the addresses are its stack's outputs, and the secret is read from Parameter Store. With a URL the secret
is QWESTLY_AGENT_SHARED_SECRET, a value or a reference; --approve-url and --origin are needed too. If a stage verifies
tokens by public keys, SMOKE_PRIVATE_KEY is the file (PEM) of a private key that matches one of them. --spend also has
the models answer, for a few cents: in both protocols, from profile, memories and documents, with a memory stored and
recalled, a card up to its approval, an About section, and a proposed change that is declined.

Prints a line for each step with its milliseconds, and the cost of its turns; erases its data, and exits with 1 if a
step failed.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
from botocore.exceptions import BotoCoreError, ClientError

from infra.smoke import paths, routes
from infra.smoke.visit import Failed, NotTried, Place, Visit
from infra.stages import Stage, WrongUsage
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.http import ORIGIN_HEADER
from qwestly_agent.base.settings import is_reference
from qwestly_agent.bootstrap import look_up
from qwestly_agent.clients.aws import AWS

PATIENCE_SECONDS = 60.0
LOCAL_ORIGIN = "http://localhost:3000"

Step: TypeAlias = Callable[[Visit], str | None]
"""Returns a remark, if there is one."""

STEPS: Mapping[str, Step] = {
    "health": routes.health,
    "401 without a token": routes.nobody_without_a_token,
    "CORS": routes.preflight,
    "a turn": routes.a_turn,
    "a turn of the AI SDK": routes.a_turn_of_the_ai_sdk,
    "its conversation": routes.its_conversation,
    "stop": routes.stop,
    "end": routes.end,
    "memories": routes.memories,
    "export": routes.export,
    "brake on and off": routes.brake,
    "a wrong link": routes.a_link_that_leads_nowhere,
    "the three tiers": paths.three_tiers,
    "remember and recall": paths.remember_and_recall,
    "a card": paths.a_card_to_its_question,
    "an About section": paths.an_about_section,
    "a no": paths.a_no,
    # Must be last: it erases the other steps' data.
    "leaving": routes.leaving,
}


def walk(visit: Visit) -> bool:
    """Run all steps. Returns True if none failed."""
    failures = [name for name, step in STEPS.items() if not _taken(visit, name, step)]
    return not failures


def _taken(visit: Visit, name: str, step: Step) -> bool:
    started = time.perf_counter()
    try:
        mark, said = "ok", step(visit) or ""
    except NotTried as why:
        mark, said = "not tried", str(why)
    except Failed as why:
        mark, said = "FAILED", str(why)
    except (httpx2.HTTPError, ValueError, LookupError, TypeError) as error:  # no response, or one of another shape
        mark, said = "FAILED", type(error).__name__
    print(f"{mark:9}  {name:20}  {(time.perf_counter() - started) * 1000:6.0f} ms  {said}".rstrip())
    return mark != "FAILED"


def place_of_stage(stage: Stage, aws: Callable[[str], Any], key_file: str = "") -> Place:
    """Raises `InvalidSettings` if the stage has public keys and no private key file is given."""
    [stack] = aws("cloudformation").describe_stacks(StackName=stage.stack)["Stacks"]
    outputs = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
    claims = {"aud": stage.parameter("JwtAudience"), "iss": stage.parameter("JwtIssuer")}
    path = f"ssm:{stage.parameter('ConfigurationPath')}"
    reference, origin = f"{path}/shared-secret", f"{path}/origin-secret"
    is_behind, has_keys = stage.parameter("BehindDistribution") == "1", bool(stage.parameter("JwtPublicKeys"))
    if has_keys and not key_file:
        raise InvalidSettings("Missing in the environment: SMOKE_PRIVATE_KEY.")
    secrets = look_up([*([] if has_keys else [reference]), *([origin] if is_behind else [])])
    return Place(
        chat=outputs["ChatUrl"].rstrip("/"),
        api=outputs["ApiUrl"].rstrip("/"),
        approve=f"{outputs['ApproveUrl'].rstrip('/')}/approve",
        origin=stage.parameter("AllowedOrigins").split(",")[0],
        secret=Path(key_file).read_text(encoding="ascii") if has_keys else _current(secrets[reference]),
        claims={name: value for name, value in claims.items() if value},
        headers={ORIGIN_HEADER: _current(secrets[origin])} if is_behind else {},
    )


def place_of_url(url: str, approve: str, origin: str, environment: Mapping[str, str]) -> Place:
    """Describe a place from these URLs. Raises `InvalidSettings`."""
    secret = environment.get("QWESTLY_AGENT_SHARED_SECRET", "")
    if not secret:
        raise InvalidSettings("Missing in the environment: QWESTLY_AGENT_SHARED_SECRET.")
    claims = {"aud": environment.get("QWESTLY_JWT_AUDIENCE"), "iss": environment.get("QWESTLY_JWT_ISSUER")}
    return Place(
        chat=url.rstrip("/"),
        api=url.rstrip("/"),
        approve=approve.rstrip("/"),
        origin=origin,
        secret=_current(look_up([secret])[secret] if is_reference(secret) else secret),
        claims={name: value for name, value in claims.items() if value},
    )


def _current(secrets: str) -> str:
    """Return the first of several accepted secrets."""
    return secrets.split(",")[0].strip()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", help="of the chat, where no stage is named")
    parser.add_argument("--approve-url", default="", help="of the approval pages, with /approve")
    parser.add_argument("--origin", default=LOCAL_ORIGIN, help=f"of a page that may call it ({LOCAL_ORIGIN})")
    parser.add_argument("--spend", action="store_true", help="let the models answer, for some cents")


def command(arguments: argparse.Namespace, environment: Mapping[str, str]) -> int:
    if bool(arguments.url) == bool(arguments.stage):
        raise WrongUsage("name a URL, or a stage with --stage")
    try:
        if arguments.stage:
            place = place_of_stage(Stage.load(arguments.stage), AWS().client, os.environ.get("SMOKE_PRIVATE_KEY", ""))
        else:
            place = place_of_url(arguments.url, arguments.approve_url, arguments.origin, environment)
    except (ClientError, BotoCoreError, LookupError) as error:
        print(f"The stack's outputs cannot be read: {type(error).__name__}", file=sys.stderr)
        return 1
    with httpx2.Client(timeout=PATIENCE_SECONDS, headers=dict(place.headers)) as http:
        return 0 if walk(Visit(place, http, arguments.spend)) else 1
