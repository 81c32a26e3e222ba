"""Packed sets cannot be changed unnoticed."""

import gzip
from pathlib import Path

import pytest

from evals import packed
from evals.claims import UNSEEN
from evals.packed import SUMS, read_lines
from evals.trouble import FILE, load


def test_the_checksums_list_exactly_the_packed_sets() -> None:
    named = [line.split()[1] for line in SUMS.read_text(encoding="utf-8").splitlines()]
    assert named == sorted(each.name for each in SUMS.parent.glob("*.gz")) == [FILE.name, UNSEEN.name]
    assert [len(read_lines(SUMS.with_name(each))) > 100 for each in named] == [True, True]


def test_a_modified_set_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / FILE.name
    changed.write_bytes(gzip.compress(b"plain\ten\te\tI am fine.\n", mtime=0))
    with pytest.raises(ValueError, match=r"trouble\.tsv\.gz is not the set that SHA256SUMS names"):
        read_lines(changed)
    monkeypatch.setattr(packed, "SUMS", tmp_path / "SHA256SUMS")
    packed.SUMS.write_text("0  trouble.tsv.gz\n", encoding="utf-8")
    with pytest.raises(ValueError, match="SHA256SUMS"):
        read_lines(FILE)


def test_an_unknown_set_of_messages_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no set plain\.txt, only first-rounds, .*unseen"):
        load("plain.txt")
