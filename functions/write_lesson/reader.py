"""The states of write_lesson that call models."""

from qwestly_agent import container
from qwestly_agent.learning import WRITE_LESSON

handler = container.serve(WRITE_LESSON, "reader")
