/** The form to apply for a job: which documents, a note, and then an approval that shows exactly what is sent. */

import { type TemplateResult, css, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import type { Application, DocumentView } from "./types.ts";
import { KINDS, dayWords } from "./words.ts";

const LONGEST_NOTE = 2_000;

export const STATUSES: Record<Application["status"], string> = {
  preparing: "Preparing", applied: "Applied", interview: "Interview", offer: "Offer", rejected: "Rejected", withdrawn: "Withdrawn", closed: "Closed",
};
/** What became of the last request, where a new one is possible. */
const ENDED: Record<string, string> = {
  expired: "Your last request expired. Nothing was sent.",
  rejected: "You declined the last request. Nothing was sent.",
  failed: "The last request couldn’t be sent.",
  changed: "The last request no longer matched. Nothing was sent.",
};

/** How an application can go on: its button, or why there is none. Without one, the job has not been applied for. */
export function applyTools(from: HTMLElement, title: string, application: Application | null, open: () => void): TemplateResult {
  const { approval_id: id, approval_status: status } = application ?? {};
  if (id && status === "pending") {
    return html`<button type="button" class="main-button apply" aria-label="Review and send: ${title}" @click=${() => showApproval(from, id)}>Review and send</button><span class="soft">Waiting for your approval</span>`;
  }
  if (!application || application.can_apply) {
    return html`<button type="button" class="main-button apply" aria-label="Apply: ${title}" @click=${open}>Apply</button>${status && ENDED[status] ? html`<span class="soft">${ENDED[status]}</span>` : nothing}`;
  }
  return html`<span class="soft apply" tabindex="-1">${whyNot(application)}</span>`;
}

function whyNot({ status, approval_status: asked, applied_at: applied }: Application): string {
  if (asked === "done") return `Sent${applied ? ` ${dayWords(applied)}` : ""}`;
  if (asked && !ENDED[asked] && asked !== "revised") return "Approved. It’s being sent.";
  if (applied) return `You applied ${dayWords(applied)}`;
  return `Marked “${STATUSES[status]}”. To apply, set it back to “${STATUSES.preparing}”.`;
}

/** Tells the page which approval its person wants to see. */
export function showApproval(from: HTMLElement, id: string) {
  from.dispatchEvent(new CustomEvent("showapprovals", { bubbles: true, composed: true, detail: { id } }));
}

export class JobApply extends AgentElement {
  static override properties = { ...AgentElement.properties, jobId: { attribute: "job-id" }, jobTitle: { attribute: "job-title" }, documents: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES, css`:host { background: none; }`];

  declare jobId: string;
  declare jobTitle: string;
  /** That are ready for this job. */
  declare documents: DocumentView[] | null;

  constructor() {
    super();
    Object.assign(this, { jobId: "", jobTitle: "", documents: null });
  }

  override async refresh() {
    await this.load("We couldn’t load your documents.", async () => {
      const { items } = await this.backend.json<{ items: DocumentView[] }>("GET", `/api/documents?job_id=${encodeURIComponent(this.jobId)}`);
      this.documents = items.filter(({ status, flagged }) => status === "ready" && !flagged);
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>("form :is(input, button)")?.focus();
    });
  }

  #send = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const documents = data.getAll("document");
    if (!documents.length) {
      this.problem = "Choose at least one document to send.";
      return;
    }
    await this.attempt("We couldn’t prepare your application.", async () => {
      const path = `/api/jobs/${encodeURIComponent(this.jobId)}/apply`;
      const { approval_id: id } = await this.backend.json<{ approval_id: string }>("POST", path, { body: { document_ids: documents, note: data.get("note") } });
      this.#close("applied");
      showApproval(this, id);
    });
  };

  #close = (how: "applied" | "cancelled") => this.dispatchEvent(new CustomEvent("closed", { detail: { how } }));

  override render(): TemplateResult {
    const { documents } = this;
    const cancel = html`<button type="button" class="quiet" @click=${() => this.#close("cancelled")}>Cancel</button>`;
    return html`<form class="applying" aria-label="Apply: ${this.jobTitle}" @submit=${this.#send} @keydown=${({ key }: KeyboardEvent) => key === "Escape" && this.#close("cancelled")}>
      ${documents?.length ? html`
        <fieldset><legend>What to send</legend>${documents.map(({ id, kind, version }, index) => html`<label><input type="checkbox" name="document" value=${id} ?checked=${index === 0}> ${KINDS[kind]}, version ${version}</label>`)}</fieldset>
        <label class="soft">Note to the company (optional). It’s sent with your application. <textarea class="field" name="note" rows="2" maxlength=${LONGEST_NOTE}></textarea></label>
        <p class="soft">You’ll see exactly what will be sent, and approve it, before anything leaves.</p>
        <div class="tools"><button class="main-button">Continue</button>${cancel}</div>`
      : documents ? html`<p class="soft">You need a résumé or a letter for this job first. Have one written, then apply.</p><div class="tools">${cancel}</div>` : nothing}
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
    </form>`;
  }
}
