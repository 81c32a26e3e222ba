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
      request.headers.set("Authorization", `Bearer ${await token()}`);
      return request;
    },
  });
  return client;
}
