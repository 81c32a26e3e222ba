"""A MongoDB client that can change its password while running. It overrides private methods of pymongo.

Review it for each new version of pymongo: `tests/stores/test_mongo_client.py` names the reviewed version.
"""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote, urlsplit

from pymongo import AsyncMongoClient
from pymongo.auth_shared import MongoCredential
from pymongo.errors import OperationFailure

from qwestly_agent.platform.collection import Document

AUTHENTICATION_ERRORS = (13, 18, 8000)
"""Unauthorized (also for a deleted user), AuthenticationFailed, and Atlas's code for both."""


class RenewingMongoClient(AsyncMongoClient[Document]):
    renew_uri: Callable[[], Awaitable[str]] | None = None
    """Returns the URI with the current user and password."""

    async def _retry_internal(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command. After an authentication error, renew the password and run it once more. All collection
        commands pass through here."""
        used = self.options.pool_options._credentials
        try:
            return await super()._retry_internal(*args, **kwargs)
        except OperationFailure as error:
            if error.code not in AUTHENTICATION_ERRORS or used is None or self.renew_uri is None:
                raise
            await self._take(await self.renew_uri())
            if self._credentials is used:
                raise
        return await super()._retry_internal(*args, **kwargs)

    @property
    def _credentials(self) -> MongoCredential | None:
        return self.options.pool_options._credentials

    async def _take(self, uri: str) -> None:
        """Use the user and password of this URI for new connections, and replace the open ones."""
        old, given = self._credentials, urlsplit(uri)
        name, password = unquote(given.username or ""), unquote(given.password or "")
        if old is None or not name or (name, password) == (old.username, old.password):
            return
        # The cache holds keys derived from the old password.
        new = old._replace(username=name, password=password, cache=type(old.cache)())
        # All pools of the client share these options.
        self.options.pool_options._PoolOptions__credentials = new  # type: ignore[attr-defined]
        if self._topology:
            for server in list(self._topology._servers.values()):
                await server.pool.reset_without_pause()
