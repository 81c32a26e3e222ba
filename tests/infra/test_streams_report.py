"""The report of `python -m benchmarks.streams` names the cause of each turn that was not answered."""

import json
from collections import Counter

from benchmarks.streams import ANSWERED, Ending, ending_of, with_causes
from qwestly_agent.base.observability import Event

REFUSED = '{"error":{"code":"unavailable","message":"We can’t reach your data right now.","request_id":"req1"}}'
BROKEN_OFF = """\
data: {"type":"start","messageId":"msg_run1"}

data: {"type":"text-delta","delta":"word48 and ","id":"a"}

data: {"type":"error","errorText":"We can’t reach your data right now."}

data: [DONE]
"""
LOG = "\n".join(
    [
        "INFO:     Started server process [1]",
        json.dumps({"message": Event.TURN_ENDED, "request_id": "req2", "run_id": "run1"}),
        json.dumps({"message": Event.REQUEST_FAILED, "request_id": "req1", "cause": ["NetworkTimeout"]}),
        json.dumps({"message": Event.TURN_FAILED, "request_id": "req2", "run_id": "run1", "cause": ["A", "B"]}),
        json.dumps({"message": Event.REQUEST_FAILED, "cause": ["of nobody"]}),
    ]
)


def test_each_unanswered_turn_gets_its_cause_from_the_log() -> None:
    ended = [Ending(ANSWERED), ending_of(REFUSED), ending_of(BROKEN_OFF), ending_of("data: [DONE]"), Ending(ANSWERED)]
    assert Counter(with_causes(ended, LOG)) == {
        ANSWERED: 2,
        "unavailable (NetworkTimeout)": 1,
        "We can’t reach your data right now. (A ← B)": 1,
        "another end (not logged)": 1,
    }
