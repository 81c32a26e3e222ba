/** <qwestly-settings>: how far the agent may go, pause, time zone, export and erasing. */

import { type TemplateResult, css, html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import type { BrakeStatus, BriefingPlan, EarnedKind, Settings } from "../api.ts";
import { brakeWords, turnBrake } from "../brake.ts";
import { pointInTime } from "../time.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const LEVELS: [string, string, string][] = [
  ["L0", "Suggest", "Your agent suggests and drafts. It can’t change your profile, your cards, or your applications."],
  ["L1", "Assist", "Your agent drafts on its own, and asks before it changes your profile, your cards, or your applications."],
  ["L2", "Supervised", "Changes to your profile, your cards, or your applications wait in your approvals while your agent keeps working."],
  ["L3", "Autonomous", "Your agent changes your profile right away when you plainly ask for it, and you can undo it for a day. All else, and anything others can see, waits for your approval."],
];

export class QwestlySettings extends AgentElement {
  static override properties = { ...AgentElement.properties, settings: { state: true }, kinds: { state: true }, plan: { state: true }, brake: { state: true }, saved: { state: true }, isBusy: { state: true } };
  static override styles = [BASE_STYLES, css`
    section { display: grid; gap: .75rem; }
    h3 { font-size: 1.05rem; }
    .level { display: flex; gap: .8rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .8rem; background: var(--surface); cursor: pointer; }
    .level + .level { margin-block-start: .5rem; }
    .level:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
    .level input { flex: none; inline-size: 1.2rem; block-size: 1.2rem; margin-block-start: .15rem; accent-color: var(--accent); }
    .level strong { display: block; font-weight: 600; }
    .earn { display: grid; gap: .3rem; font-size: .9rem; color: var(--muted); }
    .earn select { color: var(--text); justify-self: start; }
    .kinds { display: grid; gap: .5rem; margin: 0; padding: 0; list-style: none; font-size: .9rem; }
    .kinds :is(strong, span) { display: block; }
    .kinds strong { font-weight: 600; }
    .check { display: flex; gap: .5rem; align-items: center; font-size: .95rem; }
    .check input[type=checkbox] { inline-size: 1.1rem; block-size: 1.1rem; accent-color: var(--accent); }
    .days { display: flex; flex-wrap: wrap; gap: .3rem .9rem; }
    .time { inline-size: 8rem; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
    .pair label { display: grid; gap: .3rem; font-size: .9rem; color: var(--muted); }
    .pair select { color: var(--text); }
    @container (max-width: 600px) { .pair { grid-template-columns: 1fr; } }
  `];

  declare settings: Settings | null;
  declare kinds: EarnedKind[];
  declare plan: BriefingPlan | null;
  declare brake: BrakeStatus | null;
  /** What was done last, in a sentence. */
  declare saved: string;
  declare isBusy: boolean;

  #reading: Promise<void> | null = null;

  constructor() {
    super();
    Object.assign(this, { settings: null, kinds: [], plan: null, brake: null, saved: "", isBusy: false });
  }

  /** Once at a time: a second reading would take the zone from the browser after the user chose one. */
  override refresh() {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = null)));
  }

  async #read() {
    const { choices } = this;
    await this.load("We couldn’t load your settings.", async () => {
      const [settings, brake, kinds, plan] = await Promise.all([
        this.backend.json<Settings>("GET", "/api/settings"),
        this.backend.json<BrakeStatus>("GET", "/api/brake"),
        this.#earnings(),
        this.backend.json<BriefingPlan>("GET", "/api/briefings/settings"),
      ]);
      const fresh = fromBrowser(settings);
      this.brake = brake;
      this.kinds = kinds;
      if (choices === this.choices) this.plan = plan;
      const read = Object.keys(fresh).length ? await this.#put(fresh).catch(() => settings) : settings;
      if (choices === this.choices) this.settings = read;
    });
  }

  async #earnings() {
    return (await this.backend.json<{ kinds: EarnedKind[] }>("GET", "/api/autonomy")).kinds;
  }

  #put(body: Partial<Settings>) {
    return this.backend.json<Settings>("PUT", "/api/settings", { body });
  }

  async #change(what: Partial<Settings>, said: string) {
    this.saved = "";
    await this.choose(this.settings!, what, (settings) => { this.settings = settings; }, () => this.#put(what));
    if (this.problem) return;
    this.saved = said;
    await this.load("We couldn’t load your settings.", async () => { this.kinds = await this.#earnings(); });
  }

  async #plan(what: Partial<BriefingPlan>) {
    await this.choose(this.plan!, what, (plan) => { this.plan = plan; }, () => this.backend.json<BriefingPlan>("PUT", "/api/briefings/settings", { body: what }));
  }

  #chooseTime = (event: Event) => {
    const [hour, minute] = (event.target as HTMLInputElement).value.split(":").map(Number);
    if (hour !== undefined && minute !== undefined) this.#plan({ hour, minute });
  };

  #chooseDay(plan: BriefingPlan, day: number, on: boolean) {
    const days = on ? [...plan.days, day].sort() : plan.days.filter((each) => each !== day);
    if (days.length) this.#plan({ days });
    else this.requestUpdate(); // the last day stays: switching off is a choice of its own
  }

  async #toggleBrake() {
    const isOn = this.brake?.state !== "running";
    this.isBusy = true;
    await this.attempt(isOn ? "We couldn’t resume." : "We couldn’t pause everything.", async () => {
      this.brake = await turnBrake((method) => this.backend.json<BrakeStatus>(method, "/api/brake"), !isOn);
    });
    this.isBusy = false;
  }

  async #export() {
    await this.attempt("We couldn’t download your data.", async () => {
      const response = await this.backend.call("GET", "/api/me/export");
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: "qwestly-agent.json" });
      link.click();
      URL.revokeObjectURL(link.href);
      this.saved = "Your download is ready.";
    });
  }

  get #dialog() {
    return this.renderRoot.querySelector("dialog")!;
  }

  async #erase(event: Event) {
    if ((event.target as HTMLDialogElement).returnValue !== "erase") return;
    this.isBusy = true;
    await this.attempt("We couldn’t erase everything.", async () => {
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

  /** What may be earned beyond the level, and each kind's record; where nothing is to be earned, nothing. */
  #earned(level: string, ceiling: string) {
    const further = LEVELS.filter(([value]) => level !== "L0" && value > level);
    if (!further.length) return nothing;
    const choices: [string, string][] = [[level, "No"], ...further.map(([value, name]): [string, string] => [value, `Up to ${name}`])];
    return html`
      <label class="earn">Can it earn more freedom?<select class="field" aria-describedby="earn" @change=${(event: Event) => this.#change({ ceiling: valueOf(event) }, "Saved.")}>
        ${options(choices, ceiling, String)}</select></label>
      <p class="soft" id="earn">After ten approvals in a row, we’ll ask whether it can do that on its own. One decline resets it.</p>
      ${this.kinds.length ? html`<ul class="kinds">${this.kinds.map((each) => html`<li><strong>${each.title}</strong> <span class="soft">${each.record}</span>
        ${each.is_earned ? html`<span class="soft">${each.means}</span>` : nothing}</li>`)}</ul>` : nothing}`;
  }

  #briefings(plan: BriefingPlan) {
    const time = `${String(plan.hour).padStart(2, "0")}:${String(plan.minute).padStart(2, "0")}`;
    return html`<section aria-label="Briefings">
      <h3>Briefings</h3>
      ${check("Brief me", plan.on, (on) => this.#plan({ on }))}
      <label class="check">At <input class="field time" type="time" required .value=${time} @change=${this.#chooseTime}> <span class="soft">${plan.time_zone.replaceAll("_", " ")}</span></label>
      <div class="days" role="group" aria-label="On">${DAYS.map((name, day) => check(name, plan.days.includes(day), (on) => this.#chooseDay(plan, day, on)))}</div>
      ${check("Only when something is new", plan.quiet, (quiet) => this.#plan({ quiet }))}
      <p class="soft">${plan.on && plan.next ? `Next briefing: ${pointInTime(plan.next)}.` : "What’s new and what needs you, once a day, at your hour."}</p>
    </section>`;
  }

  #sections({ level, ceiling, time_zone: zone }: Settings) {
    const paused = this.brake !== null && this.brake.state !== "running";
    return html`
      <section>
        <h3 id="level">How far your agent can go</h3>
        <fieldset aria-labelledby="level">${LEVELS.map(([value, name, sentence]) => html`<label class="level">
          <input type="radio" name="level" value=${value} .checked=${live(level === value)} @change=${() => this.#change({ level: value }, `Saved: ${name}.`)}>
          <span><strong>${name}</strong><span class="soft">${sentence}</span></span></label>`)}</fieldset>
        ${this.#earned(level, ceiling)}
      </section>
      <section>
        <h3>Pause</h3>
        <p class="soft">${paused ? brakeWords(this.brake!) : "Stops everything your agent is doing, and starts nothing new until you resume."}</p>
        <div><button type="button" class="quiet" ?disabled=${this.isBusy || this.brake?.everybody} @click=${this.#toggleBrake}>${paused ? "Resume" : "Pause everything"}</button></div>
      </section>
      <section>
        <h3>Time</h3>
        <div class="pair">
          <label>Time zone<select class="field" @change=${(event: Event) => this.#change({ time_zone: valueOf(event) }, "Saved.")}>
            ${options(Intl.supportedValuesOf("timeZone").map((each) => [each, zoneName(each)]), zone, zoneName)}</select></label>
        </div>
        <p class="soft">Emails show times in your time zone.</p>
      </section>
      ${this.plan ? this.#briefings(this.plan) : nothing}
      <section>
        <h3>Emails</h3>
        ${check("Questions that wait for you", this.settings!.mail_questions !== false, (on) => this.#change({ mail_questions: on }, "Saved."))}
        ${check("A reminder of each at half of its time", this.settings!.mail_reminders !== false, (on) => this.#change({ mail_reminders: on }, "Saved."))}
        ${this.plan ? check("Briefings", this.plan.mail, (mail) => this.#plan({ mail })) : nothing}
      </section>
      <section>
        <h3>Your data</h3>
        <div class="tools"><button type="button" class="quiet" @click=${this.#export}>Download my data</button>
          <button type="button" class="quiet danger" ?disabled=${this.isBusy} @click=${() => this.#dialog.showModal()}>Erase everything</button></div>
      </section>`;
  }
}

const check = (label: string, checked: boolean, change: (checked: boolean) => void) =>
  html`<label class="check"><input type="checkbox" .checked=${live(checked)} @change=${(event: Event) => change((event.target as HTMLInputElement).checked)}>${label}</label>`;

/** What was never set, as the browser says it. A zone that no database has, as Chrome's `Etc/Unknown`, is left out. */
function fromBrowser({ language, time_zone: zone }: Settings): Partial<Settings> {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const known = here === "UTC" || Intl.supportedValuesOf("timeZone").includes(here);
  return { ...(language === null && { language: navigator.language }), ...(zone === null && known && { time_zone: here }) };
}

const valueOf = (event: Event) => (event.target as HTMLSelectElement).value;

/** A value that is not listed is listed as it is. */
function options(known: [string, string][], chosen: string | null, name: (value: string) => string) {
  const listed = chosen === null || known.some(([value]) => value === chosen) ? known : [[chosen, name(chosen)] as [string, string], ...known];
  return listed.map(([value, name]) => html`<option value=${value} ?selected=${value === chosen}>${name}</option>`);
}

const zoneName = (zone: string) => zone.replaceAll("_", " ");
