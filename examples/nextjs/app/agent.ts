"use client";
import { type AgentClient, type Schemas, createAgentClient, decide as sendDecision } from "@qwestly/agent-client";
import { type AgentUIMessage, lastAnswer } from "@qwestly/agent-client/ai";
import { DefaultChatTransport } from "ai";
import { createContext, useContext } from "react";

export type Approval = Schemas["ApprovalView"];
export type Answer = Omit<Schemas["Decision"], "args_digest">;

export interface Agent {
  client: AgentClient;
  transport: DefaultChatTransport<AgentUIMessage>;
}

export function agentAt(url: string): Agent {
  async function token(): Promise<string> {
    const response = await fetch("/api/agent/token");
    if (!response.ok) throw new Error("You are not signed in.");
    return ((await response.json()) as { token: string }).token;
  }
  return {
    client: createAgentClient(url, token),
    transport: new DefaultChatTransport<AgentUIMessage>({
      api: `${url}/api/chat`,
      headers: async () => ({ Authorization: `Bearer ${await token()}` }),
      // The history is the server's: the newest message is enough, and the answer that it follows.
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
        body: { ...body, id, messages: messages.slice(-1), trigger, messageId, answers: lastAnswer(messages) },
      }),
    }),
  };
}

export const AgentContext = createContext<Agent | null>(null);

export function useAgent(): Agent {
  const agent = useContext(AgentContext);
  if (!agent) throw new Error("There is no agent around this component.");
  return agent;
}

/** Answers an approval outside of a chat; the record as it is then. */
export async function decide(client: AgentClient, approval: Approval, answer: Answer): Promise<Approval> {
  const { data, error } = await sendDecision(client, approval, answer);
  if (error) throw new Error(error.error.message);
  return data;
}
