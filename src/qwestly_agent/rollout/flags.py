"""Powertools' feature flags in the rollout's document. Imported late, because this module imports boto3."""

from typing import Any

from aws_lambda_powertools.utilities.feature_flags import FeatureFlags
from aws_lambda_powertools.utilities.feature_flags.base import StoreProvider
from aws_lambda_powertools.utilities.feature_flags.exceptions import SchemaValidationError

from qwestly_agent.domain.rollout import FEATURE, Rollout


class DocumentStore(StoreProvider):
    """Evaluates the flags in a document that the turn has already read."""

    def __init__(self, rollout: Rollout) -> None:
        self._flags = dict(rollout.flags)

    @property
    def get_raw_configuration(self) -> dict[str, Any]:
        return self._flags

    def get_configuration(self) -> dict[str, Any]:
        return self._flags


def variant_of(rollout: Rollout, context: dict[str, Any]) -> str:
    """Return the variant chosen by the flags; empty if there is none."""
    if FEATURE not in rollout.flags:
        return ""
    try:
        chosen = FeatureFlags(DocumentStore(rollout)).evaluate(name=FEATURE, context=context, default="")
    except SchemaValidationError:
        return ""
    return chosen if isinstance(chosen, str) else ""
