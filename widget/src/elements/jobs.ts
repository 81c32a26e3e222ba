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
const PARTS = ["matches", "documents", "resumes", "wishes", "applications"] as const;
type Part = (typeof PARTS)[number];

customElements.define("qwestly-jobs-apply", JobApply);
customElements.define("qwestly-jobs-matches", JobMatches);
customElements.define("qwestly-jobs-applications", JobApplications);
customElements.define("qwestly-jobs-documents", JobDocuments);
customElements.define("qwestly-jobs-resumes", JobResumes);
customElements.define("qwestly-jobs-wishes", JobWishes);

export class QwestlyJobs extends AgentElement {
  static override properties = { ...AgentElement.properties, shown: { state: true }, canApply: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  declare shown: Part;
  /** Null until it is known whether this server supports applications; they are offered until then. */
  declare canApply: boolean | null;
  #opened: string | null = null; // a document's id

  constructor() {
    super();
    Object.assign(this, { shown: "matches", canApply: null });
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
    await this.renderRoot?.querySelector<AgentElement>("[data-part]")?.refresh();
  }

  /** Shows one of its parts: "matches", "applications", "documents", "resumes" or "wishes". */
  open(part: string) {
    const known = PARTS.find((each) => each === part);
    if (known) this.#show(known);
  }

  #show(part: Part, id: string | null = null) {
    this.#opened = id;
    this.shown = part;
  }

  #asked({ detail }: CustomEvent<{ part: Part; id: string | null }>) {
    this.#show(detail.part, detail.id);
    this.updateComplete.then(() => this.renderRoot.querySelector<HTMLElement>("[aria-current]")?.focus());
  }

  override render(): TemplateResult {
    const parts = PARTS.filter((part) => part !== "applications" || this.canApply !== false);
    return html`<div class="page">
      <div class="head from-start"><h2>${strings.jobs.title}</h2><nav class="tools" aria-label=${strings.jobs.label}>${parts.map((part) => html`<button type="button" class="quiet" aria-current=${this.shown === part ? "page" : nothing} @click=${() => this.#show(part)}>${strings.jobs.parts[part]}</button>`)}</nav></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.#part()}
    </div>`;
  }

  #part() {
    const { endpoint, getToken } = this;
    const url = this.tokenUrl ?? nothing;
    switch (this.shown) {
      case "matches": return html`<qwestly-jobs-matches data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken} ?can-apply=${this.canApply} @part=${this.#asked}></qwestly-jobs-matches>`;
      case "applications": return html`<qwestly-jobs-applications data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-applications>`;
      case "documents": return html`<qwestly-jobs-documents data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken} .opened=${this.#opened}></qwestly-jobs-documents>`;
      case "resumes": return html`<qwestly-jobs-resumes data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-resumes>`;
      case "wishes": return html`<qwestly-jobs-wishes data-part endpoint=${endpoint} token-url=${url} .getToken=${getToken}></qwestly-jobs-wishes>`;
    }
  }
}
