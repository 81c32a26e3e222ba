"""A buffering function URL: converts a request to Lambda's event (payload format 2.0), and the function's result to a
response."""

import base64
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from infra.local.aws_limits import Refused
from qwestly_agent.base.clock import system_clock

TEXT = ("text/", "application/json", "application/javascript", "application/xml")
"""Content types sent as text. All other bodies, including forms, reach the function as base64."""


async def event_of(request: Request) -> dict[str, Any]:
    body = await request.body()
    is_text = request.headers.get("content-type", "").startswith(TEXT)
    path, now = request.scope["raw_path"].decode("ascii"), system_clock()
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    cookies = headers.pop("cookie", "")
    source = request.client.host if request.client else ""
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": request.url.query,
        **({"cookies": [each.strip() for each in cookies.split(";")]} if cookies else {}),
        "headers": {**headers, "x-forwarded-for": source, "x-forwarded-proto": request.url.scheme},
        **({"queryStringParameters": _parameters(request)} if request.url.query else {}),
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "local",
            "domainName": headers.get("host", ""),
            "domainPrefix": "local",
            "http": {
                "method": request.method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": source,
                "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()),
            "routeKey": "$default",
            "stage": "$default",
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now * 1000),
        },
        **({"body": body.decode("utf-8", "replace") if is_text else base64.b64encode(body).decode()} if body else {}),
        "isBase64Encoded": bool(body) and not is_text,
    }


def _parameters(request: Request) -> dict[str, str]:
    names = request.query_params.keys()
    return {name: ",".join(request.query_params.getlist(name)) for name in names}


def invoke(function: str, event: Mapping[str, Any]) -> Response:
    """Invoke the function. Raises `Refused`, and boto3's errors if Lambda is unreachable or has no such function."""
    try:
        answer = _lambda().invoke(FunctionName=function, Payload=json.dumps(event))
    except _lambda().exceptions.TooManyRequestsException as error:
        raise Refused.too_many(error.response.get("Reason", "")) from None
    payload = answer["Payload"].read()
    if "FunctionError" in answer:
        return PlainTextResponse("Internal Server Error", 502)
    return response_of(json.loads(payload))


def response_of(result: Any) -> Response:
    if not isinstance(result, dict) or "statusCode" not in result:
        return JSONResponse(result)
    body = result.get("body") or ""
    content = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    headers = {name.lower(): str(value) for name, value in (result.get("headers") or {}).items()}
    headers.pop("content-length", None)
    response = Response(content, int(result["statusCode"]), {"content-type": "application/json", **headers})
    for cookie in result.get("cookies") or ():
        response.headers.append("set-cookie", cookie)
    return response


@cache
def _lambda() -> Any:
    # No retry: a function whose response is lost may have had its effect.
    return boto3.client("lambda", config=Config(retries={"total_max_attempts": 1}))
