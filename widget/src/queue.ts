import type { ApprovalView } from "./api.ts";
import type { Approvals } from "./approvals.ts";
import { element, iconButton } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { strings } from "./strings.ts";

/** The pending approvals of all conversations, or one of them. Approvals decided in the whole list stay visible until it is closed. */
export class Queue {
  readonly element: HTMLDialogElement;
  #approvals!: Approvals;
  #list = element("div", { class: "cards" });
  #note = element("p", { class: "list-note", role: "status" });
  #listed = new Set<string>();
  #reading = false;
  #only: string | null = null;
  #heading = element("h2", { id: "waiting" });

  constructor() {
    this.element = element(
      "dialog",
      { class: "queue", "aria-labelledby": "waiting" },
      element("div", { class: "bar" }, this.#heading, iconButton("close", strings.shared.close, () => this.element.close())),
      this.#note,
      this.#list,
    );
  }

  /** Shows all pending approvals, or one as a sheet, which closes once it is decided. */
  async open(approvals: Approvals, only: string | null = null) {
    this.#reading = only === null;
    this.#show(approvals, only);
    if (only !== null) return;
    try {
      await approvals.readWaiting();
      this.#reading = false;
      this.refresh();
    } catch (error) {
      this.#reading = false;
      this.#note.textContent = `${strings.queue.couldNotLoadAll} ${ChatError.from(error).message}`;
    }
  }

  #show(approvals: Approvals, only: string | null) {
    this.#approvals = approvals;
    this.#only = only;
    this.#heading.textContent = only ? strings.queue.yourDecision : strings.shared.waitingForYou;
    this.element.classList.toggle("sheet", only !== null);
    this.#listed.clear();
    this.#list.replaceChildren();
    this.element.showModal();
    this.refresh();
  }

  /** Updates the queue. Also called after changes while it is open. */
  refresh() {
    if (!this.element.open) return;
    const { waiting } = this.#approvals;
    if (this.#only !== null) return this.#refreshOne(this.#only, waiting);
    for (const view of waiting) if (!this.#listed.has(view.approval_id)) this.#add(view);
    this.#note.textContent = this.#listed.size ? "" : this.#reading ? strings.shared.loading : strings.shared.caughtUp;
  }

  #refreshOne(id: string, waiting: ApprovalView[]) {
    const view = waiting.find((each) => each.approval_id === id);
    this.#note.textContent = "";
    if (view && !this.#listed.has(id)) this.#add(view);
    if (view) return;
    this.element.close();
    this.#approvals.card(id, "log").focusOutcome();
  }

  #add({ approval_id: id, revises }: ApprovalView) {
    this.#listed.add(id);
    const { element: card, folded } = this.#approvals.card(id, "queue");
    if (this.#only !== null) return this.#list.append(card);
    folded.append(card); // it may have been shown alone
    if (revises !== null && this.#listed.has(revises)) this.#approvals.card(revises, "queue").folded.after(folded);
    else this.#list.append(folded);
    folded.open ||= !this.#list.querySelector(".folded[open]");
  }
}
