"""Modules that the chat imports on first use, because most turns do not need them. A snapshot imports them all, so that
environments restored from it do not have to."""

from qwestly_agent.chat import encode_ag_ui as encode_ag_ui
from qwestly_agent.chat import encode_ai_sdk as encode_ai_sdk
from qwestly_agent.chat.routers import others as others
from qwestly_agent.rollout import flags as flags
