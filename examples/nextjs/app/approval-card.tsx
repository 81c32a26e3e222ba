"use client";
import { useState } from "react";
import type { Approval } from "./agent";

interface Props {
  approval: Approval;
  onAnswer: (approval: Approval, approved: boolean) => Promise<void>;
  /** What to do with a wish for something else, where one can be said here. */
  onRevise?: (approval: Approval, wish: string) => Promise<void>;
}

/** What the agent wants to do, in its user's words; a model never writes these lines unchecked. */
export function ApprovalCard({ approval, onAnswer, onRevise }: Props) {
  const { preview, status, outcome, link } = approval;
  const [problem, setProblem] = useState("");
  const [wish, setWish] = useState("");
  const attempt = (work: Promise<void>) => work.catch((error: Error) => setProblem(error.message));
  return (
    <article className="approval" aria-label={preview.title}>
      <h3>{preview.title}</h3>
      {preview.changes.map((change) => (
        <p key={change.name}>
          {change.name}: <del>{change.before}</del> <ins>{change.after}</ins>
        </p>
      ))}
      {preview.sections.map((section) => (
        <section key={section.heading}>
          <h4>{section.heading}</h4>
          <ul>
            {section.claims.map((claim) => (
              <li key={claim.text}>{claim.text}</li>
            ))}
          </ul>
        </section>
      ))}
      {preview.left_out.length > 0 && <p>{preview.left_out.length} statements were left out: they are not supported.</p>}
      {approval.rationale && <p className="note">{approval.rationale}</p>}
      {status === "pending" ? (
        <p>
          <button onClick={() => attempt(onAnswer(approval, true))}>Approve</button>{" "}
          <button onClick={() => attempt(onAnswer(approval, false))}>Decline</button>
          {onRevise && approval.revisable && (
            <>
              {" "}
              <input aria-label="Your wish" value={wish} onChange={(event) => setWish(event.target.value)} />{" "}
              <button disabled={!wish.trim()} onClick={() => attempt(onRevise(approval, wish))}>
                Ask for changes
              </button>
            </>
          )}
        </p>
      ) : (
        <p className="note">
          {outcome ?? status} {link && <a href={link}>Open it</a>}
        </p>
      )}
      {problem && <p role="alert">{problem}</p>}
    </article>
  );
}
