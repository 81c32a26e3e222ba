/** Every route of the agent, typed by its OpenAPI document. */
import createFetchClient, { type Client, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { paths } from "./schema.js";
/** What the routes take and answer, by the names of the OpenAPI document. */
export type Schemas = components["schemas"];
export type AgentClient = Client<paths>;
/** The body of every answer that is an error. */
export type AgentFailure = Schemas["Failure"];

/**
 * A client of the agent at `baseUrl`. `token` is asked for each request: keep one that has not expired, if you like.
 *
 * `const { data, error } = await client.GET("/api/memories")`: one of both is set, and `error.error.code` says why.
 */
export function createAgentClient(
  baseUrl: string,
  token: () => Promise<string>,
  options: Omit<ClientOptions, "baseUrl"> = {},
): AgentClient {
  const client = createFetchClient<paths>({ ...options, baseUrl });
  client.use({
    async onRequest({ request }) {
      // Lambda would refuse it before our code sees it, with a body of its own.
      if (request.method !== "GET" && (await request.clone().blob()).size > MOST_BYTES) return tooLong();
      request.headers.set("Authorization", `Bearer ${await token()}`);
      return request;
    },
  });
  return client;
}

const MOST_BYTES = 4 * 1024 * 1024;

function tooLong(): Response {
  const error = { code: "too_long", message: "A file can have 4 MB at most.", request_id: "" };
  return Response.json({ error } satisfies AgentFailure, { status: 413 });
}

/** Answers an approval outside of a turn: in a queue, or one that has only its `data-approval` part. Its state then. */
export function decide(
  client: AgentClient,
  { approval_id, args_digest }: Schemas["ApprovalView"],
  answer: Omit<Schemas["Decision"], "args_digest">,
) {
  return client.POST("/api/approvals/{approval_id}/decision", {
    params: { path: { approval_id } },
    body: { args_digest, ...answer },
  });
}

/** Posts a résumé: a PDF, DOCX, Markdown or text file. One of more than 4 MB is refused (413 `too_long`) before it is sent. */
export function uploadResume(client: AgentClient, file: File) {
  return client.POST("/api/resumes", {
    params: { query: { name: file.name } },
    body: file as unknown as string, // the document's type of bytes
    bodySerializer: (body) => body as unknown as File,
    headers: { "Content-Type": "application/octet-stream" },
  });
}
