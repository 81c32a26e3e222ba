"""Fires a schedule of the running stack now: `python -m infra.local.fire NAME`; without one, lists them."""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any


def ask(path: str, method: str) -> Any:
    url = f"http://127.0.0.1:{os.environ.get('PORT') or '8000'}/local/{path}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(json.load(error)["error"]["message"])
    except urllib.error.URLError as error:
        sys.exit(f"Nothing answers at {url}: {error.reason}. Is `make run` running?")


def main(names: list[str]) -> None:
    if not names:
        for schedule in ask("schedules", "GET")["items"]:
            print(f"{schedule['name']}   {schedule['expression']}   {schedule['target']}")
    for name in names:
        answer = ask(f"schedules/{name}", "POST")
        print(json.dumps(answer["answer"]))
        if answer["failed"]:
            sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
