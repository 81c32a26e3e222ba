"""Learn from thumbs: a weight for each feature of a job, which the user can read and reset."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from qwestly_agent.domain.job import Advert, Verdict
from qwestly_agent.jobs.limits import normalize_words
from qwestly_agent.stores.jobs import JobMatches, JobSearch

STEP: Mapping[Verdict, int] = {"up": 10, "down": -10, "not_this_kind": -25}
"""Hundredths, so that sums are exact in any order."""
MOST = 0.5
"""Maximum weight of one feature, in either direction."""
MOST_OF_ALL = 0.5
"""Maximum contribution of all features to a job's fit, which is between 0 and 1."""
MOST_FEATURES = 500
_WORDS_OF_ALL_TITLES = """
and the for with und der die das mit für fur von de la el los las en of in to at on or para senior junior full part time
teilzeit vollzeit
"""
_NO_FEATURES = frozenset(_WORDS_OF_ALL_TITLES.split())


def features_of(advert: Advert) -> tuple[str, ...]:
    """Return features such as `title:backend`, `company:acme`, `remote`."""
    return tuple(dict.fromkeys(_features(advert)))


async def weights_of(job_matches: JobMatches, search: JobSearch) -> dict[str, float]:
    """Compute the weights from the user's current thumbs, without those from before the last reset."""
    return learn(await job_matches.list_verdicts(search.user_id, search.thumbs_since))


def learn(verdicts: Iterable[tuple[Advert, Verdict]]) -> dict[str, float]:
    """Return the weights. "Not this kind" counts for the title, not for the company."""
    sums = Counter[str]()
    for advert, verdict in verdicts:
        for each in features_of(advert):
            if verdict != "not_this_kind" or each.startswith("title:"):
                sums[each] += STEP[verdict]
    weights = {each: round(max(-MOST, min(MOST, total / 100)), 3) for each, total in sums.items() if total}
    return dict(sorted(weights.items(), key=lambda each: (-abs(each[1]), each[0]))[:MOST_FEATURES])


def learned_weight(weights: Mapping[str, float], advert: Advert) -> float:
    """Return the weights' contribution to this job's fit."""
    return max(-MOST_OF_ALL, min(MOST_OF_ALL, sum(weights.get(each, 0.0) for each in features_of(advert))))


def describe_weights(weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Describe each weight in words, the strongest first."""
    strongest = sorted(weights.items(), key=lambda each: -abs(each[1]))
    return [(_in_words(feature, weight), weight) for feature, weight in strongest]


def _in_words(feature: str, weight: float) -> str:
    kind, _, word = feature.partition(":")
    what = {"title": f"jobs with “{word}” in the title", "company": f"jobs at {word}"}.get(kind, "remote jobs")
    return f"{'More' if weight > 0 else 'Fewer'} {what}"


def _features(advert: Advert) -> Iterator[str]:
    yield from (
        f"title:{each}" for each in normalize_words(advert.title).split() if len(each) > 1 and each not in _NO_FEATURES
    )
    if company := normalize_words(advert.company).strip():
        yield f"company:{company}"
    if advert.is_remote:
        yield "remote"
