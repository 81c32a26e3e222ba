/** The write API under the contract's tests, with the stub's controls: see infra/local/candidate_app.py. */
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { contract } from "../src/contract.js";
import { Refusal } from "../src/errors.js";
import { eventIn } from "../src/events.js";
import { type Document, MemoryStore } from "../src/store.js";
import { writeApi } from "../src/write-api.js";

const [CONTRACT = "", NOW = "", SECRET = ""] = process.argv.slice(2);
const BUSY = new Refusal(429, "too_many_requests", "Too many requests. Please wait a moment.");
const FORBIDDEN = new Refusal(403, "forbidden", "This account may not be changed by the agent.");
const BROKEN = new Refusal(500, "internal", "Something went wrong.");
const REFUSALS: Record<string, Refusal> = {
  busy: BUSY,
  forbidden: FORBIDDEN,
  error_before: BROKEN,
  version_busy: BUSY,
  version_forbidden: FORBIDDEN,
  version_unread: BROKEN,
};

const store = new MemoryStore();
const held: (() => void)[] = [];
let faults: string[] = [];
let fault: string | undefined;
let requests: unknown[] = [];

async function readLinkedIn() {
  const ordered = fault;
  if (ordered === "ingestion_waits") await new Promise<void>((resolve) => held.push(resolve));
  if (ordered === "ingestion_fails") throw new Refusal(502, "source_unavailable", "LinkedIn did not show this profile.");
  return { headline: "" };
}

const api = writeApi({
  store,
  secrets: [SECRET],
  conforms: contract(CONTRACT),
  readLinkedIn,
  now: () => Number(NOW),
});

async function control(request: Request, what: string): Promise<Response> {
  const given = request.method === "POST" ? ((await request.json()) as Record<string, any>) : {};
  switch (`${request.method} ${what}`) {
    case "POST faults":
      faults = given.faults;
      break;
    case "POST release":
      for (const resolve of held.splice(0)) resolve();
      break;
    case "GET held":
      return Response.json(held.length);
    case "GET requests":
      return Response.json(requests);
    case "DELETE requests":
      requests = [];
      break;
    case "POST events":
      try {
        return Response.json(await eventIn(new Request("http://x", { method: "POST", body: JSON.stringify(given) }), [SECRET], Number(NOW)));
      } catch (error) {
        return (error as Refusal).response;
      }
    case "POST find":
      return Response.json(await store.transaction((documents) => documents.all(given.collection, given.filter)));
    case "POST insert":
      await store.transaction((documents) => documents.insert(given.collection, given.document as Document));
      break;
  }
  return Response.json({ status: "ok" });
}

async function answer(request: Request): Promise<Response> {
  const path = new URL(request.url).pathname;
  if (path.startsWith("/_control/")) return await control(request, path.slice("/_control/".length));
  const body = await request.clone().text();
  requests.push({ method: request.method, path, headers: Object.fromEntries(request.headers), body });
  fault = faults.shift();
  return REFUSALS[fault ?? ""]?.response ?? (await api(request));
}

const server = serve({ fetch: answer, hostname: "127.0.0.1", port: 0 }, () => {
  console.log((server.address() as AddressInfo).port);
});
