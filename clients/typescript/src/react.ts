/** Hooks for React. */
import { useEffect, useRef } from "react";
import { type AgentUIMessage, savedMessages } from "./ai.js";
import type { AgentClient, Schemas } from "./index.js";

export type Update = Schemas["Updates"]["items"][number];

interface Chat {
  id: string;
  status: string;
  messages: AgentUIMessage[];
  setMessages(messages: AgentUIMessage[]): void;
}

export interface UpdatesOptions {
  /** What `useChat` returns: its messages are read again once something changed, never over an answer under way. */
  chat?: Chat;
  /** Gets each item of `GET /api/updates` once; the first time, all that runs and waits. */
  onUpdates?: (items: Update[]) => void;
}

const OFTEN_MS = 2_000;
const SELDOM_MS = 30_000;

/**
 * Keeps a page up to date with what happens outside of turns: a card that is ready, a decision in a mail or in another
 * tab. It asks after each answer, every 2 s while work runs, else every 30 s; not at all while the page is hidden, and
 * ever less often while the agent cannot be reached. Returns a function that asks at once.
 */
export function useUpdates(client: AgentClient, options: UpdatesOptions): () => void {
  const { chat } = options;
  const latest = useRef(options);
  const ask = useRef(() => {});
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    const seen = new Set<string>();
    let cursor: string | undefined;
    let timer: ReturnType<typeof setTimeout>;
    let [over, asking, soon, changed, failures] = [false, false, false, false, 0];

    async function poll() {
      clearTimeout(timer);
      if (asking || over) return;
      asking = true;
      const isSoon = soon;
      soon = false;
      const { data, response } = await client
        .GET("/api/updates", { params: { query: { after: cursor } } })
        .catch(() => ({ data: undefined, response: undefined }));
      if (over) return;
      failures = data ? 0 : failures + 1;
      if (data) cursor = data.cursor;
      else if (response?.status === 422) cursor = undefined; // too old
      const items = (data?.items ?? []).filter(({ type, id, at }) => seen.size < seen.add(`${type} ${id} ${at}`).size);
      if (items.length) {
        changed = true;
        latest.current.onUpdates?.(items);
      }
      if (changed) await show();
      asking = false;
      if (document.hidden) return;
      const usual = isSoon || data?.active ? OFTEN_MS : SELDOM_MS;
      timer = setTimeout(poll, soon ? 0 : Math.max(usual, Math.min(OFTEN_MS * 2 ** failures, SELDOM_MS)));
    }

    async function show() {
      const { chat } = latest.current;
      const messages = chat && isIdle(chat) && (await savedMessages(client, chat.id).catch(() => undefined));
      if (chat && (!messages || over || latest.current.chat?.messages !== chat.messages)) return; // the next poll shows it
      changed = false;
      if (messages) chat.setMessages(messages);
    }

    ask.current = () => {
      soon = true; // and once more: what an answer began may be known only a moment later
      if (!document.hidden) void poll();
    };
    document.addEventListener("visibilitychange", ask.current);
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", ask.current);
    };
  }, [client, chat?.id]);
  const waits = !chat || isIdle(chat);
  useEffect(() => {
    if (waits) ask.current();
  }, [client, chat?.id, waits]);
  return useRef(() => ask.current()).current;
}

const isIdle = ({ status }: { status: string }) => status === "ready" || status === "error";
