"use client";
import { useChat } from "@ai-sdk/react";
import type { AgentUIMessage } from "@qwestly/agent-client/ai";
import { isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { decide, useAgent } from "./agent";
import { Message } from "./message";

interface Props {
  id: string;
  saved: AgentUIMessage[];
  load: () => Promise<AgentUIMessage[]>;
  /** Counts what happened outside of turns: a draft that is ready, a decision made elsewhere. */
  changes: number;
  onAct: () => void;
}

export function Chat({ id, saved, load, changes, onAct }: Props) {
  const { client, transport } = useAgent();
  const [progress, setProgress] = useState("");
  const shown = useRef(0);
  const chat = useChat<AgentUIMessage>({
    id,
    transport,
    messages: saved,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onData: (part) => {
      if (part.type === "data-progress") setProgress(part.data.label);
    },
    onFinish: () => {
      setProgress("");
      onAct();
    },
  });
  const answers = chat.status === "submitted" || chat.status === "streaming";

  // What changed elsewhere is read again, but never over an answer that is just being written.
  useEffect(() => {
    if (answers || changes === shown.current) return;
    let outdated = false;
    load().then(
      (messages) => {
        if (outdated) return;
        shown.current = changes;
        chat.setMessages(messages);
      },
      () => {}, // offline: the next change reads it
    );
    return () => {
      outdated = true;
    };
  }, [changes, answers]);

  function send(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const text = String(new FormData(event.currentTarget).get("text")).trim();
    if (!text || answers) return;
    event.currentTarget.reset();
    void chat.sendMessage({ text });
  }

  // Closing the connection stops nothing: the server must be told.
  async function stop() {
    await client.POST("/api/conversations/{conversation_id}/stop", { params: { path: { conversation_id: id } } });
    await chat.stop();
  }

  /** The agent waits for some answers within its turn, and goes on by itself; the others are the queue's. */
  async function answer(message: AgentUIMessage, approval: Parameters<typeof decide>[1], approved: boolean) {
    const waits = message.parts.some(
      (part) =>
        isToolUIPart(part) && part.state === "approval-requested" && part.approval.id === approval.approval_id,
    );
    if (waits) return await chat.addToolApprovalResponse({ id: approval.approval_id, approved });
    await decide(client, approval, { decision: approved ? "approve" : "reject" });
    onAct(); // the next update has it as it is then
  }

  return (
    <section className="chat" aria-label="Chat">
      <ol>
        {chat.messages.map((message) => (
          <Message
            key={message.id}
            message={message}
            onAnswer={(approval, approved) => answer(message, approval, approved)}
          />
        ))}
      </ol>
      <p role="status">{answers ? progress || "Thinking…" : ""}</p>
      {chat.error && <p role="alert">{sentence(chat.error)}</p>}
      <form onSubmit={send}>
        <input name="text" aria-label="Message" placeholder="Ask about your career" autoComplete="off" />
        {answers ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button>Send</button>
        )}
      </form>
    </section>
  );
}

/** Before a stream begins the error is our JSON; within it, a sentence. */
function sentence(error: Error): string {
  try {
    return (JSON.parse(error.message) as { error: { message: string } }).error.message;
  } catch {
    return error.message;
  }
}
