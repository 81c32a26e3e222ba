/** The form to apply for a job: documents and a note, followed by an approval that shows exactly what is sent. */

import { type TemplateResult, css, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { HEAD, download } from "./documents.ts";
import type { Application, DocumentDetail, DocumentView } from "./types.ts";
import { dayWords, outside } from "./words.ts";

const LONGEST_NOTE = 2_000;

/** The outcome of the last request, if a new one is possible. */
const ended = (status: string) => (strings.apply.ended as Record<string, string>)[status];

/** The next action for an application: a button, or the reason why there is none. `application` is null if there is none yet. */
export function applyTools(from: HTMLElement, title: string, application: Application | null, open: () => void): TemplateResult {
  const { approval_id: id, approval_status: status } = application ?? {};
  if (id && status === "pending") {
    return html`<button type="button" class="main-button apply" aria-label=${strings.shared.labeled(strings.apply.review, title)} @click=${() => showApproval(from, id)}>${strings.apply.review}</button><span class="soft">${strings.apply.waiting}</span>`;
  }
  if (!application || application.can_apply) {
    return html`<button type="button" class="main-button apply" aria-label=${strings.shared.labeled(strings.apply.apply, title)} @click=${open}>${strings.apply.apply}</button>${status && ended(status) ? html`<span class="soft">${ended(status)}</span>` : nothing}`;
  }
  return html`<span class="soft apply" tabindex="-1">${whyNot(application)}</span>`;
}

function whyNot({ status, approval_status: asked, applied_at: applied }: Application): string {
  if (asked === "done") return strings.apply.sent(applied ? dayWords(applied) : "");
  if (asked && !ended(asked) && asked !== "revised") return strings.apply.approved;
  if (applied) return strings.apply.youApplied(dayWords(applied));
  return strings.apply.marked(strings.applications.statuses[status], strings.applications.statuses.preparing);
}

/** Notifies the page which approval the user wants to see. */
export function showApproval(from: HTMLElement, id: string) {
  from.dispatchEvent(new CustomEvent("showapprovals", { bubbles: true, composed: true, detail: { id } }));
}

const headIn = (data: FormData) => HEAD.filter((field) => data.getAll("head").includes(field));

export class JobApply extends AgentElement {
  static override properties = { ...AgentElement.properties, jobId: { attribute: "job-id" }, jobTitle: { attribute: "job-title" }, documents: { state: true }, head: { state: true }, delivery: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES, css`:host { background: none; }`];

  declare jobId: string;
  declare jobTitle: string;
  /** The documents that are ready for this job. */
  declare documents: DocumentView[] | null;
  /** What can stand at their top, and what the person chose for all documents; null until it is known. */
  declare head: Pick<DocumentDetail, "head" | "chosen_head"> | null;
  /** Whether the application is delivered, and the address of the posting; null until it is known. */
  declare delivery: { delivers: boolean | null; url: string } | null;

  constructor() {
    super();
    Object.assign(this, { jobId: "", jobTitle: "", documents: null, head: null, delivery: null });
  }

  override async refresh() {
    await this.load(strings.jobs.couldNotLoadDocuments, async () => {
      const { items } = await this.backend.json<{ items: DocumentView[] }>("GET", `/api/documents?job_id=${encodeURIComponent(this.jobId)}`);
      const ready = items.filter(({ status, flagged }) => status === "ready" && !flagged);
      if (ready[0]) {
        this.head = await this.backend.json<DocumentDetail>("GET", `/api/documents/${encodeURIComponent(ready[0].id)}`);
      }
      // Matches are kept for a shorter time than applications.
      this.delivery = await this.backend.json<{ delivers: boolean | null; url: string }>("GET", `/api/jobs/${encodeURIComponent(this.jobId)}`).catch(() => null);
      this.documents = ready;
      await this.updateComplete;
      this.renderRoot.querySelector<HTMLElement>("form :is(input, button)")?.focus();
    });
  }

  #send = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const documents = data.getAll("document");
    if (!documents.length) {
      this.problem = strings.apply.chooseDocument;
      return;
    }
    await this.attempt(strings.apply.couldNotPrepare, async () => {
      await this.#keepHead(event.target as HTMLFormElement);
      const path = `/api/jobs/${encodeURIComponent(this.jobId)}/apply`;
      const { approval_id: id } = await this.backend.json<{ approval_id: string }>("POST", path, { body: { document_ids: documents, note: data.get("note"), head: headIn(data) } });
      this.#close("applied");
      showApproval(this, id);
    });
  };

  /** The first choice holds for all documents; a later one for this application alone. */
  async #keepHead(form: HTMLFormElement) {
    if (this.#isChosen) return;
    const data = new FormData(form);
    await this.backend.json("PUT", "/api/settings", { body: { document_name: data.get("name"), document_head: headIn(data) } });
  }

  get #isChosen() {
    return Boolean(this.head?.chosen_head && this.head.head.name);
  }

  /** What stands at the top of the documents: chosen once, and for this application otherwise. */
  #top({ head, chosen_head: chosen }: Pick<DocumentDetail, "head" | "chosen_head">) {
    return html`<fieldset><legend>${this.#isChosen ? strings.apply.atTop : strings.documents.atTop}</legend>${this.#isChosen ? nothing : html`<label>${strings.documents.head.name} <input class="field" name="name" autocomplete="name" required maxlength="100" .value=${head.name ?? ""}></label>`}
      ${HEAD.filter((field) => head[field]).map((field) => html`<label><input type="checkbox" name="head" value=${field} ?checked=${(chosen ?? ["location", "email"]).includes(field)}> ${strings.shared.labeled(strings.documents.head[field], head[field]!)}</label>`)}</fieldset>`;
  }

  async #take({ target }: Event, document: DocumentView) {
    const form = (target as HTMLButtonElement).form!;
    if (!form.reportValidity()) return;
    await this.attempt(strings.shared.couldNotDownload, async () => {
      await this.#keepHead(form);
      await download(this.backend, document, "docx", headIn(new FormData(form)));
    });
  }

  /** The person sent it themselves, as nobody delivers it. */
  #sent = async (event: Event) => {
    event.preventDefault();
    await this.attempt(strings.shared.couldNotChange, async () => {
      const { id } = await this.backend.json<Application>("POST", `/api/jobs/${encodeURIComponent(this.jobId)}/application`);
      await this.backend.json("PATCH", `/api/applications/${encodeURIComponent(id)}`, { body: { status: "applied" } });
      this.#close("sent");
    });
  };

  #close = (how: "applied" | "sent" | "cancelled") => this.dispatchEvent(new CustomEvent("closed", { detail: { how } }));

  override render(): TemplateResult {
    const { documents } = this;
    const isTheirs = this.delivery?.delivers === false;
    const cancel = html`<button type="button" class="quiet" @click=${() => this.#close("cancelled")}>${strings.shared.cancel}</button>`;
    return html`<form class="applying" aria-label=${strings.shared.labeled(strings.apply.apply, this.jobTitle)} @submit=${isTheirs ? this.#sent : this.#send} @keydown=${({ key }: KeyboardEvent) => key === "Escape" && this.#close("cancelled")}>
      ${documents?.length ? html`
        ${isTheirs ? html`<p>${strings.apply.notDelivered} ${outside(this.delivery!.url, strings.apply.openPosting)}</p>
        <fieldset class="tools"><legend>${strings.apply.yourDocuments}</legend>${documents.map((each) => html`<button type="button" class="quiet" @click=${(event: Event) => this.#take(event, each)}>${strings.apply.take(strings.jobs.versionOf(strings.jobs.documentKinds[each.kind], each.version))}</button>`)}</fieldset>`
        : html`<p class="soft">${this.delivery?.delivers ? strings.apply.delivered : strings.apply.maybeDelivered}</p>
        <fieldset><legend>${strings.apply.documents}</legend>${documents.map(({ id, kind, version }, index) => html`<label><input type="checkbox" name="document" value=${id} ?checked=${index === 0}> ${strings.jobs.versionOf(strings.jobs.documentKinds[kind], version)}</label>`)}</fieldset>`}
        ${this.head ? this.#top(this.head) : nothing}
        ${isTheirs ? nothing : html`<label class="soft">${strings.apply.note} <textarea class="field" name="note" rows="2" maxlength=${LONGEST_NOTE}></textarea></label>
        <p class="soft">${strings.apply.promise}</p>`}
        <div class="tools"><button class="main-button">${isTheirs ? strings.apply.iSentIt : strings.shared.continue}</button>${cancel}</div>`
      : documents ? html`<p class="soft">${strings.apply.needsDocument}</p><div class="tools">${cancel}</div>` : nothing}
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
    </form>`;
  }
}
