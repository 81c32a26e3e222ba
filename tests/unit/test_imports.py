"""Objects built at a cold start and on first use, measured in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHAT = Path(__file__).parents[2] / "functions" / "chat"

REGEXES = """
import pkgutil, re, importlib
import qwestly_agent.grounding as grounding
names = [each.name for each in pkgutil.iter_modules(grounding.__path__, "qwestly_agent.grounding.")]
for name in [*names, "qwestly_agent.memory.notes", "qwestly_agent.documents.content", "qwestly_agent.jobs.wishes"]:
    values = vars(importlib.import_module(name)).values()
    if any(isinstance(each, re.Pattern) or "_compiled" in getattr(each, "__dict__", {}) for each in values):
        print(name)
"""

MODELS = """
from pydantic import BaseModel
import qwestly_agent.bootstrap
models = [BaseModel]
for each in models:
    models.extend(each.__subclasses__())
own = {each for each in models if each.__module__.startswith(("qwestly_agent.domain.", "qwestly_agent.stores."))}
built = {each.__module__ for each in own if each.__pydantic_complete__}
print(*(each.removeprefix("qwestly_agent.") for each in built))
"""

COLLECTIONS = f"""
import gc, sys
sys.path.insert(0, {str(CHAT)!r})
def passes():
    return sum(each["collections"] for each in gc.get_stats())
before = passes()
import app
print(passes() - before)
"""

STARTED = f"""
import asyncio, sys
sys.path.insert(0, {str(CHAT)!r})
import app
async def start():
    async with app.app.router.lifespan_context(app.app):
        pass
asyncio.run(start())
print(*sys.modules)
"""

ENVIRONMENT = {
    "MONGODB_URI": "mongodb://127.0.0.1:1",
    "MONGODB_DATABASE": "qwestly_test_imports",
    "QWESTLY_AGENT_SHARED_SECRET": "a-secret-that-is-long-enough-for-a-test",
    "QWESTLY_CANDIDATE_API_SECRET": "another-secret-that-is-long-enough-for-a-test",
    "CANDIDATE_API_URL": "http://127.0.0.1:1/api/agent/v1",
    "DEEPSEEK_API_KEY": "none",
    "OPENAI_API_KEY": "none",
}

OTHERS = {f"qwestly_agent.chat.routers.{each}" for each in ("approvals", "conversations", "memories", "others")}
PROTOCOLS = {"pydantic_ai.ui.ag_ui", "pydantic_ai.ui.vercel_ai"}
ROLLOUT = {"qwestly_agent.rollout.flags", "boto3"}

USED_BY_EVERY_TURN = {
    "domain.memory",
    "domain.conversation",
    "stores.messages",
    "stores.user_settings",
}
EMPTY_ONES_ARE_CONSTANTS = {"domain.briefing", "domain.resume"}


def printed_by(code: str, **environment: str) -> set[str]:
    environment = {**os.environ, **environment}
    return set(subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).split())


def test_no_regex_of_a_rare_path_is_compiled_before_its_first_use() -> None:
    assert printed_by(REGEXES) == set()


def test_only_models_that_every_turn_uses_are_built_when_imported() -> None:
    assert printed_by(MODELS) == USED_BY_EVERY_TURN | EMPTY_ONES_ARE_CONSTANTS


@pytest.mark.thorough
def test_hardly_any_garbage_is_collected_during_the_chats_imports() -> None:
    assert printed_by(COLLECTIONS) <= {"0", "1", "2"}


@pytest.mark.nightly
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("environment", "imported"),
    [
        pytest.param({}, set(), id="turns"),
        pytest.param({"ANSWERS_TURNS": "0"}, OTHERS, id="everything else"),
        pytest.param(
            {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}, OTHERS | PROTOCOLS | ROLLOUT, id="a snapshot of either"
        ),
    ],
)
def test_the_chat_function_imports_only_what_its_role_needs(environment: dict[str, str], imported: set[str]) -> None:
    assert printed_by(STARTED, **ENVIRONMENT, **environment) & (OTHERS | PROTOCOLS | ROLLOUT) == imported


def test_refilling_the_demo_user_imports_no_model_client() -> None:
    code = "import infra.local.demo.__main__, sys; print(*sys.modules)"
    assert not printed_by(code) & {"openai", "pydantic_ai"}
