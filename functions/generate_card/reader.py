"""The states of generate_card that read untrusted text and call models."""

from qwestly_agent import container
from qwestly_agent.cards import GENERATE_CARD

handler = container.serve(GENERATE_CARD, "reader")
