/** <qwestly-briefing>: the newest briefing, or one of the last thirty, and the time of the next one. */

import { type TemplateResult, css, html, nothing } from "lit";

import type { BriefingPlan, Page } from "../api.ts";
import { strings } from "../strings.ts";
import { ago, pointInTime } from "../time.ts";
import { sentenceCase } from "../words.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

interface Line { text: string; topic: string; when: string; why: string; now: string; action: { label: string; place: string; id: string | null } }
/** A source of the briefing; `as_of` is null if it could not be read. */
interface Source { name: string; label: string; as_of: string | null }
interface Briefing {
  id: string;
  kind: "full" | "lite" | "nothing";
  at: string;
  summary: string;
  lines: Line[];
  sources: Source[];
  read_at: string | null;
}

const WAIT_MS = 2_000;
const MOST_WAITS = 60; // a briefing takes at most two minutes
const OLD_MS = 86_400_000; // the age of an older briefing is shown

export class QwestlyBriefing extends AgentElement {
  static override properties = { ...AgentElement.properties, briefing: { state: true }, plan: { state: true }, isLoaded: { state: true }, isMaking: { state: true }, isOldest: { state: true } };
  static override styles = [BASE_STYLES, css`
    .summary { font-size: var(--lead); }
    ul { display: grid; gap: .5rem; margin-block-start: .75rem; }
    li { display: flex; gap: .75rem; align-items: baseline; padding-inline-start: .9rem; border-inline-start: 3px solid var(--line); }
    li.needs_you { border-color: var(--accent); }
    li.failed { border-color: var(--danger); }
    li > span { flex: 1; }
    li span.soft { display: block; }
    .as-of { margin-block-start: .75rem; }
  `];

  declare briefing: Briefing | null;
  declare plan: BriefingPlan | null;
  declare isLoaded: boolean;
  declare isMaking: boolean;
  declare isOldest: boolean;
  #chosen: string | null = null; // id of the older briefing that is shown

  constructor() {
    super();
    Object.assign(this, { briefing: null, plan: null, isLoaded: false, isMaking: false, isOldest: false });
  }

  override async refresh() {
    await this.load(strings.briefing.couldNotLoad, async () => {
      const [briefing, plan] = await Promise.all([
        this.#chosen ? this.backend.json<Briefing>("GET", `/api/briefings/${encodeURIComponent(this.#chosen)}`) : this.#newest(),
        this.backend.json<BriefingPlan>("GET", "/api/briefings/settings"),
      ]);
      this.briefing = briefing;
      this.plan = plan;
      this.isLoaded = true;
      if (this.briefing?.read_at === null && this.checkVisibility()) await this.#noteRead(this.briefing.id);
      const count = Number(this.briefing?.read_at === null);
      this.dispatchEvent(new CustomEvent("briefingsunread", { bubbles: true, composed: true, detail: { count } }));
    });
  }

  async #newest() {
    return (await this.backend.json<Page<Briefing>>("GET", "/api/briefings?limit=1")).items[0] ?? null;
  }

  async #noteRead(id: string) {
    this.briefing = await this.backend.json<Briefing>("POST", `/api/briefings/${encodeURIComponent(id)}/read`);
  }

  async #make() {
    this.isMaking = true;
    this.#chosen = null;
    await this.attempt(strings.briefing.couldNotMake, async () => {
      const { id } = await this.backend.json<{ id: string }>("POST", "/api/briefings/now");
      for (let waits = 0; waits < MOST_WAITS && this.isConnected; waits++) {
        await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
        await this.refresh();
        if (this.briefing?.id === id) break;
      }
    });
    this.isMaking = false;
  }

  override render(): TemplateResult {
    return html`<div class="page">
      <div class="head"><h2>${strings.briefing.title}</h2>
        <button type="button" class="quiet" ?disabled=${this.isMaking} @click=${this.#make}>${this.isMaking ? strings.briefing.making : strings.briefing.now}</button></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.briefing ? this.#shown(this.briefing) : this.isLoaded ? html`<p class="soft">${strings.briefing.about}</p>` : nothing}
      ${this.plan ? html`<p class="soft">${this.plan.on && this.plan.next ? strings.briefing.next(pointInTime(this.plan.next)) : strings.briefing.off} ${strings.briefing.whereChosen}</p>` : nothing}
    </div>`;
  }

  /** Shows this briefing until the user asks for the newest. */
  async open(id: string) {
    this.#chosen = id;
    await this.refresh();
    this.scrollIntoView();
  }

  #showNewest() {
    this.#chosen = null;
    this.isOldest = false;
    this.refresh();
  }

  /** Shows the previous briefing, among the last thirty. */
  async #showOlder() {
    await this.load(strings.briefing.couldNotLoad, async () => {
      const { items } = await this.backend.json<Page<Briefing>>("GET", "/api/briefings?limit=30");
      const older = items[items.findIndex(({ id }) => id === this.briefing?.id) + 1];
      if (older) await this.open(older.id);
      else this.isOldest = true;
    });
  }

  #shown({ at, summary, lines, sources }: Briefing) {
    return html`<article class="row" aria-label=${strings.briefing.label}>
      <p class="soft">${sentenceCase(pointInTime(at))}${isOld(at) ? ` · ${ago(at)}` : ""}${this.#chosen ? html` <button type="button" class="link" @click=${this.#showNewest}>${strings.briefing.showNewest}</button>` : nothing}${this.isOldest ? nothing : html` <button type="button" class="link" @click=${this.#showOlder}>${strings.briefing.showBefore}</button>`}</p>
      <p class="summary">${summary}</p>
      ${lines.length ? html`<ul>${lines.map((line) => this.#line(line))}</ul>` : nothing}
      ${sources.some(({ as_of: asOf }) => asOf) ? html`<p class="soft as-of">${asOfWords(sources)}</p>` : nothing}
    </article>`;
  }

  #line({ text, topic, when, why, now, action }: Line) {
    return html`<li class=${topic}><span>${text}<span class="soft">${sentenceCase(when)} · ${now || why}</span></span><button type="button" class="link" aria-label=${strings.shared.labeled(action.label, text)} @click=${() => this.#show(action)}>${action.label}</button></li>`;
  }

  /** Asks the page to show the subject of a line. */
  #show({ place, id }: Line["action"]) {
    const told = (detail: object) => ({ bubbles: true, composed: true, detail });
    if (place === "approvals") this.dispatchEvent(new CustomEvent("showapprovals", told({ id })));
    else if (place === "applications" || place === "jobs") this.dispatchEvent(new CustomEvent("showjobs", told({ part: place === "jobs" ? "matches" : place, id })));
    else this.dispatchEvent(new CustomEvent("showplace", told({ place, id })));
  }
}

const isOld = (at: string) => Date.now() - Date.parse(at) > OLD_MS;

/** "As of today at 8:00: approvals, drafts, jobs." */
function asOfWords(sources: Source[]): string {
  const read = sources.flatMap(({ label, as_of: at }) => at === null ? [] : [{ label, moment: pointInTime(at) }]);
  const moments = Map.groupBy(read, ({ moment }) => moment);
  return [...moments].map(([moment, those]) => strings.briefing.asOf(moment, those.map(({ label }) => label).join(", "))).join(" ");
}
