"""Cache tool definitions in the provider's format between requests."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pydantic_ai.tools import ToolDefinition


@dataclass
class ToolSchemas:
    _kept: dict[str, tuple[ToolDefinition, ToolDefinition]] = field(default_factory=dict)
    """By tool name: its last definition, and the same in the provider's format."""

    def missing(self, tools: Sequence[ToolDefinition]) -> list[ToolDefinition]:
        return [each for each in tools if not self._is_kept(each)]

    def keep(self, tools: Sequence[ToolDefinition], transformed: Sequence[ToolDefinition]) -> None:
        self._kept |= {each.name: (each, after) for each, after in zip(tools, transformed, strict=True)}

    def transformed(self, tool: ToolDefinition) -> ToolDefinition:
        _, after = self._kept[tool.name]
        return replace(tool, parameters_json_schema=after.parameters_json_schema, strict=after.strict)

    def _is_kept(self, tool: ToolDefinition) -> bool:
        before, _ = self._kept.get(tool.name, (None, None))
        return bool(
            before and before.parameters_json_schema is tool.parameters_json_schema and before.strict == tool.strict
        )
