"use client";
import type { AgentUIMessage } from "@qwestly/agent-client/ai";
import { getToolName, isToolUIPart } from "ai";
import Markdown from "react-markdown";
import { type Approval, useAgent } from "./agent";
import { ApprovalCard } from "./approval-card";

type Part = AgentUIMessage["parts"][number];

interface Props {
  message: AgentUIMessage;
  onAnswer: (approval: Approval, approved: boolean) => Promise<void>;
}

export function Message({ message, onAnswer }: Props) {
  const sources = message.parts.filter((part) => part.type === "source-document");
  const shown = message.parts.map((part, index) => <MessagePart key={index} part={part} onAnswer={onAnswer} />);
  return (
    <li className={message.role}>
      {shown}
      {sources.length > 0 && (
        <ul className="sources" aria-label="Sources">
          {sources.map((source) => (
            <li key={source.sourceId}>{source.title}</li>
          ))}
        </ul>
      )}
    </li>
  );
}

function MessagePart({ part, onAnswer }: { part: Part; onAnswer: Props["onAnswer"] }) {
  if (part.type === "text") return <Markdown>{part.text}</Markdown>;
  if (part.type === "data-approval") return <ApprovalCard approval={part.data} onAnswer={onAnswer} />;
  if (part.type === "data-draft") return <p className="note">{part.data.label}</p>;
  if (part.type === "data-memory") return <Remembered memory={part.data} />;
  if (isToolUIPart(part)) return <p className="step">{part.title ?? getToolName(part).replaceAll("_", " ")}</p>;
  return null;
}

function Remembered({ memory }: { memory: Extract<Part, { type: "data-memory" }>["data"] }) {
  const { client } = useAgent();
  const undoable = memory.undo_until !== null && new Date(memory.undo_until) > new Date();
  const undo = () => client.POST("/api/memories/{memory_id}/undo", { params: { path: { memory_id: memory.id } } });
  return (
    <p className="note">
      Remembered: {memory.content} {undoable && <button onClick={undo}>Undo</button>}
    </p>
  );
}
