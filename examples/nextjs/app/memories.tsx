"use client";
import type { Schemas } from "@qwestly/agent-client";
import { useEffect, useState } from "react";
import { useAgent } from "./agent";

/** What is remembered about the user, each to be forgotten for good. */
export function Memories({ changes }: { changes: number }) {
  const { client } = useAgent();
  const [memories, setMemories] = useState<Schemas["MemoryView"][]>([]);
  useEffect(() => {
    void client.GET("/api/memories").then(({ data }) => setMemories(data?.items ?? []));
  }, [client, changes]);

  async function forget(id: string) {
    const { error } = await client.DELETE("/api/memories/{memory_id}", { params: { path: { memory_id: id } } });
    if (!error) setMemories((all) => all.filter((each) => each.id !== id));
  }

  return (
    <section aria-label="Memories">
      <h2>Memories</h2>
      <ul>
        {memories.map((memory) => (
          <li key={memory.id}>
            {memory.content} <button onClick={() => forget(memory.id)}>Forget</button>
          </li>
        ))}
      </ul>
    </section>
  );
}
