/** Updates between turns. */

import type { Update, Updates as Polled } from "./api.ts";
import { ChatError } from "./errors.ts";

const OFTEN_MS = 2_000;
const SELDOM_MS = 30_000;

/**
 * Polls for updates, one request at a time: often while work is running or `watched` returns true.
 * `take` receives the items of each response.
 */
export class Updates {
  #read: (query: string) => Promise<Polled>;
  #take: (items: Update[], first: boolean) => void;
  #watched: () => boolean;
  #cursor: string | null = null;
  #active = false;
  #failures = 0;
  #current: Promise<void> | null = null; // the running request
  #next: Promise<void> | null = null; // the request after it
  #stopped = false;
  #soon = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(read: (query: string) => Promise<Polled>, take: (items: Update[], first: boolean) => void, watched: () => boolean) {
    this.#read = read;
    this.#take = take;
    this.#watched = watched;
    document.addEventListener("visibilitychange", this.#look);
    this.now();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#look);
  }

  /** Resolves with the next request that starts from now on: the response to the current one may be older. Asks once more soon: what a turn began may be told only a moment later. */
  now(): Promise<void> {
    this.#soon = true;
    return this.#poll();
  }

  #poll(): Promise<void> {
    clearTimeout(this.#timer);
    this.#next ??= this.#follow();
    return this.#next;
  }

  async #follow() {
    await this.#current;
    this.#next = null;
    if (this.#stopped) return;
    this.#current = this.#ask();
    await this.#current;
    this.#current = null;
    if (!this.#next) this.#wait();
  }

  async #ask() {
    const first = this.#cursor === null;
    try {
      const { items, cursor, active } = await this.#read(this.#cursor === null ? "" : `?after=${encodeURIComponent(this.#cursor)}`);
      if (this.#stopped) return;
      this.#cursor = cursor;
      this.#active = active;
      this.#failures = 0;
      this.#take(items, first);
    } catch (error) {
      if (ChatError.from(error).code === "invalid") this.#cursor = null; // the cursor is too old
      this.#failures += 1;
    }
  }

  #look = () => {
    if (!document.hidden) this.now();
    else if (!this.#current) this.#wait();
  };

  #wait() {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => this.#poll(), this.#delay);
    this.#soon = false;
  }

  get #delay() {
    const usual = (this.#soon || this.#active || this.#watched()) && !document.hidden ? OFTEN_MS : SELDOM_MS;
    return Math.max(usual, Math.min(OFTEN_MS * 2 ** this.#failures, SELDOM_MS));
  }
}
