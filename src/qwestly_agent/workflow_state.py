"""What holds of every state of every corridor: nothing runs under the brake, and what is raised quotes nobody."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from aws_lambda_powertools import Logger
from pymongo.errors import PyMongoError

from qwestly_agent.approvals.pause import abort_if_paused
from qwestly_agent.base.errors import AgentError, Internal, Unavailable
from qwestly_agent.base.observability import Event, cause_of
from qwestly_agent.stores.signals import Signals

T = TypeVar("T")


async def run_state(signals: Signals, logger: Logger, user_id: str, work: Coroutine[Any, Any, T], **labels: str) -> T:
    """What the work answers, unless the brake stops it. `labels` stand in each line of the log."""
    return await sanitize_errors(logger, abort_if_paused(signals, user_id, work), **labels)


async def sanitize_errors(logger: Logger, work: Coroutine[Any, Any, T], **labels: str) -> T:
    """What the work answers. Whatever it raises becomes an `AgentError`: others may quote what people wrote, and the
    execution's history keeps what a state raised."""
    logger.thread_safe_append_keys(**labels)
    try:
        return await work
    except AgentError:
        raise
    except PyMongoError as error:
        logger.warning(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Unavailable from None
    except Exception as error:
        logger.error(Event.REQUEST_FAILED, extra=cause_of(error))
        raise Internal from None
