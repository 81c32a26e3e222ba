"""The local stack: a local server replaces each external system at the network level; each part is its own process.

`make run` starts it. Environment variables take precedence, so any part can be replaced by a real service.

No part outlives this process: each watches a pipe whose other end only this process holds.
"""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from types import FrameType
from typing import NoReturn

from infra.local import job_boards, model_minilm
from infra.local.environment import (
    API_PATH,
    CHAT,
    DEMO_DATABASE,
    DEMO_USER,
    ROOT,
    SENDER,
    Template,
    aws_variables,
    is_local,
)
from infra.local.ports import free_port, listens
from infra.local.reset import KEPT, kept_secret, lock_data
from infra.local.serving import listen
from infra.local.tokens import mint, required_claims
from qwestly_agent.base.clock import system_clock
from qwestly_agent.base.settings import is_reference

LOGS = KEPT / "logs"
START_SECONDS = 60
STOP_SECONDS = 8
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHAT_FUNCTION, DATABASE, MODEL_SERVER = "chat function", "database", "model server"
DEFAULT_PORT = "8000"

TIED = f"""
exec 3<&0 </dev/null
{{
    trap '' TERM
    read -r _ <&3
    kill -TERM 0
    for _ in $(seq {STOP_SECONDS}); do sleep 1; kill -0 $$ || exit; done
    kill -KILL 0
}} 2>/dev/null &
exec 3<&- "$@"
"""
"""A shell that becomes the part. It leaves a watcher process, which kills the part once our end of the pipe closes."""


class CannotRun(Exception):
    """A sentence for the person who ran `make run`."""


@dataclass
class Part:
    """A process of the stack; it is ready once its port accepts connections."""

    name: str
    port: int
    command: list[str]
    folder: str = "."
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    written: int = -1
    """File descriptor of its log. It stays valid if another stack starting at the same time replaces the file."""

    @property
    def log(self) -> str:
        return str(LOGS.relative_to(ROOT) / f"{self.name.replace(' ', '-')}.log")

    def start(self, environment: Mapping[str, str], tie: int) -> None:
        """`tie` is one end of a pipe; the part ends when the other end closes."""
        (ROOT / self.log).unlink(missing_ok=True)
        self.written = os.open(ROOT / self.log, os.O_RDWR | os.O_CREAT)
        # In its own session: Ctrl-C reaches only this process, and the parts are stopped in order.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", TIED, self.name, *self.command],
            cwd=ROOT / self.folder,
            env={**environment, "PORT": str(self.port), "AWS_LWA_PORT": str(self.port)},
            stdin=tie,
            stdout=self.written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait_until_ready(self) -> None:
        def answers() -> bool:
            self.check()
            return listens(self.port)

        self._wait(answers)

    def wait_until_done(self) -> None:
        """Wait for a part without a port to exit."""
        self._wait(lambda: self.process is None or self.process.poll() is not None)
        if self.process and self.process.returncode:
            raise CannotRun(f"The {self.name} could not be filled: {self.last_words()} (see {self.log})")

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + START_SECONDS
        while not condition():
            if time.monotonic() > until:
                raise CannotRun(f"The {self.name} did not answer within {START_SECONDS} seconds; see {self.log}")
            time.sleep(0.02)

    def check(self) -> None:
        if self.process and self.process.poll() is not None:
            raise CannotRun(f"The {self.name} ended: {self.last_words()} (see {self.log})")

    def last_words(self) -> str:
        """Return its `InvalidSettings` message, or the last line of its log."""
        # Seeking would move the offset at which the part writes.
        said = os.pread(self.written, os.fstat(self.written).st_size, 0)
        lines = said.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        marker = "InvalidSettings: "
        return next((line.partition(marker)[2] for line in reversed(lines) if marker in line), lines[-1])

    def stop(self) -> None:
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"The {self.name} did not end within {STOP_SECONDS} seconds, and is killed; see {self.log}")
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # its watcher, at least
        self.process.wait()


@dataclass
class Stack:
    """The parts in the order in which they are stopped, and their environment."""

    environment: dict[str, str]
    parts: list[Part] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    status: dict[str, object] = field(default_factory=dict)
    """The page's description of the running stack."""
    mails: str = ""
    """File of the sent mails; empty if AWS is external."""

    def add(self, name: str, *command: str, folder: str = ".") -> str:
        """Add a part and return its address."""
        port = free_port()
        self.parts.append(Part(name, port, [word.replace("{port}", str(port)) for word in command], folder))
        return f"127.0.0.1:{port}"


def plan(given: Mapping[str, str]) -> Stack:
    """Raises `CannotRun` if a required service is missing and has no stub."""
    function = {
        name: value for name, value in Template.load().environment(CHAT).items() if value and not is_reference(value)
    }
    stack = Stack({**function, **{name: value for name, value in given.items() if value}})
    environment = stack.environment
    environment.setdefault("QWESTLY_AGENT_SHARED_SECRET", kept_secret("shared"))
    environment.setdefault("ERASURE_KEY", kept_secret("erasures"))
    environment["MONGODB_DATABASE"] = given.get("MONGODB_DATABASE") or DEMO_DATABASE
    environment.setdefault("MONGODB_CONNECTIONS", "20")  # one local process serves all requests
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # thread pools of several processes would contend for the CPU
    environment["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
    environment["PATH"] = f"{os.path.dirname(sys.executable)}:{given.get('PATH', '')}"
    # Parts start in other folders.
    designs = filter(None, map(str.strip, environment.get("AGENT_DESIGN_PATHS", "").split(",")))
    environment["AGENT_DESIGN_PATHS"] = ",".join(os.path.abspath(path) for path in designs)
    front = Part("page", _port(environment.get("PORT", DEFAULT_PORT)), [])
    chat = stack.add(CHAT_FUNCTION, "./run.sh", folder="functions/chat")
    _plan_aws(stack, given, front.port)
    _plan_candidate_app(stack, given)
    _plan_job_boards(stack, given)
    models = _plan_models(stack)
    if "MONGODB_URI" not in environment:
        environment["MONGODB_URI"] = "mongodb://" + stack.add(DATABASE, *_module("database"))
    stack.notes = _notes(stack)
    stack.status = {"user": DEMO_USER, "database": environment["MONGODB_DATABASE"], **models, "notes": stack.notes}
    front.command = [
        *(word.replace("{port}", str(front.port)) for word in _module("front")),
        *("--chat-url", f"http://{chat}", "--candidate-app-url", environment["CANDIDATE_APP_URL"]),
        *("--status", json.dumps(stack.status)),
    ]
    stack.parts.insert(0, front)
    return stack


def _plan_aws(stack: Stack, given: Mapping[str, str], front_port: int) -> None:
    environment = stack.environment
    environment["APPROVE_URL"] = given.get("APPROVE_URL") or f"http://127.0.0.1:{front_port}/approve"
    environment.setdefault("APP_URL", f"http://127.0.0.1:{front_port}/")
    environment["MAIL_FROM"] = environment.get("MAIL_FROM") or SENDER
    if not given.get("AWS_ENDPOINT_URL"):
        # Ignore this machine's AWS configuration: requests to a real account would be billed.
        for name in [name for name in given if name.startswith("AWS_")]:
            environment.pop(name, None)
        # Executions belong to one database.
        data = sha256(f"{given.get('MONGODB_URI', '')} {environment['MONGODB_DATABASE']}".encode()).hexdigest()[:16]
        stack.mails = str(KEPT / "mails" / f"{data}.jsonl")
        kept = ("--executions", str(KEPT / "executions" / data), "--mails", stack.mails)
        environment.update(aws_variables("http://" + stack.add("aws", *_module("aws"), *kept)))


def _plan_candidate_app(stack: Stack, given: Mapping[str, str]) -> None:
    environment = stack.environment
    environment.setdefault("QWESTLY_CANDIDATE_API_SECRET", kept_secret("candidate-api"))
    if "CANDIDATE_APP_URL" not in environment:
        environment["CANDIDATE_APP_URL"] = "http://" + stack.add("candidate app", *_module("candidate_app"))
    its_api = environment["CANDIDATE_APP_URL"].rstrip("/") + API_PATH
    environment["CANDIDATE_API_URL"] = given.get("CANDIDATE_API_URL") or its_api


def _plan_job_boards(stack: Stack, given: Mapping[str, str]) -> None:
    """Use stubs unless a real board's key is set."""
    environment = stack.environment
    environment["JOB_BOARDS"] = "adzuna,jsearch,web"
    keys = {"ADZUNA_APP_ID", "ADZUNA_APP_KEY", "JSEARCH_API_KEY", "SEARCH_API_KEY"}
    if not keys & {name for name, value in given.items() if value}:
        environment.update(dict.fromkeys(sorted(keys), job_boards.KEY))
        environment["JOB_BOARDS_URL"] = "http://" + stack.add("job boards", *_module("job_boards"))


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) < 65_536):
        raise CannotRun(f"PORT must be a number from 1 to 65535, not {text!r}.")
    return int(text)


def _module(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"infra.local.{name}", "--port", "{port}")


def _plan_models(stack: Stack) -> dict[str, str]:
    """Return the servers for chat and embeddings. A scripted server replaces each one without a key or an address."""
    environment, answers, embedding = stack.environment, {}, _embedding(stack.environment)
    for what, real, address, key in (
        ("model", "DeepSeek", "MODEL_BASE_URL", "DEEPSEEK_API_KEY"),
        ("embeddings", "OpenAI", "EMBEDDINGS_BASE_URL", "OPENAI_API_KEY"),
    ):
        answers[what] = environment.get(address) or real
        if address not in environment and key not in environment:
            server = next((f"127.0.0.1:{part.port}" for part in stack.parts if part.name == MODEL_SERVER), "")
            asked = (environment.get(name, "") for name in ("MODEL_FAST", "MODEL_PRO", "MODEL_FALLBACK", "MODEL_JUDGE"))
            names = [name.removeprefix("openai:") for name in asked if name.startswith("openai:")]
            more = [f"--model={name}" for name in names]  # it knows DeepSeek's names, and no other
            more += ["--embedding=minilm"] if embedding != "scripted" else []
            server = server or stack.add(MODEL_SERVER, *_module("model_server"), *more)
            environment[address] = f"http://{server}/v1"
            answers[what] = "scripted" if what == "model" else embedding
    return answers


def _embedding(environment: Mapping[str, str]) -> str:
    """Return the name of the local embedding: the real one if it is installed and no other is requested."""
    wanted = environment.get("LOCAL_EMBEDDING") or model_minilm.NAME
    return model_minilm.NAME if wanted == model_minilm.NAME and model_minilm.is_installed() else "scripted"


def _notes(stack: Stack) -> list[str]:
    if is_demo(stack):
        return []
    database = stack.environment["MONGODB_DATABASE"]
    note = f"{database} is no local database: no demo data, no schedules and no scripted model."
    if any(part.name == MODEL_SERVER for part in stack.parts):
        raise CannotRun(f"{note} Set DEEPSEEK_API_KEY or MODEL_BASE_URL, and OPENAI_API_KEY or EMBEDDINGS_BASE_URL.")
    return [note]


def is_demo(stack: Stack) -> bool:
    return is_local(stack.environment["MONGODB_URI"], stack.environment["MONGODB_DATABASE"])


def run(stack: Stack) -> NoReturn:
    """Wait until a part exits or this process receives a signal. Raises `CannotRun`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    front, *behind = stack.parts
    listen(front.port, f"Set another one, as in: PORT={front.port + 1} make run").close()
    demo = Part("demo user", 0, [sys.executable, "-m", "infra.local.demo", stack.mails])
    tie, _ours = os.pipe()
    try:
        for part in behind:
            part.start(stack.environment, tie)
        if is_demo(stack):
            for part in behind:
                if part.name in (DATABASE, MODEL_SERVER):
                    part.wait_until_ready()
            demo.start(stack.environment, tie)
        for part in reversed(behind):
            part.wait_until_ready()
        # Before the chat function starts, because this error message names the unreachable database.
        demo.wait_until_done()
        _warm_up(stack)
        # Start it last: when its port answers, everything else is ready.
        front.start(stack.environment, tie)
        front.wait_until_ready()
        _announce(stack)
        while True:
            for part in stack.parts:
                part.check()
            time.sleep(0.2)
    finally:
        _ignore_signals()
        for part in (*stack.parts, demo):
            part.stop()


def _warm_up(stack: Stack) -> None:
    """Send the first request, so that the user's first question does not wait for connections."""
    [chat] = [part for part in stack.parts if part.name == CHAT_FUNCTION]
    secret = stack.environment["QWESTLY_AGENT_SHARED_SECRET"].split(",")[0].strip()
    token = mint(DEMO_USER, secret, system_clock(), **required_claims(stack.environment))
    request = urllib.request.Request(
        f"http://127.0.0.1:{chat.port}/api/conversations", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        urllib.request.urlopen(request, timeout=START_SECONDS).close()
    except OSError as error:
        raise CannotRun(f"The chat function does not answer: {error} (see {chat.log})") from None


def _announce(stack: Stack) -> None:
    for part in stack.parts[1:]:
        print(f"  {part.name:14} 127.0.0.1:{part.port}   {part.log}")
    print(f"  {'model':14} {stack.status['model']}, embeddings {stack.status['embeddings']}")
    for note in stack.notes:
        print(f"  {note}")
    print(f"\nOpen http://127.0.0.1:{stack.parts[0].port}   (Ctrl-C ends it)", flush=True)


def _stop_on_signals() -> None:
    for number in SIGNALS:
        # A shell starts background jobs with SIGINT ignored, but we want to handle it. `nohup` ignores SIGHUP on
        # purpose.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    _ignore_signals()
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    """Ignore further signals while the parts are stopped; otherwise their watchers would have to kill some of them."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def main() -> None:
    _stop_on_signals()
    try:
        with lock_data(fcntl.LOCK_SH):
            run(plan(os.environ))
    except KeyboardInterrupt:
        print("\nStopped.")
    except CannotRun as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
