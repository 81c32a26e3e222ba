import type { ApprovalView } from "./api.ts";
import type { Approvals } from "./approvals.ts";
import { element, iconButton } from "./dom.ts";
import { ChatError } from "./errors.ts";

/** All pending approvals of all conversations. Those decided here stay visible until the queue is closed. */
export class Queue {
  readonly element: HTMLDialogElement;
  #approvals!: Approvals;
  #list = element("div", { class: "cards" });
  #note = element("p", { class: "list-note", role: "status" });
  #listed = new Set<string>();
  #reading = false;

  constructor() {
    this.element = element(
      "dialog",
      { class: "queue", "aria-labelledby": "waiting" },
      element("div", { class: "bar" }, element("h2", { id: "waiting" }, "Waiting for you"), iconButton("close", "Close the queue", () => this.element.close())),
      this.#note,
      this.#list,
    );
  }

  async open(approvals: Approvals) {
    this.#approvals = approvals;
    this.#reading = true;
    this.#listed.clear();
    this.#list.replaceChildren();
    this.element.showModal();
    this.refresh();
    try {
      await approvals.readWaiting();
      this.#reading = false;
      this.refresh();
    } catch (error) {
      this.#reading = false;
      this.#note.textContent = `We couldn’t load all of it. ${ChatError.from(error).message}`;
    }
  }

  /** Also called when something changed while it is open. */
  refresh() {
    if (!this.element.open) return;
    for (const view of this.#approvals.waiting) if (!this.#listed.has(view.approval_id)) this.#add(view);
    this.#note.textContent = this.#listed.size ? "" : this.#reading ? "Loading…" : "You’re all caught up.";
  }

  #add({ approval_id: id, revises }: ApprovalView) {
    this.#listed.add(id);
    const card = this.#approvals.card(id, "queue").element;
    if (revises !== null && this.#listed.has(revises)) this.#approvals.card(revises, "queue").element.after(card);
    else this.#list.append(card);
  }
}
