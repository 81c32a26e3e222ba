"use client";
import { type AgentUIMessage, savedMessages } from "@qwestly/agent-client/ai";
import { useUpdates } from "@qwestly/agent-client/react";
import { useEffect, useMemo, useState } from "react";
import { AgentContext, agentAt, useAgent } from "./agent";
import { Chat } from "./chat";
import { Memories } from "./memories";
import { Queue } from "./queue";

export function Workspace({ url, chat }: { url: string; chat: string }) {
  const agent = useMemo(() => agentAt(url), [url]);
  return (
    <AgentContext value={agent}>
      <Panes key={chat} chat={chat} load={() => savedMessages(agent.client, chat)} />
    </AgentContext>
  );
}

function Panes({ chat, load }: { chat: string; load: () => Promise<AgentUIMessage[]> }) {
  const [saved, setSaved] = useState<AgentUIMessage[]>();
  const [problem, setProblem] = useState("");
  // What this page did, and what happened besides; both only grow.
  const [acts, setActs] = useState(0);
  const [changes, setChanges] = useState(0);
  const { client } = useAgent();
  const refresh = useUpdates(client, { onUpdates: () => setChanges((count) => count + 1) });
  const onAct = () => {
    setActs((count) => count + 1);
    refresh();
  };
  useEffect(() => {
    load().then(setSaved, (error: Error) => setProblem(error.message));
  }, [chat]);

  if (problem) return <p role="alert">{problem}</p>;
  return (
    <main>
      {saved ? (
        <Chat id={chat} saved={saved} load={load} changes={changes} onAct={onAct} />
      ) : (
        <p>Loading…</p>
      )}
      <aside>
        <a href="/">New conversation</a>
        <Queue changes={changes + acts} onAct={onAct} />
        <Memories changes={changes + acts} />
      </aside>
    </main>
  );
}
