"""The permissions of each database role, derived from the collections' declarations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from qwestly_agent.domain import candidate
from qwestly_agent.platform.collection import ALL_ACTIONS, MongoCollection
from qwestly_agent.stores import candidate_data, collections

CANDIDATE_APPS = (*candidate.READ_FIELDS, candidate_data.KNOWLEDGE)
"""Collections of the candidate app."""


@dataclass(frozen=True)
class Role:
    name: str
    printed_by: str
    of_ours: Callable[[MongoCollection], str]
    whose: str = "the functions'"
    of_candidate_app: str = "find"

    @property
    def actions(self) -> Mapping[str, tuple[str, ...]]:
        """Allowed actions by collection."""
        allowed = {
            **dict.fromkeys(CANDIDATE_APPS, self.of_candidate_app),
            **{each: self.of_ours(each) for each in collections()},
        }
        return {collection: tuple(actions.split()) for collection, actions in allowed.items() if actions}

    def privileges(self, database: str) -> list[dict[str, Any]]:
        """Return the privileges in the format of MongoDB's `createRole`."""
        return [
            {"resource": {"db": database, "collection": collection}, "actions": list(actions)}
            for collection, actions in self.actions.items()
        ]

    def command(self, database: str) -> dict[str, Any]:
        """Return a command for `db.runCommand` on a self-hosted server."""
        return {"createRole": self.name, "roles": [], "privileges": self.privileges(database)}

    def for_atlas(self, database: str) -> dict[str, Any]:
        """Return the role in the format of Atlas's administration API, which does not accept the command."""
        places: dict[str, list[dict[str, Any]]] = {}
        for collection, actions in self.actions.items():
            for action in actions:
                place = {"cluster": False, "db": database, "collection": collection}
                places.setdefault(action.upper(), []).append(place)
        actions = [{"action": action, "resources": found} for action, found in places.items()]
        return {"roleName": self.name, "actions": actions, "inheritedRoles": []}


AGENT = Role("qwestlyAgent", "qwestly-agent mongo role", lambda _: ALL_ACTIONS)
CHAT = Role("qwestlyAgentChat", "qwestly-agent mongo role --chat", lambda each: each.chat, "the chat's")
"""The role of functions that serve signed-in users and call models: they can neither set a level nor delete an
approval, and a yes that they write has no seal (`approvals/seal.py`)."""
READER = Role("qwestlyAgentReader", "qwestly-agent mongo role --reader", lambda each: each.reader, "the readers'")
"""The role of functions that read others' text: without access to approvals and levels."""
OPENER = Role(
    "qwestlyAgentOpener",
    "qwestly-agent mongo role --opener",
    lambda each: each.opener,
    "the opener's",
    of_candidate_app="",
)
"""The role of the function that opens users' files."""
OTHER_ROLES = {"chat": CHAT, "reader": READER, "opener": OPENER}
"""By the name of their secret, `mongodb-<name>-uri`, and of their command option."""
ROLES = (AGENT, *OTHER_ROLES.values())


def rights() -> str:
    """Return a table of all roles for review."""
    rows = [
        (collection, *(" ".join(role.actions.get(collection, ("-",))) for role in ROLES))
        for collection in sorted(AGENT.actions)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [("collection", *(role.name for role in ROLES)), *rows]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in table)
