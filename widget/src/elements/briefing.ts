/** <qwestly-briefing>: the newest briefing, what it asks of the user, and when the next one comes. */

import { type TemplateResult, css, html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import type { Page } from "../api.ts";
import { ago, pointInTime } from "../time.ts";
import { sentenceCase } from "../words.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

interface Line { text: string; topic: string; source: string; records: string[]; at: string; why: string; now: string }
/** What it was made from; `as_of` is null where the source could not be read. */
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
interface Plan { on: boolean; hour: number; minute: number; days: number[]; mail: boolean; quiet: boolean; time_zone: string; next: string | null }

const WAIT_MS = 2_000;
const MOST_WAITS = 60; // a briefing is made within two minutes
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const NEEDS_YOU = "needs_you";
const OLD_MS = 86_400_000; // a line or a briefing of which its age is said

export class QwestlyBriefing extends AgentElement {
  static override properties = { ...AgentElement.properties, briefing: { state: true }, plan: { state: true }, isLoaded: { state: true }, isMaking: { state: true } };
  static override styles = [BASE_STYLES, css`
    .summary { font-size: 1.05rem; }
    ul { display: grid; gap: .5rem; margin-block-start: .75rem; }
    li { display: flex; gap: .75rem; align-items: baseline; padding-inline-start: .9rem; border-inline-start: 3px solid var(--line); }
    li.needs_you { border-color: var(--accent); }
    li.failed { border-color: var(--danger); }
    li > span { flex: 1; }
    li span.soft { display: block; }
    .as-of { margin-block-start: .75rem; }
    summary { inline-size: fit-content; color: var(--accent); font-size: .9rem; cursor: pointer; }
    form { display: grid; gap: .75rem; margin-block-start: .75rem; }
    label { display: flex; gap: .5rem; align-items: center; font-size: .95rem; }
    .days { display: flex; flex-wrap: wrap; gap: .3rem .9rem; }
    input[type=checkbox] { inline-size: 1.1rem; block-size: 1.1rem; accent-color: var(--accent); }
    .time { inline-size: 8rem; }
  `];

  declare briefing: Briefing | null;
  declare plan: Plan | null;
  declare isLoaded: boolean;
  declare isMaking: boolean;
  #chosen: string | null = null; // id of an older one that is shown

  constructor() {
    super();
    Object.assign(this, { briefing: null, plan: null, isLoaded: false, isMaking: false });
  }

  override async refresh() {
    const { choices } = this;
    await this.load("We couldn’t load your briefing.", async () => {
      const [briefing, plan] = await Promise.all([
        this.#chosen ? this.backend.json<Briefing>("GET", `/api/briefings/${encodeURIComponent(this.#chosen)}`) : this.#newest(),
        this.backend.json<Plan>("GET", "/api/briefings/settings"),
      ]);
      this.briefing = briefing;
      if (choices === this.choices) this.plan = plan;
      this.isLoaded = true;
      if (this.briefing?.read_at === null && this.checkVisibility()) await this.#noteRead(this.briefing.id);
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
    await this.attempt("We couldn’t make your briefing.", async () => {
      const { id } = await this.backend.json<{ id: string }>("POST", "/api/briefings/now");
      for (let waits = 0; waits < MOST_WAITS && this.isConnected; waits++) {
        await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
        await this.refresh();
        if (this.briefing?.id === id) break;
      }
    });
    this.isMaking = false;
  }

  async #change(what: Partial<Plan>) {
    await this.choose(this.plan!, what, (plan) => { this.plan = plan; }, () => this.backend.json<Plan>("PUT", "/api/briefings/settings", { body: what }));
  }

  override render(): TemplateResult {
    return html`<div class="page">
      <div class="head"><h2>Your briefing</h2>
        <button type="button" class="quiet" ?disabled=${this.isMaking} @click=${this.#make}>${this.isMaking ? "Getting it ready…" : "Brief me now"}</button></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.briefing ? this.#shown(this.briefing) : this.isLoaded ? html`<p class="soft">What’s new and what needs you, once a day, at your hour.</p>` : nothing}
      ${this.plan ? this.#planned(this.plan) : nothing}
    </div>`;
  }

  /** Shows this one until the newest is asked for. */
  async open(id: string) {
    this.#chosen = id;
    await this.refresh();
    this.scrollIntoView();
  }

  #showNewest() {
    this.#chosen = null;
    this.refresh();
  }

  #shown({ at, summary, lines, sources }: Briefing) {
    return html`<article class="row" aria-label="Briefing">
      <p class="soft">${sentenceCase(pointInTime(at))}${isOld(at) ? ` · ${ago(at)}` : ""}${this.#chosen ? html` <button type="button" class="link" @click=${this.#showNewest}>Show the newest</button>` : nothing}</p>
      <p class="summary">${summary}</p>
      ${lines.length ? html`<ul>${lines.map((line) => this.#line(line))}</ul>` : nothing}
      ${sources.some(({ as_of: asOf }) => asOf) ? html`<p class="soft as-of">${asOfWords(sources)}</p>` : nothing}
    </article>`;
  }

  #line({ text, topic, source, records, at, why, now }: Line) {
    return html`<li class=${topic}><span>${text}<span class="soft">${now || why}${isOld(at) ? ` ${sentenceCase(ago(at))}.` : ""}</span></span>${this.#way(topic, source, text, records[0])}</li>`;
  }

  /** The button that leads to what a line tells of. */
  #way(topic: string, source: string, text: string, record: string | undefined) {
    const way = (label: string, event: () => CustomEvent) => html`<button type="button" class="link" aria-label="${label}: ${text}" @click=${() => this.dispatchEvent(event())}>${label}</button>`;
    const jobs = (part: string) => () => new CustomEvent("showjobs", { bubbles: true, composed: true, detail: { part, id: record } });
    const approval = () => new CustomEvent("showapprovals", { bubbles: true, composed: true, detail: { id: record } });
    if (source === "matches") return way("See job", jobs("matches"));
    if (source === "applications" || source === "follow_ups") return way("Open", jobs("applications"));
    if (topic !== NEEDS_YOU) return nothing;
    return way(source === "questions" ? "Answer" : "Decide", approval);
  }

  #planned(plan: Plan) {
    const time = `${String(plan.hour).padStart(2, "0")}:${String(plan.minute).padStart(2, "0")}`;
    const check = (label: string, checked: boolean, change: (checked: boolean) => void) =>
      html`<label><input type="checkbox" .checked=${live(checked)} @change=${(event: Event) => change((event.target as HTMLInputElement).checked)}>${label}</label>`;
    return html`<details><summary>${plan.on && plan.next ? `Next briefing: ${pointInTime(plan.next)}` : "Get one every day"}</summary>
      <form @submit=${(event: Event) => event.preventDefault()}>
        ${check("Brief me", plan.on, (on) => this.#change({ on }))}
        <label>At <input class="field time" type="time" required .value=${time} @change=${this.#chooseTime}> <span class="soft">${plan.time_zone.replaceAll("_", " ")}</span></label>
        <div class="days" role="group" aria-label="On">${DAYS.map((name, day) => check(name, plan.days.includes(day), (on) => this.#chooseDay(plan, day, on)))}</div>
        ${check("By email, too", plan.mail, (mail) => this.#change({ mail }))}
        ${check("Only when something is new", plan.quiet, (quiet) => this.#change({ quiet }))}
      </form></details>`;
  }

  #chooseTime = (event: Event) => {
    const [hour, minute] = (event.target as HTMLInputElement).value.split(":").map(Number);
    if (hour !== undefined && minute !== undefined) this.#change({ hour, minute });
  };

  #chooseDay(plan: Plan, day: number, on: boolean) {
    const days = on ? [...plan.days, day].sort() : plan.days.filter((each) => each !== day);
    if (days.length) this.#change({ days });
    else this.requestUpdate(); // the last day stays: switching off is a choice of its own
  }
}

const isOld = (at: string) => Date.now() - Date.parse(at) > OLD_MS;

/** "As of today at 8:00: approvals, drafts, jobs." */
function asOfWords(sources: Source[]): string {
  const read = sources.flatMap(({ label, as_of: at }) => at === null ? [] : [{ label, moment: pointInTime(at) }]);
  const moments = Map.groupBy(read, ({ moment }) => moment);
  return [...moments].map(([moment, those]) => `As of ${moment}: ${those.map(({ label }) => label).join(", ")}.`).join(" ");
}
