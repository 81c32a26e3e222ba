/** Errors of the chat, each with a sentence for a person. */

import { strings } from "./strings.ts";

export class ChatError extends Error {
  readonly code: string;
  readonly retryAfter: number;

  /** `message` is a sentence for a person; without one the sentence of the code is used. */
  constructor(code: string, message?: string | null, retryAfter = 0) {
    const sentences: Record<string, string> = strings.errors;
    super(message || sentences[code] || strings.errors.internal);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  static from(error: unknown): ChatError {
    if (error instanceof ChatError) return error;
    console.error(error);
    return new ChatError("internal");
  }

  static async of(response: Response): Promise<ChatError> {
    const error = (await response.json().catch(() => null))?.error ?? {};
    const code = error.code ?? (response.status === 401 ? "unauthorized" : "unavailable");
    return new ChatError(code, error.message, Number(response.headers.get("Retry-After")));
  }
}
