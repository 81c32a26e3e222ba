/** Errors of the connection: silence and refusal become sentences. */

import { ChatError } from "./errors.ts";

const SILENCE_MS = 45_000; // three missed keep-alives: the connection is dead

const UNREACHABLE = "We can’t reach Qwestly. Check your connection and try again.";
export const CUT = "The connection was lost before the answer was complete.";

/** Throws if no data arrives for too long. */
function orSilence<T>(promise: Promise<T>, sentence: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ChatError("network", sentence)), SILENCE_MS);
  });
  return Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

const networkError = (sentence: string) => (error: Error): never => {
  throw error.name === "AbortError" || error instanceof ChatError ? error : new ChatError("network", sentence);
};
export const orUnreachable = <T>(promise: Promise<T>) => orSilence(promise, UNREACHABLE).catch(networkError(UNREACHABLE));
export const orCut = <T>(promise: Promise<T>) => orSilence(promise, CUT).catch(networkError(CUT));
