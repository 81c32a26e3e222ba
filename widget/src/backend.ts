/** The backend: its token, and requests with it. */

import { ChatError } from "./errors.ts";
import { orUnreachable } from "./network.ts";

const TOKEN_MARGIN_MS = 30_000;

/** Holds one token, in memory only, and gets a new one when it is about to expire or was rejected. */
export class Tokens {
  #ask: () => Promise<string>;
  #token: string | null = null;
  #asking: Promise<string> | null = null;

  constructor(ask: () => Promise<string>) {
    this.#ask = ask;
  }

  async current(): Promise<string> {
    if (this.#token !== null && millisecondsLeft(this.#token) >= TOKEN_MARGIN_MS) return this.#token;
    this.#asking ??= this.#renew().finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** Takes the rejected token, because another call may have replaced it meanwhile. */
  reject(token: string) {
    if (this.#token === token) this.#token = null;
  }

  async #renew() {
    this.#token = await this.#ask();
    return this.#token;
  }
}

/** A token without an expiry is used until it is rejected. */
function millisecondsLeft(token: string): number {
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const { exp } = JSON.parse(atob(payload));
    return exp === undefined ? Infinity : exp * 1000 - Date.now();
  } catch {
    return Infinity;
  }
}

export async function fetchToken(url: string): Promise<string> {
  const response = await orUnreachable(fetch(url, { credentials: "same-origin", cache: "no-store" }));
  if (!response.ok) throw await ChatError.of(response);
  const { token } = (await response.json().catch(() => null)) ?? {};
  if (!token) throw new ChatError("unauthorized");
  return token;
}

interface Options { body?: unknown; file?: Blob; signal?: AbortSignal }

export class Backend {
  #endpoint: string;
  #tokens: Tokens;

  constructor(endpoint: string, tokens: Tokens) {
    this.#endpoint = endpoint.replace(/\/$/, "");
    this.#tokens = tokens;
  }

  /** Returns a successful response; after a 401 it tries once more with a new token. */
  async call(method: string, path: string, { body, file, signal }: Options = {}): Promise<Response> {
    const kind = file ? "application/octet-stream" : body === undefined ? null : "application/json";
    const attempt = async (token: string) =>
      orUnreachable(
        fetch(`${this.#endpoint}${path}`, {
          method,
          signal: signal ?? null,
          credentials: "omit",
          headers: { Authorization: `Bearer ${token}`, ...(kind && { "Content-Type": kind }) },
          body: file ?? (body === undefined ? null : JSON.stringify(body)),
        }),
      );
    const token = await this.#tokens.current();
    let response = await attempt(token);
    if (response.status === 401) {
      this.#tokens.reject(token);
      response = await attempt(await this.#tokens.current());
    }
    if (!response.ok) throw await ChatError.of(response);
    return response;
  }

  /** Returns the response's JSON; the caller names its type. */
  async json<T>(method: string, path: string, options?: Options): Promise<T> {
    const response = await this.call(method, path, options);
    return response.json().catch(() => {
      throw new ChatError("unavailable");
    });
  }
}

export const conversationPath = (id: string) => `/api/conversations/${encodeURIComponent(id)}`;
