"""The states of write_lesson that publish the lesson, or record why there is none, and call no model."""

from qwestly_agent import container
from qwestly_agent.learning import WRITE_LESSON

handler = container.serve(WRITE_LESSON, "writer")
