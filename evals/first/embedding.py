"""Retellings of forgotten memories with the configured embedding, and the threshold that they suggest: chosen on one
half of the cases, reported on the other."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial

from evals import memories
from evals.finding import vectors_of
from evals.first.hour import Hour, Unit
from evals.first.journal import Found
from evals.memories import Labelled
from evals.outcomes import Outcome
from qwestly_agent.base.settings import Settings

GRID = [round(0.20 + 0.02 * step, 2) for step in range(38)]
MOST_FALSE = 0.10
"""Share of other topics that may be taken for retellings, as in `memory_forgotten_from`."""


def embedding_units(hour: Hour) -> Sequence[Unit] | str:
    if hour.gateway.embeddings is None:
        return "OPENAI_API_KEY, or EMBEDDINGS_BASE_URL"
    return [Unit("embedding", partial(_measured, hour.settings))]


def _measured(settings: Settings) -> Found:
    vectors = asyncio.run(vectors_of(sorted(_texts())))
    retold, retold_notes = _retellings(vectors, settings.memory_forgotten_from)
    return Found(retold, retold_notes)


def _texts() -> set[str]:
    texts = set[str]()

    def noted(text: str) -> Sequence[float]:
        texts.add(text)
        return [1.0, *[0.0] * (memories.DIMENSIONS - 1)]

    list(memories.retellings(memories.FOLDER, noted, 1.0))
    return texts


def _retellings(vectors: Mapping[str, Sequence[float]], now: float) -> tuple[list[Outcome], list[str]]:
    found = {at: list(memories.retellings(memories.FOLDER, vectors.__getitem__, at)) for at in {*GRID, now}}
    allowed = [at for at in GRID if _share(found[at], "tuned", "other matter") <= MOST_FALSE]
    proposed = min(allowed, default=GRID[-1])
    outcomes = [
        Outcome(
            dataset=f"{each.relation}s of what was forgotten",
            case=f"{each.language}/{number}",
            group=each.language,
            source="live",
            passed=each.is_found == (each.relation == "retelling"),
        )
        for number, each in enumerate(found[proposed])
        if each.half == "kept"
    ]
    told = ", ".join(f"{_told(found[at], 'kept')} at {at:.2f}{' (now)' if at == now else ''}" for at in (proposed, now))
    return outcomes, [f"`MEMORY_FORGOTTEN_FROM={proposed:.2f}`: {told}."]


def _told(found: Sequence[Labelled], half: str) -> str:
    shares = (_share(found, half, relation) for relation in ("retelling", "other matter"))
    return "notices {:.0%} of retellings and takes {:.0%} of other matters for one".format(*shares)


def _share(found: Sequence[Labelled], half: str, relation: str) -> float:
    these = [each.is_found for each in found if (each.half, each.relation) == (half, relation)]
    return sum(these) / len(these)
