"""Start memory extraction for a conversation that the user ended; a sweep starts it for silent ones."""

from qwestly_agent.base.errors import Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.domain.approval import sha256_hex
from qwestly_agent.memory.sweep import PICKED_SECONDS
from qwestly_agent.services import Services


async def start_extraction(services: Services, user_id: str, conversation_id: str) -> None:
    """Start extraction now; at most once a minute for the same messages. Raises `NotFound`.

    If it cannot start, or a turn is running, a sweep does it later.
    """
    # Rounded, because it is compared with its stored value and the laptop's database keeps only fifteen digits.
    now, watermarks = round(services.clock(), 3), services.watermarks
    await watermarks.schedule_now(user_id, conversation_id, now)
    if not await watermarks.reserve(user_id, conversation_id, now, now + PICKED_SECONDS):
        return
    reading = await watermarks.get(user_id, conversation_id)
    # The id includes the minute, so that a conversation waiting for its next attempt can be started again.
    run_id = f"end-{sha256_hex(user_id, conversation_id, str(reading.last_seq), str(int(now // 60)))[:32]}"
    given = {"user_id": user_id, "conversation_id": conversation_id, "run_id": run_id}
    try:
        await services.workflows.start("extract_memories", run_id, given)
    except Unavailable as error:
        await watermarks.schedule_now(user_id, conversation_id, now)
        services.logger.warning(Event.REQUEST_FAILED, extra={"run_id": run_id, **cause_of(error)})
