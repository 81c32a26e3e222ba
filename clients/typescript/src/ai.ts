/** The messages of the AI SDK's `useChat`, with the parts and tools of this agent: `useChat<AgentUIMessage>(…)`. */
import type { UIMessage } from "ai";
import type { AgentClient, Schemas } from "./index.js";

/**
 * `data-approval`, `data-draft`, `data-memory`, and two that only `onData` sees: `data-progress`, and `data-activity`, an
 * item of `GET /api/activity` that stands there because of this turn.
 */
export type AgentData = {
  activity: Schemas["EventView"];
  approval: Schemas["ApprovalView"];
  draft: Schemas["DraftView"];
  memory: Schemas["RememberedView"];
  progress: { label: string };
};

/** Each tool by its name. What one returns is data for people: show it as plain text, if at all. */
export type AgentTools = {
  [Name in keyof Schemas["AgentTools"]]: { input: Schemas["AgentTools"][Name]; output: unknown };
};

/** Of a stored message; while an answer is told, its tokens and cost come with its end. */
export type AgentMetadata = {
  created_at?: string;
  status?: Schemas["MessageView"]["status"];
  input_tokens?: number | null;
  cached_tokens?: number | null;
  output_tokens?: number | null;
  cost_usd?: number | null;
  feedback?: Schemas["MessageView"]["feedback"];
};

export type AgentUIMessage = UIMessage<AgentMetadata, AgentData, AgentTools>;

/**
 * The id of the last answer if it is shown to its end, for `answers` in the body of a post: a typed yes or no decides
 * only what that answer asks.
 */
export function lastAnswer(messages: AgentUIMessage[]): string | undefined {
  const last = messages.filter(({ role }) => role === "assistant").at(-1);
  return last?.metadata?.output_tokens === undefined ? undefined : last.id;
}

/** The conversation as the server stored it, for `useChat`'s `messages`; empty if nothing was said in it yet. */
export async function savedMessages(client: AgentClient, id: string): Promise<AgentUIMessage[]> {
  const { data, error, response } = await client.GET("/api/conversations/{conversation_id}", {
    params: { path: { conversation_id: id }, query: { as: "ui" } },
  });
  if (response.status === 404) return [];
  if (error) throw new Error(error.error.message);
  return data.messages as unknown as AgentUIMessage[]; // the form that `as: "ui"` asks for
}
