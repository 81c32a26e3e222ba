"""Process due work: approvals, briefings, job searches and the trial of a variant, each on its own schedule; and
returned mails."""

from typing import Any, Protocol

from qwestly_agent import container
from qwestly_agent.approvals.mail import SOURCE, note_returned_mail
from qwestly_agent.approvals.sweep import sweep
from qwestly_agent.rollout.writer import advance
from qwestly_agent.workflows import WORKFLOWS

SWEEPS = {
    ("rollout", advance.name): advance,
    **{(each.name, state.name): state for each in WORKFLOWS if each.sweep for state in [each.load_sweep()]},
}
run_sweep = container.serve(SWEEPS)


class Context(Protocol):
    def get_remaining_time_in_millis(self) -> int: ...


def handler(event: dict[str, Any], context: Context) -> dict[str, Any]:
    match event:
        case {"source": source} if source == SOURCE:
            return container.services.run(lambda services: note_returned_mail(services, event))
        case {"state": _}:
            return run_sweep(event, context)
        case _:
            return container.services.run(
                lambda services: sweep(services, lambda: context.get_remaining_time_in_millis() / 1000)
            )
