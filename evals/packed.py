"""Sets of labelled data for measuring, not for editing: one compressed file each.

`gunzip -c evals/unseen.jsonl.gz` shows one, `gzip -n` packs it again, and `sha256sum *.gz > SHA256SUMS` in `evals/`
confirms that the change was intended.
"""

import gzip
import hashlib
from pathlib import Path

SUMS = Path(__file__).with_name("SHA256SUMS")


def read_lines(file: Path) -> list[str]:
    """Read a packed set. Raises `ValueError` if its checksum differs from `SHA256SUMS`."""
    packed = file.read_bytes()
    if f"{hashlib.sha256(packed).hexdigest()}  {file.name}" not in SUMS.read_text(encoding="utf-8").splitlines():
        raise ValueError(f"{file.name} is not the set that {SUMS.name} names.")
    return gzip.decompress(packed).decode().splitlines()
