/** The found jobs: reasons for and against, actions for each, and a search on demand. */

import { type TemplateResult, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { pointInTime } from "../time.ts";
import { applyTools } from "./apply.ts";
import type { Application, DocumentKind, DocumentView, Fit, JobList, JobMatch, MatchStatus, Reason, Verdict } from "./types.ts";
import { dayWords, outside, payOfAYear, payWords } from "./words.ts";

const POLL_MS = 3_000; // while a search runs
const MOST_LISTED = 50;
const LISTS: MatchStatus[] = ["new", "saved", "hidden"];

const FITS: (Fit | null | undefined)[] = ["strong", "good", "stretch"];
const SORTS = {
  found: () => 0,
  fit: (one: JobMatch, other: JobMatch) => rankOf(one) - rankOf(other),
  pay: (one: JobMatch, other: JobMatch) => payOfAYear(other.pay) - payOfAYear(one.pay),
  age: (one: JobMatch, other: JobMatch) => Date.parse(other.posted_at ?? "1970-01-01") - Date.parse(one.posted_at ?? "1970-01-01"),
};
type Sort = keyof typeof SORTS;
const rankOf = ({ fit }: JobMatch) => (FITS.includes(fit) ? FITS.indexOf(fit) : FITS.length);

/** A job that was just moved out of the list: its new status and its previous one. */
type Move = { to: MatchStatus; from: MatchStatus };

const pathOf = (id: string) => `/api/jobs/${encodeURIComponent(id)}`;

export class JobMatches extends AgentElement {
  static override properties = {
    ...AgentElement.properties, canApply: { attribute: false },
    shown: { state: true }, list: { state: true }, moved: { state: true }, adverts: { state: true }, applications: { state: true }, form: { state: true }, more: { state: true }, said: { state: true }, fit: { state: true }, sort: { state: true },
  };
  static override styles = [BASE_STYLES, JOB_STYLES];

  /** Null until it is known; no job is read before, as its buttons would move. */
  declare canApply: boolean | null;
  declare shown: MatchStatus;
  declare list: JobList | null;
  declare moved: Map<string, Move>;
  /** Texts by job, read when they are opened. */
  declare adverts: Map<string, string>;
  /** Applications by id; null if the server does not support them, or until they are loaded. */
  declare applications: Map<string, Application> | null;
  /** Id of the job that is being applied for. */
  declare form: string | null;
  /** Id of the job whose other actions are shown. */
  declare more: string | null;
  /** The result of the last request in a sentence, by job. */
  declare said: Map<string, string>;
  /** The fit to show; empty for any. */
  declare fit: Fit | "";
  declare sort: Sort;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = 0;

  constructor() {
    super();
    Object.assign(this, { canApply: null, shown: "new", list: null, moved: new Map(), adverts: new Map(), applications: null, form: null, more: null, said: new Map(), fit: "", sort: "found" });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    if (this.canApply === null) return;
    clearTimeout(this.#timer);
    const reading = ++this.#reading;
    await this.load(strings.jobs.couldNotLoad, async () => {
      const list = await this.backend.json<JobList>("GET", `/api/jobs?status=${this.shown}&limit=${MOST_LISTED}`);
      const applications = this.canApply && list.items.some(({ application_id: id }) => id) ? await this.#readApplications() : null;
      if (reading === this.#reading) Object.assign(this, { applications, list: { ...list, items: this.#kept(list.items) } });
    });
    if (reading === this.#reading && this.isConnected && this.list?.is_searching) this.#timer = setTimeout(() => this.refresh(), POLL_MS);
  }

  async #readApplications() {
    const { items } = await this.backend.json<{ items: Application[] }>("GET", "/api/applications");
    return new Map(items.map((each) => [each.id, each]));
  }

  /** Jobs that were just moved keep their place in the list, so that the move can be undone there. */
  #kept(items: JobMatch[]): JobMatch[] {
    if (!this.moved.size || !this.list) return items;
    const fresh = new Map(items.map((each) => [each.id, each]));
    const stays = this.list.items.filter(({ id }) => fresh.has(id) || this.moved.has(id)).map((each) => fresh.get(each.id) ?? each);
    const known = new Set(stays.map(({ id }) => id));
    return [...stays, ...items.filter(({ id }) => !known.has(id))];
  }

  #show(status: MatchStatus) {
    Object.assign(this, { shown: status, list: null, moved: new Map(), form: null, more: null, said: new Map() });
    this.refresh();
  }

  #put(job: JobMatch) {
    this.#reading++; // a pending response is older than this
    if (this.list) this.list = { ...this.list, items: this.list.items.map((each) => (each.id === job.id ? job : each)) };
  }

  async #move(job: JobMatch, to: MatchStatus) {
    await this.attempt(strings.shared.couldNotChange, async () => {
      this.#put(await this.backend.json<JobMatch>("PUT", pathOf(job.id), { body: { status: to } }));
      const moved = new Map(this.moved);
      if (to === this.shown) moved.delete(job.id);
      else moved.set(job.id, { to, from: job.status });
      this.moved = moved;
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>(`[data-job="${CSS.escape(job.id)}"] :is(.undo, h3)`)?.focus();
    });
  }

  async #judge(job: JobMatch, pressed: Verdict) {
    const verdict = job.verdict === pressed ? null : pressed;
    await this.attempt(strings.shared.couldNotSave, async () => {
      this.#put(await this.backend.json<JobMatch>("POST", `${pathOf(job.id)}/verdict`, { body: { verdict } }));
      this.#tell(job.id, verdict === null ? strings.shared.undone : strings.matches.judged);
    });
  }

  #tell(job: string, sentence: string) {
    this.said = new Map([...this.said, [job, sentence]]);
  }

  async #search() {
    await this.attempt(strings.matches.couldNotSearch, async () => {
      await this.backend.json("POST", "/api/jobs/search");
      if (this.list) this.list = { ...this.list, is_searching: true };
      this.#timer = setTimeout(() => this.refresh(), POLL_MS);
    });
  }

  async #read({ id }: JobMatch) {
    if (this.adverts.has(id)) return;
    await this.attempt(strings.matches.couldNotOpen, async () => {
      const { text } = await this.backend.json<{ text: string }>("GET", pathOf(id));
      this.adverts = new Map([...this.adverts, [id, text]]);
    });
  }

  async #write(job: JobMatch, kind: DocumentKind) {
    await this.attempt(strings.matches.couldNotStart, async () => {
      const { id } = await this.backend.json<DocumentView>("POST", `${pathOf(job.id)}/documents`, { body: { kind } });
      this.#go("documents", id);
    });
  }

  #go(part: string, id: string | null = null) {
    this.dispatchEvent(new CustomEvent("part", { detail: { part, id } }));
  }

  #applied(job: JobMatch, { detail: { how } }: CustomEvent<{ how: "applied" | "sent" | "cancelled" }>) {
    this.form = null;
    if (how === "applied") this.#tell(job.id, strings.matches.waiting);
    if (how === "sent") this.#tell(job.id, strings.applications.statuses.applied);
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>(`[data-job="${CSS.escape(job.id)}"] .apply`)?.focus());
    this.refresh();
  }

  override render(): TemplateResult {
    const { list } = this;
    return html`
      <div class="head"><div class="tools" role="group" aria-label=${strings.matches.which}>${LISTS.map((status) => html`<button type="button" class="quiet" aria-pressed=${this.shown === status} @click=${() => this.#show(status)}>${strings.matches.lists[status].label}</button>`)}</div>
        <button type="button" class="${list && !list.has_wishes ? "main-button" : "quiet"} end" @click=${() => this.#go("wishes")}>${list && !list.has_wishes ? strings.matches.tellUs : strings.matches.changeWishes}</button>
        <button type="button" class="quiet" ?disabled=${list?.is_searching} @click=${this.#search}>${list?.is_searching ? strings.matches.searching : strings.matches.search}</button></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${list ? html`
        <p class="soft">${[list.searched_at ? strings.matches.lastSearched(pointInTime(list.searched_at)) : "", ...list.missing].filter(Boolean).join(" ")}</p>
        ${list.items.length > 1 ? this.#choices() : nothing}
        <ul aria-label=${strings.matches.label}>${this.#chosen(list.items).map((job) => this.#row(job))}</ul>
        ${!list.items.length ? this.#empty(list) : this.#chosen(list.items).length ? nothing : html`<p class="empty">${strings.matches.noneFits}</p>`}` : nothing}`;
  }

  #chosen(items: JobMatch[]) {
    return items.filter(({ id, fit }) => !this.fit || fit === this.fit || this.moved.has(id)).sort(SORTS[this.sort]);
  }

  #choices() {
    const options = (named: object, chosen: string) => Object.entries(named).map(([value, label]) => html`<option value=${value} ?selected=${value === chosen}>${label}</option>`);
    const value = (event: Event) => (event.target as HTMLSelectElement).value;
    return html`<div class="tools choices"><label>${strings.matches.show} <select class="field" name="fit" @change=${(event: Event) => (this.fit = value(event) as Fit | "")}>${options({ "": strings.matches.anyFit, ...strings.matches.fit }, this.fit)}</select></label>
      <label>${strings.matches.sort} <select class="field" name="sort" @change=${(event: Event) => (this.sort = value(event) as Sort)}>${options(strings.matches.sorts, this.sort)}</select></label></div>`;
  }

  #empty({ has_wishes, searched_at }: JobList) {
    if (this.shown !== "new") return html`<p class="empty">${strings.matches.lists[this.shown].empty}</p>`;
    return html`<p class="empty">${has_wishes && searched_at ? strings.matches.foundNothing : strings.matches.lists.new.empty}</p>`;
  }

  #row(job: JobMatch) {
    const move = this.moved.get(job.id);
    if (move) {
      return html`<li class="row moved" data-job=${job.id}><span>${strings.shared.labeled(job.title, strings.matches.moved[move.to])}</span>
        <button type="button" class="link undo" aria-label=${strings.shared.labeled(strings.shared.undo, job.title)} @click=${() => this.#move(job, move.from)}>${strings.shared.undo}</button></li>`;
    }
    const { title, company, place, is_remote: isRemote, pay, posted_at: posted, url, attribution, is_closed: isClosed } = job;
    const way = job.remote_within?.length ? strings.matches.remoteWithin(job.remote_within.join(", ")) : strings.matches.ways[job.way ?? (isRemote ? "remote" : "on_site")];
    const facts = [company, place, way, pay ? payWords(pay) : "", posted ? strings.matches.posted(dayWords(posted)) : ""];
    return html`<li class="row job" data-job=${job.id} aria-label=${title}>
      <div><div class="head"><h3 tabindex="-1">${title}</h3>${job.fit ? html`<p class="badge fit">${strings.matches.fit[job.fit]}</p>` : nothing}${isClosed ? html`<p class="badge">${strings.matches.closed}</p>` : nothing}</div>
        <p class="soft">${facts.filter(Boolean).join(" · ")}</p><p class="soft">${attribution} ${outside(url, strings.matches.original)}</p></div>
      ${(job.warnings ?? []).map(({ text, quote }) => html`<div class="reasons warning"><p><strong>${strings.matches.warning}:</strong> ${text}</p><blockquote>${strings.shared.quoted(quote)}<cite>${strings.jobs.posting}</cite></blockquote></div>`)}
      ${this.#reasons(strings.matches.fits, "for", job.reasons_for)}${this.#reasons(strings.matches.drawbacks, "against", job.reasons_against)}
      <details class="advert" @toggle=${(event: Event) => (event.target as HTMLDetailsElement).open && this.#read(job)}><summary>${strings.jobs.posting}</summary>
        <p class="text">${this.adverts.get(job.id) ?? strings.shared.loading}</p></details>
      <div class="tools">
        ${!isClosed && this.canApply ? this.#applyTools(job) : nothing}
        ${isClosed ? nothing : this.#action(strings.matches.writeResume, job, () => this.#write(job, "resume"))}
        ${job.status === "new" ? this.#action(strings.shared.save, job, () => this.#move(job, "saved")) : this.#action(strings.matches.backToNew, job, () => this.#move(job, "new"))}
        <button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.matches.others, title)} aria-expanded=${this.more === job.id} @click=${() => (this.more = this.more === job.id ? null : job.id)}>${strings.matches.others}</button>
      </div>
      ${this.more === job.id ? this.#others(job, isClosed) : nothing}
      ${this.form === job.id ? html`<qwestly-jobs-apply endpoint=${this.endpoint} token-url=${this.tokenUrl ?? nothing} .getToken=${this.getToken} job-id=${job.id} job-title=${title} @closed=${(event: CustomEvent) => this.#applied(job, event)}></qwestly-jobs-apply>` : nothing}
      <p class="soft" role="status" ?hidden=${!this.said.has(job.id)}>${this.said.get(job.id)}</p>
    </li>`;
  }

  #others(job: JobMatch, isClosed: boolean) {
    return html`<div class="tools" role="group" aria-label=${strings.matches.others}>
      ${isClosed ? nothing : this.#action(strings.matches.writeLetter, job, () => this.#write(job, "cover_letter"))}
      ${job.application_id ? this.#action(strings.matches.yourApplication, job, () => this.#go("applications", job.application_id)) : nothing}
      ${job.status === "hidden" ? this.#action(strings.shared.save, job, () => this.#move(job, "saved")) : this.#action(strings.matches.hide, job, () => this.#move(job, "hidden"))}
      ${this.#verdict(job, "up", strings.matches.more)}${this.#verdict(job, "down", strings.matches.less)}${this.#verdict(job, "not_this_kind", strings.matches.notThisKind)}
    </div>`;
  }

  #applyTools({ id, title, application_id: known }: JobMatch) {
    const application = known === null ? null : this.applications?.get(known);
    return application === undefined ? nothing : applyTools(this, title, application, () => (this.form = id));
  }

  #action = (label: string, { title }: JobMatch, click: () => void) =>
    html`<button type="button" class="quiet" aria-label=${strings.shared.labeled(label, title)} @click=${click}>${label}</button>`;

  #verdict(job: JobMatch, verdict: Verdict, label: string) {
    return html`<button type="button" class="quiet" aria-pressed=${job.verdict === verdict} @click=${() => this.#judge(job, verdict)}>${label}</button>`;
  }

  #reasons(heading: string, kind: "for" | "against", reasons: Reason[]) {
    return reasons.length ? html`<div class="reasons ${kind}"><h4>${heading}</h4><ul>${reasons.map(reasonRow)}</ul></div>` : nothing;
  }
}

const reasonRow = ({ text, advert_quote: advert, person_quote: person, person_source: source }: Reason) => html`<li><details><summary>${text}</summary>
  <blockquote>${strings.shared.quoted(advert)}<cite>${strings.jobs.posting}</cite></blockquote>
  ${person ? html`<blockquote>${strings.shared.quoted(person)}<cite>${source ?? strings.matches.you}</cite></blockquote>` : nothing}</details></li>`;
