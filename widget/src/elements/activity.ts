/** <qwestly-activity>: the agent's past, running and pending actions, with reason, permission and undo. */

import { type TemplateResult, css, html, nothing } from "lit";

import type { EventView, Page } from "../api.ts";
import { strings } from "../strings.ts";
import { dayOf, timeOf } from "../time.ts";
import { sentenceCase } from "../words.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const PAGE = 30;
const POLL_MS = 30_000;
const BRIEFING = "briefing.told";

/** The filters, and the severities of each. */
const FILTERS = { everything: [], needsYou: ["action_required"], problems: ["warning"] };
type Filter = keyof typeof FILTERS;

export class QwestlyActivity extends AgentElement {
  static override properties = { ...AgentElement.properties, events: { state: true }, next: { state: true }, filter: { state: true }, undone: { state: true }, isLoaded: { state: true } };
  static override styles = [BASE_STYLES, css`
    .day { display: grid; gap: .5rem; }
    .day h3 { font-size: var(--small); font-weight: 700; letter-spacing: .05em; text-transform: uppercase; color: var(--muted); }
    li { position: relative; display: grid; gap: .25rem; padding-inline-start: 1.5rem; }
    li::before { content: ""; position: absolute; inset: 1.2rem auto auto 0; inline-size: .6rem; block-size: .6rem; border-radius: 50%; background: var(--accent); }
    li.warning::before { background: var(--danger); }
    li.action_required::before { background: none; border: 2px solid var(--accent); }
    .title { font-weight: 550; }
    ol { margin: .25rem 0 0; padding-inline-start: 1.2rem; }
    .foot { display: flex; flex-wrap: wrap; gap: .25rem 1rem; align-items: center; }
  `];

  declare events: EventView[];
  declare next: string | null;
  declare filter: Filter;
  declare undone: Set<string>;
  declare isLoaded: boolean;
  #timer: ReturnType<typeof setInterval> | undefined;
  #reading = 0;

  constructor() {
    super();
    Object.assign(this, { events: [], next: null, filter: "everything", undone: new Set(), isLoaded: false });
  }

  override connectedCallback() {
    super.connectedCallback();
    this.#timer = setInterval(() => !document.hidden && this.checkVisibility() && this.events.length <= PAGE && this.refresh(), POLL_MS);
  }

  override disconnectedCallback() {
    clearInterval(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    await this.#read(null);
  }

  async #read(after: string | null) {
    const reading = ++this.#reading; // show only the latest of several responses
    await this.load(strings.shared.couldNotLoad, async () => {
      const query = new URLSearchParams({ limit: String(PAGE), ...(after !== null && { after }) });
      for (const severity of FILTERS[this.filter]) query.append("severity", severity);
      const { items, next } = await this.backend.json<Page<EventView>>("GET", `/api/activity?${query}`);
      if (reading !== this.#reading) return;
      const known = new Set(items.map(({ id }) => id));
      this.events = after === null ? items : [...this.events.filter(({ id }) => !known.has(id)), ...items];
      this.next = next;
      this.isLoaded = true;
    });
  }

  async #undo({ id }: EventView) {
    await this.attempt(strings.shared.couldNotUndo, async () => {
      await this.backend.json("POST", `/api/activity/${encodeURIComponent(id)}/undo`);
      this.undone = new Set([...this.undone, id]);
      await this.refresh();
    });
  }

  #showBriefing({ data }: EventView) {
    this.dispatchEvent(new CustomEvent("showbriefing", { bubbles: true, composed: true, detail: { id: data["briefing_id"] } }));
  }

  #choose(filter: Filter) {
    this.filter = filter;
    this.refresh();
  }

  override render(): TemplateResult {
    const filters = (Object.keys(FILTERS) as Filter[]).map((each) => html`<button type="button" class="quiet" aria-pressed=${this.filter === each} @click=${() => this.#choose(each)}>${strings.activity.filters[each]}</button>`);
    return html`<div class="page">
      <div class="head"><h2>${strings.activity.title}</h2><div class="tools" role="group" aria-label=${strings.shared.show}>${filters}</div></div>
      <p class="soft">${strings.activity.about}</p>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.#days()}
      ${this.isLoaded && !this.events.length ? html`<p class="empty">${this.filter === "everything" ? strings.activity.empty : strings.activity.emptyFilter}</p>` : nothing}
      <button type="button" class="quiet" ?hidden=${this.next === null} @click=${() => this.#read(this.next)}>${strings.shared.showOlder}</button>
    </div>`;
  }

  /** One row per action: its outcome, with all steps inside. */
  #days() {
    const actions = [...Map.groupBy(this.events, actionOf).values()].map((events) => events.sort((one, other) => stepOf(other) - stepOf(one)));
    const days = Map.groupBy(actions, ([newest]) => sentenceCase(dayOf(newest!.at)));
    return [...days].map(([day, rows]) => html`<section class="day"><h3>${day}</h3><ul class="lines">${rows.map((events) => this.#row(events[0]!, events))}</ul></section>`);
  }

  #row(event: EventView, events: EventView[]) {
    const { why, severity, role, at } = event;
    const title = titleOf(event);
    const undo = events.find(({ id, undo_until: until }) => until !== null && Date.parse(until) > Date.now() && !this.undone.has(id));
    return html`<li class=${severity}>
      <span class="title">${title}</span>
      ${why ? html`<span class="soft">${why}</span>` : nothing}
      <span class="foot soft"><span>${nameOf(role)}</span><time datetime=${at}>${timeOf(at)}</time>
        ${event.type === BRIEFING ? html`<button type="button" class="link" @click=${() => this.#showBriefing(event)}>${strings.shared.openBriefing}</button>` : nothing}
        ${event.data["approval_id"] && !event.data["undoes"] ? html`<button type="button" class="link" aria-label=${strings.shared.labeled(strings.shared.show, title)} @click=${() => this.#showApproval(event)}>${strings.shared.show}</button>` : nothing}
        ${undo ? html`<button type="button" class="link" aria-label=${strings.shared.labeled(strings.shared.undo, title)} @click=${() => this.#undo(undo)}>${strings.shared.undo}</button>` : nothing}
        ${events.some(({ id }) => this.undone.has(id)) ? html`<span>${strings.activity.undone}</span>` : nothing}</span>
      ${events.length > 1 ? html`<details class="soft"><summary>${strings.activity.steps(events.length)}</summary><ol>${[...events].reverse().map((each) => html`<li>${verbOf(each)} · ${nameOf(each.role)} · <time datetime=${each.at}>${timeOf(each.at)}</time></li>`)}</ol></details>` : nothing}
    </li>`;
  }

  #showApproval({ data }: EventView) {
    this.dispatchEvent(new CustomEvent("showapprovals", { bubbles: true, composed: true, detail: { id: data["approval_id"] } }));
  }
}

/** The intermediate steps of an approval, in order, because the clocks of two processes may differ. Any other step is final. */
const STEPS = ["asked", "revised", "approved", "executing", "accepted", "unknown"].map((step) => `approval.${step}`);
const stepOf = ({ type }: EventView) => (STEPS.includes(type) ? STEPS.indexOf(type) : STEPS.length);

const actionOf = ({ id, data }: EventView) => String(data["approval_id"] ?? id);
/** The event without its subject: "Done" of "Done: Change your location". */
const verbOf = ({ title, about }: EventView) => (about ? title.split(": ")[0]! : title);
const titleOf = (event: EventView) => (event.about ? strings.shared.labeled(verbOf(event), event.about) : event.title);

/** The label of a role; unknown ones are shown as readable words. */
function nameOf(role: string) {
  const names: Record<string, string> = strings.activity.roles;
  return Object.hasOwn(names, role) ? names[role] : sentenceCase(role);
}
