/** <qwestly-approvals>: pending approvals, and the history with outcomes. */

import { type TemplateResult, css, html, nothing } from "lit";

import type { ApprovalView, Page } from "../api.ts";
import { Approvals } from "../approvals.ts";
import { strings } from "../strings.ts";
import { APPROVAL_STYLES } from "../styles/approvals.ts";
import { DOCUMENT_STYLES } from "../styles/document.ts";
import { CONTROL_STYLES } from "../styles/controls.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const PAGE = 20;
const POLL_MS = 10_000;

export class QwestlyApprovals extends AgentElement {
  static override properties = { ...AgentElement.properties, state: { state: true }, ids: { state: true }, next: { state: true }, isLoaded: { state: true } };
  static override styles = [BASE_STYLES, CONTROL_STYLES, APPROVAL_STYLES, DOCUMENT_STYLES, css`.cards { display: grid; gap: .9rem; }`];

  declare state: "waiting" | "all";
  /** Ids of the listed approvals, newest first. */
  declare ids: string[];
  declare next: string | null;
  declare isLoaded: boolean;
  #approvals: Approvals | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reading = 0;

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
      decide: async ({ approval_id: id }, decision) => {
        const path = `/api/approvals/${encodeURIComponent(id)}/decision`;
        this.#known.learn(await this.backend.json<ApprovalView>("POST", path, { body: decision }));
      },
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
    const card = this.#known.card(id, "list").element;
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
    this.refresh();
  }

  override render(): TemplateResult {
    const choice = (state: "waiting" | "all", label: string) => html`<button type="button" class="quiet" aria-pressed=${this.state === state} @click=${() => this.#choose(state)}>${label}</button>`;
    return html`<div class="page">
      <div class="head"><h2>${strings.approvals.title}</h2><div class="tools" role="group" aria-label=${strings.shared.show}>${choice("waiting", strings.shared.waitingForYou)}${choice("all", strings.approvals.history)}</div></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <div class="cards">${this.ids.filter((id) => this.#known.has(id)).map((id) => this.#known.card(id, "list").element)}</div>
      ${this.isLoaded && !this.ids.length ? html`<p class="empty">${this.state === "waiting" ? strings.shared.caughtUp : strings.approvals.empty}</p>` : nothing}
      <button type="button" class="quiet" ?hidden=${this.next === null} @click=${() => this.#read(this.next)}>${strings.shared.showOlder}</button>
    </div>`;
  }
}
