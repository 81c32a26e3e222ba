"""Record how a judge answered a planted lie."""

from qwestly_agent.base.observability import measure_planted_lie
from qwestly_agent.grounding.model import JudgedPlant
from qwestly_agent.grounding.plants import RecordPlant
from qwestly_agent.llm.models import TierModel
from qwestly_agent.services import Services


def record_plants_of(services: Services, judge: TierModel) -> RecordPlant:
    """Return a function that records an outcome of this judge, and returns True if it has passed too many of the
    newest lies."""
    model = judge.model.model_id or "?"

    async def record(plant: JudgedPlant) -> bool:
        newest = await services.planted_lies.add(model, plant)
        measure_planted_lie(model, plant.kind, plant.language, passed=plant.passed, judge_errs=newest.errs)
        return newest.errs

    return record
