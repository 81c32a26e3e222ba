/** <qwestly-settings>: how far the agent may go, the brake, language and time zone, export and erasing. */

import { type TemplateResult, css, html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import type { BrakeStatus, Settings } from "../api.ts";
import { brakeWords } from "../brake.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const LEVELS: [string, string, string][] = [
  ["L0", "Suggest", "Your agent only proposes. Everything waits for your yes."],
  ["L1", "Assist", "Your agent asks before it changes anything, and drafts on its own."],
  ["L2", "Supervised", "Changes wait in your approvals while your agent keeps working."],
  ["L3", "Autonomous", "What you plainly ask for and can undo for a day is done right away. Anything others can see still waits for your yes."],
];
const LANGUAGES: [string, string][] = [["en", "English"], ["de", "Deutsch"], ["es", "Español"], ["fr", "Français"], ["pt", "Português"]];

export class QwestlySettings extends AgentElement {
  static override properties = { ...AgentElement.properties, settings: { state: true }, brake: { state: true }, saved: { state: true }, isBusy: { state: true } };
  static override styles = [BASE_STYLES, css`
    section { display: grid; gap: .75rem; }
    h3 { font-size: 1.05rem; }
    .level { display: flex; gap: .8rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .8rem; background: var(--surface); cursor: pointer; }
    .level + .level { margin-block-start: .5rem; }
    .level:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
    .level input { flex: none; inline-size: 1.2rem; block-size: 1.2rem; margin-block-start: .15rem; accent-color: var(--accent); }
    .level strong { display: block; font-weight: 600; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
    .pair label { display: grid; gap: .3rem; font-size: .9rem; color: var(--muted); }
    .pair select { color: var(--text); }
    @container (max-width: 600px) { .pair { grid-template-columns: 1fr; } }
  `];

  declare settings: Settings | null;
  declare brake: BrakeStatus | null;
  /** What was done last, in a sentence. */
  declare saved: string;
  declare isBusy: boolean;

  constructor() {
    super();
    Object.assign(this, { settings: null, brake: null, saved: "", isBusy: false });
  }

  override async refresh() {
    await this.load("Your settings could not be loaded.", async () => {
      const [settings, brake] = await Promise.all([this.backend.json<Settings>("GET", "/api/settings"), this.backend.json<BrakeStatus>("GET", "/api/brake")]);
      const fresh = fromBrowser(settings);
      this.brake = brake;
      this.settings = Object.keys(fresh).length ? await this.#put(fresh).catch(() => settings) : settings;
    });
  }

  #put(body: Partial<Settings>) {
    return this.backend.json<Settings>("PUT", "/api/settings", { body });
  }

  async #change(what: Partial<Settings>, said: string) {
    const before = this.settings!;
    this.saved = "";
    this.settings = { ...before, ...what };
    await this.attempt("Not saved.", async () => {
      this.settings = await this.#put(what);
      this.saved = said;
    });
    if (this.problem) this.settings = before;
  }

  async #toggleBrake() {
    const isOn = this.brake?.state !== "running";
    this.isBusy = true;
    await this.attempt(isOn ? "It couldn’t be resumed." : "Not everything could be paused.", async () => {
      this.brake = await this.backend.json<BrakeStatus>(isOn ? "DELETE" : "POST", "/api/brake");
    });
    this.isBusy = false;
  }

  async #export() {
    await this.attempt("Your data could not be downloaded.", async () => {
      const response = await this.backend.call("GET", "/api/me/export");
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: "qwestly-agent.json" });
      link.click();
      URL.revokeObjectURL(link.href);
      this.saved = "Your data was downloaded.";
    });
  }

  get #dialog() {
    return this.renderRoot.querySelector("dialog")!;
  }

  async #erase(event: Event) {
    if ((event.target as HTMLDialogElement).returnValue !== "erase") return;
    this.isBusy = true;
    await this.attempt("Not everything could be erased.", async () => {
      const { note } = await this.backend.json<{ note: string }>("DELETE", "/api/me");
      this.saved = note;
      this.dispatchEvent(new CustomEvent("erased", { bubbles: true, composed: true }));
    });
    this.isBusy = false;
  }

  override render(): TemplateResult {
    return html`<div class="page">
      <div class="head"><h2>Settings</h2></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <p class="soft" role="status" ?hidden=${!this.saved}>${this.saved}</p>
      ${this.settings ? this.#sections(this.settings) : this.problem ? nothing : html`<p class="empty">Loading…</p>`}
      <dialog aria-labelledby="sure" @close=${this.#erase}>
        <form method="dialog">
          <h3 id="sure">Erase everything?</h3>
          <p>Your conversations, memories, drafts, approvals and activity here will be erased for good. What was published stays where it was published. You can’t undo this.</p>
          <div class="tools"><button class="quiet" value="" autofocus>Cancel</button><button class="quiet danger" value="erase">Erase everything</button></div>
        </form>
      </dialog>
    </div>`;
  }

  #sections({ level, language, time_zone: zone }: Settings) {
    const paused = this.brake !== null && this.brake.state !== "running";
    return html`
      <section>
        <h3 id="level">How far your agent may go</h3>
        <fieldset aria-labelledby="level">${LEVELS.map(([value, name, sentence]) => html`<label class="level">
          <input type="radio" name="level" value=${value} .checked=${live(level === value)} @change=${() => this.#change({ level: value }, `Saved: ${name}.`)}>
          <span><strong>${name}</strong><span class="soft">${sentence}</span></span></label>`)}</fieldset>
      </section>
      <section>
        <h3>Pause</h3>
        <p class="soft">${paused ? brakeWords(this.brake!) : "Stops everything that runs for you, and lets nothing begin until you resume."}</p>
        <div><button type="button" class="quiet" ?disabled=${this.isBusy || this.brake?.everybody} @click=${this.#toggleBrake}>${paused ? "Resume" : "Pause everything"}</button></div>
      </section>
      <section>
        <h3>Language and time</h3>
        <div class="pair">
          <label>Language<select class="field" @change=${(event: Event) => this.#change({ language: valueOf(event) }, "Saved.")}>
            ${options(LANGUAGES, language)}</select></label>
          <label>Time zone<select class="field" @change=${(event: Event) => this.#change({ time_zone: valueOf(event) }, "Saved.")}>
            ${options(Intl.supportedValuesOf("timeZone").map((each) => [each, each.replaceAll("_", " ")]), zone)}</select></label>
        </div>
        <p class="soft">Mails and pages say times in your zone.</p>
      </section>
      <section>
        <h3>Your data</h3>
        <div class="tools"><button type="button" class="quiet" @click=${this.#export}>Download my data</button>
          <button type="button" class="quiet danger" ?disabled=${this.isBusy} @click=${() => this.#dialog.showModal()}>Erase everything</button></div>
      </section>`;
  }
}

/** What was never set, as the browser says it. */
function fromBrowser({ language, time_zone: zone }: Settings): Partial<Settings> {
  return { ...(language === null && { language: navigator.language }), ...(zone === null && { time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone }) };
}

const valueOf = (event: Event) => (event.target as HTMLSelectElement).value;

/** A value that is not listed is listed as it is: `de-AT` beside `de`. */
function options(known: [string, string][], chosen: string | null) {
  const listed = chosen === null || known.some(([value]) => value === chosen) ? known : [[chosen, nameOf(chosen)] as [string, string], ...known];
  return listed.map(([value, name]) => html`<option value=${value} ?selected=${value === chosen}>${name}</option>`);
}

function nameOf(language: string): string {
  try {
    return new Intl.DisplayNames([language], { type: "language" }).of(language) ?? language;
  } catch {
    return language; // a zone, or no tag of a language
  }
}
