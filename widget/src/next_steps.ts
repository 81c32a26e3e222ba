/** Suggested next steps: up to three buttons under the last answer, as returned by the server. */

import { element } from "./dom.ts";
import { strings } from "./strings.ts";

export interface NextStep { label: string; does: "say" | "review" | "upload" }

export class NextSteps {
  readonly element = element("div", { class: "suggestions next", role: "group", "aria-label": strings.chat.nextSteps, "aria-live": "off", hidden: true });
  #read: () => Promise<NextStep[]>;
  #take: (step: NextStep) => void;
  #reading = 0;

  constructor({ read, take }: { read: () => Promise<NextStep[]>; take: (step: NextStep) => void }) {
    this.#read = read;
    this.#take = take;
  }

  hide() {
    this.#reading += 1;
    this.element.hidden = true;
  }

  /** Shows the steps that were not `said` in the conversation. They are optional, so errors are not shown. */
  async show(said: ReadonlySet<string | null>) {
    const reading = ++this.#reading;
    const steps = await this.#read().catch(() => []);
    if (reading !== this.#reading) return;
    const left = steps.filter(({ label }) => !said.has(label));
    this.element.replaceChildren(...left.map((step) => element("button", { type: "button", click: () => this.#take(step) }, step.label)));
    this.element.hidden = left.length === 0;
  }
}
