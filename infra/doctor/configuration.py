"""Whether the settings are whole, and the secrets what they must be. None of them is shown."""

from collections.abc import Iterator, Mapping

from infra.doctor.findings import Findings, note, right, wrong
from infra.doctor.patient import Patient
from infra.local.environment import FUNCTION
from qwestly_agent.base.errors import InvalidSettings
from qwestly_agent.base.settings import MINIMUM_SECRET_BYTES, Settings

MAY_BE_EMPTY = {"QWESTLY_JWT_AUDIENCE", "QWESTLY_JWT_ISSUER", "MODEL_FALLBACK", "MODEL_JUDGE"}
SIGNING = {"QWESTLY_AGENT_SHARED_SECRET", "QWESTLY_CANDIDATE_API_SECRET"}
KEYS = {"DEEPSEEK_API_KEY", "OPENAI_API_KEY"}
NEEDED_HERE = ("qwestly_agent_shared_secret", "qwestly_candidate_api_secret", "candidate_api_url")
"""By a chat that is started in this environment."""


async def check_settings(patient: Patient) -> Findings:
    for function, why in patient.missing.items():
        yield wrong("settings", f"{function}: {why}")
    problems = [
        f"{function}: {problem}"
        for function, variables in patient.environments.items()
        for problem in _problems(patient, function, variables)
    ]
    problems += [f"{name} differs between functions: deploy again" for name in sorted(_told_differently(patient))]
    if patient.stage and not patient.variables.get("CANDIDATE_API_URL", "").startswith("https://"):
        problems.append("CANDIDATE_API_URL is no https:// address")
    for problem in problems:
        yield wrong("settings", problem)
    if not problems:
        yield right("settings", f"complete: {_whose(patient)}")


def _whose(patient: Patient) -> str:
    return f"{len(patient.environments)} functions" if patient.stage else ", ".join(patient.environments)


def _problems(patient: Patient, function: str, variables: Mapping[str, str]) -> Iterator[str]:
    try:
        settings = Settings.from_env(variables)
        if not patient.stage:
            settings.needs(*NEEDED_HERE)
    except InvalidSettings as error:
        yield str(error)
    for name in sorted(_wanted(patient, function)):
        if name not in variables:
            yield f"{name} is in template.yaml and not deployed"
        elif not variables[name].strip() and name not in MAY_BE_EMPTY:
            yield f"{name} is empty"


def _wanted(patient: Patient, function: str) -> set[str]:
    if not patient.stage:
        return set()
    template = patient.stage.template
    [logical_id] = [each for each in template.of_type(FUNCTION) if template.name(each) == function]
    return set(template.environment(logical_id))


def _told_differently(patient: Patient) -> set[str]:
    told: dict[str, set[str]] = {}
    for variables in patient.environments.values():
        for name, value in variables.items():
            told.setdefault(name, set()).add(value)
    return {name for name, values in told.items() if len(values) > 1}


async def check_secrets(patient: Patient) -> Findings:
    for why in patient.unread.values():
        yield wrong("secrets", why)
    given = {name: patient.variables.get(name, "") for name in sorted({"MONGODB_URI", *SIGNING, *KEYS})}
    for name, value in given.items():
        if problem := _problem_of(name, value):
            yield wrong("secrets", f"{name}: {problem}")
        elif value:
            yield right("secrets", f"{name}: {_told(name, value)}")
        else:
            yield note("secrets", f"{name} is not set")
    for problem in _shared(given):
        yield wrong("secrets", problem)


def _problem_of(name: str, value: str) -> str | None:
    if name in SIGNING and any(len(each.encode()) < MINIMUM_SECRET_BYTES for each in _parts(name, value) if value):
        return f"shorter than {MINIMUM_SECRET_BYTES} bytes"
    return None


def _told(name: str, value: str) -> str:
    accepted = len(_parts(name, value))
    return "is there" if accepted == 1 else f"is there, {accepted} are accepted"


def _parts(name: str, value: str) -> list[str]:
    """A secret of several, as while one is rotated out."""
    return [each.strip() for each in value.split(",")] if name == "QWESTLY_AGENT_SHARED_SECRET" else [value]


def _shared(given: Mapping[str, str]) -> Iterator[str]:
    """Two that must differ: else one who has the first could do what the second is for."""
    seen: dict[str, str] = {}
    for name, value in given.items():
        for part in {each for each in _parts(name, value) if each}:
            if part in seen:
                yield f"{seen[part]} and {name} are the same"
            seen[part] = name
