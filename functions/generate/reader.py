"""The states that read untrusted text and call models, for all workflows except those of memory. Also judges a sample
of the day's answers, on a schedule."""

from qwestly_agent import container
from qwestly_agent.rollout.reader import judge_day

handler = container.serve_reader("generate", scheduled={("rollout", judge_day.name): judge_day})
