"""The distribution before the functions' URLs. Whoever finds a function's own URL would walk around its firewall."""

from collections.abc import Mapping
from hmac import compare_digest

from qwestly_agent.base.errors import NotFound
from qwestly_agent.base.secrets import Secrets
from qwestly_agent.base.settings import Settings

ORIGIN_HEADER = "x-origin-secret"
VIEWER_HEADER = "x-viewer-address"
"""Added by the distribution: the address of who asks, which is the distribution's own for a function."""


async def check_origin(secrets: Secrets, headers: Mapping[str, str]) -> None:
    """Let through what the distribution sends. Raises `NotFound` for other requests, which reveals nothing."""
    if not secrets.settings.behind_distribution:
        return
    given = headers.get(ORIGIN_HEADER, "")
    if not (_is_known(secrets.settings, given) or _is_known(await secrets.renew(), given)):
        raise NotFound


def source_of(settings: Settings, headers: Mapping[str, str], peer: str) -> str:
    """Return the address of who asks. The header counts only where nobody else can set it."""
    return headers.get(VIEWER_HEADER, peer) if settings.behind_distribution else peer


def _is_known(settings: Settings, given: str) -> bool:
    known = [each.strip() for each in settings.origin_secret.split(",") if each.strip()]
    return any(compare_digest(given.encode(), each.encode()) for each in known)
