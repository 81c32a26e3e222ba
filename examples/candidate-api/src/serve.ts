/** Serves the write API on this machine: `QWESTLY_CANDIDATE_API_SECRET=… npm start` (PORT=3001). Nothing survives its end. */
import { serve } from "@hono/node-server";
import { eventIn } from "./events.js";
import { contract } from "./contract.js";
import { Refusal } from "./errors.js";
import { MemoryStore } from "./store.js";
import { writeApi } from "./write-api.js";

const secrets = (process.env.QWESTLY_CANDIDATE_API_SECRET ?? "").split(",").filter(Boolean);
if (!secrets.length) throw new Error("QWESTLY_CANDIDATE_API_SECRET is missing.");

const api = writeApi({
  store: new MemoryStore(),
  secrets,
  conforms: contract(process.env.CONTRACT ?? "../../docs/candidate-app-api.yaml"),
  readLinkedIn: async () => {
    throw new Refusal(502, "source_unavailable", "This example reads nothing from LinkedIn.");
  },
  now: () => Date.now() / 1000,
});

const heard = new Set<string>();

/** `POST /api/agent/events`, the target of an EventBridge API destination; all else is the write API. */
async function fetch(request: Request): Promise<Response> {
  if (new URL(request.url).pathname !== "/api/agent/events" || request.method !== "POST") return api(request);
  try {
    const event = await eventIn(request, secrets, Date.now() / 1000);
    if (!heard.has(event.id)) console.log(`heard ${JSON.stringify(event)}`); // each comes at least once
    heard.add(event.id);
    return new Response(null, { status: 204 });
  } catch (error) {
    if (error instanceof Refusal) return error.response;
    throw error;
  }
}

const port = Number(process.env.PORT ?? 3001);
serve({ fetch, hostname: "127.0.0.1", port }, () => console.log(`http://127.0.0.1:${port}/api/agent/v1`));
