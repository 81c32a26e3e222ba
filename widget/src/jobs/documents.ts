/** Documents for jobs: sentences with quotes, coverage of the advert, left-out claims, and downloads. */

import { type TemplateResult, html, nothing } from "lit";

import type { ShownClaim } from "../api.ts";
import type { Backend } from "../backend.ts";
import { element } from "../dom.ts";
import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { renderMarkdown } from "../markdown.ts";
import { underlineIn, withMarks } from "../marks.ts";
import { strings } from "../strings.ts";
import { DOCUMENT_STYLES } from "../styles/document.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import type { CoverageItem, DocumentDetail, DocumentPart, DocumentView, HeadField } from "./types.ts";
import { dayWords, quoteRow } from "./words.ts";

const POLL_MS = 2_000; // while the document is being written
const LONGEST_SENTENCE = 1_000;
export const HEAD: HeadField[] = ["location", "email", "phone", "links"];

const pathOf = (id: string) => `/api/documents/${encodeURIComponent(id)}`;

/** `head`: the fields at its top; those that the person chose for all documents by default. */
export async function download(backend: Backend, { id, kind }: DocumentView, format: string, head?: HeadField[]) {
  const query = new URLSearchParams([["format", format], ...(head?.length ? head : head ? ["none"] : []).map((field) => ["head", field])]);
  const response = await backend.call("GET", `${pathOf(id)}/download?${query}`);
  const address = URL.createObjectURL(await response.blob());
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? `${kind}.${format}`;
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address)); // after the download has started
}

export class JobDocuments extends AgentElement {
  static override properties = { ...AgentElement.properties, opened: {}, items: { state: true }, document: { state: true }, edited: { state: true }, changes: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES, DOCUMENT_STYLES];

  /** Id of the document that is shown; null for the list. */
  declare opened: string | null;
  declare items: DocumentView[] | null;
  declare document: DocumentDetail | null;
  /** The sentences while the person changes them; null otherwise. */
  declare edited: DocumentPart[] | null;
  /** What changed since the version before, in sentences; null if there was none. */
  declare changes: string[] | null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #page = element("article", { class: "page-like" });

  constructor() {
    super();
    Object.assign(this, { opened: null, items: null, document: null, edited: null, changes: null });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    const { opened } = this;
    clearTimeout(this.#timer);
    await this.load(strings.jobs.couldNotLoadDocuments, async () => {
      if (!opened) {
        this.items = (await this.backend.json<{ items: DocumentView[] }>("GET", "/api/documents")).items;
        return;
      }
      const document = await this.backend.json<DocumentDetail>("GET", pathOf(opened));
      if (opened !== this.opened) return;
      this.changes = document.status === "ready" && document.version > 1 ? await this.#changesOf(document) : null;
      this.document = document;
      renderMarkdown(this.#page, document.markdown ?? "");
      underlineIn(this.#page, document.sentences);
      clearTimeout(this.#timer);
      if (document.status === "writing" && this.isConnected) this.#timer = setTimeout(() => this.refresh(), POLL_MS);
    });
  }

  async open(id: string | null) {
    const before = this.opened;
    Object.assign(this, { opened: id, document: null, edited: null, changes: null, problem: "" });
    await this.refresh();
    await this.updateComplete;
    const there = id ? "h3" : `[data-document="${CSS.escape(before ?? "")}"]`;
    this.renderRoot.querySelector<HTMLElement>(there)?.focus();
  }

  async #download(document: DocumentDetail, format: string) {
    await this.attempt(strings.shared.couldNotDownload, () => download(this.backend, document, format));
  }

  /** Compares with the version before, which may be gone. */
  async #changesOf({ job_id: job, kind, version, sentences }: DocumentDetail): Promise<string[] | null> {
    const { items } = await this.backend.json<{ items: DocumentView[] }>("GET", `/api/documents?job_id=${encodeURIComponent(job)}`);
    const before = items.find((each) => each.kind === kind && each.version === version - 1);
    if (before?.status !== "ready") return null;
    const old = (await this.backend.json<DocumentDetail>("GET", pathOf(before.id))).sentences.map(({ text }) => text);
    const now = sentences.map(({ text }) => text);
    return [...now.filter((text) => !old.includes(text)).map(strings.documents.isNew), ...old.filter((text) => !now.includes(text)).map(strings.documents.isGone)];
  }

  /** Has it written again, as a version of its own. */
  #rewrite = async (event: Event) => {
    event.preventDefault();
    const { job_id: job, kind } = this.document!;
    const wish = String(new FormData(event.target as HTMLFormElement).get("wish")).trim();
    if (!wish) return;
    await this.attempt(strings.matches.couldNotStart, async () => {
      const { id } = await this.backend.json<DocumentView>("POST", `/api/jobs/${encodeURIComponent(job)}/documents`, { body: { kind, wish } });
      await this.open(id);
    });
  };

  /** Stores the changed sentences, or with null takes the last change back. */
  async #save(parts: DocumentPart[] | null) {
    const { id, revision } = this.document!;
    await this.attempt(strings.shared.couldNotSave, async () => {
      const told = parts?.map(({ key, sentences }) => ({ key, sentences: sentences.map((each) => each.trim()).filter(Boolean) })) ?? null;
      await this.backend.json("PUT", pathOf(id), { body: { parts: told, revision } });
      this.edited = null;
      await this.refresh();
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>("h3")?.focus();
    });
  }

  #change(place: number, sentences: string[]) {
    this.edited = this.edited!.map((each, index) => (index === place ? { ...each, sentences } : each));
  }

  #editor(parts: DocumentPart[]) {
    return html`<form class="editor" aria-label=${strings.documents.edit} @submit=${(event: Event) => { event.preventDefault(); this.#save(this.edited); }}>
      ${parts.map(({ heading, sentences }, place) => html`<fieldset><legend>${heading || strings.documents.text}</legend>${sentences.map((text, number) => this.#sentence(place, sentences, text, number))}
        <button type="button" class="link" @click=${() => this.#change(place, [...sentences, ""])}>${strings.documents.add}</button></fieldset>`)}
      <div class="tools"><button class="main-button">${strings.shared.save}</button><button type="button" class="quiet" @click=${() => (this.edited = null)}>${strings.shared.cancel}</button></div></form>`;
  }

  #sentence(place: number, sentences: string[], text: string, number: number) {
    const set = (changed: string[]) => this.#change(place, changed);
    const moved = () => sentences.toSpliced(number, 1).toSpliced(number - 1, 0, text);
    const name = strings.documents.sentence(number + 1);
    return html`<div class="sentence"><textarea class="field" rows="2" maxlength=${LONGEST_SENTENCE} aria-label=${name} .value=${text} @input=${({ target }: Event) => set(sentences.with(number, (target as HTMLTextAreaElement).value))}></textarea>
      <button type="button" class="quiet" ?disabled=${!number} aria-label=${strings.shared.labeled(strings.documents.up, name)} @click=${() => set(moved())}>↑</button>
      <button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.documents.strike, name)} @click=${() => set(sentences.toSpliced(number, 1))}>×</button></div>`;
  }

  /** What stands at the top is chosen once, for every document and application. */
  async #choose(body: { document_name?: string; document_head?: HeadField[] }) {
    await this.attempt(strings.shared.couldNotSave, async () => {
      await this.backend.json("PUT", "/api/settings", { body });
      await this.refresh();
    });
  }

  override render(): TemplateResult {
    return html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.opened ? html`<div><button type="button" class="quiet" @click=${() => this.open(null)}>${strings.documents.all}</button></div>${this.document ? this.#document(this.document) : nothing}` : this.#list()}`;
  }

  #list() {
    const resume = () => this.dispatchEvent(new CustomEvent("part", { detail: { part: "resumes", id: null } }));
    return html`<div class="head"><p class="soft">${strings.documents.about}</p><button type="button" class="quiet end" @click=${resume}>${strings.jobs.titles.resumes}</button></div>
      <ul aria-label=${strings.documents.list}>${this.items?.map(({ id, kind, job, version, status, label, created_at: at }) => html`<li class="row moved">
        <span><strong>${job}</strong> <span class="soft">${strings.jobs.versionOf(strings.jobs.documentKinds[kind], version)} · ${status === "ready" ? dayWords(at) : label}</span></span>
        <button type="button" class="quiet" data-document=${id} aria-label=${strings.shared.labeled(strings.shared.open, strings.jobs.versionOf(strings.jobs.documentKinds[kind], version))} @click=${() => this.open(id)}>${strings.shared.open}</button></li>`)}</ul>
      ${this.items && !this.items.length ? html`<p class="empty">${strings.documents.empty}</p>` : nothing}`;
  }

  #document(document: DocumentDetail) {
    const chosen = document.chosen_head ?? ["location"];
    const { kind, job, status, label, version, flagged, sentences, left_out: leftOut, coverage } = document;
    const name = strings.jobs.documentKinds[kind];
    this.#page.ariaLabel = strings.documents.label;
    return html`<div class="head"><h3 tabindex="-1">${job ? strings.documents.forJob(name, job) : name}</h3><span class="soft">${strings.documents.version(version)}</span></div>
      ${status === "ready" ? nothing : html`<p class=${status === "writing" ? "soft" : "problem"} role="status">${label}</p>`}
      ${flagged ? html`<p class="soft">${strings.documents.flagged}</p>` : nothing}
      ${document.markdown === null ? nothing : html`
        <fieldset class="tools"><legend>${strings.documents.atTop}</legend>
          <label>${strings.documents.head.name} <input class="field" autocomplete="name" maxlength="100" .value=${document.head.name ?? ""} @change=${({ target }: Event) => this.#choose({ document_name: (target as HTMLInputElement).value })}></label>
          ${HEAD.filter((field) => document.head[field]).map((field) => html`<label title=${document.head[field]!}>
          <input type="checkbox" .checked=${chosen.includes(field)} @change=${({ target }: Event) => this.#choose({ document_head: HEAD.filter((each) => (each === field ? (target as HTMLInputElement).checked : chosen.includes(each))) })}> ${strings.documents.head[field]}</label>`)}</fieldset>
        <div class="tools"><div class="tools" role="group" aria-label=${strings.documents.download}>${Object.entries(strings.documents.formats).map(([format, name]) => html`<button type="button" class="quiet" @click=${() => this.#download(document, format)}>${name}</button>`)}</div>
          ${this.edited || !document.parts.length ? nothing : html`<button type="button" class="quiet end" @click=${() => (this.edited = document.parts)}>${strings.documents.edit}</button>${document.can_undo ? html`<button type="button" class="quiet" @click=${() => this.#save(null)}>${strings.documents.undo}</button>` : nothing}`}</div>
        ${this.edited ? this.#editor(this.edited) : this.#page}
        ${this.changes ? html`<details class="row" open><summary>${strings.documents.changedSince(version - 1)}</summary>${this.changes.length ? html`<ul>${this.changes.map((each) => html`<li>${each}</li>`)}</ul>` : html`<p>${strings.documents.unchanged}</p>`}</details>` : nothing}
        <form class="tools" @submit=${this.#rewrite}><input class="field" name="wish" maxlength="500" aria-label=${strings.approval.whatShouldDiffer} placeholder=${strings.approval.whatShouldDiffer}><button class="quiet">${strings.approval.askForChanges}</button></form>
        <details class="row" ?open=${sentences.some(({ marks }) => marks?.length)}><summary>${strings.documents.whereFrom}</summary><ol class="sentences">${sentences.map(sentenceRow)}</ol></details>
        ${coverage ? html`<section aria-labelledby="coverage"><h4 id="coverage">${strings.documents.coverage}</h4><ul>${coverage.map(coverageRow)}</ul></section>` : html`<p class="soft">${strings.documents.notCompared}</p>`}
        ${leftOut.length ? html`<details class="row"><summary>${strings.documents.leftOut(leftOut.length)}</summary><ul>${leftOut.map(({ text, why }) => html`<li><p>${text}</p>${why.map((each) => html`<p class="soft">${each}</p>`)}</li>`)}</ul></details>` : nothing}`}`;
  }
}

const sentenceRow = ({ text, quotes = [], marks = [], unchecked, confirmed }: ShownClaim) => html`<li><p>${withMarks(text, marks)}${unchecked || confirmed ? html` <span class="badge">${unchecked ? strings.careerCard.yourOwnWords : strings.documents.yours}</span>` : nothing}</p>${marks.length ? html`<p class="soft">${strings.shared.notFound}</p>` : nothing}${quotes.map(quoteRow)}</li>`;

const coverageRow = ({ requirement, met, advert_quote: advert, quotes }: CoverageItem) => html`<li class="row ${met}"><details><summary>${requirement} <span class="badge">${strings.documents.met[met]}</span></summary>
  <blockquote>${strings.shared.quoted(advert)}<cite>${strings.jobs.posting}</cite></blockquote>${quotes.map(quoteRow)}</details></li>`;
