"""Build the agents of the declared variants in addition to those of the designs."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import BaseModel

from qwestly_agent.agents.base import Models
from qwestly_agent.agents.design import ROLES, Design, Designs, Role, TurnAgent, build_designs
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.llm.models import make_judges, make_models, with_tracing
from qwestly_agent.rollout import variants
from qwestly_agent.rollout.variants import Variant
from qwestly_agent.services import ModelServices


def make_designs(services: ModelServices, designs: Mapping[str, Design], own: Mapping[str, BaseModel]) -> Designs:
    """Build all agents; `own` are the designs' settings. Raises `InvalidSettings`, which names a broken design or
    variant."""
    built = build_designs(services.settings.agent_design, designs, own, services.models)
    agents = {each.name: dict(_built(services, each, designs, own)) for each in variants.VARIANTS}
    return replace(built, variants=agents)


def _built(
    services: ModelServices, variant: Variant, designs: Mapping[str, Design], own: Mapping[str, BaseModel]
) -> Iterator[tuple[Role, TurnAgent]]:
    try:
        design = designs[variant.design]
        prompts = {"prompts": dict(variant.prompts)} if variant.prompts else {}
        settings = design.settings.model_validate({**own[variant.design].model_dump(), **prompts})
        models = _models(services, variant)
        for role in ROLES:
            if role in variant.roles:
                yield role, design.roles[role](models, settings)
    except Exception as error:
        raise InvalidSettings(f"The variant {variant.name!r} is broken: {type(error).__name__}: {error}") from error


def _models(services: ModelServices, variant: Variant) -> Models:
    if not variant.models:
        return services.models
    changed = replace(services.settings, **{f"model_{tier}": name for tier, name in variant.models.items()})
    make_judges(changed, services.http)  # raises if a model would judge its own text
    return with_tracing(make_models(changed, services.http, services.secrets.renew), services.traces)
