/** Documents for jobs: each sentence with its quotes, what of the advert it covers, what was left out, and the files. */

import { type TemplateResult, html, nothing } from "lit";

import type { ShownClaim } from "../api.ts";
import { element } from "../dom.ts";
import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { renderMarkdown } from "../markdown.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import type { CoverageItem, DocumentDetail, DocumentView, HeadField } from "./types.ts";
import { KINDS, dayWords, quoteRow } from "./words.ts";

const POLL_MS = 2_000; // while it is written
const FORMATS = { docx: "Word (DOCX)", md: "Markdown", html: "Printable page" };
const HEAD: Record<HeadField, string> = { name: "Name", location: "Place", email: "Email", phone: "Phone", links: "Links" };
const MET: Record<CoverageItem["met"], string> = { met: "You meet this", partly: "Partly", not_met: "Not met" };

const pathOf = (id: string) => `/api/documents/${encodeURIComponent(id)}`;

export class JobDocuments extends AgentElement {
  static override properties = { ...AgentElement.properties, opened: {}, items: { state: true }, document: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  /** Id of the document that is shown; null for the list. */
  declare opened: string | null;
  declare items: DocumentView[] | null;
  declare document: DocumentDetail | null;
  /** What a download has at its top. */
  #head = new Set<HeadField>(["name", "location"]);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #page = element("article", { class: "page-like", "aria-label": "The document" });

  constructor() {
    super();
    Object.assign(this, { opened: null, items: null, document: null });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    const { opened } = this;
    clearTimeout(this.#timer);
    await this.load("We couldn’t load your documents.", async () => {
      if (!opened) {
        this.items = (await this.backend.json<{ items: DocumentView[] }>("GET", "/api/documents")).items;
        return;
      }
      const document = await this.backend.json<DocumentDetail>("GET", pathOf(opened));
      if (opened !== this.opened) return;
      this.document = document;
      renderMarkdown(this.#page, document.markdown ?? "");
      clearTimeout(this.#timer);
      if (document.status === "writing" && this.isConnected) this.#timer = setTimeout(() => this.refresh(), POLL_MS);
    });
  }

  async #open(id: string | null) {
    const before = this.opened;
    Object.assign(this, { opened: id, document: null, problem: "" });
    await this.refresh();
    await this.updateComplete;
    const there = id ? "h3" : `[data-document="${CSS.escape(before ?? "")}"]`;
    this.renderRoot.querySelector<HTMLElement>(there)?.focus();
  }

  async #download({ id, kind }: DocumentDetail, format: string) {
    await this.attempt("We couldn’t download that.", async () => {
      const response = await this.backend.call("GET", `${pathOf(id)}/download?${new URLSearchParams([["format", format], ...[...(this.#head.size ? this.#head : ["none"])].map((field) => ["head", field])])}`);
      const address = URL.createObjectURL(await response.blob());
      const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? `${kind}.${format}`;
      element("a", { href: address, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(address)); // the download has begun by then
    });
  }

  override render(): TemplateResult {
    return html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.opened ? html`<div><button type="button" class="quiet" @click=${() => this.#open(null)}>All documents</button></div>${this.document ? this.#document(this.document) : nothing}` : this.#list()}`;
  }

  #list() {
    return html`<ul aria-label="Documents">${this.items?.map(({ id, kind, version, status, label, created_at: at }) => html`<li class="row moved">
        <span>${KINDS[kind]}, version ${version} <span class="soft">${status === "ready" ? dayWords(at) : label}</span></span>
        <button type="button" class="quiet" data-document=${id} aria-label="Open: ${KINDS[kind]}, version ${version}" @click=${() => this.#open(id)}>Open</button></li>`)}</ul>
      ${this.items && !this.items.length ? html`<p class="empty">No documents yet. Open a job, and we’ll write a résumé or a letter for it. It uses only what you’ve told us.</p>` : nothing}`;
  }

  #document(document: DocumentDetail) {
    const { kind, job, status, label, version, flagged, sentences, left_out: leftOut, coverage } = document;
    return html`<div class="head"><h3 tabindex="-1">${KINDS[kind]}${job ? ` for ${job}` : ""}</h3><span class="soft">Version ${version}</span></div>
      ${status === "ready" ? nothing : html`<p class=${status === "writing" ? "soft" : "problem"} role="status">${label}</p>`}
      ${flagged ? html`<p class="soft">We removed anything based on a memory you deleted.</p>` : nothing}
      ${document.markdown === null ? nothing : html`
        <fieldset class="tools"><legend>At its top</legend>${(Object.keys(HEAD) as HeadField[]).filter((field) => document.head[field]).map((field) => html`<label title=${document.head[field]!}>
          <input type="checkbox" .checked=${this.#head.has(field)} @change=${({ target }: Event) => this.#head[(target as HTMLInputElement).checked ? "add" : "delete"](field)}> ${HEAD[field]}</label>`)}</fieldset>
        <div class="tools" role="group" aria-label="Download">${Object.entries(FORMATS).map(([format, name]) => html`<button type="button" class="quiet" @click=${() => this.#download(document, format)}>${name}</button>`)}</div>
        ${this.#page}
        <details class="row"><summary>Where each sentence comes from</summary><ol class="sentences">${sentences.map(sentenceRow)}</ol></details>
        ${coverage ? html`<section aria-labelledby="coverage"><h4 id="coverage">What the job posting asks for</h4><ul>${coverage.map(coverageRow)}</ul></section>` : html`<p class="soft">We couldn’t compare this with the job posting.</p>`}
        ${leftOut.length ? html`<details class="row"><summary>What I left out, and why (${leftOut.length})</summary><ul>${leftOut.map(({ text, why }) => html`<li><p>${text}</p>${why.map((each) => html`<p class="soft">${each}</p>`)}</li>`)}</ul></details>` : nothing}`}`;
  }
}

const sentenceRow = ({ text, quotes = [], unchecked }: ShownClaim) => html`<li><p>${text}${unchecked ? html` <span class="badge">Not double-checked</span>` : nothing}</p>${quotes.map(quoteRow)}</li>`;

const coverageRow = ({ requirement, met, advert_quote: advert, quotes }: CoverageItem) => html`<li class="row ${met}"><details><summary>${requirement} <span class="badge">${MET[met]}</span></summary>
  <blockquote>“${advert}”<cite>Job posting</cite></blockquote>${quotes.map(quoteRow)}</details></li>`;
