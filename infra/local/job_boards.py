"""Stubs of Adzuna, JSearch and Brave's web search over the adverts of `adverts.py`.

They fail on request: POST `/_control/faults` (`{"adzuna": "error"}`), GET `/_control/requests`.
"""

import argparse
import asyncio
import re
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from infra.local.adverts import Posting, postings
from infra.local.serving import listen, serve
from qwestly_agent.base.clock import system_clock

KEY = "local"
DAY_SECONDS = 86_400
MOST_WEB = 8
Fault: TypeAlias = Literal["error", "busy", "html", "list", "nonsense", "hang", "forbidden", "empty"]
_WORD = re.compile(r"[^\W_]+")
_COMMON = frozenset(["in", "for", "the", "a", "of", "and", "remote", "senior", "junior", "lead"])


@dataclass
class JobBoardsApi:
    """The routes of the stubs, and their faults."""

    faults: dict[str, Fault] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=lambda: dict.fromkeys(("adzuna", "jsearch", "web"), KEY))
    """The accepted key of each board."""
    requests: list[str] = field(default_factory=list)
    adverts: Sequence[Posting] = field(default_factory=postings)

    async def adzuna(self, request: Request) -> Response:
        self.requests.append(f"adzuna {request.url.query}")
        given = request.query_params
        if given.get("app_id") != KEY or given.get("app_key") != self.keys["adzuna"]:
            return JSONResponse({"exception": "AUTH_FAIL"}, 401)
        if fault := await self._fault("adzuna"):
            return fault
        found = self._found("adzuna", given.get("what", ""), given.get("where", ""), "remote" in given.get("what", ""))
        results = [_of_adzuna(each) for each in found[: int(given.get("results_per_page", 10))]]
        return JSONResponse({"count": len(found), "results": results})

    async def jsearch(self, request: Request) -> Response:
        self.requests.append(f"jsearch {request.url.query}")
        if request.headers.get("X-RapidAPI-Key") != self.keys["jsearch"]:
            return JSONResponse({"message": "You are not subscribed to this API."}, 403)
        if fault := await self._fault("jsearch"):
            return fault
        what, _, where = request.query_params.get("query", "").partition(" in ")
        found = self._found("jsearch", what, where, request.query_params.get("work_from_home") == "true")
        return JSONResponse({"status": "OK", "request_id": "r1", "data": [_of_jsearch(each) for each in found[:50]]})

    async def web(self, request: Request) -> Response:
        self.requests.append(f"web {request.url.query}")
        if request.headers.get("X-Subscription-Token") != self.keys["web"]:
            return JSONResponse({"type": "ErrorResponse"}, 422)
        if fault := await self._fault("web"):
            return fault
        words = _words(request.query_params.get("q", ""))
        companies = {each.company: each for each in self.adverts if words & _words(each.company)}
        results = [
            {
                "title": f"{name} – about us",
                "url": f"https://{'-'.join(_WORD.findall(name.lower()))}.example/about",
                "description": f"<strong>{name}</strong> has {40 + each.number} people and an office in {each.place}.",
            }
            for name, each in list(companies.items())[:MOST_WEB]
        ]
        return JSONResponse({"type": "search", "web": {"type": "search", "results": results}})

    async def control(self, request: Request) -> Response:
        if request.method == "POST":
            self.faults = await request.json()
        return JSONResponse({"requests": self.requests, "faults": self.faults})

    async def _fault(self, board: str) -> Response | None:
        match self.faults.get(board):
            case "error":
                return JSONResponse({"error": "internal"}, 500)
            case "busy":
                return JSONResponse({"message": "Too many requests"}, 429)
            case "forbidden":
                return JSONResponse({"message": "Forbidden"}, 403)
            case "html":
                return HTMLResponse("<h1>Maintenance</h1>")
            case "list":
                return JSONResponse([1, 2, 3])
            case "nonsense":
                odd: list[Any] = [None, 7, {"id": None}, {"id": "x", "title": ["a"]}, {"job_id": {}, "job_title": 3}]
                return JSONResponse({"results": odd, "data": odd, "web": {"results": odd}})
            case "empty":
                return JSONResponse({})
            case "hang":
                await asyncio.sleep(3_600)
            case None:
                pass
        return None

    def _found(self, board: str, what: str, where: str, remote_only: bool) -> list[Posting]:
        """Return the adverts that match the most words, newest first; a match of the whole title weighs more."""
        words, place = _words(what) - _COMMON, where.strip().casefold()
        here = [
            each
            for each in self.adverts
            if board in each.boards
            and (not place or place in f"{each.place} {each.country}".casefold())
            and (each.is_remote or not remote_only)
        ]
        scores = {each.number: 2 * len(words & _words(each.title)) + len(words & _words(each.text)) for each in here}
        found = [each for each in here if scores[each.number]]
        return sorted(found, key=lambda each: (-scores[each.number], each.days_old))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _posted_at(advert: Posting) -> float:
    return (system_clock() // DAY_SECONDS - advert.days_old) * DAY_SECONDS


_BOARDS_NAMES = {
    "Portugal": ("PT", "Portugal"),
    "Germany": ("DE", "Deutschland"),
    "United Kingdom": ("GB", "UK"),
    "Spain": ("ES", "España"),
    "France": ("FR", "France"),
    "United States": ("US", "US"),
}
"""Countries as JSearch and Adzuna write them."""
_REGIONS = {
    "Lisbon": ("Lisboa", "Lisboa"), "Porto": ("Porto", "Porto"), "Berlin": ("Berlin", "Berlin"),
    "Munich": ("Bavaria", "Bayern"), "London": ("England", "London"), "Madrid": ("Community of Madrid", "Madrid"),
    "Paris": ("Île-de-France", "Ile-de-France"), "New York": ("NY", "New York"), "Austin": ("TX", "Texas"),
}  # fmt: skip


def _of_adzuna(advert: Posting) -> dict[str, Any]:
    """Shorten the text and add markup, as Adzuna does."""
    country, region = _BOARDS_NAMES[advert.country][1], _REGIONS[advert.place][1]
    pay = {"salary_min": advert.pay[0], "salary_max": advert.pay[1]} if advert.pay else {}
    return {
        "__CLASS__": "Adzuna::API::Response::Job",
        "id": f"{4_000_000 + advert.number}",
        "title": f"<strong>{advert.title}</strong>",
        "description": f"{advert.text[:500]}",
        "created": datetime.fromtimestamp(_posted_at(advert), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "redirect_url": f"https://www.adzuna.example/details/{4_000_000 + advert.number}",
        "company": {"display_name": advert.company},
        "location": {
            "__CLASS__": "Adzuna::API::Response::Location",
            "display_name": f"{advert.place}, {region}",
            "area": [country, region, advert.place],
        },
        "contract_time": "full_time",
        "salary_is_predicted": "0" if advert.pay else "1",
        **(pay or {"salary_min": 12_345.0}),
    }


def _of_jsearch(advert: Posting) -> dict[str, Any]:
    return {
        "job_id": f"J{advert.number:05}==",
        "employer_name": advert.company,
        "job_publisher": "LinkedIn",
        "job_title": advert.title,
        "job_apply_link": f"https://jobs.example/{advert.number}",
        "job_description": advert.text,
        "job_is_remote": advert.is_remote,
        "job_posted_at_timestamp": _posted_at(advert),
        "job_offer_expiration_datetime_utc": None,
        "job_offer_expiration_timestamp": None,
        "job_location": f"{advert.place}, {_REGIONS[advert.place][0]}",
        "job_city": advert.place,
        "job_state": _REGIONS[advert.place][0],
        "job_country": _BOARDS_NAMES[advert.country][0],
        "job_min_salary": advert.pay[0] if advert.pay else None,
        "job_max_salary": advert.pay[1] if advert.pay else None,
        "job_salary_currency": advert.currency if advert.pay else None,
        "job_salary_period": "YEAR" if advert.pay else None,
    }


def create_app(api: JobBoardsApi) -> Starlette:
    return Starlette(
        routes=[
            Route("/v1/api/jobs/{country}/search/{page:int}", api.adzuna),
            Route("/search", api.jsearch),
            Route("/res/v1/web/search", api.web),
            Route("/_control/faults", api.control, methods=["GET", "POST"]),
            Route("/_control/requests", api.control),
        ]
    )


@dataclass
class JobBoardsServer:
    """The stubs on a real socket, as a context manager."""

    api: JobBoardsApi = field(default_factory=JobBoardsApi)
    port: int = 0

    def __enter__(self) -> "JobBoardsServer":
        listening = listen(0)
        listening.listen()
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            create_app(self.api), log_level="warning", access_log=False, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        threading.Thread(target=self._server.run, args=([listening],), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8004)
    serve(create_app(JobBoardsApi()), parser.parse_args(arguments).port)


if __name__ == "__main__":
    main(sys.argv[1:])
