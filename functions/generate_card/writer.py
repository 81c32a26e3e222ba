"""The states of generate_card that have effects and call no model."""

from qwestly_agent import container
from qwestly_agent.cards import GENERATE_CARD

handler = container.serve(GENERATE_CARD, "writer")
