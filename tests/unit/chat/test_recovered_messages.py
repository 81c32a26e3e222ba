"""What is recovered of a turn whose process died, after something in it was forgotten."""

from qwestly_agent.base.clock import to_datetime
from qwestly_agent.domain.conversation import Source
from qwestly_agent.stores.messages import Message, NewTurn, PartialAnswer, Step, messages_to_recover

SAID = "I keep a bee called Zora"


def test_a_withheld_answer_is_recovered_without_what_its_tools_returned() -> None:
    step = Step(
        id="call",
        name="query_user_knowledge",
        label="Looks up",
        arguments=f'{{"query": "{SAID}"}}',
        problem=SAID,
        sources=(Source(id="memory:mem_1", kind="memory", title=SAID),),
    )
    at = to_datetime(1_800_000_000.0)
    question = Message(id="m-1", run_id="run-1", seq=0, role="user", content="What do you know?", created_at=at)
    answer = Message(
        id="m-2",
        run_id="run-1",
        seq=0,
        role="assistant",
        content="This.",
        created_at=at,
        steps=(step,),
        model_messages=f'["{SAID}"]',
    )
    partial = PartialAnswer(question, answer, ())

    def recovered(*, is_withheld: bool) -> list[Message]:
        turn = NewTurn("run-1", "m-1", question.content, 1_800_000_000.0, is_withheld, partial)
        return messages_to_recover(turn, 7, "interrupted")

    assert SAID in repr(recovered(is_withheld=False))
    kept = recovered(is_withheld=True)
    assert SAID not in repr(kept)
    assert [(each.seq, each.content, each.withheld) for each in kept] == [
        (7, "What do you know?", True),
        (8, "This.", True),
    ]
