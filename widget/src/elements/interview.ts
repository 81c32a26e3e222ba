/** <qwestly-interview>: an interview or the onboarding: the conversation, and the growing draft next to it. */

import { type TemplateResult, html, nothing } from "lit";
import { repeat } from "lit/directives/repeat.js";

import type { AspectView, InterviewSummary, InterviewVersion, InterviewView, StatementView, TopicView } from "../api.ts";
import { icon } from "../dom.ts";
import { strings } from "../strings.ts";
import { INTERVIEW_STYLES } from "../styles/interview.ts";
import { pointInTime } from "../time.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";
import type { QwestlyChat } from "./chat.ts";

const POLL_MS = 2_000; // while the draft is being written
const MOST_CHARACTERS = 80; // in the name of a topic or an aspect

type Role = "interview" | "onboarding";
type Form = { kind: "topic" } | { kind: "aspect"; topic: string; name: string | null };

const MINUTES = [15, 30, 45, 60];

export class QwestlyInterview extends AgentElement {
  static override properties = {
    ...AgentElement.properties,
    items: { state: true }, openRole: { state: true }, shown: { state: true }, view: { state: true }, tab: { state: true },
    form: { state: true }, versions: { state: true }, said: { state: true }, isLoaded: { state: true },
  };
  static override styles = [BASE_STYLES, INTERVIEW_STYLES];

  declare items: InterviewSummary[];
  /** The role of the open interview; null while the user chooses one. */
  declare openRole: Role | null;
  /** Id of the interview's conversation; null until the first message is sent. */
  declare shown: string | null;
  declare view: InterviewView | null;
  declare tab: "chat" | "draft";
  declare form: Form | null;
  declare versions: InterviewVersion[] | null;
  declare said: string;
  declare isLoaded: boolean;
  #opened: string | null = null; // the value with which the chat was opened
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = 0;

  constructor() {
    super();
    Object.assign(this, { items: [], openRole: null, shown: null, view: null, tab: "chat", form: null, versions: null, said: "", isLoaded: false });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    if (this.openRole) return this.#read();
    await this.load(strings.interview.couldNotLoad, async () => {
      this.items = (await this.backend.json<{ items: InterviewSummary[] }>("GET", "/api/interviews")).items;
      this.isLoaded = true;
    });
  }

  get #path() {
    return `/api/interviews/${encodeURIComponent(this.shown!)}`;
  }

  get #chat() {
    return this.renderRoot.querySelector<QwestlyChat>("qwestly-chat");
  }

  /** Reads the draft repeatedly until it includes the newest answer. */
  async #read() {
    clearTimeout(this.#timer);
    if (!this.shown) return;
    const reading = ++this.#reading;
    await this.load(strings.interview.couldNotLoadDraft, async () => {
      const view = await this.backend.json<InterviewView>("GET", this.#path);
      if (reading === this.#reading) this.#take(view);
    });
    if (reading !== this.#reading || !this.isConnected) return;
    if (this.view?.is_writing) this.#timer = setTimeout(() => this.#read(), POLL_MS);
  }

  #take(view: InterviewView) {
    const before = this.view;
    this.view = view;
    if (before && view.version !== before.version) {
      const count = view.draft.filter(({ is_new }) => is_new).length;
      this.said = count ? strings.interview.draftGrew(count) : strings.interview.draftChanged;
      if (this.versions) this.#readVersions();
    }
  }

  #open(role: Role, id: string | null) {
    Object.assign(this, { openRole: role, shown: id, view: null, tab: "chat", form: null, versions: null, said: "", problem: "" });
    this.#opened = id;
    this.#read();
    this.updateComplete.then(() => {
      this.renderRoot.querySelector<HTMLElement>("h2")?.focus();
      if (id === null) this.#chat?.send(strings.interview.beginnings[role], role); // the first question stands without another click
    });
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#reading++;
    Object.assign(this, { openRole: null, shown: null, view: null });
    this.refresh();
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>("h2")?.focus());
  }

  #became({ detail: { id } }: CustomEvent<{ id: string | null }>) {
    if (id === this.shown) return;
    this.#reading++;
    Object.assign(this, { shown: id, view: null, versions: null });
  }

  async #change(method: string, where: string, body: unknown, said: string) {
    const reading = ++this.#reading; // ignore pending responses, which are older than this change
    await this.attempt(strings.shared.couldNotChange, async () => {
      const view = await this.backend.json<InterviewView>(method, `${this.#path}${where}`, { body });
      if (reading !== this.#reading) return;
      this.form = null;
      this.#take(view);
      this.said = said;
    });
    await this.#read();
  }

  #say(text: string) {
    this.tab = "chat";
    if (!this.#chat?.send(text)) this.said = strings.interview.waitForAnswer;
  }

  async #finish() {
    await this.#change("POST", "/finish", {}, strings.interview.finishedAndSaved);
  }

  async #goOn() {
    await this.#change("POST", "/continue", {}, strings.interview.goesOn);
    if (!this.problem) this.#say(strings.interview.goOnWords);
  }

  async #download() {
    await this.attempt(strings.shared.couldNotDownload, async () => {
      const response = await this.backend.call("GET", `${this.#path}/draft`);
      const address = URL.createObjectURL(await response.blob());
      Object.assign(document.createElement("a"), { href: address, download: "interview.md" }).click();
      setTimeout(() => URL.revokeObjectURL(address)); // after the download has started
    });
  }

  async #readVersions() {
    await this.load(strings.interview.couldNotLoadVersions, async () => {
      this.versions = (await this.backend.json<{ items: InterviewVersion[] }>("GET", `${this.#path}/versions`)).items;
    });
  }

  override updated(changed: Map<string, unknown>) {
    if (!changed.has("form")) return;
    const first = this.form ? "form input" : "#add-topic";
    if (this.form || changed.get("form")) this.renderRoot.querySelector<HTMLElement>(first)?.focus();
  }

  override render(): TemplateResult {
    return this.openRole ? this.#interview(this.openRole) : this.#choice();
  }

  #choice() {
    return html`<div class="page">
      <div class="head"><h2 tabindex="-1">${strings.interview.title}</h2></div>
      <p class="soft">${strings.interview.about}</p>
      <div class="tools">
        <button type="button" class="main-button" @click=${() => this.#open("interview", null)}>${strings.interview.start}</button>
        <button type="button" class="quiet" @click=${() => this.#open("onboarding", null)}>${strings.interview.setUp}</button>
      </div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <ul aria-label=${strings.interview.list}>${this.items.map((item) => this.#row(item))}</ul>
      ${this.isLoaded && !this.items.length ? html`<p class="empty">${strings.interview.empty}</p>` : nothing}
    </div>`;
  }

  #row({ id, title, role, last_used: used, completeness, ended }: InterviewSummary) {
    const names: Record<string, string> = strings.interview.names;
    const [name, open] = [title || (names[role] ?? ""), ended ? strings.shared.open : strings.shared.continue];
    const facts = [names[role] ?? role, strings.interview.covered(percent(completeness)), ended && strings.interview.finished, pointInTime(used)];
    return html`<li class="row interview">
      <span class="title">${name}</span>
      <span class="soft">${facts.filter(Boolean).join(" · ")}</span>
      <button type="button" class="quiet" aria-label=${strings.shared.labeled(open, name)} @click=${() => this.#open(role === "onboarding" ? "onboarding" : "interview", id)}>${open}</button>
    </li>`;
  }

  #interview(role: Role) {
    const tab = (name: "chat" | "draft", label: string) => html`<button type="button" aria-pressed=${this.tab === name} @click=${() => (this.tab = name)}>${label}</button>`;
    return html`<div class="room" data-tab=${this.tab}>
      <div class="top">
        <button type="button" class="quiet" @click=${() => this.#leave()}>${strings.interview.all}</button>
        <h2 tabindex="-1">${strings.interview.names[role]}</h2>
        <div class="tabs" role="group" aria-label=${strings.shared.show}>${tab("chat", strings.interview.conversation)}${tab("draft", strings.interview.draft)}</div>
      </div>
      <qwestly-chat agent-role=${role} endpoint=${this.endpoint} token-url=${this.tokenUrl ?? nothing} conversation=${this.#opened ?? ""}
        brand-color=${this.getAttribute("brand-color") ?? nothing} .getToken=${this.getToken} @conversationchange=${this.#became} @turnend=${() => this.#read()}>
        <button type="button" slot="suggestion">${strings.interview.beginnings[role]}</button>
      </qwestly-chat>
      <section class="side" aria-label=${strings.interview.draftAndTopics}>
        <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
        <p class="spoken" role="status">${this.said}</p>
        ${this.view ? this.#side(this.view) : html`<p class="empty">${strings.interview.draftGrowsHere}</p>`}
      </section>
    </div>`;
  }

  #side(view: InterviewView) {
    return html`${this.#state(view)}${this.#draft(view)}${this.#topics(view)}`;
  }

  #state(view: InterviewView) {
    const choose = (event: Event) => {
      const { value } = event.target as HTMLSelectElement;
      this.#change("PUT", "/time", { minutes: value ? Number(value) : null }, value ? strings.interview.minutesTotal(value) : strings.interview.noTimeLimit);
    };
    const choices = [...new Set([...MINUTES, ...(view.minutes ? [view.minutes] : [])])].sort((a, b) => a - b);
    return html`<div class="state">
      <p><strong>${strings.interview.phases[view.phase]}</strong> <span class="soft">${strings.interview.covered(percent(view.completeness))}</span></p>
      <progress max="1" .value=${view.completeness} aria-label=${strings.interview.howMuchCovered}></progress>
      ${view.ended ? html`<p class="soft">${strings.interview.endings[view.ended]}${view.ended_by ? ` ${strings.shared.quoted(view.ended_by)}` : ""}</p>` : nothing}
      ${view.why ? html`<p class="soft">${strings.interview.whyAsked(view.why)}</p>` : nothing}
      <div class="tools">
        <label class="soft">${strings.interview.time} <select class="field" ?disabled=${view.ended !== null} @change=${choose}>
          <option value="" ?selected=${view.minutes === null}>${strings.interview.noLimit}</option>
          ${choices.map((each) => html`<option value=${each} ?selected=${view.minutes === each}>${strings.interview.minutes(each)}</option>`)}</select></label>
        ${view.ended ? nothing : html`<button type="button" class="quiet" @click=${() => this.#say(strings.interview.skip)}>${strings.interview.skipButton}</button>
          <button type="button" class="quiet" @click=${() => this.#say(strings.interview.whyWords)}>${strings.interview.whyButton}</button>`}
        ${view.ended ? html`<button type="button" class="quiet" @click=${() => this.#goOn()}>${strings.interview.goOn}</button>` : html`<button type="button" class="quiet" @click=${() => this.#finish()}>${strings.interview.finish}</button>`}
      </div>
    </div>`;
  }

  #topics(view: InterviewView) {
    const isFixed = view.role === "onboarding";
    const waiting = view.topics.filter(waits).sort((one, other) => other.priority - one.priority);
    const topics = isFixed ? view.topics : [...view.topics.filter(({ status }) => status === "active"), ...waiting, ...view.topics.filter(({ status }) => status === "completed")];
    return html`<section aria-labelledby="topics"><h3 id="topics">${isFixed ? strings.interview.agenda : strings.interview.topics}</h3>
      <ul class="topics">${repeat(topics, ({ title }) => title, (topic) => this.#topic(topic, isFixed, waiting))}</ul>
      ${isFixed ? nothing : this.form?.kind === "topic" ? this.#asked(strings.interview.topicName, "", strings.interview.add) : html`<button type="button" id="add-topic" class="link" @click=${() => (this.form = { kind: "topic" })}>${strings.interview.addTopic}</button>`}
    </section>`;
  }

  /** Moves a pending topic among the other pending ones. The first of them comes next. */
  async #move(waiting: TopicView[], from: number, by: 1 | -1) {
    const titles = waiting.map(({ title }) => title);
    const [moved] = titles.splice(from, 1);
    titles.splice(from + by, 0, moved!);
    await this.#change("PUT", "/topics", { titles }, strings.interview.moved(moved!, from + by + 1, titles.length));
    await this.updateComplete;
    const buttons = [...this.renderRoot.querySelectorAll<HTMLButtonElement>(`[data-topic="${CSS.escape(moved!)}"] .move button`)];
    const same = buttons[by === 1 ? 1 : 0];
    (same?.disabled ? buttons.find(({ disabled }) => !disabled) : same)?.focus();
  }

  #moving(waiting: TopicView[], place: number) {
    const button = (by: 1 | -1, name: "raise" | "lower", label: string) => html`<button type="button" class="icon-button" aria-label=${label} title=${label}
      ?disabled=${!waiting[place + by]} @click=${() => this.#move(waiting, place, by)}>${icon(name)}</button>`;
    const { title } = waiting[place]!;
    return html`<div class="move">${button(-1, "raise", strings.shared.labeled(strings.interview.moveUp, title))}${button(1, "lower", strings.shared.labeled(strings.interview.moveDown, title))}</div>`;
  }

  #topic(topic: TopicView, isFixed: boolean, waiting: TopicView[]) {
    const { title, status, completeness, aspects } = topic;
    const place = waiting.indexOf(topic);
    return html`<li data-topic=${title}>${!isFixed && place >= 0 && waiting.length > 1 ? this.#moving(waiting, place) : nothing}<details ?open=${status === "active"}>
      <summary><span class="title">${title}</span> <span class="badge ${status}">${strings.interview.topicStatuses[status]}</span> <span class="soft">${percent(completeness)}</span></summary>
      <ul class="aspects">${aspects.map((aspect) => this.#aspect(topic, aspect, isFixed))}</ul>
      <div class="tools">
        ${status === "active" ? nothing : html`<button type="button" class="link" aria-label=${strings.shared.labeled(strings.interview.talkNow, title)} @click=${() => this.#change("POST", "/topics", { title, now: true }, strings.interview.next(title))}>${strings.interview.talkNow}</button>`}
        ${isFixed ? nothing : this.#editing(title, null) ? this.#asked(strings.interview.newDetail(title), "", strings.interview.add) : html`<button type="button" class="link" aria-label=${strings.shared.labeled(strings.interview.addDetail, title)} @click=${() => (this.form = { kind: "aspect", topic: title, name: null })}>${strings.interview.addDetail}</button>`}
      </div>
    </details></li>`;
  }

  #aspect({ title }: TopicView, { name, status, quotes, known_from: knownFrom }: AspectView, isFixed: boolean) {
    return html`<li class=${status}>
      <span>${name}</span> <span class="soft">${strings.interview.aspects[status]}</span>
      ${knownFrom ? html`<span class="soft">${strings.interview.knownFrom(knownFrom)}</span>` : nothing}
      ${quotes.map((quote) => html`<q class="soft">${quote}</q>`)}
      ${isFixed ? nothing : this.#editing(title, name) ? this.#asked(strings.interview.renameDetail, name, strings.shared.save) : html`<button type="button" class="link" aria-label=${strings.shared.labeled(strings.shared.edit, name)} @click=${() => (this.form = { kind: "aspect", topic: title, name })}>${strings.shared.edit}</button>`}
    </li>`;
  }

  #editing(topic: string, name: string | null) {
    return this.form?.kind === "aspect" && this.form.topic === topic && this.form.name === name;
  }

  #asked(label: string, value: string, button: string) {
    const escape = ({ key }: KeyboardEvent) => key === "Escape" && (this.form = null);
    return html`<form class="tools" @submit=${this.#submit} @keydown=${escape}>
      <input class="field" aria-label=${label} placeholder=${label} maxlength=${MOST_CHARACTERS} autocomplete="off" .value=${value}>
      <button class="quiet">${button}</button><button type="button" class="quiet" @click=${() => (this.form = null)}>${strings.shared.cancel}</button>
    </form>`;
  }

  #submit(event: Event) {
    event.preventDefault();
    const { form } = this;
    const text = (event.target as HTMLFormElement).querySelector("input")!.value.trim();
    if (form?.kind === "aspect" && form.name !== null) {
      this.#change("PUT", "/aspects", { topic: form.topic, name: form.name, to: text }, text ? strings.interview.renamed : strings.interview.removed);
    } else if (text && form) {
      if (form.kind === "topic") this.#change("POST", "/topics", { title: text }, strings.interview.topicAdded);
      else this.#change("POST", "/aspects", { topic: form.topic, name: text }, strings.interview.detailAdded);
    }
  }

  #statement({ text, quotes, is_new: isNew }: StatementView) {
    const strike = () => this.#change("POST", "/strike", { text }, strings.interview.struckOut);
    return html`<li class=${isNew ? "new" : ""}>
      <details><summary>${text} ${isNew ? html`<span class="badge">${strings.interview.new}</span>` : nothing}</summary>${quotes.map(({ text: said }) => html`<blockquote>${strings.shared.quoted(said)}</blockquote>`)}</details>
      <button type="button" class="icon-button" aria-label=${strings.shared.labeled(strings.interview.strikeOut, text)} title=${strings.interview.strikeOut} @click=${strike}>${icon("close")}</button></li>`;
  }

  #draft(view: InterviewView) {
    const topics = Map.groupBy(view.draft, ({ topic }) => topic);
    const toggle = (event: Event) => (event.target as HTMLDetailsElement).open && this.#readVersions();
    return html`<section aria-labelledby="draft">
      <div class="head"><h3 id="draft">${strings.interview.draft}</h3>
        <span class="soft">${view.is_writing ? strings.interview.writing : view.version ? strings.interview.version(view.version) : ""}</span>
        <button type="button" class="quiet" ?disabled=${!view.draft.length} @click=${() => this.#download()}>${strings.interview.download}</button></div>
      ${[...topics].map(([topic, statements]) => html`<h4>${topic}</h4><ul class="draft">${statements.map((each) => this.#statement(each))}</ul>`)}
      ${view.draft.length ? nothing : html`<p class="soft">${strings.interview.draftEmpty}</p>`}
      ${view.version ? html`<details @toggle=${toggle}><summary>${strings.interview.versions}</summary>${this.versions ? this.versions.map(versionRow) : html`<p class="soft">${strings.shared.loading}</p>`}</details>` : nothing}
    </section>`;
  }
}

const percent = (share: number) => `${Math.round(share * 100)}%`;

const waits = ({ status }: TopicView) => status === "mentioned" || status === "backlog";

const versionRow = ({ version, added, dropped }: InterviewVersion) => html`<h4>${strings.interview.version(version)}</h4>
  <ul class="draft">${added.map((text) => html`<li><ins>${text}</ins></li>`)}${dropped.map((text) => html`<li><del>${text}</del></li>`)}</ul>`;
