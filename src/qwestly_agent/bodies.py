"""A request's body, of bounded length."""

from starlette.requests import ClientDisconnect, Request

from qwestly_agent.errors import Invalid, TooLong


async def read_body(request: Request, most_bytes: int, *, too_long: str, cut_off: str) -> bytes:
    """Raises `TooLong` and `Invalid`, each with its sentence."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most_bytes:
                raise TooLong(too_long)
    except ClientDisconnect:
        raise Invalid(cut_off) from None
    return bytes(body)
