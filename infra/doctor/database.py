"""Check the database with the permissions of the functions' own users."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeAlias

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from infra.doctor.results import Result, Results, note, right, run_check, wrong
from infra.doctor.target import Target
from infra.mongo.command import (
    NOT_ALLOWED,
    is_tolerable,
    missing_fields,
    missing_indexes,
    missing_search_indexes,
)
from infra.mongo.roles import AGENT, OTHER_ROLES, Role
from infra.stages import uri_variable
from qwestly_agent.base.settings import Settings
from qwestly_agent.bootstrap import make_mongo_client
from qwestly_agent.domain.approval import EVERYBODY
from qwestly_agent.platform.collection import Document
from qwestly_agent.rollout.variants import VARIANTS
from qwestly_agent.stores.conversations import Conversations
from qwestly_agent.stores.measures import Rollouts
from qwestly_agent.stores.user_settings import Signals

LOOKS = {
    *("listCollections", "listIndexes", "listSearchIndexes", "collStats", "dbStats", "dbHash", "indexStats"),
    *("planCacheRead", "killCursors", "changeOwnPassword", "changeOwnCustomData"),
}
"""Additional actions that neither read nor change a document, and are harmless."""

Database: TypeAlias = AsyncDatabase[Document]
Right: TypeAlias = tuple[str, str]
"""A resource (`database.collection`, `database.*`, `*.*` or `cluster`) and the action on it."""


async def check_database(target: Target) -> Results:
    """Run all checks with one client, because each client opens as many connections as a turn needs."""
    settings = target.settings
    async with (
        _opened(settings, settings.mongodb_uri) as own,
        _opened(settings, target.admin_uri) if target.admin_uri else nullcontext(own) as admin,
    ):
        checks = {
            "database": check_reachable(own),
            "indexes": check_indexes(admin),
            "assumed fields": check_assumed_fields(own),
            "role": check_role("role", own, AGENT),
            **{
                about: check_other_role(about, target, uri_variable(name), each)
                for name, each in OTHER_ROLES.items()
                for about in [f"{each.whose.removeprefix('the ')} role"]
            },
            "brake": check_brake(own),
            "variants": check_variants(own),
        }
        for results in await asyncio.gather(*(run_check(about, found) for about, found in checks.items())):
            for result in results:
                yield result


@asynccontextmanager
async def _opened(settings: Settings, uri: str) -> AsyncIterator[Database]:
    async with make_mongo_client(uri) as mongo:
        yield mongo[settings.mongodb_database]


async def check_reachable(database: Database) -> Results:
    await database.command("ping")
    yield right("database", f"{database.name} answers")


async def check_indexes(database: Database) -> Results:
    for what, find in (("indexes", missing_indexes), ("search indexes", missing_search_indexes)):
        try:
            problems = [problem async for problem in find(database)]
        except OperationFailure as error:
            if error.code not in NOT_ALLOWED:
                raise
            yield note(what, "this user may not list them: set ADMIN_MONGODB_URI to one that may")
            continue
        for result in _told(what, problems):
            yield result
        if not problems:
            yield right(what, "all of infra/mongo/indexes.py are there")


async def check_assumed_fields(database: Database) -> Results:
    problems = [problem async for problem in missing_fields(database)]
    for result in _told("assumed fields", problems):
        yield result
    if not problems:
        yield right("assumed fields", "the candidate app's collections have what is read of them")


def _told(about: str, problems: list[str]) -> list[Result]:
    return [(note if is_tolerable(problem) else wrong)(about, problem) for problem in problems]


async def check_role(about: str, database: Database, role: Role) -> Results:
    """Report permissions that this client's user lacks, and those it has in excess of the role."""
    status = await database.client.admin.command("connectionStatus", showPrivileges=True)
    info = status.get("authInfo", {})
    if not info.get("authenticatedUsers"):
        yield note(about, "this server asks nobody who they are")
        return
    problems = list(_problems_of(rights(info["authenticatedUserPrivileges"]), rights(role.privileges(database.name))))
    for problem in problems:
        yield wrong(about, problem)
    if not problems:
        yield right(about, f"may do what `{role.printed_by}` prints, and nothing else")


async def check_other_role(about: str, target: Target, variable: str, role: Role) -> Results:
    """Check the role of another user."""
    if not (uri := target.variables.get(variable)):
        yield note(about, f"not looked at: set {variable}")
        return
    async with _opened(target.settings, uri) as database:
        async for result in check_role(about, database, role):
            yield result


def _problems_of(given: set[Right], wanted: set[Right]) -> Iterator[str]:
    too_little = {each for each in wanted if not any((place, each[1]) in given for place in _places(each[0]))}
    too_much = {(what, action) for what, action in given - wanted if action not in LOOKS}
    yield from (f"may not {actions} {what}" for what, actions in _by_place(too_little))
    yield from (f"may {actions} {what}, and need not" for what, actions in _by_place(too_much))


def rights(privileges: Iterable[dict[str, Any]]) -> set[Right]:
    return {(_place(each["resource"]), action) for each in privileges for action in each["actions"]}


def _place(resource: dict[str, Any]) -> str:
    if "db" not in resource:
        return ", ".join(sorted(resource))  # cluster, anyResource, system_buckets
    return f"{resource['db'] or '*'}.{resource.get('collection') or '*'}"


def _places(what: str) -> tuple[str, ...]:
    """Return where a permission for this resource may be granted."""
    database, _, collection = what.partition(".")
    return what, f"{database}.*", f"*.{collection}", "*.*", "anyResource"


def _by_place(them: set[Right]) -> list[tuple[str, str]]:
    places: dict[str, set[str]] = {}
    for what, action in them:
        places.setdefault(what, set()).add(action)
    return [(what, ", ".join(sorted(actions))) for what, actions in sorted(places.items())]


async def check_brake(database: Database) -> Results:
    if await Signals(database).is_braked(EVERYBODY):
        yield wrong("brake", "everybody's is on: nothing runs for anybody (qwestly-agent brake off)")
    else:
        yield right("brake", "everybody's is off")


async def check_variants(database: Database) -> Results:
    """Check that the trial's variant exists: conversations need its prompts and models."""
    rollout = await Rollouts(database).get()
    tried = rollout.trial.variant if rollout and rollout.trial else None
    if tried is None or tried in {each.name for each in VARIANTS}:
        yield right("variants", "what is tried is declared")
        return
    count = (await Conversations(database).count_by_variant()).get(tried, 0)
    advice = "keep it, or end its trial (qwestly-agent rollout end)"
    yield wrong("variants", f"this release lacks {tried}, which is tried and {count} conversations have: {advice}")
