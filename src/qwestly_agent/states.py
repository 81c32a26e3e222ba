"""What holds of every state of every corridor: nothing runs under the brake, and what is raised quotes nobody."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from pymongo.errors import PyMongoError

from qwestly_agent.authority.brake import unless_braked
from qwestly_agent.bootstrap import House
from qwestly_agent.errors import AgentError, Internal, Unavailable
from qwestly_agent.observability import Event, cause_of

T = TypeVar("T")


async def run_state(house: House, user_id: str, work: Coroutine[Any, Any, T], **labels: str) -> T:
    """What the work answers, unless the brake stops it. `labels` stand in each line of the log."""
    return await told_safely(house, unless_braked(house.signals, user_id, work), **labels)


async def told_safely(house: House, work: Coroutine[Any, Any, T], **labels: str) -> T:
    """What the work answers. Whatever it raises becomes an `AgentError`: others may quote what people wrote, and the
    execution's history keeps what a state raised."""
    house.logger.thread_safe_append_keys(**labels)
    try:
        return await work
    except AgentError:
        raise
    except PyMongoError as error:
        house.logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Unavailable from None
    except Exception as error:
        house.logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Internal from None
