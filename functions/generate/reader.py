"""The states that read untrusted text and call models, of all workflows but those of memory. A schedule has it judge a
sample of the day's answers."""

from qwestly_agent import container
from qwestly_agent.rollout.reader import judge_day

handler = container.serve_reader("generate", scheduled={("rollout", judge_day.name): judge_day})
