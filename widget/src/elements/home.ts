/** <qwestly-home>: what needs the person, what is new, and where they are going. */

import { type TemplateResult, css, html, nothing } from "lit";

import type { ApprovalView } from "../api.ts";
import { Approvals } from "../approvals.ts";
import type { JobMatch } from "../jobs/types.ts";
import { strings } from "../strings.ts";
import { APPROVAL_STYLES } from "../styles/approvals.ts";
import { CONTROL_STYLES } from "../styles/controls.ts";
import { DOCUMENT_STYLES } from "../styles/document.ts";
import { pointInTime } from "../time.ts";
import { sentenceCase } from "../words.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

/** A part of the app; the page that embeds the element shows it. */
type Place = "activity" | "applications" | "approvals" | "documents" | "interviews" | "jobs" | "lessons" | "memories" | "resumes" | "wishes";
interface Action { label: string; place: Place; id: string | null }
interface Line { text: string; topic: string; records: string[]; when: string; why: string; now: string; action: Action }
interface Going {
  goal: string;
  step: { application_id: string; job: string; step: string; at: string } | null;
  lesson: { topic: string; module: string; why: string } | null;
}
interface Home {
  name: string;
  hour: number;
  summary: string;
  counts: { needs_you: number; waiting: number; due: number; unread: number };
  needs_you: Line[];
  first: ApprovalView | null;
  new: Line[];
  jobs: JobMatch[];
  going: Going;
  missing: string[];
}

const POLL_MS = 15_000;

export class QwestlyHome extends AgentElement {
  static override properties = { ...AgentElement.properties, home: { state: true } };
  static override styles = [BASE_STYLES, CONTROL_STYLES, APPROVAL_STYLES, DOCUMENT_STYLES, css`
    section, header { display: grid; gap: .5rem; }
    header { gap: .25rem; }
    form { display: flex; gap: .5rem; }
    li { display: flex; gap: .75rem; align-items: baseline; }
    li > span { flex: 1; }
    li span.soft { display: block; }
    li.failed > span { padding-inline-start: .7rem; border-inline-start: 3px solid var(--danger); }
    .reasons { display: block; margin-block-start: .15rem; }
  `];

  declare home: Home | null;
  #approvals: Approvals | null = null;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor() {
    super();
    this.home = null;
  }

  override connectedCallback() {
    super.connectedCallback();
    this.#timer = setInterval(() => !document.hidden && this.checkVisibility() && this.refresh(), POLL_MS);
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
        await this.refresh();
      },
      changed: () => this.requestUpdate(),
    });
    return this.#approvals;
  }

  override async refresh() {
    await this.load(strings.home.couldNotLoad, async () => {
      const before = this.home?.first?.approval_id;
      const home = await this.backend.json<Home>("GET", "/api/home");
      if (home.first) this.#known.learn(home.first);
      // What was decided here stays until its outcome is known.
      if (before && before !== home.first?.approval_id && this.#known.isUnderWay(before)) await this.#known.readAll();
      this.home = home;
      const { needs_you: needs, waiting, due, unread } = home.counts;
      this.dispatchEvent(new CustomEvent("needsyou", { detail: { count: needs }, bubbles: true, composed: true }));
      this.dispatchEvent(new CustomEvent("approvalswaiting", { detail: { count: waiting }, bubbles: true, composed: true }));
      this.dispatchEvent(new CustomEvent("lessonswaiting", { detail: { due, unread }, bubbles: true, composed: true }));
    });
  }

  override render(): TemplateResult {
    const { home } = this;
    return html`<div class="page">
      <header><h2>${home ? strings.home.greeting(home.hour, home.name) : strings.home.title}</h2>${home?.summary ? html`<p class="soft">${home.summary}</p>` : nothing}</header>
      <form @submit=${this.#say}><input class="field" name="words" autocomplete="off" aria-label=${strings.home.ask} placeholder=${strings.home.ask}><button class="quiet">${strings.shared.send}</button></form>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${home ? this.#shown(home) : nothing}
    </div>`;
  }

  #shown({ needs_you: needs, first, new: news, jobs, going, missing }: Home) {
    const others = needs.filter(({ records }) => !first || records[0] !== first.approval_id);
    const hasNews = news.length || jobs.length;
    const hasWay = going.goal || going.step || going.lesson;
    return html`
      ${first || others.length ? this.#section(strings.home.needsYou, html`${first && this.#known.has(first.approval_id) ? this.#known.card(first.approval_id, "list").element : nothing}${others.length ? this.#lines(others) : nothing}`) : nothing}
      ${hasNews ? this.#section(strings.home.isNew, html`${jobs.length ? html`<ul class="lines">${jobs.map((job) => this.#job(job))}</ul>` : nothing}${news.length ? this.#lines(news) : nothing}`) : nothing}
      ${hasWay ? this.#section(strings.home.going, this.#way(going)) : nothing}
      ${needs.length || hasNews || hasWay ? nothing : this.#section(strings.home.begin, html`<ul class="lines">${(strings.home.beginnings as [string, string, Place][]).map(([words, label, place]) => html`<li><span>${words}</span>${this.#button(label, place, null, words)}</li>`)}</ul>`)}
      ${missing.length ? html`<p class="soft">${strings.home.missing(missing.join(", "))}</p>` : nothing}`;
  }

  #section(title: string, content: TemplateResult) {
    return html`<section aria-label=${title}><h3>${title}</h3>${content}</section>`;
  }

  #lines(lines: Line[]) {
    return html`<ul class="lines">${lines.map(({ text, topic, when, why, now, action }) => html`<li class=${topic}><span>${text}<span class="soft">${[now || why, `${sentenceCase(when)}.`].join(" ")}</span></span>${this.#button(action.label, action.place, action.id, text)}</li>`)}</ul>`;
  }

  #job({ id, title, company, reasons_for: reasons }: JobMatch) {
    return html`<li><span><strong>${title}</strong>${company ? `, ${company}` : ""}<span class="soft reasons">${reasons.map(({ text }) => text).join(" · ")}</span></span>${this.#button(strings.home.seeJob, "jobs", id, title)}</li>`;
  }

  #way({ goal, step, lesson }: Going) {
    return html`<ul class="lines">
      ${goal ? html`<li><span>${goal}<span class="soft">${strings.home.goal}</span></span></li>` : nothing}
      ${step ? html`<li><span>${step.step}: ${step.job}<span class="soft">${sentenceCase(pointInTime(step.at))}.</span></span>${this.#button(strings.shared.open, "applications", step.application_id, step.job)}</li>` : nothing}
      ${lesson ? html`<li><span>${lesson.topic}<span class="soft">${lesson.why}</span></span>${this.#button(strings.home.learn, "lessons", null, lesson.topic)}</li>` : nothing}
    </ul>`;
  }

  #button(label: string, place: Place, id: string | null, about: string) {
    const show = () => this.dispatchEvent(new CustomEvent("showplace", { bubbles: true, composed: true, detail: { place, id } }));
    return html`<button type="button" class="link" aria-label=${strings.shared.labeled(label, about)} @click=${show}>${label}</button>`;
  }

  #say = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const words = String(new FormData(form).get("words")).trim();
    if (!words) return;
    form.reset();
    this.dispatchEvent(new CustomEvent("say", { bubbles: true, composed: true, detail: { words } }));
  };
}
