/** Errors of the chat, each with a sentence for a person. */

export const SENTENCES: Record<string, string> = {
  unauthorized: "Please sign in again.",
  not_found: "That conversation no longer exists.",
  invalid: "We couldn’t send this message.",
  too_long: "This message is too long.",
  attachments_unsupported: "We can’t read files here yet. Please paste the text.",
  conversation_busy: "The last message of this conversation is still being answered.",
  too_many_turns: "That was a lot at once. Please wait a minute and try again.",
  over_budget: "You’ve reached today’s limit. Please try again tomorrow.",
  braked: "Your agent is paused right now.",
  changed: "The conversation has moved on.",
  model_unavailable: "We can’t reach the language model right now. Please try again in a moment.",
  too_many_steps: "I looked things up too often without coming to an answer. Please ask differently.",
  deadline: "This took too long, so it was stopped.",
  unavailable: "Qwestly isn’t available right now. Please try again in a moment.",
  internal: "Something went wrong on our side. Please try again.",
};

export class ChatError extends Error {
  readonly code: string;
  readonly retryAfter: number;

  /** `message` is a sentence for a person; without one the sentence of the code is used. */
  constructor(code: string, message?: string | null, retryAfter = 0) {
    super(message || SENTENCES[code] || SENTENCES["internal"]);
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
