"""When a question is due again, computed by `fsrs`, a published algorithm of spaced repetition, with its default
parameters."""

from collections.abc import Mapping

from fsrs import Card, Scheduler
from fsrs import Rating as FsrsRating
from fsrs.state import State

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.learning import Practice, Rating

# Without fuzzing: randomness is an argument here, and a person's few questions need not be spread over days.
_SCHEDULER = Scheduler(enable_fuzzing=False)
_RATINGS: Mapping[Rating, FsrsRating] = {
    "again": FsrsRating.Again,
    "hard": FsrsRating.Hard,
    "good": FsrsRating.Good,
    "easy": FsrsRating.Easy,
}


def new_practice(now: float) -> Practice:
    """Return the schedule of a new question, which is due at once."""
    return Practice(due_at=now, state=State.Learning.value, step=0)


def reschedule(practice: Practice, rating: Rating, now: float) -> Practice:
    """Return the schedule of a question after an answer. A right answer before the question is due moves nothing: it
    shows no more than that the person still knows what they just read."""
    if practice.last_at and now < practice.due_at and rating != "again":
        return practice.model_copy(update={"answers": practice.answers + 1, "right": practice.right + 1})
    card = Card(
        card_id=0,
        state=State(practice.state),
        step=practice.step,
        stability=practice.stability,
        difficulty=practice.difficulty,
        due=to_datetime(practice.due_at),
        last_review=to_datetime(practice.last_at) if practice.last_at else None,
    )
    after, _ = _SCHEDULER.review_card(card, _RATINGS[rating], to_datetime(now))
    return Practice(
        due_at=after.due.timestamp(),
        state=after.state.value,
        step=after.step,
        stability=after.stability,
        difficulty=after.difficulty,
        last_at=now,
        answers=practice.answers + 1,
        right=practice.right + (rating != "again"),
    )


def mastery(practices: list[Practice], now: float) -> float:
    """Estimate the share of questions that the person could answer now."""
    known = [
        _SCHEDULER.get_card_retrievability(
            Card(
                0, State(each.state), each.step, each.stability, each.difficulty, last_review=to_datetime(each.last_at)
            ),
            to_datetime(now),
        )
        for each in practices
        if each.last_at
    ]
    return sum(known) / len(practices) if practices else 0.0
