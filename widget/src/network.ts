/** Connection errors, with messages: no data, or no connection. */

import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";

const SILENCE_MS = 45_000; // three missed keep-alives: the connection is dead

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
export const orUnreachable = <T>(promise: Promise<T>) => orSilence(promise, strings.network.unreachable).catch(networkError(strings.network.unreachable));
export const orCut = <T>(promise: Promise<T>) => orSilence(promise, strings.network.cut).catch(networkError(strings.network.cut));
