/** An answer that changed nothing, in the one shape of every error. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly version?: string,
  ) {
    super(message);
  }

  get response(): Response {
    const { code, message, version } = this;
    const headers: Record<string, string> = this.status === 429 ? { "Retry-After": "7" } : {};
    return Response.json({ error: { code, message, version } }, { status: this.status, headers });
  }
}

export const notFound = () => new Refusal(404, "not_found", "There is no such thing.");
export const changed = (version: string) => new Refusal(412, "changed", "This has changed meanwhile.", version);
export const invalid = (message: string) => new Refusal(422, "invalid", message);
