/** Memories that an answer stored at once: a line each under the answer, with an undo for a day. */

import { ChatError, element } from "./qwestly-parts.js";

const quoted = ({ content }) => `“${content}”`;

/** The lines, one per memory, reused each time it is rendered, so that the result of an undo stays. */
export class Memories {
  #undo;
  #announce;
  #lines = new Map();

  /** `undo(id)` resolves with the server's response; `announce` announces a sentence to screen readers. */
  constructor(undo, announce) {
    this.#undo = undo;
    this.#announce = announce;
  }

  line(memory) {
    const { id } = memory;
    if (!this.#lines.has(id)) this.#lines.set(id, new MemoryLine(() => this.#undo(id), this.#announce));
    this.#lines.get(id).show(memory);
    return this.#lines.get(id).element;
  }

  /** Update the times that the lines show. */
  tick() {
    for (const line of this.#lines.values()) line.showTime();
  }
}

/** As a sentence. */
export const remembered = (memory) => `${memory.status === "unchecked" ? "Noted, not checked yet" : "Remembered"}: ${quoted(memory)}`;

class MemoryLine {
  #undo;
  #announce;
  #memory = null;
  #over = false; // it can no longer be undone
  #sending = false;
  #words = element("span", { class: "words", tabindex: "-1" });
  #button = element("button", { type: "button", class: "link-button", click: () => this.#press() }, "Undo");
  #choice = element("span", { class: "choice" }, element("span", { "aria-hidden": "true" }, " · "), this.#button);
  #problem = element("span", { class: "problem", hidden: true });

  constructor(undo, announce) {
    this.#undo = undo;
    this.#announce = announce;
    this.element = element("p", { class: "remembered" }, this.#words, this.#choice, this.#problem);
  }

  show(memory) {
    this.#memory = memory;
    if (this.#over) return;
    this.#words.textContent = remembered(memory);
    this.#button.setAttribute("aria-label", `Undo: ${quoted(memory)}`);
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
      this.#end(restored.length ? `Undone. Back to: ${restored.map(quoted).join(", ")}` : "Undone.");
    } catch (error) {
      this.#failed(ChatError.from(error));
    }
    this.#sending = false;
    this.element.removeAttribute("aria-busy");
    this.showTime();
  }

  #failed({ code, message }) {
    if (code === "not_found") return this.#end("This isn’t remembered anymore, so there’s nothing to undo.");
    this.#over = code === "invalid"; // too late: the server's message says what to do instead
    this.#tell(this.#over ? message : `Not undone. ${message}`);
  }

  #end(sentence) {
    this.#over = true;
    this.#words.textContent = sentence;
    this.#announce(sentence);
  }

  #tell(sentence) {
    this.#problem.textContent = sentence;
    this.#problem.hidden = !sentence;
    if (sentence) this.#announce(sentence);
  }
}

export const MEMORY_STYLES = new CSSStyleSheet();
MEMORY_STYLES.replaceSync(`
.remembered { margin: 0; color: var(--muted); font-size: .9rem; overflow-wrap: anywhere; }
.remembered .words { border-radius: .3rem; }
.remembered .choice { white-space: pre; }
.remembered .problem { display: block; }
.link-button { padding: 0 .2rem; margin-inline-start: -.2rem; color: var(--accent); text-decoration: underline; text-underline-offset: .2em; }
.link-button:hover { background: var(--raised); }
[aria-busy=true] > .choice .link-button { opacity: .55; }
@media (pointer: coarse) {
  .link-button { min-block-size: 44px; min-inline-size: 44px; margin-block: -.6rem; }
}
`);
