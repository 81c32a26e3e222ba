/** A user message, which can be edited while no other message follows it. */

import { element, grow, iconButton, isEnter } from "./dom.ts";
import { strings } from "./strings.ts";

export class SaidMessage {
  readonly element: HTMLElement;
  #onEdit: (text: string) => void;
  #bubble: HTMLElement;
  #edit = iconButton("edit", strings.message.edit, () => this.#toggle(true), { class: "icon-button thumb", hidden: true });
  #field: HTMLTextAreaElement = element("textarea", {
    rows: "1",
    "aria-label": strings.message.newWording,
    input: () => grow(this.#field),
    keydown: (event: KeyboardEvent) => this.#key(event),
  });
  #form: HTMLElement;

  constructor(said: string, onEdit: (text: string) => void) {
    this.#onEdit = onEdit;
    this.#bubble = element("div", { class: "said", role: "group", "aria-label": strings.message.you }, said);
    const cancel = element("button", { type: "button", class: "quiet", click: () => this.#toggle(false) }, strings.shared.cancel);
    const send = element("button", { type: "button", class: "quiet", click: () => this.#send() }, strings.shared.send);
    const box = element("div", { class: "box" }, this.#field);
    this.#form = element("div", { class: "editing", hidden: true }, box, element("div", { class: "choices" }, cancel, send));
    this.element = element("div", { class: "said-row" }, this.#edit, this.#bubble, this.#form);
  }

  show(text: string) {
    this.#bubble.textContent = text;
  }

  offerEdit(isOffered: boolean) {
    this.#edit.hidden = !isOffered;
    if (!isOffered && !this.#form.hidden) this.#toggle(false);
  }

  #toggle(editing: boolean) {
    this.#form.hidden = !editing;
    this.#bubble.hidden = this.#edit.hidden = editing;
    if (!editing) return this.#edit.focus();
    this.#field.value = this.#bubble.textContent ?? "";
    grow(this.#field);
    this.#field.focus();
  }

  #send() {
    const text = this.#field.value.trim();
    const isSame = text === this.#bubble.textContent;
    this.#toggle(false);
    if (text && !isSame) this.#onEdit(text);
  }

  /** Escape closes the field only; it does not stop a turn as well. */
  #key(event: KeyboardEvent) {
    if (event.key === "Escape" && !event.isComposing) this.#toggle(false);
    else if (isEnter(event)) this.#send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
