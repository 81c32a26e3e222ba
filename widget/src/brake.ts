/** The brake: a button that pauses everything, and the list of stopped work. */

import type { BrakeStatus, Receipt } from "./api.ts";
import { element, icon } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";
import { pointInTime } from "./time.ts";

function receiptWords({ stopped, finished, unknown, running, waiting }: Receipt) {
  const parts = [
    stopped.length && strings.brake.stopped(stopped.length),
    finished.length && strings.brake.finished(finished.length),
    unknown.length && strings.brake.unknown(unknown.length),
    running.length && strings.brake.running(running.length),
  ].filter(Boolean);
  const planned = waiting?.length ? ` ${strings.brake.planned}` : "";
  return `${parts.length ? `${parts.join(", ")}.` : strings.brake.nothingRan}${planned}`;
}

export function brakeWords({ state, since, receipt, everybody }: BrakeStatus) {
  if (state === "running") return "";
  if (everybody) return strings.brake.everybody;
  if (state === "pausing") return strings.brake.pausing;
  return [strings.brake.pausedSince(pointInTime(since ?? "")), receipt && receiptWords(receipt)].filter(Boolean).join(" ");
}

/** Turns the brake on or off. A failed request may have taken effect: reads the status, and throws only if it did not. */
export async function turnBrake(send: (method: string) => Promise<BrakeStatus>, pulling: boolean): Promise<BrakeStatus> {
  try {
    return await send(pulling ? "POST" : "DELETE");
  } catch (error) {
    const now = await send("GET").catch(() => null);
    if (now && (now.state !== "running") === pulling) return now;
    throw error;
  }
}

const RUNNING: BrakeStatus = { state: "running", since: null, receipt: null, everybody: false };

/** A button that pauses all of a person's agents and resumes them, and a line with the status. */
export class Brake {
  #send: (method: string) => Promise<BrakeStatus>;
  #changed: () => void;
  #fail: (sentence: string) => void;
  #posting = false;
  #standing: BrakeStatus = RUNNING;
  #label = element("span", { class: "label" });
  button = element("button", { type: "button", class: "brake", click: () => this.#press() });
  line = element("p", { class: "paused", role: "status", hidden: true });

  /** `send(method)` turns the brake on (POST) or off (DELETE), or reads it (GET), and returns the status; `fail` receives an error. */
  constructor({ send, changed, fail }: { send: (method: string) => Promise<BrakeStatus>; changed: () => void; fail: (sentence: string) => void }) {
    this.#send = send;
    this.#changed = changed;
    this.#fail = fail;
    this.#show();
  }

  get pulled() {
    return this.#standing.state !== "running";
  }

  learn(standing: BrakeStatus) {
    if (this.#posting) return; // its response will be newer
    this.#standing = standing;
    this.#show();
  }

  async #press() {
    if (this.#posting || this.#standing.everybody) return;
    const [before, pulling] = [this.#standing, !this.pulled];
    this.#posting = true;
    if (pulling) this.#standing = { ...RUNNING, state: "pausing" };
    this.#show();
    try {
      this.#standing = await turnBrake(this.#send, pulling);
    } catch (error) {
      this.#standing = before;
      this.#fail(`${pulling ? strings.shared.couldNotPause : strings.shared.couldNotResume} ${ChatError.from(error).message}`);
    }
    this.#posting = false;
    this.#show();
  }

  #show() {
    const label = this.pulled ? strings.shared.resume : strings.shared.pauseEverything;
    this.button.replaceChildren(icon(this.pulled ? "play" : "pause"), this.#label);
    this.#label.textContent = label;
    this.button.title = label;
    this.button.setAttribute("aria-label", label);
    // Not `disabled`, which would remove the focus.
    this.button.setAttribute("aria-disabled", String(this.#posting || Boolean(this.#standing.everybody)));
    this.line.hidden = !this.pulled;
    const words = brakeWords(this.#standing);
    if (this.line.textContent !== words) this.line.replaceChildren(icon("pause"), element("span", {}, words));
    this.#changed();
  }
}
