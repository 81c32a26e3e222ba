"""The published TypeScript client and the widget, packed as npm packs them, and the docs' snippets, compiled."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from infra.local.environment import ROOT
from tests.e2e.npm import CLIENT, install_client, install_widget, installed, npm

pytestmark = pytest.mark.thorough

DOCUMENTS = [ROOT / "README.md", *sorted(ROOT.glob("*/README.md")), *sorted((ROOT / "docs").glob("*.md"))]
INTEGRATE = ROOT / "docs/integrate.md"
STRICT = {
    "compilerOptions": {
        "strict": True,
        "noUncheckedIndexedAccess": True,
        "noEmit": True,
        "target": "ES2022",
        "module": "ESNext",
        "moduleResolution": "bundler",
        "jsx": "react-jsx",
        "lib": ["ES2023", "DOM", "DOM.Iterable"],
        "types": ["node"],
        "skipLibCheck": True,
    }
}
PROBES = """
import type { AgentUIMessage } from "@qwestly/agent-client/ai";
import { createAgentClient, type Schemas } from "@qwestly/agent-client";

const agent = createAgentClient("http://localhost:8000", async () => "a token");
export async function titles(): Promise<string[]> {
  const { data } = await agent.GET("/api/conversations");
  return (data?.items ?? []).map((each) => each.title);
}
// @ts-expect-error there is no such route
await agent.GET("/api/nothing");
// @ts-expect-error a level is one of five
await agent.PUT("/api/autonomy", { body: { level: "L9" } });

export function shown(part: AgentUIMessage["parts"][number]): string {
  if (part.type === "data-approval") return part.data.preview.title;
  if (part.type === "data-draft") return part.data.label;
  if (part.type === "data-memory") return part.data.content;
  if (part.type === "tool-query_user_knowledge") return part.input?.query ?? "";
  // @ts-expect-error there is no such tool
  if (part.type === "tool-transfer_money") return "";
  return "";
}
export const waits = (each: Schemas["ApprovalView"]): boolean => each.status === "pending";
// @ts-expect-error there is no such status
export const never = (each: Schemas["ApprovalView"]): boolean => each.status === "perhaps";
"""

PAGE = """
import { DefaultChatTransport, isToolUIPart, type UIMessage } from "ai";
import type { AgentUIMessage } from "@qwestly/agent-client/ai";

export const transport = new DefaultChatTransport<AgentUIMessage>({ api: "/api/chat" });
export const plain = (messages: AgentUIMessage[]): UIMessage[] => messages;
export const steps = ({ parts }: AgentUIMessage) => parts.filter(isToolUIPart).map((part) => part.type);
"""

WIDGET_PROBES = """
import type {} from "@qwestly/agent-widget/jsx";
import { COLORS } from "@qwestly/agent-widget/tokens";

const chat = document.querySelector("qwestly-chat");
chat?.addEventListener("approvalswaiting", ({ detail }) => document.title = `${detail.count}`);
const sent: boolean | undefined = chat?.send("Hello", "interview");
export const seen = [sent, COLORS["accent"]];
// @ts-expect-error there is no such method
chat?.publish();

export const page = <qwestly-chat endpoint="" token-url="/api/agent/token" agent-role="onboarding" />;
// @ts-expect-error there is no such role
export const never = <qwestly-chat agent-role="boss" />;
"""


@pytest.fixture(scope="module")
def consumer() -> Path:
    """A project with the packed client and widget, and the packages that the docs say to install."""
    project = installed(CLIENT, "it builds the TypeScript client")
    install_client(project)
    install_widget(project)
    return project


def snippets(document: Path) -> dict[str, str]:
    """Return the code blocks by file name, which is in the first line of each."""
    blocks = re.findall(r"^```(tsx?)\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    named = ((re.match(r"// ([\w-]+\.tsx?)\n", text), kind, text) for kind, text in blocks)
    return {
        name[1] if name else f"{document.parent.name}-{document.stem}-{number}.{kind}": text
        for number, (name, kind, text) in enumerate(named)
    }


def compile_strictly(project: Path, folder: str, files: dict[str, str], **options: Any) -> None:
    where = project / folder
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    config = {"compilerOptions": {**STRICT["compilerOptions"], **options}}
    for name, text in {**files, "tsconfig.json": json.dumps(config)}.items():
        (where / name).write_text(text, encoding="utf-8")
    npm(project, "exec", "--offline", "--", "tsc", "--project", folder)


@pytest.mark.nightly
def test_the_packed_client_has_types_for_routes_bodies_parts_and_tools(consumer: Path) -> None:
    compile_strictly(consumer, "probes", {"probes.ts": PROBES})


@pytest.mark.nightly
@pytest.mark.parametrize("package", ["ai", "ai6"])
def test_a_strict_page_compiles_with_the_client_and_each_sdk_version(consumer: Path, package: str) -> None:
    sdk = (
        installed(ROOT / "tests" / "e2e" / "ai_client", "it is the published AI SDK client") / "node_modules" / package
    )
    version = json.loads((sdk / "package.json").read_text("utf-8"))["version"]
    assert (
        f"^{version.split('.')[0]}.0.0"
        in json.loads((CLIENT / "package.json").read_text("utf-8"))["peerDependencies"]["ai"]
    )
    compile_strictly(consumer, f"page_{package}", {"page.ts": PAGE, "probes.ts": PROBES}, paths={"ai": [str(sdk)]})


@pytest.mark.nightly
def test_the_packed_widget_has_types_and_can_be_imported_on_a_server(consumer: Path) -> None:
    compile_strictly(consumer, "widget_probes", {"probes.tsx": WIDGET_PROBES})
    node = ("exec", "--offline", "--call", "node --input-type=module --eval 'import \"@qwestly/agent-widget\"'")
    npm(consumer, *node)
    packed = consumer / "node_modules" / "@qwestly" / "agent-widget"
    assert (packed / "LICENSE").exists()
    assert (packed / "dist" / "licences.txt").exists()
    assert not [*packed.rglob("*.map")]


@pytest.mark.nightly
def test_every_snippet_of_the_docs_is_strict_typescript(consumer: Path) -> None:
    found = {name: text for document in DOCUMENTS if document != INTEGRATE for name, text in snippets(document).items()}
    needed = {name: text for name, text in snippets(INTEGRATE).items() if name == "agent.ts"}
    assert [*needed] == ["agent.ts"]  # test_integrate.py compiles and runs the others of that page
    assert found
    compile_strictly(consumer, "snippets", found | needed)


def test_no_snippet_of_the_docs_is_plain_javascript() -> None:
    assert not [each.name for each in DOCUMENTS if re.search(r"^```jsx?$", each.read_text("utf-8"), re.MULTILINE)]
