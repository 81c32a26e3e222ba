"""Powertools' feature flags over the rollout's document. Importing this imports boto3, so it is imported late."""

from typing import Any

from aws_lambda_powertools.utilities.feature_flags import FeatureFlags
from aws_lambda_powertools.utilities.feature_flags.base import StoreProvider
from aws_lambda_powertools.utilities.feature_flags.exceptions import SchemaValidationError

from qwestly_agent.domain.rollout import FEATURE, Rollout


class DocumentStore(StoreProvider):
    """Evaluate the flags of a document that the turn has read already."""

    def __init__(self, rollout: Rollout) -> None:
        self._flags = dict(rollout.flags)

    @property
    def get_raw_configuration(self) -> dict[str, Any]:
        return self._flags

    def get_configuration(self) -> dict[str, Any]:
        return self._flags


def variant_of(rollout: Rollout, context: dict[str, Any]) -> str:
    """Return an empty text if the flags name no variant."""
    if FEATURE not in rollout.flags:
        return ""
    try:
        chosen = FeatureFlags(DocumentStore(rollout)).evaluate(name=FEATURE, context=context, default="")
    except SchemaValidationError:
        return ""
    return chosen if isinstance(chosen, str) else ""
