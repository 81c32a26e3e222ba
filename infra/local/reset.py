"""Delete the stack's local data: `make reset`. Refuses while a stack runs."""

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.environment import ROOT, new_secret

KEPT = ROOT / ".local"


@contextmanager
def lock_data(how: int) -> Iterator[None]:
    """Hold a `flock` on the data folder; it ends with the process at the latest. Raises `BlockingIOError`."""
    KEPT.mkdir(exist_ok=True)
    folder = os.open(KEPT, os.O_RDONLY)
    try:
        fcntl.flock(folder, how)
        yield
    finally:
        os.close(folder)


def kept_secret(name: str) -> str:
    """Return a secret that is kept until the data is cleared, because data sealed with it remains at the next start."""
    folder = KEPT / "secrets"
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), open(folder / name, "x", opener=_only_ours) as file:
        file.write(new_secret())
    return (folder / name).read_text(encoding="ascii")


def _only_ours(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def main() -> None:
    try:
        # Each running stack holds it with LOCK_SH.
        with lock_data(fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(KEPT)
    except BlockingIOError:
        sys.exit("The stack runs: end it before its data is cleared.")
    print("Cleared. The next `make run` begins anew.")


if __name__ == "__main__":
    main()
