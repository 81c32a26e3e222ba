"""Ask OpenAI's moderation endpoint whether the author of a message intends self-harm.

`omni-moderation-latest` is free and reads many languages. Only `self-harm/intent` counts: questions about self-harm as
a topic are answered as usual. A failure is logged and does not affect the answer.
"""

import asyncio
from dataclasses import dataclass

from aws_lambda_powertools import Logger
from openai import AsyncOpenAI, OpenAIError

from qwestly_agent.base.observability import Event, cause_of

MODEL = "omni-moderation-latest"
PATIENCE_SECONDS = 0.8
"""Maximum wait for the endpoint's response, from the start of the turn and before the first word of the answer."""
LONGEST_TEXT_CHARACTERS = 20_000


@dataclass(frozen=True)
class Moderation:
    client: AsyncOpenAI | None
    """None if no endpoint is configured."""
    logger: Logger

    def start_check(self, text: str | None) -> "asyncio.Task[bool] | None":
        """Start checking the message. The task never fails; it returns False if the result is unknown."""
        if self.client is None or not text:
            return None
        return asyncio.create_task(self._means_harm(self.client, text))

    async def _means_harm(self, client: AsyncOpenAI, text: str) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                once = client.with_options(max_retries=0)
                answer = await once.moderations.create(model=MODEL, input=text[:LONGEST_TEXT_CHARACTERS])
            return any(each.categories.self_harm_intent for each in answer.results)
        # The client raises various kinds of errors for an HTML page or a truncated object.
        except (OpenAIError, TimeoutError, ValueError, TypeError, AttributeError, RecursionError) as error:
            self.logger.warning(Event.REQUEST_FAILED, extra={"path": "moderation", **cause_of(error)})
            return False
