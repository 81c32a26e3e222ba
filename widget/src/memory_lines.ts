/** Memories that an answer stored at once: one line each under the answer, which can be undone for a day. */

import type { MemoryView } from "./api.ts";
import { element } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";

type Undo = () => Promise<{ restored: MemoryView[] }>;

const quoted = ({ content }: { content: string }) => strings.shared.quoted(content);

/** The lines, one per memory, reused each time it is rendered, so that the result of an undo stays. */
export class Memories {
  #undo: (id: string) => Promise<{ restored: MemoryView[] }>;
  #announce: (sentence: string) => void;
  #lines = new Map<string, MemoryLine>();

  /** `undo(id)` resolves with the server's response; `announce` announces a sentence to screen readers. */
  constructor(undo: (id: string) => Promise<{ restored: MemoryView[] }>, announce: (sentence: string) => void) {
    this.#undo = undo;
    this.#announce = announce;
  }

  line(memory: MemoryView): HTMLElement {
    const { id } = memory;
    const line = this.#lines.get(id) ?? new MemoryLine(() => this.#undo(id), this.#announce);
    this.#lines.set(id, line);
    line.show(memory);
    return line.element;
  }

  /** Updates the times shown in the lines. */
  tick() {
    for (const line of this.#lines.values()) line.showTime();
  }
}

/** The text as a sentence. */
export const remembered = (memory: MemoryView) => memory.status === "unchecked" ? strings.memoryLine.noted(quoted(memory)) : strings.memoryLine.remembered(quoted(memory));

class MemoryLine {
  readonly element: HTMLElement;
  #undo: Undo;
  #announce: (sentence: string) => void;
  #memory!: MemoryView;
  #over = false; // it can no longer be undone
  #sending = false;
  #words = element("span", { class: "words", tabindex: "-1" });
  #button = element("button", { type: "button", class: "link", click: () => this.#press() }, strings.shared.undo);
  #choice = element("span", { class: "choice" }, element("span", { "aria-hidden": "true" }, " · "), this.#button);
  #problem = element("span", { class: "problem", hidden: true });

  constructor(undo: Undo, announce: (sentence: string) => void) {
    this.#undo = undo;
    this.#announce = announce;
    this.element = element("p", { class: "remembered" }, this.#words, this.#choice, this.#problem);
  }

  show(memory: MemoryView) {
    this.#memory = memory;
    if (this.#over) return;
    this.#words.textContent = remembered(memory);
    this.#button.setAttribute("aria-label", strings.shared.labeled(strings.shared.undo, quoted(memory)));
    this.showTime();
  }

  showTime() {
    const { undo_until: until } = this.#memory;
    const open = !this.#over && until !== null && Date.parse(until) > Date.now();
    const hadFocus = this.#choice.matches(":focus-within");
    this.#choice.hidden = !open;
    if (hadFocus && !open) this.#words.focus(); // the next Tab must continue from here
  }

  async #press() {
    if (this.#sending) return;
    this.#sending = true;
    this.#tell("");
    this.element.setAttribute("aria-busy", "true");
    try {
      const { restored } = await this.#undo();
      this.#end(restored.length ? strings.memoryLine.backTo(restored.map(quoted).join(", ")) : strings.shared.undone);
    } catch (error) {
      this.#failed(ChatError.from(error));
    }
    this.#sending = false;
    this.element.removeAttribute("aria-busy");
    this.showTime();
  }

  #failed({ code, message }: ChatError) {
    if (code === "not_found") return this.#end(strings.memoryLine.nothingToUndo);
    this.#over = code === "invalid"; // too late: the server's message says what to do instead
    this.#tell(this.#over ? message : `${strings.shared.couldNotUndo} ${message}`);
  }

  #end(sentence: string) {
    this.#over = true;
    this.#words.textContent = sentence;
    this.#announce(sentence);
  }

  #tell(sentence: string) {
    this.#problem.textContent = sentence;
    this.#problem.hidden = !sentence;
    if (sentence) this.#announce(sentence);
  }
}
