"""The scripted backend's jobs, documents, applications and résumés."""

from dataclasses import dataclass, field
from typing import Any

from starlette.responses import JSONResponse, Response

NO_WISHES: dict[str, Any] = {
    "titles": [],
    "places": [],
    "remote": "any",
    "pay_from": None,
    "pay_currency": None,
    "languages": [],
    "work_permits": [],
    "never": [],
}


@dataclass
class ScriptedJobs:
    matches: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    search: dict[str, Any] = field(
        default_factory=lambda: {"missing": [], "searched_at": None, "is_searching": False, "has_wishes": False}
    )
    settings: dict[str, Any] = field(
        default_factory=lambda: {"is_on": False, "wishes": NO_WISHES, "next_at": None, "boards": ["Adzuna"]}
    )
    taught: list[str] = field(default_factory=list[str])
    documents: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    applications: dict[str, dict[str, Any]] | None = None
    """None on a server without applications."""
    resumes: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def answer(self, method: str, path: list[str], body: Any, query: Any) -> Response | None:
        """Return the response; None if there is nothing at this path."""
        match method, path:
            case "GET", ["jobs"]:
                shown = [each for each in self.matches.values() if each["status"] == query["status"]]
                return JSONResponse({"items": shown, **self.search})
            case "POST", ["jobs", "search"]:
                self.search |= {"is_searching": True}
                return JSONResponse({"run_id": "run_1"}, 202)
            case _, ["jobs", "settings"]:
                self.settings |= body or {}
                return JSONResponse(self.settings)
            case _, ["jobs", "weights"]:
                self.taught = [] if method == "DELETE" else self.taught
                return JSONResponse({"items": [{"says": each, "weight": 0.1} for each in self.taught]})
            case ("PUT", ["jobs", key]) | ("POST", ["jobs", key, "verdict"]):
                self.matches[key] |= body
                return JSONResponse(self.matches[key])
            case "GET", ["jobs", key]:
                return JSONResponse(self.matches[key])
            case "POST", ["jobs", key, "documents"]:
                return JSONResponse(next(each for each in self.documents.values() if each["job_id"] == key), 202)
            case "POST", ["jobs", key, "application"] if self.applications:
                self.matches[key] |= {"application_id": "app_1"}
                return JSONResponse(self.applications["app_1"])
            case "POST", ["jobs", key, "apply"]:
                self.matches[key] |= {"application_id": "app_1"}
                return JSONResponse({"approval_id": "ap_1"}, 202)
            case "PUT", ["documents", key]:
                self.documents[key] |= {"revision": body["revision"] + 1, "can_undo": body["parts"] is not None}
                return JSONResponse(self.documents[key])
            case "GET", ["documents", key, "download"]:
                return Response(b"PK", headers={"Content-Disposition": f'attachment; filename="{key}.docx"'})
            case "GET", ["applications"] if self.applications is not None:
                return JSONResponse({"items": list(self.applications.values())})
            case "PATCH", ["applications", key] if self.applications is not None:
                self.applications[key] |= body
                return JSONResponse(self.applications[key])
            case "GET", ["documents" | "resumes" as kind]:
                return JSONResponse({"items": list(getattr(self, kind).values())})
            case "GET", ["documents" | "resumes" as kind, key]:
                return JSONResponse(getattr(self, kind)[key])
            case _:
                return None
