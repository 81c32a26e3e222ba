/** The résumé's text next to the fields that were found in it, with links between fields and lines. */

import { type TemplateResult, html, nothing } from "lit";

import type { ResumeView } from "../api.ts";
import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { RESUME_FILES, isUnderWay, sendResume } from "../resume_drop.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { sentenceCase } from "../words.ts";
import type { ResumeDetail, ResumeField } from "./types.ts";

const POLL_MS = 1_500; // while the résumé is being read

interface Found extends ResumeField { path: string; section: string; entry: string; name: string; value: string }

export class JobResumes extends AgentElement {
  static override properties = { ...AgentElement.properties, items: { state: true }, detail: { state: true }, marked: { state: true }, isSending: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  declare items: ResumeView[] | null;
  declare detail: ResumeDetail | null;
  /** Path of the field whose line is highlighted. */
  declare marked: string | null;
  declare isSending: boolean;
  #chosen: string | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    Object.assign(this, { items: null, detail: null, marked: null, isSending: false });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    clearTimeout(this.#timer);
    await this.load(strings.resumes.couldNotLoad, async () => {
      this.items = (await this.backend.json<{ items: ResumeView[] }>("GET", "/api/resumes")).items;
      const shown = this.items.find(({ id }) => id === this.#chosen) ?? this.items[0];
      if (shown && (this.detail?.id !== shown.id || this.detail.status !== shown.status)) {
        this.detail = await this.backend.json<ResumeDetail>("GET", `/api/resumes/${encodeURIComponent(shown.id)}`);
      }
    });
    clearTimeout(this.#timer);
    if (this.isConnected && this.detail && isUnderWay(this.detail)) this.#timer = setTimeout(() => this.refresh(), POLL_MS);
  }

  #choose(id: string) {
    this.#chosen = id;
    this.marked = null;
    this.refresh();
  }

  async #send(event: Event) {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (!file) return;
    this.isSending = true;
    await this.attempt(strings.resumes.couldNotAdd, async () => {
      this.#chosen = (await sendResume(this.backend, file)).id;
      await this.refresh();
    });
    this.isSending = false;
    input.value = ""; // so that the same file can be chosen again
  }

  async #mark(path: string, place: "line" | "field") {
    this.marked = path;
    await this.updateComplete;
    const there = this.renderRoot.querySelector<HTMLElement>(`[data-${place}="${CSS.escape(path)}"]`);
    there?.focus({ preventScroll: true });
    there?.scrollIntoView({ block: "center" });
  }

  #review() {
    this.dispatchEvent(new CustomEvent("showapprovals", { bubbles: true, composed: true }));
  }

  override render(): TemplateResult {
    const { items, detail } = this;
    return html`<div class="head">
        ${items && items.length > 1 ? html`<select class="field" aria-label=${strings.resumes.which} @change=${(event: Event) => this.#choose((event.target as HTMLSelectElement).value)}>${items.map(({ id, name }) => html`<option value=${id} ?selected=${id === detail?.id}>${name}</option>`)}</select>` : nothing}
        <label class="quiet file">${this.isSending ? strings.resumes.sending : strings.resumes.add}<input type="file" class="spoken" accept=${RESUME_FILES} ?disabled=${this.isSending} @change=${this.#send}></label>
        ${detail?.status === "proposed" ? html`<button type="button" class="main-button" @click=${this.#review}>${strings.shared.review}</button>` : nothing}</div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${detail ? html`<p class="soft" role="status">${strings.shared.labeled(detail.name, detail.label)}</p>${detail.text ? this.#read(detail) : nothing}` : nothing}
      ${items && !items.length ? html`<p class="empty">${strings.resumes.empty}</p>` : nothing}`;
  }

  #read(detail: ResumeDetail) {
    const found = fieldsOf(detail);
    const sections = Map.groupBy(found, ({ section }) => section);
    return html`<div class="beside">
        <section aria-label=${strings.resumes.found}><h3>${strings.resumes.found}</h3>
          ${[...sections].map(([section, fields]) => html`<h4>${section}</h4>${[...Map.groupBy(fields, ({ entry }) => entry)].map(([entry, those]) => html`${entry ? html`<h5>${entry}</h5>` : nothing}<ul class="found">${those.map((each) => this.#field(each))}</ul>`)}`)}
          ${detail.left_out.length ? html`<details><summary>${strings.resumes.leftOut(detail.left_out.length)}</summary><ul>${detail.left_out.map(({ path, why }) => html`<li><span>${nameOf(path)}</span> <span class="soft">${why}</span></li>`)}</ul></details>` : nothing}
          ${detail.unread.length ? html`<details><summary>${strings.resumes.nothingIn(detail.unread.length)}</summary><ul>${detail.unread.map((line) => html`<li class="soft">${line}</li>`)}</ul></details>` : nothing}
        </section>
        <section aria-label=${strings.resumes.yours}><h3>${strings.resumes.yours}</h3><p class="soft">${strings.resumes.contactRemoved}</p><div class="row text">${this.#text(detail.text, found)}</div></section>
      </div>`;
  }

  #field({ path, name, value, original, is_checked: isChecked }: Found) {
    return html`<li><button type="button" class="field-button" data-field=${path} aria-pressed=${this.marked === path} @click=${() => this.#mark(path, "line")}>
      <span class="soft">${name}</span> <span>${value}</span>${original && original !== value ? html` <span class="soft">${strings.resumes.writtenAs(original)}</span>` : nothing}${isChecked ? nothing : html` <span class="badge">${strings.shared.notDoubleChecked}</span>`}</button></li>`;
  }

  /** The text, with the lines of fields highlighted. Words shared by two fields belong to the first. */
  #text(text: string, found: Found[]) {
    const parts: unknown[] = [];
    let from = 0;
    for (const { path, name, start, end } of [...found].sort((one, other) => one.start - other.start || one.end - other.end)) {
      if (start < from || end <= start) continue;
      parts.push(text.slice(from, start), html`<button type="button" class="line" data-line=${path} aria-label=${strings.resumes.foundAs(text.slice(start, end), name)} aria-pressed=${this.#isMarked(found, start, end)} @click=${() => this.#mark(path, "field")}>${text.slice(start, end)}</button>`);
      from = end;
    }
    return [...parts, text.slice(from)];
  }

  #isMarked = (found: Found[], start: number, end: number) =>
    found.some(({ path, start: begin, end: finish }) => path === this.marked && begin < end && finish > start);
}

/** The fields in the order of their paths, each with its value in the document. */
function fieldsOf({ fields, resume }: ResumeDetail): Found[] {
  const sections: Record<string, string> = strings.resumes.sections;
  return Object.entries(fields).map(([path, field]) => {
    const [section = ""] = path.split("/").slice(1);
    return { ...field, path, section: sections[section] ?? section, entry: entryOf(resume, path), name: nameOf(path), value: String(valueAt(resume, path) ?? field.quote) };
  });
}

const valueAt = (resume: unknown, path: string): unknown =>
  path.split("/").slice(1).reduce((value: any, key) => (value && Object.hasOwn(value, key) ? value[key] : undefined), resume);

/** What an entry of a list is called, such as "Product Manager, Ledgerline"; empty for other fields. */
function entryOf(resume: unknown, path: string): string {
  const [, section, index] = path.split("/");
  const entry = /^\d+$/.test(index ?? "") ? valueAt(resume, `/${section}/${index}`) : null;
  const { position, studyType, name, institution } = (entry ?? {}) as Record<string, string | undefined>;
  return [position ?? studyType, name ?? institution].filter(Boolean).join(", ");
}

/** The label of a JSON pointer's last part that is not an index: "Start date" for `startDate`; none for what its list says. */
function nameOf(path: string): string {
  const names: Record<string, string> = strings.resumes.names;
  const word = path.split("/").slice(1).filter((part) => !/^\d+$/.test(part)).at(-1) ?? "";
  return names[word] ?? sentenceCase(word);
}
