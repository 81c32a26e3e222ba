"""An in-memory stand-in for the database, with the operations and operators that stores use.

`test_database.py` compares it with the server that the other tests use. A collection hands every operation to `call`,
which decides when it takes effect and whether its answer arrives.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

import bson
from bson.codec_options import CodecOptions
from pymongo import ReturnDocument, UpdateOne
from pymongo.errors import BulkWriteError, DuplicateKeyError, OperationFailure

from qwestly_agent.stores import collections

Document = dict[str, Any]
T = TypeVar("T")
_CODEC: CodecOptions[Document] = CodecOptions(tz_aware=True)


class Call(Protocol):
    def __call__(self, name: str, effect: Callable[[], T], *, writes: bool) -> Awaitable[T]: ...


async def at_once(name: str, effect: Callable[[], T], *, writes: bool) -> T:
    """A call without delay or fault."""
    return effect()


@dataclass(frozen=True)
class Result:
    matched_count: int = 0
    deleted_count: int = 0
    inserted_id: Any = None
    upserted_id: Any = None


def _unique_indexes() -> Iterator[tuple[str, list[tuple[list[str], Callable[[Document], bool]]]]]:
    for each in collections():
        declared = [index.document for index in each.indexes if index.document.get("unique")]
        if declared:
            yield each, [([*index["key"]], _is_in(index.get("partialFilterExpression", {}))) for index in declared]


def _is_in(only: Mapping[str, Any]) -> Callable[[Document], bool]:
    return lambda document: matches(document, only)


@dataclass
class Tables:
    """All documents, by collection and id."""

    clock: Callable[[], float]
    """The server's, for `$currentDate`."""
    noted: Callable[[str, Document], None] = lambda collection, document: None
    """Called with each document that was written, which it must not change."""
    removed: Callable[[str, Document], None] = lambda collection, document: None
    """Called with each document that was deleted."""
    asked_by_the_dead: Callable[[], bool] = lambda: False
    """True if the process that asks is dead, and gets no answer."""
    documents: dict[str, dict[Any, Document]] = field(default_factory=dict[str, dict[Any, Document]])

    def find(
        self, name: str, where: Mapping[str, Any], keys: Sequence[tuple[str, int]] = (), limit: int = 0
    ) -> list[Document]:
        table = self.documents.get(name, {})
        if isinstance(key := where.get("_id"), str):  # as most queries are
            table = {key: table[key]} if key in table else {}
        found = _sorted([each for each in table.values() if matches(each, where)], keys)
        return found[:limit] if limit else found

    def put(self, name: str, document: Mapping[str, Any], *, is_new: bool = False) -> Any:
        kept = _copy(document)
        key = kept.setdefault("_id", f"{name}-{len(self.documents.get(name, ()))}")
        table = self.documents.setdefault(name, {})
        if is_new and key in table:
            raise DuplicateKeyError(f"{name} has {key} already.")
        for fields, is_indexed in UNIQUE.get(name, ()):
            mine = [_at(kept, each) for each in fields]
            if is_indexed(kept) and any(
                is_indexed(each) and [_at(each, field) for field in fields] == mine
                for other, each in table.items()
                if other != key
            ):
                raise DuplicateKeyError(f"{name} has {fields} already.")
        table[key] = kept
        self.noted(name, kept)
        return key

    def update(
        self,
        name: str,
        where: Mapping[str, Any],
        update: Mapping[str, Any],
        *,
        upsert: bool = False,
        many: bool = False,
    ) -> list[tuple[Document | None, Document]]:
        """Return the documents before and after."""
        found: list[Document | None] = [*self.find(name, where)[: None if many else 1]]
        if not found and upsert:
            found = [None]
        changed: list[tuple[Document | None, Document]] = []
        for before in found:
            base = _equalities(where) if before is None else before
            after = self._updated(base, update, is_new=before is None)
            self.put(name, after, is_new=before is None)
            changed.append((before, after))
        return changed

    def delete(self, name: str, where: Mapping[str, Any], *, many: bool = False) -> int:
        gone = self.find(name, where)[: None if many else 1]
        for each in gone:
            del self.documents[name][each["_id"]]
            self.removed(name, each)
        return len(gone)

    def _updated(self, before: Document, update: Mapping[str, Any], *, is_new: bool) -> Document:
        after = _copy(before)
        for operator, fields in update.items():
            for path, value in fields.items():
                match operator:
                    case "$set":
                        _set(after, path, value)
                    case "$setOnInsert":
                        if is_new:
                            _set(after, path, value)
                    case "$unset":
                        _unset(after, path)
                    case "$inc":
                        _set(after, path, (_at(after, path) or 0) + value)
                    case "$max":
                        before_now = _at(after, path)
                        _set(after, path, value if before_now is None else max(before_now, value))
                    case "$pull":
                        _set(after, path, [each for each in _at(after, path) or () if each != value])
                    case "$addToSet":
                        added = value["$each"] if isinstance(value, Mapping) else [value]
                        items = [*(_at(after, path) or ())]
                        _set(after, path, [*items, *(each for each in added if each not in items)])
                    case "$currentDate":
                        _set(after, path, datetime.fromtimestamp(self.clock(), UTC))
                    case "$push":
                        assert value.get("$slice", -1) < 0, value
                        items = [*(_at(after, path) or ())]
                        items[value.get("$position", len(items)) :] = [
                            *value["$each"],
                            *items[value.get("$position", len(items)) :],
                        ]
                        _set(after, path, items[value.get("$slice", -len(items) - 1) :])
                    case _:
                        raise NotImplementedError(operator)
        return after


@dataclass(frozen=True)
class Database:
    tables: Tables
    call: Call

    def __getitem__(self, name: str) -> "Collection":
        return Collection(name, self.tables, self.call)


@dataclass(frozen=True)
class Collection:
    name: str
    tables: Tables
    call: Call

    def find(self, where: Mapping[str, Any], fields: Mapping[str, int] | None = None) -> "Cursor":
        return Cursor(self, where, fields)

    async def find_one(self, where: Mapping[str, Any], fields: Mapping[str, int] | None = None) -> Document | None:
        found = await self.find(where, fields).limit(1).to_list()
        return found[0] if found else None

    async def aggregate(self, stages: Sequence[Mapping[str, Any]]) -> "Aggregation":
        """Aggregate as the stores' searches do, without search indexes."""

        def effect() -> list[Document]:
            found = self.tables.find(self.name, {})
            for stage in stages:
                [(operator, given)] = stage.items()
                match operator:
                    case "$match":
                        found = [each for each in found if matches(each, given)]
                    case "$sort":
                        found = _sorted(found, [*given.items()])
                    case "$limit":
                        found = found[:given]
                    case "$group":
                        assert [*given] == ["_id"], given
                        grouped = dict.fromkeys(_at(each, given["_id"].removeprefix("$")) for each in found)
                        found = [{"_id": each} for each in grouped]
                    case "$project":
                        found = [_projected(each, given) for each in found]
                    case "$unset":
                        found = [_projected(each, {given: 0}) for each in found]
                    case _:
                        raise OperationFailure(f"{operator} is not known here")
            return [_copy(each) for each in found]

        return Aggregation(await self.call(f"aggregate {self.name}", effect, writes=False))

    async def count_documents(self, where: Mapping[str, Any]) -> int:
        return await self._do("count", lambda: len(self.tables.find(self.name, where)), writes=False)

    async def insert_one(self, document: Mapping[str, Any]) -> Result:
        return await self._do("insert", lambda: Result(inserted_id=self.tables.put(self.name, document, is_new=True)))

    async def insert_many(self, documents: Sequence[Mapping[str, Any]]) -> None:
        def effect() -> None:
            for each in documents:
                try:
                    self.tables.put(self.name, each, is_new=True)
                except DuplicateKeyError:
                    raise BulkWriteError({"writeErrors": [{"code": 11000}]}) from None

        await self._do("insert", effect)

    async def replace_one(
        self, where: Mapping[str, Any], document: Mapping[str, Any], *, upsert: bool = False
    ) -> Result:
        def effect() -> Result:
            found = self.tables.find(self.name, where)[:1]
            for each in found:
                self.tables.put(self.name, {**document, "_id": each["_id"]})
            made = self.tables.put(self.name, document, is_new=True) if upsert and not found else None
            return Result(matched_count=len(found), upserted_id=made)

        return await self._do("replace", effect)

    async def update_one(
        self, where: Mapping[str, Any], update: Mapping[str, Any], *, upsert: bool = False, many: bool = False
    ) -> Result:
        def effect() -> Result:
            changed = self.tables.update(self.name, where, update, upsert=upsert, many=many)
            return Result(matched_count=sum(before is not None for before, _ in changed))

        return await self._do("update", effect)

    async def update_many(self, where: Mapping[str, Any], update: Mapping[str, Any]) -> Result:
        return await self.update_one(where, update, many=True)

    async def find_one_and_update(
        self,
        where: Mapping[str, Any],
        update: Mapping[str, Any],
        fields: Mapping[str, int] | None = None,
        *,
        projection: Mapping[str, int] | None = None,
        upsert: bool = False,
        return_document: bool = ReturnDocument.BEFORE,
    ) -> Document | None:
        def effect() -> Document | None:
            changed = self.tables.update(self.name, where, update, upsert=upsert)
            found = changed[0][1 if return_document == ReturnDocument.AFTER else 0] if changed else None
            return found and _projected(found, fields or projection)

        return await self._do("update", effect)

    async def delete_one(self, where: Mapping[str, Any], *, many: bool = False) -> Result:
        return await self._do("delete", lambda: Result(deleted_count=self.tables.delete(self.name, where, many=many)))

    async def delete_many(self, where: Mapping[str, Any]) -> Result:
        return await self.delete_one(where, many=True)

    async def bulk_write(self, requests: Sequence[UpdateOne], *, ordered: bool = True) -> None:
        def effect() -> None:
            for each in requests:
                self.tables.update(self.name, each._filter, dict(each._doc), upsert=bool(each._upsert))  # type: ignore

        await self._do("bulk write", effect)

    def _do(self, verb: str, effect: Callable[[], T], *, writes: bool = True) -> Awaitable[T]:
        return self.call(f"{verb} {self.name}", effect, writes=writes)


@dataclass
class Cursor:
    collection: Collection
    where: Mapping[str, Any]
    fields: Mapping[str, int] | None
    keys: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    most: int = 0
    first: int = 0

    def sort(self, key: str | Sequence[tuple[str, int]], direction: int = 1) -> "Cursor":
        self.keys = [(key, direction)] if isinstance(key, str) else [*key]
        return self

    def limit(self, most: int) -> "Cursor":
        self.most = most
        return self

    def batch_size(self, _: int) -> "Cursor":
        return self

    def skip(self, first: int) -> "Cursor":
        self.first = first
        return self

    async def to_list(self) -> list[Document]:
        def effect() -> list[Document]:
            most = self.first + self.most if self.most else 0
            found = self.collection.tables.find(self.collection.name, self.where, self.keys, most)
            return [_projected(each, self.fields) for each in found[self.first :]]

        tables = self.collection.tables
        if not tables.documents.get(self.collection.name) and not tables.asked_by_the_dead():
            return []  # half of all reads: nothing is learnt there
        return await self.collection.call(f"find {self.collection.name}", effect, writes=False)

    async def __aiter__(self) -> AsyncIterator[Document]:
        for each in await self.to_list():
            yield each


@dataclass(frozen=True)
class Aggregation:
    found: list[Document]

    async def to_list(self) -> list[Document]:
        return self.found

    async def __aiter__(self) -> AsyncIterator[Document]:
        for each in self.found:
            yield each


# --- operators --------------------------------------------------------------------------------------------------------


def matches(document: Mapping[str, Any], where: Mapping[str, Any]) -> bool:
    for path, wanted in where.items():
        if path in ("$or", "$and"):
            if not (any if path == "$or" else all)(matches(document, each) for each in wanted):
                return False
        elif isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted):
            if not all(_holds(document, path, name, value) for name, value in wanted.items()):
                return False
        elif not _equals(_at(document, path), wanted):
            return False
    return True


def _holds(document: Mapping[str, Any], path: str, operator: str, wanted: Any) -> bool:
    found = _at(document, path)
    match operator:
        case "$in":
            return any(_equals(found, each) for each in wanted)
        case "$nin":
            return not any(_equals(found, each) for each in wanted)
        case "$ne":
            return not _equals(found, wanted)
        case "$size":
            return isinstance(found, list) and len(found) == wanted
        case "$type":
            return isinstance(found, {"string": str}[wanted])
        case "$exists":
            return (path in _paths(document)) == wanted
        case "$gt" | "$gte" | "$lt" | "$lte":
            if _order(found)[0] != _order(wanted)[0] or found is None:  # only values of one kind are compared
                return False
            return {"$gt": found > wanted, "$gte": found >= wanted, "$lt": found < wanted, "$lte": found <= wanted}[
                operator
            ]
        case _:
            raise NotImplementedError(operator)


def _sorted(documents: list[Document], keys: Sequence[tuple[str, int]]) -> list[Document]:
    for key, direction in reversed(keys):
        documents.sort(key=lambda each: _order(_at(each, key)), reverse=direction < 0)
    return documents


def _equals(found: Any, wanted: Any) -> bool:
    return found == wanted or (isinstance(found, list) and wanted in found)


def _order(value: Any) -> tuple[int, Any]:
    """The rank of the value's kind, and the value."""
    match value:
        case None:
            return 0, 0
        case bool():
            return 4, value
        case int() | float():
            return 1, value
        case str():
            return 2, value
        case datetime():
            return 5, value
        case _:
            return 3, str(value)


def _paths(document: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in document.items():
        yield f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.")


def _at(document: Mapping[str, Any], path: str) -> Any:
    name, _, rest = path.partition(".")
    found = document.get(name)
    if not rest:
        return found
    return _at(found, rest) if isinstance(found, Mapping) else None


def _set(document: Document, path: str, value: Any) -> None:
    name, _, rest = path.partition(".")
    if rest:
        _set(document.setdefault(name, {}), rest, value)
    else:
        document[name] = value


def _unset(document: Document, path: str) -> None:
    name, _, rest = path.partition(".")
    if not rest:
        document.pop(name, None)
    elif isinstance(document.get(name), dict):
        _unset(document[name], rest)


def _equalities(where: Mapping[str, Any]) -> Document:
    """The fields of a document that an upsert makes."""
    is_plain = {path: not isinstance(value, Mapping) and path != "$or" for path, value in where.items()}
    new: Document = {}
    for path, value in where.items():
        if is_plain[path]:
            _set(new, path, value)
    return new


def _projected(document: Mapping[str, Any], fields: Mapping[str, int] | None) -> Document:
    copied = _copy(document)
    if not fields:
        return copied
    if any(included for name, included in fields.items() if name != "_id") or fields == {"_id": 1}:
        wanted = {"_id", *fields} - {name for name, included in fields.items() if not included}
        return {name: value for name, value in copied.items() if name in wanted}
    return {name: value for name, value in copied.items() if name not in fields}


def _copy(document: Mapping[str, Any]) -> Document:
    """A copy as the driver makes it: lists for tuples, and times in milliseconds."""
    return bson.decode(bson.encode(document), _CODEC)


UNIQUE = dict(_unique_indexes())
"""Unique indexes by collection, with their filter."""
