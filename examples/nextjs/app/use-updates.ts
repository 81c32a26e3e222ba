"use client";
import type { Schemas } from "@qwestly/agent-client";
import { useEffect, useRef } from "react";
import { useAgent } from "./agent";

type Update = Schemas["Updates"]["items"][number];
const WHILE_ACTIVE_MS = 2_000;
const ELSE_MS = 30_000;

/** Calls `told` with what happened outside of turns. Asks at once when `now` changes, then as often as docs/approvals.md says. */
export function useUpdates(now: unknown, told: (items: Update[]) => void) {
  const { client } = useAgent();
  const cursor = useRef<string>(undefined);
  const seen = useRef(new Set<string>());
  const latest = useRef(told);
  useEffect(() => {
    latest.current = told;
  });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    let over = false;
    async function ask() {
      const { data } = await client
        .GET("/api/updates", { params: { query: { after: cursor.current } } })
        .catch(() => ({ data: undefined })); // offline: the next one may get through
      if (over) return;
      cursor.current = data?.cursor ?? cursor.current;
      const items = (data?.items ?? []).filter((each) => !seen.current.has(nameOf(each)));
      for (const each of items) seen.current.add(nameOf(each));
      if (items.length) latest.current(items);
      timer = setTimeout(ask, data?.active && !document.hidden ? WHILE_ACTIVE_MS : ELSE_MS);
    }
    void ask();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [client, now]);
}

/** An item can come twice. */
const nameOf = (item: Update) => [item.type, item.id, item.at].join(" ");
