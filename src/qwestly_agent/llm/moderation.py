"""Ask OpenAI's moderation endpoint whether a message is of somebody who means to harm themself.

`omni-moderation-latest` is free and reads many languages. Only `self-harm/intent` counts: a person who asks about
self-harm as a topic is answered like any other. Whatever goes wrong is logged, and takes nothing from the answer.
"""

import asyncio
from dataclasses import dataclass

from aws_lambda_powertools import Logger
from openai import AsyncOpenAI, OpenAIError

from qwestly_agent.base.observability import Event, cause_of

MODEL = "omni-moderation-latest"
PATIENCE_SECONDS = 0.8
"""From the beginning of a turn: so long may its first word wait for the endpoint."""
LONGEST_TEXT_CHARACTERS = 20_000


@dataclass(frozen=True)
class Moderation:
    client: AsyncOpenAI | None
    """None where nobody is asked."""
    logger: Logger

    def begin(self, text: str | None) -> "asyncio.Task[bool] | None":
        """Ask about a message. The task never fails; False also means that nobody could say."""
        if self.client is None or not text:
            return None
        return asyncio.create_task(self._means_harm(self.client, text))

    async def _means_harm(self, client: AsyncOpenAI, text: str) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                once = client.with_options(max_retries=0)
                answer = await once.moderations.create(model=MODEL, input=text[:LONGEST_TEXT_CHARACTERS])
            return any(each.categories.self_harm_intent for each in answer.results)
        # The client parses an HTML page or a truncated object as an answer, and fails with errors of any kind.
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, RecursionError) as error:
            self.logger.warning(Event.REQUEST_FAILED, extra={"path": "moderation", **cause_of(error)})
            return False
