"""A design whose loop is a plain one over the `openai` client, with the tools, gate and events of every design."""

from plain_openai.design import DESIGN as DESIGN
