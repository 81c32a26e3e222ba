/** What a write lacks by itself, before anybody looks at the data. */
import { createHash } from "node:crypto";
import type { Conforms } from "./contract.js";
import { Refusal, invalid } from "./errors.js";

export type Body = Record<string, unknown>;

export interface Asked {
  key: string;
  /** Undefined where the subject must be new. */
  seen: string | undefined;
  body: Body;
  /** The same for the same method, path and JSON body. */
  fingerprint: string;
}

export async function asked(
  request: Request,
  { body: schema, mayCreate }: { body?: string; mayCreate: boolean },
  conforms: Conforms,
): Promise<Asked> {
  const key = request.headers.get("idempotency-key") ?? "";
  if (!conforms("IdempotencyKey", key)) throw invalid("The Idempotency-Key is missing or malformed.");
  const body = schema ? await bodyOf(request, schema, conforms) : {};
  const seen = seenVersion(request, mayCreate, conforms);
  const what = JSON.stringify([request.method, new URL(request.url).pathname, sorted(body)]);
  return { key, seen, body, fingerprint: createHash("sha256").update(what).digest("hex") };
}

async function bodyOf(request: Request, schema: string, conforms: Conforms): Promise<Body> {
  let given: unknown;
  try {
    given = JSON.parse(await request.text());
  } catch {
    throw invalid("The body is no JSON.");
  }
  if (!wellFormed(given) || !conforms(schema, given)) throw invalid(`The body is no ${schema}.`);
  return given as Body;
}

/** Half of a character is no text. */
function wellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([name, each]) => name.isWellFormed() && wellFormed(each));
}

function seenVersion(request: Request, mayCreate: boolean, conforms: Conforms): string | undefined {
  const seen = request.headers.get("if-match");
  const created = request.headers.get("if-none-match");
  if (seen === null && (created === null || !mayCreate)) {
    throw new Refusal(428, "precondition_missing", "If-Match must name the version that was seen.");
  }
  if (seen === null) {
    if (created !== "*") throw invalid("If-None-Match takes nothing but *.");
    return undefined;
  }
  if (created !== null || !conforms("EntityTag", seen)) throw invalid("If-Match takes one version, and nothing beside it.");
  return seen.slice(1, -1);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort().map(([name, each]) => [name, sorted(each)]));
}
