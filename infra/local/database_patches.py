"""Patches of private methods of the local database: they keep it fast with 5,000 conversations, make commands a third
cheaper, fix the comparison of dates, and preserve the types that MongoDB preserves.

SQLite has no booleans, rounds numbers to fifteen digits when it writes JSON, and has no ObjectId. So SQL finds, sorts
and limits documents, and copies their fields as JSON text; Python changes, groups and compares values.

`tests/infra/test_local_database.py` names the version they were written for.
"""

import asyncio
import time
from collections.abc import Callable
from copy import copy, deepcopy
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import bson
from neosqlite import Collection, query_operators
from neosqlite.binary import Binary
from neosqlite.collection import cursor, query_helper
from neosqlite.collection.json_helpers import neosqlite_json_dumps, neosqlite_json_dumps_for_sql, neosqlite_json_loads
from neosqlite.collection.json_path_utils import parse_json_path
from neosqlite.collection.query_engine import QueryEngine, execute_python_aggregation, python_aggregation_engine
from neosqlite.collection.query_helper import QueryHelper, _sql_query_builder, aggregation, update_operations
from neosqlite.collection.sql_tier_aggregator import SQLTierAggregator
from neosqlite.objectid import ObjectId
from neosqlite.sql_utils import quote_table_name
from nx_27017 import utils, wire_protocol

from qwestly_agent.base.clock import system_clock, to_datetime

PURGE_SECONDS = 60.0
"""Interval at which MongoDB deletes expired documents. The library does so before each read, scanning the whole
collection."""

_purged: WeakKeyDictionary[Collection, float] = WeakKeyDictionary()
_purge_expired = Collection._auto_purge_ttl
_purge_as_of = Collection.purge_expired


def _purge_by_our_clock(self: Collection, now: datetime | None = None) -> int:
    return _purge_as_of(self, now or to_datetime(system_clock()))


def _purge_once_a_minute(self: Collection) -> None:
    if time.monotonic() - _purged.get(self, -PURGE_SECONDS) >= PURGE_SECONDS:
        _purged[self] = time.monotonic()
        _purge_expired(self)


def _is_in_an_index(self: QueryHelper, field: str) -> bool:
    """Use an index for an equality on any of its fields; the library does so only for the last one.

    The library avoids this because of arrays, but none of our indexed arrays is searched by equality.
    """
    return any(field in fields for fields in self.collection.list_indexes(as_keys=True))


_is_no_less = query_operators._gte


def _is_no_earlier(field: str, value: Any, document: dict[str, Any]) -> bool:
    """Compare dates with and without a time zone as UTC. Dates from the wire have none, `$currentDate` stores one, and
    the library never finds such a date by `$gte` next to an `$in`."""
    kept = document.get(field)
    if isinstance(kept, datetime) and isinstance(value, datetime):
        return kept.replace(tzinfo=None) >= value.replace(tzinfo=None)
    return _is_no_less(field, value, document)


_sort_key = cursor.bson_sort_key


def _sort_by(value: Any) -> tuple[Any, ...]:
    """Sort dates with and without a time zone together."""
    return _sort_key(value.replace(tzinfo=None) if isinstance(value, datetime) else value)


# --- binary data keep their subtype -----------------------------------------------------------------------------------

_from_wire = utils.convert_bson_to_neo_objectids
_to_wire = utils.convert_neo_to_bson_objectids


_PLAIN = frozenset((str, int, float, bool, type(None), datetime))
"""Types of values that need no conversion: most values, so they are checked first."""


def _stored(value: Any) -> Any:
    """Convert a value of a command. The library drops the subtype of binary data, such as that of vectors."""
    if isinstance(value, dict):
        return {name: each if type(each) in _PLAIN else _stored(each) for name, each in value.items()}
    if isinstance(value, list):
        return [each if type(each) in _PLAIN else _stored(each) for each in value]
    return Binary(value, getattr(value, "subtype", 0)) if isinstance(value, bytes) else _from_wire(value)


def _sent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: each if type(each) in _PLAIN else _sent(each) for name, each in value.items()}
    if isinstance(value, list):
        return [each if type(each) in _PLAIN else _sent(each) for each in value]
    return bson.Binary(value, value.subtype) if isinstance(value, Binary) else _to_wire(value)


# --- ids --------------------------------------------------------------------------------------------------------------


class _Hex(str):
    """An ObjectId as the text of the `_id` column."""


def _normalize(query: dict[str, Any]) -> dict[str, Any]:
    """Look up an `_id` by its column. The library also does so for a field named `id`, and in other fields converts its
    text to numbers and ObjectIds to text."""
    return {**query, "_id": _Hex(key)} if isinstance(key := query.get("_id"), ObjectId) else query


def _field_clause(self: QueryHelper, field: str, value: Any) -> Any:
    """Leave ObjectIds in fields other than `_id` to Python."""
    return None if _has_object_id(value) else _build_field_clause(self, field, value)


_build_field_clause = QueryHelper._build_field_clause


def _has_object_id(value: Any) -> bool:
    match value:
        case dict():
            return any(map(_has_object_id, value.values()))
        case list():
            return any(map(_has_object_id, value))
        case _:
            return isinstance(value, ObjectId)


# --- updates ----------------------------------------------------------------------------------------------------------


def _update(
    self: QueryHelper,
    row: int,
    changes: dict[str, dict[str, Any]],
    original: dict[str, Any],
    array_filters: list[dict[str, Any]] | None = None,
    query: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], bool]:
    """Apply an update in Python where SQL would change types. `row` is 0 for a document to be inserted.

    The library's Python operators do not support dotted paths, so each operator is applied to the subdocument that has
    its field.
    """
    document = deepcopy(original)
    if isinstance(key := document.get("_id"), _Hex):
        document["_id"] = ObjectId(key)
    for operator, fields in changes.items():
        if operator == "$setOnInsert" and row:
            continue
        for path, value in fields.items():
            *parents, name = [path] if "$" in path or operator == "$rename" else path.split(".")
            at = _parent(document, parents, is_made=operator not in ("$unset", "$pull", "$pullAll", "$pop"))
            if isinstance(at, list):  # an element is changed as if its index were its name
                element = {name: at[int(name)]}
                _apply(self, 0, {operator: {name: value}}, element, array_filters, query)
                at[int(name)] = element.get(name)
            elif at is not None:
                _apply(self, 0, {operator: {name: value}}, at, array_filters, query)
    if row:
        command = f"UPDATE {quote_table_name(self.collection.name)} SET data = ? WHERE id = ?"
        self.collection.db.execute(command, (neosqlite_json_dumps(document, allow_nan=False), row))
    return document, document != original


def _parent(at: Any, path: list[str], *, is_made: bool) -> Any:
    for name in path:
        if isinstance(at, list):
            at = at[int(name)]
        elif is_made:
            at = at.setdefault(name, {})
        elif name in at:
            at = at[name]
        else:
            return None
    return at


_apply = QueryHelper._perform_python_update
"""Changes the document itself where `row` is 0, as `_same` replaces its copy."""


def _find_one_and_update(self: QueryEngine, filter: Any, update: Any, upsert: bool = False, **how: Any) -> Any:
    """Insert as `update_one` does. The library inserts first and then updates, without `$setOnInsert`."""
    if not upsert or self.find_one(filter) is not None:
        return _update_found(self, filter, update, **how)
    key = self.update_one(filter, update, upsert=True, array_filters=how.get("array_filters")).upserted_id
    return self.find_one({"_id": key}, how.get("projection")) if how.get("return_document") else None


_update_found = QueryEngine.find_one_and_update


def _same(document: Any) -> Any:
    return document


# --- reads ------------------------------------------------------------------------------------------------------------


def _aggregate(self: QueryEngine, pipeline: list[dict[str, Any]], *_: Any, **__: Any) -> list[dict[str, Any]]:
    """Let SQL run the first stages that keep types, and Python the rest on the documents found."""
    pipeline = _stored(pipeline)
    first = next((at for at, stage in enumerate(pipeline) if not _keeps_types(stage)), len(pipeline))
    read = [*pipeline[:first], *map(_fields_of, pipeline[first : first + 1])]
    sql, values = self.sql_tier_aggregator.build_pipeline_sql(read) if first else (None, [])
    if sql is not None:
        documents = [neosqlite_json_loads(data) for _, _, data in self.collection.db.execute(sql, values)]
    else:
        first = 1 if pipeline and "$match" in pipeline[0] else 0
        documents = list(self.find(pipeline[0]["$match"] if first else {}))
    if first == len(pipeline):
        return documents
    of_found: Any = copy(self)
    of_found.find = lambda **_: documents
    return execute_python_aggregation(of_found, pipeline[first:])


def _fields_of(stage: dict[str, Any]) -> dict[str, Any]:
    """Return a stage that omits the fields that a `$group` does not read."""
    names = {path.split(".")[0] for path in _references(stage["$group"])} if "$group" in stage else {""}
    return {"$match": {}} if "" in names else {"$project": dict.fromkeys(names, 1)}


def _references(value: Any) -> list[str]:
    """List the paths that an expression refers to; "" stands for a variable."""
    match value:
        case dict():
            return [path for each in value.values() for path in _references(each)]
        case list():
            return [path for each in value for path in _references(each)]
        case str() if value.startswith("$"):
            return ["" if value.startswith("$$") else value[1:]]
        case _:
            return []


def _keeps_types(stage: dict[str, Any]) -> bool:
    [(name, details)] = stage.items()
    match name:
        case "$match" | "$sort" | "$skip" | "$limit" | "$unset":
            return True
        case "$project":
            return all(value in (0, 1) and "." not in path for path, value in details.items())
        case _:
            return False


def _match_by_type(self: SQLTierAggregator, query: dict[str, Any], previous: str, context: Any) -> Any:
    """Compare ids and dates in their stored form: an `_id` as text in its own column, others as JSON."""
    if any(path.startswith("$") for path in query):
        return None, []
    ids = query.get("_id", {})
    query = {path: _comparable(value) for path, value in query.items() if path != "_id"}
    sql, values = _build_match(self, query, previous, context)
    match ids:
        case {"$in": list(wanted)} if len(ids) == 1:
            marks = ", ".join("?" * len(wanted))
            return sql and f"SELECT id, _id, data FROM ({sql}) WHERE _id IN ({marks})", [*values, *map(_column, wanted)]
        case dict():
            return (None, []) if ids else (sql, values)
        case _:
            return sql and f"SELECT id, _id, data FROM ({sql}) WHERE _id = ?", [*values, _column(ids)]


def _comparable(value: Any) -> Any:
    match value:
        case dict():
            return {name: _comparable(each) for name, each in value.items()}
        case list():
            return [str(each) if isinstance(each, ObjectId) else each for each in value]
        case ObjectId() | datetime():
            return neosqlite_json_dumps_for_sql(value)
        case _:
            return value


def _column(id: Any) -> Any:
    return str(id) if isinstance(id, ObjectId) else id


_build_match = SQLTierAggregator._build_match_sql


def _project_json(self: SQLTierAggregator, fields: dict[str, Any], previous: str, *_: Any) -> tuple[str, list[Any]]:
    """Copy fields as JSON text: `json_extract` has no booleans, and its numbers are rounded when converted to JSON."""
    if any(fields.values()) or not fields:
        shown = [path for path in fields if path != "_id"]
        copied = [f"'{path}', data -> {_quoted(path)}" for path in ["_id"] * bool(fields.get("_id", 1)) + shown]
        missing = [f"iif(json_type(data, {_quoted(path)}) IS NULL, {_quoted(path)}, '$.?')" for path in shown]
        data = ", ".join([f"json_object({', '.join(copied)})", *missing])
        data = f"json_remove({data})"
    else:
        data = f"json_remove(data, {', '.join(map(_quoted, fields))})"
    return f"SELECT id, _id, {data} AS data FROM {previous}", []


def _unset_json(self: SQLTierAggregator, fields: str | list[str], previous: str, *_: Any) -> tuple[str, list[Any]]:
    """Remove fields. The library also overwrites `_id` with its text."""
    removed = ", ".join(map(_quoted, [fields] if isinstance(fields, str) else fields))
    return f"SELECT id, _id, json_remove(data, {removed}) AS data FROM {previous}", []


def _quoted(path: str) -> str:
    return "'$._id'" if path == "_id" else f"'{parse_json_path(path)}'"


def _distinct(self: QueryEngine, key: str, filter: dict[str, Any] | None = None, **_: Any) -> list[Any]:
    """List a field's values; if a value is a list, list its elements."""
    seen = dict[str, Any]()
    for document in self.find(_stored(filter or {})):
        for value in _values_at(document, key.split(".")):
            seen.setdefault(neosqlite_json_dumps(value, sort_keys=True), value)
    return list(seen.values())


def _values_at(value: Any, path: list[str]) -> list[Any]:
    if isinstance(value, list):
        return [found for each in value for found in (_values_at(each, path) if path else [each])]
    if not path:
        return [value]
    return _values_at(value[path[0]], path[1:]) if isinstance(value, dict) and path[0] in value else []


async def _at_once(handle: Callable[[Any], Any], message: Any) -> Any:
    """Handle a command in the event loop: commands do not block, those of one database run one after another, and a
    thread would cost more."""
    return handle(message)


PATCHES: tuple[tuple[Any, str, Any], ...] = (
    (asyncio, "to_thread", _at_once),
    (aggregation, "deepcopy", copy),  # a projection's document is not shared
    (query_operators, "_gte", _is_no_earlier),
    (cursor, "bson_sort_key", _sort_by),
    (Collection, "_auto_purge_ttl", _purge_once_a_minute),
    (Collection, "purge_expired", _purge_by_our_clock),
    (QueryHelper, "_field_has_index", _is_in_an_index),
    (utils, "convert_bson_to_neo_objectids", _stored),
    (wire_protocol, "_convert_objectids", _sent),
    (query_helper, "normalize_id_query_for_db", _normalize),
    (_sql_query_builder, "normalize_id_query_for_db", _normalize),
    (QueryHelper, "_build_field_clause", _field_clause),
    (update_operations, "deepcopy", _same),  # an update copies its document once
    (QueryHelper, "_internal_update", _update),
    (QueryEngine, "find_one_and_update", _find_one_and_update),
    (QueryEngine, "aggregate_with_constraints", _aggregate),
    (python_aggregation_engine, "deepcopy", copy),  # no pipeline of ours changes `$$ROOT`
    (QueryEngine, "distinct", _distinct),
    (SQLTierAggregator, "_build_match_sql", _match_by_type),
    (SQLTierAggregator, "_build_project_sql", _project_json),
    (SQLTierAggregator, "_build_unset_sql", _unset_json),
)


def apply_patches() -> None:
    for owner, name, patch in PATCHES:
        setattr(owner, name, patch)
