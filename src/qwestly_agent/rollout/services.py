"""Protocols of the rollout's stores."""

from typing import Protocol

from qwestly_agent.stores.answers import Answers
from qwestly_agent.stores.rollouts import Rollouts
from qwestly_agent.stores.variant_counts import VariantCounts


class HasAnswers(Protocol):
    @property
    def answers(self) -> Answers: ...


class HasRollouts(Protocol):
    @property
    def rollouts(self) -> Rollouts: ...


class HasVariantCounts(Protocol):
    @property
    def variant_counts(self) -> VariantCounts: ...
