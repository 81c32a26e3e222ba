"""A MongoDB-wire server over SQLite files, in the foreground."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from infra.local.reset import KEPT
from infra.local.serving import listen

if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, default=27017)
    arguments.add_argument("--data", default=str(KEPT / "data"), help="a folder, or `memory`")
    given = arguments.parse_args()
    listen(given.port).close()  # reports a taken port in a sentence; the server itself would print a stack trace
    # The server refuses to start if this file names a living process; by default one file serves the whole machine. The
    # port is free, so the process that wrote this port's file is gone.
    pid_file = Path(tempfile.gettempdir()) / f"qwestly-database-{given.port}.pid"
    pid_file.unlink(missing_ok=True)
    if given.data != "memory":
        Path(given.data).mkdir(parents=True, exist_ok=True)
    from nx_27017.nx_27017 import main

    from infra.local.database_patches import apply_patches

    apply_patches()
    files = ["--data-dir", given.data, "--pid-file", str(pid_file), "--log-file", os.devnull]
    sys.argv = ["nx-27017", "--port", str(given.port), *files]
    main()
