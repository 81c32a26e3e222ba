"""AWS clients."""

import threading
from functools import cached_property
from typing import Any

ATTEMPTS, CONNECT_SECONDS, ANSWERS_WITHIN_SECONDS = 2, 2, 5


class AWS:
    """AWS clients, each created at its first use, because botocore is slow to import. Creating one is not thread-safe,
    hence the lock.

    They come from botocore rather than boto3, whose other imports (for S3) take a third of the time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}

    @cached_property
    def _session(self) -> Any:
        from botocore.session import get_session

        return get_session()

    def client(self, service: str) -> Any:
        with self._lock:
            if service not in self._clients:
                from botocore.config import Config

                config = Config(
                    connect_timeout=CONNECT_SECONDS,
                    read_timeout=ANSWERS_WITHIN_SECONDS,
                    retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
                )
                self._clients[service] = self._session.create_client(service, config=config)
            return self._clients[service]
