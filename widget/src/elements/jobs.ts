/** <qwestly-jobs>: found jobs, applications, documents, the résumé, and search wishes. */

import { type TemplateResult, html, nothing } from "lit";

import { ChatError } from "../errors.ts";
import { JobApplications } from "../jobs/applications.ts";
import { JobApply } from "../jobs/apply.ts";
import { JobDocuments } from "../jobs/documents.ts";
import { JobMatches } from "../jobs/matches.ts";
import { JobResumes } from "../jobs/resumes.ts";
import { JobWishes } from "../jobs/wishes.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

// Applications last, so that no other button moves if the server turns out not to support them.
const TABS = ["matches", "documents", "applications"] as const;
type Tab = (typeof TABS)[number];
/** Parts that a button of a tab opens, and the tab to which they go back. */
const BEHIND = { wishes: "matches", resumes: "documents" } as const;
export type Part = Tab | keyof typeof BEHIND;
const PARTS: Part[] = [...TABS, "wishes", "resumes"];
const tabOf = (part: Part): Tab => (part in BEHIND ? BEHIND[part as keyof typeof BEHIND] : (part as Tab));

customElements.define("qwestly-jobs-apply", JobApply);
customElements.define("qwestly-jobs-matches", JobMatches);
customElements.define("qwestly-jobs-applications", JobApplications);
customElements.define("qwestly-jobs-documents", JobDocuments);
customElements.define("qwestly-jobs-resumes", JobResumes);
customElements.define("qwestly-jobs-wishes", JobWishes);

export class QwestlyJobs extends AgentElement {
  static override properties = { ...AgentElement.properties, noTabs: { type: Boolean, attribute: "no-tabs" }, shown: { state: true }, canApply: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  /** True if the page has tabs of its own, which call `open(part)`. */
  declare noTabs: boolean;
  declare shown: Part;
  /** Null until it is known whether this server supports applications; they are offered until then. */
  declare canApply: boolean | null;
  #opened: string | null = null; // a document's id

  constructor() {
    super();
    Object.assign(this, { noTabs: false, shown: "matches", canApply: null });
  }

  override async refresh() {
    if (this.canApply === null) {
      await this.load(strings.jobs.couldNotLoad, async () => {
        this.canApply = await this.backend.call("GET", "/api/applications").then(() => true, (error) => {
          if (error instanceof ChatError && error.code === "not_found") return false;
          throw error;
        });
      });
    }
    await this.updateComplete;
    await this.renderRoot?.querySelector<AgentElement>("[data-part]")?.refresh();
  }

  /** Shows one of its parts: "matches", "applications", "documents", "resumes" or "wishes". */
  open(part: string) {
    const known = PARTS.find((each) => each === part);
    if (known) this.#show(known);
  }

  #show(part: Part, id: string | null = null) {
    if (part === this.shown) this.renderRoot.querySelector<JobDocuments>("qwestly-jobs-documents")?.open(id);
    this.#opened = id;
    this.shown = part;
    this.dispatchEvent(new CustomEvent("partshown", { bubbles: true, composed: true, detail: { part, tab: tabOf(part) } }));
  }

  /** Another part asks for this one. */
  #go(part: Part, id: string | null = null) {
    this.#show(part, id);
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>("h2")?.focus());
  }

  #asked({ detail }: CustomEvent<{ part: Part; id: string | null }>) {
    this.#go(detail.part, detail.id);
  }

  override render(): TemplateResult {
    const tab = tabOf(this.shown);
    const tabs = TABS.filter((each) => each !== "applications" || this.canApply !== false);
    return html`<div class="page">
      ${this.noTabs ? nothing : html`<nav class="tools" aria-label=${strings.jobs.label}>${tabs.map((each) => html`<button type="button" class="quiet" aria-current=${tab === each ? "page" : nothing} @click=${() => this.#show(each)}>${strings.jobs.tabs[each]}</button>`)}</nav>`}
      <div class="head"><h2 tabindex="-1">${strings.jobs.titles[this.shown]}</h2>${tab === this.shown ? nothing : html`<button type="button" class="quiet" @click=${() => this.#go(tab)}>${strings.jobs.backTo(strings.jobs.tabs[tab])}</button>`}</div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.#part()}
    </div>`;
  }

  #part() {
    const { endpoint, getToken } = this;
    const url = this.tokenUrl ?? nothing;
    switch (this.shown) {
      case "matches": return html`<qwestly-jobs-matches data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken} .canApply=${this.canApply ?? (this.problem ? false : null)} @part=${this.#asked}></qwestly-jobs-matches>`;
      case "applications": return html`<qwestly-jobs-applications data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-applications>`;
      case "documents": return html`<qwestly-jobs-documents data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken} .opened=${this.#opened} @part=${this.#asked}></qwestly-jobs-documents>`;
      case "resumes": return html`<qwestly-jobs-resumes data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-resumes>`;
      case "wishes": return html`<qwestly-jobs-wishes data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-wishes>`;
    }
  }
}
