"""The candidate app's profile of a user, as tests read it."""

from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient

from infra.local.candidate_app import CANDIDATES
from tests.servers import ChatServer


@dataclass(frozen=True)
class Profile:
    chat: ChatServer
    user_id: str

    def get(self, name: str = "headline") -> Any:
        with MongoClient(self.chat.settings.mongodb_uri) as mongo:
            found = mongo[self.chat.settings.mongodb_database][CANDIDATES].find_one({"user_id": self.user_id})
        return (found or {}).get(name)
