"""The states of write_lesson that show the lesson, or record why there is none, and ask no model."""

from qwestly_agent import container
from qwestly_agent.learning import WRITE_LESSON

handler = container.serve(WRITE_LESSON, "writer")
