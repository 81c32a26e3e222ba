"""The settings of the functions that a schedule plays."""

from typing import Any

from infra.local.environment import API_PATH
from qwestly_agent.base.settings import Settings

SHARED_SECRET = "a-shared-secret-of-the-tests-with-32-bytes-or-more"
SECRET = "the-secret-which-signs-towards-the-candidate-app"

SETTINGS = Settings(
    mongodb_uri="mongodb://127.0.0.1:9",
    mongodb_database="simulated",
    qwestly_agent_shared_secret=SHARED_SECRET,
    model_base_url="http://127.0.0.1:9/v1",
    embeddings_base_url="http://127.0.0.1:9/v1",
    qwestly_candidate_api_secret=SECRET,
    candidate_api_url=f"https://app.example{API_PATH}",
    task_token_key="alias/task-tokens",
    approve_url="https://approve.example/approve",
    mail_from="agent@example.org",
)
"""Settings of functions that decide and execute."""
CHAT_SETTINGS = Settings(
    mongodb_uri="mongodb://127.0.0.1:9",
    mongodb_database="simulated",
    qwestly_agent_shared_secret=SHARED_SECRET,
    act_function="approve-act:live",
    model_base_url="http://127.0.0.1:9/v1",
    embeddings_base_url="http://127.0.0.1:9/v1",
    candidate_api_url=f"https://app.example{API_PATH}",
)
"""Settings of the chat, without the write API's secret and the key of task tokens."""
TIGHT: dict[str, Any] = {"messages_a_minute": 2, "running_turns": 1, "day_ceiling_usd": 0.02}
MOST_UNASKED = 2
"""The limits of some schedules, which can be reached in them."""
