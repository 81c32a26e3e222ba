"""The smallest input that a state accepts."""

from typing import Any, Literal, get_args, get_origin

from qwestly_agent.workflow_state import WorkflowState


def minimal_input(model: type[WorkflowState]) -> dict[str, Any]:
    """Return the run's id and a value for each required field, no two ids alike: the input of an execution that the
    version before may have begun."""
    required = {name: field.annotation for name, field in model.model_fields.items() if field.is_required()}
    return {"run_id": "run_id-1", **{name: _value(name, kind) for name, kind in required.items()}}


def _value(name: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    return {str: f"{name}-1", bool: True}.get(kind, 1)
