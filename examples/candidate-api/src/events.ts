/** What happened, as the agent puts it on an EventBridge bus: ids and words of a list, signed with the shared secret. */
import { jwtVerify } from "jose";
import { Refusal } from "./errors.js";

export interface AgentEvent {
  /** The same each time that an event is delivered. */
  id: string;
  user_id: string;
  at: string;
  /** Subject and verb: "approval.done". */
  type: string;
  role: string;
  severity: string;
  run_id: string | null;
  data: Record<string, string | number | string[]>;
}

/** The event of a request that EventBridge sends, or a `Refusal`. Only what is signed counts. */
export async function eventIn(request: Request, secrets: string[], now: number): Promise<AgentEvent> {
  const sent = (await request.json().catch(() => null)) as { detail?: { token?: unknown } } | null;
  const token = sent?.detail?.token;
  for (const secret of typeof token === "string" ? secrets : []) {
    try {
      const { payload } = await jwtVerify(token as string, new TextEncoder().encode(secret), {
        algorithms: ["HS256"],
        issuer: "qwestly-agent",
        audience: "candidate-app-events",
        requiredClaims: ["sub", "jti", "iat", "exp", "event"],
        currentDate: new Date(now * 1000),
      });
      return payload.event as AgentEvent;
    } catch {
      // by the other secret, while it is rotated
    }
  }
  throw new Refusal(401, "unauthorized", "This event is not the agent's, or too old.");
}
