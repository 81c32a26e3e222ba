/** The approvals that are known, and the cards that show them. */

import type { ApprovalView, Decision, Page } from "./api.ts";
import { ApprovalCard } from "./approval_card.ts";
import type { Backend } from "./backend.ts";
import { ChatError } from "./errors.ts";
import { stage } from "./stage.ts";
import { strings } from "./strings.ts";

const PAGE = 100; // records per request

/** All known approvals, from any response, and the cards that show them. */
type Decide = (view: ApprovalView, decision: Decision) => Promise<void>;

export class Approvals {
  #backend: Backend;
  #decide: Decide;
  #changed: () => void;
  #views = new Map<string, ApprovalView>();
  #cards = new Map<string, Map<string, ApprovalCard>>(); // by place and id
  #deciding = new Map<string, Promise<void>>();
  #strings = strings; // of the cards

  /** `decide(view, decision)` posts a person's decision; `changed` is called whenever an approval is new or changed. */
  constructor({ backend, decide, changed }: { backend: Backend; decide: Decide; changed: () => void }) {
    this.#backend = backend;
    this.#decide = decide;
    this.#changed = changed;
  }

  get waiting() {
    return this.#all().filter((view) => stage(view) === 0);
  }

  has(id: string | null): id is string {
    return id !== null && this.#views.has(id);
  }

  of(conversation: string) {
    return this.#all().filter(({ conversation_id: id }) => id === conversation);
  }

  /** Returns true if the approval is new; freezing and unfreezing do not count, as the brake shows them. Ignores a response that was read before a decision or an undo and arrives after it. */
  learn(view: ApprovalView): boolean {
    if (view.undoes) return false; // shown on the card of the undone approval
    const known = this.#views.get(view.approval_id);
    if (known && (stage(view) < stage(known) || (known.undone_by && !view.undone_by))) return false;
    this.#views.set(view.approval_id, view);
    for (const cards of this.#cards.values()) cards.get(view.approval_id)?.show(view);
    this.#changed();
    return known?.status !== view.status && !(known && stage(known) === 0 && stage(view) === 0);
  }

  /** A place has one card per record, reused each time it is rendered, so that typed text is not lost. */
  card(id: string, place: string): ApprovalCard {
    if (this.#strings !== strings) this.#cards.clear();
    this.#strings = strings;
    const cards = this.#cards.get(place) ?? new Map<string, ApprovalCard>();
    this.#cards.set(place, cards);
    let card = cards.get(id);
    if (!card) {
      card = new ApprovalCard(
        (decision) => this.#answer(id, decision),
        () => this.#undo(id),
      );
      card.show(this.#views.get(id)!);
      cards.set(id, card);
    }
    return card;
  }

  /** Updates the times shown on the cards. */
  tick() {
    for (const cards of this.#cards.values()) for (const card of cards.values()) card.showTime();
  }

  isUnderWay(id: string): boolean {
    const view = this.#views.get(id);
    return view !== undefined && stage(view) === 1;
  }

  /** Loads the newest approvals of any status. */
  async readAll() {
    await this.#read("all");
  }

  async readWaiting() {
    let after: string | null = null;
    do after = await this.#read("waiting", after);
    while (after !== null);
  }

  #all() {
    return [...this.#views.values()].sort((one, other) => Date.parse(one.created_at) - Date.parse(other.created_at));
  }

  async #read(state: string, after: string | null = null): Promise<string | null> {
    const from = after === null ? "" : `&after=${after}`;
    const { items, next } = await this.#backend.json<Page<ApprovalView>>("GET", `/api/approvals?state=${state}&limit=${PAGE}${from}`);
    for (const view of items) this.learn(view);
    return next;
  }

  /** Undoes the effect; the server's record of the undo has the outcome. */
  async #undo(id: string) {
    const event = encodeURIComponent(`${id}:done`);
    const { by } = await this.#backend.json<{ by: ApprovalView }>("POST", `/api/activity/${event}/undo`);
    this.learn({ ...this.#views.get(id)!, undone_by: by.approval_id, undo_until: null });
  }

  /** Only one decision at a time per record, from any of its cards. */
  #answer(id: string, decision: Decision): Promise<void> {
    const known = this.#deciding.get(id);
    if (known) return known;
    const answer = this.#carry(this.#views.get(id)!, decision).finally(() => this.#deciding.delete(id));
    this.#deciding.set(id, answer);
    return answer;
  }

  async #carry(view: ApprovalView, decision: Decision): Promise<void> {
    try {
      await this.#decide(view, decision);
    } catch (error) {
      const { code, message } = ChatError.from(error);
      if (code === "not_found") return void this.learn({ ...view, status: "gone" });
      // If this request fails too, show why the decision failed.
      await this.readAll().catch(() => {});
      throw new ChatError(code, code === "changed" ? strings.approval.seenAnother : message);
    }
  }
}
