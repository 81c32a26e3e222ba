/** The sources of an answer, as chips under it. Each opens its passage. */

import type { Source } from "./api.ts";
import { element } from "./dom.ts";
import { strings } from "./strings.ts";

const SHOWN = 6;

export class Sources {
  readonly element = element("div", { class: "sources", role: "group", "aria-label": strings.sources.label, hidden: true });
  #ids = new Set<string>();
  #more = element("button", { type: "button", class: "quiet", hidden: true, click: () => this.#showAll() });

  clear() {
    this.#ids.clear();
    this.element.replaceChildren();
    this.element.hidden = this.#more.hidden = true;
  }

  add(sources: Source[]) {
    for (const source of sources) {
      if (this.#ids.has(source.id)) continue;
      this.#ids.add(source.id);
      const chip = chipOf(source);
      chip.hidden = this.#ids.size > SHOWN;
      this.element.append(chip);
    }
    this.element.hidden = this.#ids.size === 0;
    this.#more.hidden = this.#ids.size <= SHOWN;
    this.#more.textContent = strings.sources.more(this.#ids.size - SHOWN);
    this.element.append(this.#more);
  }

  #showAll() {
    const hidden = [...this.element.querySelectorAll<HTMLElement>("details[hidden]")];
    for (const chip of hidden) chip.hidden = false;
    this.#more.hidden = true;
    hidden[0]?.querySelector("summary")?.focus();
  }
}

function chipOf({ kind, title, text }: Source): HTMLElement {
  return element(
    "details",
    { class: "source" },
    element("summary", {}, title),
    element("p", { class: "where" }, strings.sources.kinds[kind] ?? strings.sources.other),
    ...(text && text !== title ? [element("p", {}, text)] : []),
  );
}
