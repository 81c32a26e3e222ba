/** <qwestly-memories>: memories and their origin; search, correct, forget, and undo a correction. */

import { type TemplateResult, css, html, nothing } from "lit";

import { strings } from "../strings.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const PAGE = 20;
const LONGEST = 300;

interface Memory {
  id: string;
  content: string;
  type: string;
  status: string;
  since?: string | null;
  said_at?: string | null;
  sure?: string | null;
  count: number;
}
interface Why {
  quote: string | null;
  question: string | null;
  said_on: string | null;
  conversation: string | null;
  before: { content: string; superseded_at: string | null }[];
}
interface List { items: Memory[]; next: string | null; found_by?: string | null }

export class QwestlyMemories extends AgentElement {
  static override properties = {
    ...AgentElement.properties,
    items: { state: true }, next: { state: true }, foundBy: { state: true }, proposed: { state: true }, whys: { state: true },
    editing: { state: true }, forgetting: { state: true }, said: { state: true }, corrected: { state: true }, isLoaded: { state: true },
  };
  static override styles = [BASE_STYLES, css`
    li { display: grid; grid-template-columns: minmax(0, 1fr) auto; gap: 0 1rem; align-items: baseline; }
    li > p { grid-column: 1; }
    li > .tools { grid-area: 1 / 2; gap: 0; justify-self: end; }
    li > details { grid-area: 2 / 2; justify-self: end; padding-inline-end: .5rem; }
    li > :is(form, [role=group]), li > details[open] { grid-area: auto / 1 / auto / -1; justify-self: auto; }
    li > .tools .quiet { padding-inline: .5rem; border-color: transparent; background: none; color: var(--accent); }
    @container (max-width: 600px) {
      li { grid-template-columns: auto minmax(0, 1fr); }
      li > p { grid-column: 1 / -1; }
      li > .tools { grid-area: auto / 2; }
      li > details { grid-area: auto / 1; }
    }
    summary { color: var(--accent); font-size: var(--note); }
    .search { display: flex; gap: .5rem; flex: 1 1 14rem; }
    textarea.field { min-block-size: 4.5rem; resize: vertical; }
  `];

  declare items: Memory[];
  declare next: string | null;
  declare foundBy: string | null;
  /** Number of memories that wait for approval. */
  declare proposed: number;
  declare whys: Map<string, Why>;
  declare editing: string | null;
  declare forgetting: string | null;
  declare said: string;
  /** Id of the memory created by the last correction, which can be undone. */
  declare corrected: string | null;
  declare isLoaded: boolean;
  #query = "";
  #reading = 0;

  constructor() {
    super();
    Object.assign(this, { items: [], next: null, foundBy: null, proposed: 0, whys: new Map(), editing: null, forgetting: null, said: "", corrected: null, isLoaded: false });
  }

  override async refresh() {
    if (this.editing === null && this.forgetting === null) await this.#read("0");
  }

  async #read(after: string) {
    const reading = ++this.#reading; // show only the latest of several responses
    await this.load(strings.shared.couldNotLoad, async () => {
      const get = (more: Record<string, string>) => this.backend.json<List>("GET", `/api/memories?${new URLSearchParams(more)}`);
      const isFirst = after === "0";
      const [{ items, next, found_by: foundBy }, proposed, unchecked] = await Promise.all([
        get({ limit: String(PAGE), after, ...(this.#query && { query: this.#query }) }),
        isFirst ? get({ status: "proposed", limit: "100" }) : null,
        isFirst ? get({ status: "unchecked", limit: "100" }) : null,
      ]);
      if (reading !== this.#reading) return;
      // Searches do not find unchecked memories.
      this.items = isFirst ? [...(this.#query ? [] : unchecked?.items ?? []), ...items] : [...this.items, ...items];
      if (proposed) this.proposed = proposed.items.length;
      this.next = next;
      this.foundBy = foundBy ?? null;
      this.isLoaded = true;
    });
  }

  #search(event: Event) {
    event.preventDefault();
    this.#query = this.renderRoot.querySelector<HTMLInputElement>("#search")!.value.trim();
    this.#read("0");
  }

  async #explain({ id }: Memory, event: Event) {
    if (!(event.target as HTMLDetailsElement).open || this.whys.has(id)) return;
    await this.load(strings.shared.couldNotLoad, async () => {
      const why = await this.backend.json<Why>("GET", `/api/memories/${encodeURIComponent(id)}`);
      this.whys = new Map([...this.whys, [id, why]]);
    });
  }

  async #correct(event: Event, { id }: Memory) {
    event.preventDefault();
    const content = (event.target as HTMLFormElement).querySelector("textarea")!.value.trim();
    if (!content) return;
    await this.attempt(strings.memories.couldNotCorrect, async () => {
      const made = await this.backend.json<Memory>("PATCH", `/api/memories/${encodeURIComponent(id)}`, { body: { content } });
      this.editing = null;
      this.#tell(strings.memories.corrected, made.id);
      await this.#read("0");
    });
  }

  async #forget({ id }: Memory) {
    await this.attempt(strings.memories.couldNotForget, async () => {
      const { note } = await this.backend.json<{ note: string }>("DELETE", `/api/memories/${encodeURIComponent(id)}`);
      this.forgetting = null;
      this.#tell(note);
      await this.#read("0");
    });
  }

  async #undo(id: string) {
    await this.attempt(strings.shared.couldNotUndo, async () => {
      await this.backend.json("POST", `/api/memories/${encodeURIComponent(id)}/undo`);
      this.#tell(strings.shared.undone);
      await this.#read("0");
    });
  }

  #tell(sentence: string, corrected: string | null = null) {
    this.said = sentence;
    this.corrected = corrected;
  }

  override updated(changed: Map<string, unknown>) {
    const opened = (changed.has("editing") && this.editing) || (changed.has("forgetting") && this.forgetting);
    if (opened) return this.renderRoot.querySelector<HTMLElement>("[data-first]")?.focus();
    const closed = changed.get("editing") ?? changed.get("forgetting");
    if (closed) this.renderRoot.querySelector<HTMLElement>(`[data-id="${CSS.escape(String(closed))}"] .tools button`)?.focus();
  }

  override render(): TemplateResult {
    const notes: Record<string, string> = strings.memories.foundBy;
    const note = notes[this.foundBy ?? ""] ?? "";
    return html`<div class="page">
      <div class="head">
        <h2>${strings.memories.title}</h2>
        <form class="search" role="search" @submit=${this.#search}>
          <input id="search" class="field" type="search" aria-label=${strings.memories.search} placeholder=${strings.memories.search} maxlength="500" autocomplete="off" @search=${this.#search}>
          <button class="quiet">${strings.memories.searchButton}</button>
        </form>
      </div>
      <p class="soft">${strings.memories.about}</p>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <p class="soft" role="status" ?hidden=${!this.said}>${this.said} ${this.corrected ? html`<button type="button" class="link" @click=${() => this.#undo(this.corrected!)}>${strings.shared.undo}</button>` : nothing}</p>
      <p class="soft" ?hidden=${!note}>${note}</p>
      ${this.proposed ? html`<p class="row head"><span class="soft">${strings.memories.waiting(this.proposed)}</span>
        <button type="button" class="quiet" @click=${() => this.dispatchEvent(new CustomEvent("showapprovals", { bubbles: true, composed: true }))}>${strings.memories.showApprovals}</button></p>` : nothing}
      <ul class="lines" aria-label=${strings.memories.title}>${this.items.map((memory) => this.#row(memory))}</ul>
      ${this.isLoaded && !this.items.length ? html`<p class="empty">${this.#query ? strings.memories.emptySearch : strings.memories.empty}</p>` : nothing}
      <button type="button" class="quiet" ?hidden=${this.next === null} @click=${() => this.#read(this.next!)}>${strings.memories.showMore}</button>
    </div>`;
  }

  #row(memory: Memory) {
    const { id, content, status } = memory;
    return html`<li data-id=${id}>
      <p>${content} ${status === "unchecked" ? html`<span class="badge">${strings.memories.notChecked}</span>` : nothing}</p>
      <p class="soft">${detailsOf(memory)}</p>
      <details @toggle=${(event: Event) => this.#explain(memory, event)}><summary>${strings.shared.why}</summary>${this.#why(this.whys.get(id))}</details>
      ${this.editing === id ? this.#editor(memory) : this.forgetting === id ? this.#question(memory) : html`<div class="tools">
        <button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.memories.correct, content)} @click=${() => this.#open("editing", id)}>${strings.memories.correct}</button>
        <button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.memories.forget, content)} @click=${() => this.#open("forgetting", id)}>${strings.memories.forget}</button></div>`}
    </li>`;
  }

  #open(what: "editing" | "forgetting", id: string | null) {
    this.editing = what === "editing" ? id : null;
    this.forgetting = what === "forgetting" ? id : null;
  }

  #escape = (event: KeyboardEvent) => {
    if (event.key === "Escape") this.#open("editing", null);
  };

  #editor(memory: Memory) {
    return html`<form @submit=${(event: Event) => this.#correct(event, memory)} @keydown=${this.#escape}>
      <textarea class="field" data-first aria-label=${strings.memories.whatIsTrue} maxlength=${LONGEST} required .value=${memory.content}></textarea>
      <div class="tools"><button class="quiet">${strings.shared.save}</button><button type="button" class="quiet" @click=${() => this.#open("editing", null)}>${strings.shared.cancel}</button></div>
    </form>`;
  }

  #question(memory: Memory) {
    return html`<div role="group" aria-label=${strings.memories.forgetQuestion} @keydown=${this.#escape}>
      <p class="soft">${strings.memories.forgetQuestion} ${strings.memories.forgetMeans}</p>
      <div class="tools"><button type="button" class="quiet danger" @click=${() => this.#forget(memory)}>${strings.memories.forgetForGood}</button>
        <button type="button" class="quiet" data-first @click=${() => this.#open("forgetting", null)}>${strings.memories.keep}</button></div>
    </div>`;
  }

  #why(why: Why | undefined) {
    if (!why) return html`<p class="soft">${strings.shared.loading}</p>`;
    const { quote, question, said_on: said, conversation, before } = why;
    return html`${question ? html`<p class="soft">${strings.memories.asked(question)}</p>` : nothing}
      ${quote ? html`<blockquote>${strings.shared.quoted(quote)}</blockquote>` : nothing}
      ${said ? html`<p class="soft">${strings.memories.wroteOn(dateOf(said), conversation)}</p>` : nothing}
      ${before.map((each) => html`<p class="soft">${strings.memories.before(each.content, each.superseded_at && dateOf(each.superseded_at))}</p>`)}`;
  }
}

const dateOf = (moment: string) => new Date(moment).toLocaleDateString(strings.locale, { dateStyle: "medium" });

function detailsOf({ type, since, said_at: said, sure, count, status }: Memory): string {
  const when = since ? strings.memories.since(dateOf(since)) : said ? strings.memories.toldOn(dateOf(said)) : null;
  return [type, when, status === "active" ? sure : null, count > 1 ? strings.memories.said(count) : null].filter(Boolean).join(" · ");
}
