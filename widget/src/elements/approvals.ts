/** <qwestly-approvals>: pending approvals, and the history with outcomes. */

import { type TemplateResult, css, html, nothing } from "lit";

import type { ApprovalView, Decision, Page } from "../api.ts";
import type { ApprovalCard } from "../approval_card.ts";
import { Approvals } from "../approvals.ts";
import { ofMemories } from "../preview.ts";
import { strings } from "../strings.ts";
import { APPROVAL_STYLES } from "../styles/approvals.ts";
import { DOCUMENT_STYLES } from "../styles/document.ts";
import { CONTROL_STYLES } from "../styles/controls.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const PAGE = 20;
const POLL_MS = 10_000;

export class QwestlyApprovals extends AgentElement {
  static override properties = { ...AgentElement.properties, state: { state: true }, ids: { state: true }, next: { state: true }, isLoaded: { state: true } };
  static override styles = [BASE_STYLES, CONTROL_STYLES, APPROVAL_STYLES, DOCUMENT_STYLES, css`
    .cards { display: grid; gap: 1rem; }
    .several { display: flex; flex-wrap: wrap; gap: .5rem; align-items: baseline; margin-block-end: .75rem; }
  `];

  declare state: "waiting" | "all";
  /** Ids of the listed approvals, newest first. */
  declare ids: string[];
  declare next: string | null;
  declare isLoaded: boolean;
  #approvals: Approvals | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reading = 0;
  #opened: ApprovalCard | null = null;

  constructor() {
    super();
    Object.assign(this, { state: "waiting", ids: [], next: null, isLoaded: false });
  }

  override connectedCallback() {
    super.connectedCallback();
    this.#timer = setInterval(() => !document.hidden && this.checkVisibility() && this.state === "waiting" && this.refresh(), POLL_MS);
  }

  override disconnectedCallback() {
    clearInterval(this.#timer);
    this.#approvals = null;
    super.disconnectedCallback();
  }

  get #known(): Approvals {
    this.#approvals ??= new Approvals({
      backend: this.backend,
      decide: ({ approval_id: id }, decision) => this.#post(id, decision),
      changed: () => this.#tellCount(),
    });
    return this.#approvals;
  }

  #tellCount() {
    this.dispatchEvent(new CustomEvent("approvalswaiting", { detail: { count: this.#known.waiting.length }, bubbles: true, composed: true }));
  }

  override async refresh() {
    await this.#read(null);
  }

  /** Shows one approval, among the pending ones or in the history. */
  async open(id: string) {
    for (const state of ["waiting", "all"] as const) {
      if (this.state !== state) Object.assign(this, { state, ids: [], next: null, isLoaded: false });
      await this.refresh();
      if (this.ids.includes(id)) break;
    }
    await this.updateComplete;
    if (!this.ids.includes(id)) return;
    const { element: card, folded } = this.#known.card(id, "list");
    folded.open = true;
    card.tabIndex = -1;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "start" });
  }

  async #read(after: string | null) {
    const reading = ++this.#reading; // show only the latest of several responses
    await this.load(strings.shared.couldNotLoad, async () => {
      const query = new URLSearchParams({ state: this.state, limit: String(PAGE), ...(after !== null && { after: String(after) }) });
      const { items, next } = await this.backend.json<Page<ApprovalView>>("GET", `/api/approvals?${query}`);
      if (reading !== this.#reading) return;
      for (const view of items) this.#known.learn(view);
      this.#known.tick();
      const shown = items.filter(({ undoes }) => !undoes).map(({ approval_id: id }) => id);
      // Approvals decided here keep their place until the list is opened again.
      const decided = after === null && this.isLoaded && this.state === "waiting" ? this.ids.filter((id) => !shown.includes(id)) : [];
      this.ids = after === null ? [...shown, ...decided] : [...this.ids, ...shown];
      if (decided.some((id) => this.#known.isUnderWay(id))) await this.#known.readAll();
      this.next = next;
      this.isLoaded = true;
    });
  }

  #choose(state: "waiting" | "all") {
    Object.assign(this, { state, ids: [], next: null, isLoaded: false });
    this.#opened = null;
    this.refresh();
  }

  get #listed() {
    return this.ids.filter((id) => this.#known.has(id));
  }

  /** Of those that wait, the first is open, unless another is or a person closed it. */
  protected override updated() {
    const cards = this.#listed.map((id) => this.#known.card(id, "list"));
    const [first] = cards;
    if (!first || first === this.#opened || this.state === "all" || cards.some(({ folded }) => folded.open)) return;
    this.#opened = first;
    first.folded.open = true;
  }

  /** Decides several pending approvals of one kind at once. What cannot be undone can only be declined so. */
  #several() {
    const groups = [...Map.groupBy(this.#known.waiting, ({ tool }) => tool).values()].filter(({ length }) => length > 1);
    return groups.map((those) => {
      const [{ tool, effect, preview }] = those as [ApprovalView, ...ApprovalView[]];
      const decide = (decision: "approve" | "reject", answer: string) => html`<button type="button" class="quiet" @click=${() => this.#decideAll(those, decision)}>${strings.approvals.all(answer, those.length)}</button>`;
      const words = ofMemories(tool);
      const isSafe = effect === "write" || tool === "keep_memories";
      return html`<div class="several" role="group" aria-label=${strings.approvals.several(preview.title, those.length)}><span>${strings.approvals.several(preview.title, those.length)}</span>${isSafe ? decide("approve", words?.yes ?? strings.approval.approve) : nothing}${decide("reject", words?.no ?? strings.approval.decline)}</div>`;
    });
  }

  async #decideAll(those: ApprovalView[], decision: "approve" | "reject") {
    await this.attempt(strings.approvals.couldNotDecideAll, async () => {
      for (const { approval_id: id, args_digest } of those) await this.#post(id, { decision, args_digest });
    });
    await this.refresh();
  }

  async #post(id: string, decision: Decision) {
    const path = `/api/approvals/${encodeURIComponent(id)}/decision`;
    this.#known.learn(await this.backend.json<ApprovalView>("POST", path, { body: decision }));
  }

  override render(): TemplateResult {
    const choice = (state: "waiting" | "all", label: string) => html`<button type="button" class="quiet" aria-pressed=${this.state === state} @click=${() => this.#choose(state)}>${label}</button>`;
    return html`<div class="page">
      <div class="head"><h2>${strings.approvals.title}</h2><div class="tools" role="group" aria-label=${strings.shared.show}>${choice("waiting", strings.shared.waitingForYou)}${choice("all", strings.approvals.history)}</div></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.state === "waiting" ? this.#several() : nothing}
      <div class="cards">${this.#listed.map((id) => this.#known.card(id, "list").folded)}</div>
      ${this.isLoaded && !this.ids.length ? html`<p class="empty">${this.state === "waiting" ? strings.shared.caughtUp : strings.approvals.empty}</p>` : nothing}
      <button type="button" class="quiet" ?hidden=${this.next === null} @click=${() => this.#read(this.next)}>${strings.shared.showOlder}</button>
    </div>`;
  }
}
