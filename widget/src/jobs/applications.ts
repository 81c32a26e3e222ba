/** The board of applications, with the status and next step of each. */

import { type TemplateResult, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { timeOf } from "../time.ts";
import { applyTools } from "./apply.ts";
import type { Application } from "./types.ts";
import { dayWords, outside } from "./words.ts";

type Status = Application["status"];

const COLUMNS: Status[][] = [["preparing"], ["applied"], ["interview"], ["offer"], ["rejected", "withdrawn", "closed"]];

const USUAL_TIME = "09:00"; // of a step that has a day but no time

export class JobApplications extends AgentElement {
  static override properties = { ...AgentElement.properties, items: { state: true }, edited: { state: true }, applying: { state: true }, said: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  declare items: Application[] | null;
  declare edited: string | null;
  /** Id of the application whose form is open. */
  declare applying: string | null;
  declare said: string;

  constructor() {
    super();
    Object.assign(this, { items: null, edited: null, applying: null, said: "" });
  }

  override async refresh() {
    await this.load(strings.applications.couldNotLoad, async () => {
      this.items = (await this.backend.json<{ items: Application[] }>("GET", "/api/applications")).items;
    });
  }

  async #change({ id, job }: Application, body: Partial<Application>, said: string) {
    await this.attempt(strings.shared.couldNotChange, async () => {
      await this.backend.json("PATCH", `/api/applications/${encodeURIComponent(id)}`, { body });
      Object.assign(this, { edited: null, said: strings.shared.labeled(job.title, said) });
      await this.refresh();
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>(`[data-application="${CSS.escape(id)}"] select`)?.focus();
    });
  }

  /** Sends only the changed fields: an untouched suggestion is not the user's own step. */
  #save(application: Application, event: Event) {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const told = (name: string) => String(data.get(name)).trim();
    const [before, day, time] = [fieldsOf(application), told("day"), told("time")];
    const body: Partial<Application> = {
      ...(told("next_step") !== before.step && { next_step: told("next_step") }),
      ...((day !== before.day || time !== before.time) && { next_at: day ? new Date(`${day}T${time || USUAL_TIME}`).toISOString() : null }),
      ...(told("notes") !== before.notes && { notes: told("notes") }),
    };
    if (Object.keys(body).length) this.#change(application, body, strings.applications.saved);
    else this.edited = null;
  }

  #closed(id: string) {
    this.applying = null;
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`[data-application="${CSS.escape(id)}"] .apply`)?.focus());
    this.refresh();
  }

  override render(): TemplateResult {
    const { items } = this;
    return html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <p class="spoken" role="status">${this.said}</p>
      ${items?.length ? html`<div class="board">${COLUMNS.map((statuses) => this.#column(statuses, items.filter(({ status }) => statuses.includes(status))))}</div>` : nothing}
      ${items && !items.length ? html`<p class="empty">${strings.applications.empty}</p>` : nothing}`;
  }

  #column([status, ...more]: Status[], items: Application[]) {
    const heading = more.length ? strings.applications.over : strings.applications.statuses[status!];
    return html`<section aria-label=${heading}><h3>${heading} <span class="soft">${items.length || ""}</span></h3><ul>${items.map((each) => this.#row(each))}</ul></section>`;
  }

  #row(application: Application) {
    const { id, job, status, next_step: step, applied_at: applied, notes } = application;
    const next = application.next_at ?? application.due_at;
    const fields = fieldsOf(application);
    const isDue = next !== null && Date.parse(next) <= Date.now();
    const choose = (event: Event) => {
      const to = (event.target as HTMLSelectElement).value as Status;
      this.#change(application, { status: to }, strings.applications.statuses[to]);
    };
    return html`<li class="row application" data-application=${id} aria-label=${job.title}>
      <div><strong>${job.title}</strong><p class="soft">${job.company}${applied ? ` · ${strings.applications.appliedOn(dayWords(applied))}` : ""} ${outside(job.url, strings.shared.open)}</p></div>
      ${step || next ? html`<p class=${isDue ? "due" : ""}>${step || strings.applications.nextStep}${next ? html` <span class="soft">${momentWords(next, status, isDue)}</span>` : nothing}</p>` : nothing}
      ${notes ? html`<p class="soft text">${notes}</p>` : nothing}
      ${this.applying === id ? html`<qwestly-jobs-apply endpoint=${this.endpoint} token-url=${this.tokenUrl ?? nothing} .getToken=${this.getToken} job-id=${job.id} job-title=${job.title} @closed=${() => this.#closed(id)}></qwestly-jobs-apply>` : status === "preparing" ? html`<div class="tools">${applyTools(this, job.title, application, () => (this.applying = id))}${application.can_apply ? html`<button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.apply.iSentIt, job.title)} @click=${() => this.#change(application, { status: "applied" }, strings.applications.statuses.applied)}>${strings.apply.iSentIt}</button>` : nothing}</div>` : nothing}
      <div class="tools"><select class="field" aria-label=${strings.applications.statusOf(job.title)} @change=${choose}>${Object.entries(strings.applications.statuses).map(([value, label]) => html`<option value=${value} ?selected=${value === status}>${label}</option>`)}</select>
        <button type="button" class="link" aria-label=${strings.shared.labeled(strings.shared.edit, job.title)} aria-expanded=${this.edited === id} @click=${() => (this.edited = this.edited === id ? null : id)}>${strings.shared.edit}</button></div>
      ${this.edited === id ? html`<form class="applying" @submit=${(event: Event) => this.#save(application, event)}>
        <label class="soft">${strings.applications.nextStep} <input class="field" name="next_step" maxlength="200" autocomplete="off" .value=${fields.step}></label>
        <label class="soft">${strings.applications.byDay} <input class="field" type="date" name="day" .value=${fields.day}></label>
        <label class="soft">${strings.applications.time} <input class="field" type="time" name="time" .value=${fields.time}></label>
        <label class="soft">${strings.applications.notes} <textarea class="field" name="notes" rows="3" maxlength="2000" .value=${fields.notes}></textarea></label>
        <div class="tools"><button class="quiet">${strings.shared.save}</button></div></form>` : nothing}
    </li>`;
  }
}

/** The initial values of an application's fields. */
const fieldsOf = ({ next_step: step, next_at: next, notes }: Application) => ({ step: step ?? "", notes: notes ?? "", day: next ? localDay(next) : "", time: next ? localTime(next) : "" });

/** The format of a date input: "2026-11-24". */
function localDay(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** The time of the next step: interviews have a time of day, and overdue steps their due date. */
function momentWords(next: string, status: Status, isDue: boolean): string {
  const moment = status === "interview" ? strings.time.at(dayWords(next), timeOf(next)) : dayWords(next);
  return isDue ? strings.applications.since(moment) : status === "interview" ? strings.applications.on(moment) : strings.applications.by(moment);
}

/** The format of a time input: "14:30". */
const localTime = (moment: string) => new Date(moment).toTimeString().slice(0, 5);
