"""Records what is asked of AWS, and compares it with the table of `infra.rights`, or writes it there (`make calls`)."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
from botocore.client import BaseClient

from infra.rights import calls
from infra.rights.policies import Call, NotUnderstood

_RECORDING: ContextVar[set[Call] | None] = ContextVar("recording", default=None)
"""Calls of this thread and its tasks alone, as the stand-ins of AWS call each other, too."""


@contextmanager
def recording() -> Iterator[set[Call]]:
    """Every call of AWS that is made within."""
    made, called = set[Call](), BaseClient._make_api_call  # type: ignore[attr-defined]
    unknown = list[NotUnderstood]()

    def call(self: BaseClient, operation: str, given: dict[str, Any]) -> Any:
        if (found := _RECORDING.get()) is not None:
            try:
                found |= calls.asked(self, operation, given)
            except NotUnderstood as error:  # whoever is recorded may catch what a call raises
                unknown.append(error)
        return called(self, operation, given)

    before = _RECORDING.set(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseClient, "_make_api_call", call)
        try:
            yield made
        finally:
            _RECORDING.reset(before)
    if unknown:
        raise unknown[0]


@contextmanager
def outside() -> Iterator[None]:
    """Exclude the calls within, which prepare the test."""
    before = _RECORDING.set(None)
    try:
        yield
    finally:
        _RECORDING.reset(before)


def compare(recorded: Mapping[str, set[Call]]) -> None:
    """Fail where the table does not have exactly these calls of these callers."""
    if os.environ.get("RECORD_CALLS"):
        calls.write(recorded)
    table = calls.read()
    missing = {name: sorted(made - table.get(name, set())) for name, made in recorded.items()}
    gone = {name: sorted(table.get(name, set()) - made) for name, made in recorded.items()}
    assert not any(missing.values()), f"`make calls` adds {missing}"
    assert not any(gone.values()), f"Nobody makes these any more; `make calls` removes {gone}"
