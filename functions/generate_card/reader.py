"""The states of generate_card that see what strangers wrote and ask models."""

from qwestly_agent import container
from qwestly_agent.cards import GENERATE_CARD

handler = container.serve(GENERATE_CARD, "reader")
