"use client";
import { useEffect, useState } from "react";
import { type Answer, type Approval, decide, useAgent } from "./agent";
import { ApprovalCard } from "./approval-card";

/** What waits for the user, wherever it was asked. */
export function Queue({ changes, onAct }: { changes: number; onAct: () => void }) {
  const { client } = useAgent();
  const [waiting, setWaiting] = useState<Approval[]>([]);
  useEffect(() => {
    void client.GET("/api/approvals").then(({ data }) => setWaiting(data?.items ?? []));
  }, [client, changes]);

  async function answer(approval: Approval, given: Answer) {
    const decided = await decide(client, approval, given);
    setWaiting((all) => all.map((each) => (each.approval_id === decided.approval_id ? decided : each)));
    onAct();
  }

  return (
    <section aria-label="Waiting for you">
      <h2>Waiting for you</h2>
      {waiting.length === 0 && <p className="note">Nothing waits.</p>}
      {waiting.map((approval) => (
        <ApprovalCard
          key={approval.approval_id}
          approval={approval}
          onAnswer={(it, approved) => answer(it, { decision: approved ? "approve" : "reject" })}
          onRevise={(it, wish) => answer(it, { decision: "revise", reason: wish })}
        />
      ))}
    </section>
  );
}
