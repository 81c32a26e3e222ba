/** <qwestly-settings>: autonomy level, pause, time zone, export and erasure. */

import { type TemplateResult, css, html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import type { BrakeStatus, BriefingPlan, EarnedKind, Settings } from "../api.ts";
import { brakeWords, turnBrake } from "../brake.ts";
import { strings } from "../strings.ts";
import { pointInTime } from "../time.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

const LEVELS = ["L0", "L1", "L2", "L3"] as const;

export class QwestlySettings extends AgentElement {
  static override properties = { ...AgentElement.properties, settings: { state: true }, kinds: { state: true }, plan: { state: true }, brake: { state: true }, saved: { state: true }, isBusy: { state: true } };
  static override styles = [BASE_STYLES, css`
    section { display: grid; gap: .75rem; }
    .level { display: flex; gap: .75rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--background); cursor: pointer; }
    .level + .level { margin-block-start: .5rem; }
    .level:has(:checked) { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
    .level input { margin-block-start: .15rem; }
    .level strong { display: block; }
    .earn { display: grid; gap: .25rem; font-size: var(--note); color: var(--muted); }
    .earn select { color: var(--text); justify-self: start; }
    .kinds { display: grid; gap: .5rem; font-size: var(--note); }
    .kinds :is(strong, span) { display: block; }
    .check { display: flex; gap: .5rem; align-items: center; font-size: var(--note); }
    .days { display: flex; flex-wrap: wrap; gap: .25rem 1rem; }
    .time { inline-size: 8rem; }
    .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
    .pair label { display: grid; gap: .25rem; font-size: var(--note); color: var(--muted); }
    .pair select { color: var(--text); }
    @container (max-width: 600px) { .pair { grid-template-columns: 1fr; } }
  `];

  declare settings: Settings | null;
  declare kinds: EarnedKind[];
  declare plan: BriefingPlan | null;
  declare brake: BrakeStatus | null;
  /** The result of the last action, in a sentence. */
  declare saved: string;
  declare isBusy: boolean;

  #reading: Promise<void> | null = null;

  constructor() {
    super();
    Object.assign(this, { settings: null, kinds: [], plan: null, brake: null, saved: "", isBusy: false });
  }

  /** Only one load at a time: a second one would take the zone from the browser after the user chose one. */
  override refresh() {
    return (this.#reading ??= this.#read().finally(() => (this.#reading = null)));
  }

  async #read() {
    const { choices } = this;
    await this.load(strings.settings.couldNotLoad, async () => {
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
    await this.load(strings.settings.couldNotLoad, async () => { this.kinds = await this.#earnings(); });
  }

  async #takeBack({ tool, title }: EarnedKind) {
    this.saved = "";
    await this.attempt(strings.settings.couldNotTakeBack, async () => {
      this.kinds = (await this.backend.json<{ kinds: EarnedKind[] }>("DELETE", `/api/autonomy/${encodeURIComponent(tool)}`)).kinds;
      this.saved = strings.settings.takenBack(title);
    });
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
    else this.requestUpdate(); // keep the last day: briefings have a separate switch
  }

  async #toggleBrake() {
    const isOn = this.brake?.state !== "running";
    this.isBusy = true;
    await this.attempt(isOn ? strings.shared.couldNotResume : strings.shared.couldNotPause, async () => {
      this.brake = await turnBrake((method) => this.backend.json<BrakeStatus>(method, "/api/brake"), !isOn);
    });
    this.isBusy = false;
  }

  async #export() {
    await this.attempt(strings.settings.couldNotDownload, async () => {
      const response = await this.backend.call("GET", "/api/me/export");
      const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await response.blob()), download: "qwestly-agent.json" });
      link.click();
      URL.revokeObjectURL(link.href);
      this.saved = strings.settings.downloadReady;
    });
  }

  get #dialog() {
    return this.renderRoot.querySelector("dialog")!;
  }

  async #erase(event: Event) {
    if ((event.target as HTMLDialogElement).returnValue !== "erase") return;
    this.isBusy = true;
    await this.attempt(strings.settings.couldNotErase, async () => {
      const { note } = await this.backend.json<{ note: string }>("DELETE", "/api/me");
      this.saved = note;
      this.dispatchEvent(new CustomEvent("erased", { bubbles: true, composed: true }));
    });
    this.isBusy = false;
  }

  override render(): TemplateResult {
    return html`<div class="page">
      <div class="head"><h2>${strings.settings.title}</h2></div>
      <p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      <p class="soft" role="status" ?hidden=${!this.saved}>${this.saved}</p>
      ${this.settings ? this.#sections(this.settings) : this.problem ? nothing : html`<p class="empty">${strings.shared.loading}</p>`}
      <dialog aria-labelledby="sure" @close=${this.#erase}>
        <form method="dialog">
          <h3 id="sure">${strings.settings.eraseQuestion}</h3>
          <p>${strings.settings.eraseMeans}</p>
          <div class="tools"><button class="quiet" value="" autofocus>${strings.shared.cancel}</button><button class="quiet danger" value="erase">${strings.settings.erase}</button></div>
        </form>
      </dialog>
    </div>`;
  }

  /** The levels that can be earned, and the history of each kind of change; nothing if none can be earned. */
  #earned(level: string, ceiling: string) {
    const further = LEVELS.filter((each) => level !== "L0" && each > level);
    if (!further.length) return nothing;
    const choices: [string, string][] = [[level, strings.settings.noFreedom], ...further.map((each): [string, string] => [each, strings.settings.upTo(strings.settings.levels[each].name)])];
    return html`
      <label class="earn">${strings.settings.canEarn}<select class="field" aria-describedby="earn" @change=${(event: Event) => this.#change({ ceiling: valueOf(event) }, strings.shared.saved)}>
        ${options(choices, ceiling, String)}</select></label>
      <p class="soft" id="earn">${strings.settings.earning}</p>
      ${this.kinds.length ? html`<ul class="kinds">${this.kinds.map((each) => html`<li><strong>${each.title}</strong> <span class="soft">${each.record}</span>
        ${each.is_earned ? html`<span class="soft">${each.means}</span> <button type="button" class="quiet" @click=${() => this.#takeBack(each)}>${strings.settings.askMeAgain}</button>` : nothing}</li>`)}</ul>` : nothing}`;
  }

  #briefings(plan: BriefingPlan) {
    const time = `${String(plan.hour).padStart(2, "0")}:${String(plan.minute).padStart(2, "0")}`;
    return html`<section aria-label=${strings.settings.briefings}>
      <h3>${strings.settings.briefings}</h3>
      ${check(strings.settings.briefMe, plan.on, (on) => this.#plan({ on }))}
      <label class="check">${strings.settings.briefingAt} <input class="field time" type="time" required .value=${time} @change=${this.#chooseTime}> <span class="soft">${plan.time_zone.replaceAll("_", " ")}</span></label>
      <div class="days" role="group" aria-label=${strings.settings.briefingOn}>${strings.settings.days.map((name, day) => check(name, plan.days.includes(day), (on) => this.#chooseDay(plan, day, on)))}</div>
      ${check(strings.settings.onlyWhenNew, plan.quiet, (quiet) => this.#plan({ quiet }))}
      <p class="soft">${plan.on && plan.next ? strings.briefing.next(pointInTime(plan.next)) : strings.briefing.about}</p>
    </section>`;
  }

  #sections({ level, ceiling, time_zone: zone }: Settings) {
    const paused = this.brake !== null && this.brake.state !== "running";
    return html`
      <section>
        <h3 id="level">${strings.settings.howFar}</h3>
        <fieldset aria-labelledby="level">${LEVELS.map((each) => html`<label class="level">
          <input type="radio" name="level" value=${each} .checked=${live(level === each)} @change=${() => this.#change({ level: each }, strings.settings.levelSaved(strings.settings.levels[each].name))}>
          <span><strong>${strings.settings.levels[each].name}</strong><span class="soft">${strings.settings.levels[each].means}</span></span></label>`)}</fieldset>
        ${this.#earned(level, ceiling)}
      </section>
      <section>
        <h3>${strings.settings.pause}</h3>
        <p class="soft">${paused ? brakeWords(this.brake!) : strings.settings.pauseMeans}</p>
        <div><button type="button" class="quiet" ?disabled=${this.isBusy || this.brake?.everybody} @click=${this.#toggleBrake}>${paused ? strings.shared.resume : strings.shared.pauseEverything}</button></div>
      </section>
      <section>
        <h3>${strings.settings.time}</h3>
        <div class="pair">
          <label>${strings.settings.timeZone}<select class="field" @change=${(event: Event) => this.#change({ time_zone: valueOf(event) }, strings.shared.saved)}>
            ${options(Intl.supportedValuesOf("timeZone").map((each) => [each, zoneName(each)]), zone, zoneName)}</select></label>
        </div>
        <p class="soft">${strings.settings.mailTimes}</p>
      </section>
      ${this.plan ? this.#briefings(this.plan) : nothing}
      <section>
        <h3>${strings.settings.emails}</h3>
        ${check(strings.settings.mailQuestions, this.settings!.mail_questions !== false, (on) => this.#change({ mail_questions: on }, strings.shared.saved))}
        ${check(strings.settings.mailReminders, this.settings!.mail_reminders !== false, (on) => this.#change({ mail_reminders: on }, strings.shared.saved))}
        ${this.plan ? check(strings.settings.briefings, this.plan.mail, (mail) => this.#plan({ mail })) : nothing}
      </section>
      <section>
        <h3>${strings.settings.yourData}</h3>
        <div class="tools"><button type="button" class="quiet" @click=${this.#export}>${strings.settings.download}</button>
          <button type="button" class="quiet danger" ?disabled=${this.isBusy} @click=${() => this.#dialog.showModal()}>${strings.settings.erase}</button></div>
      </section>`;
  }
}

const check = (label: string, checked: boolean, change: (checked: boolean) => void) =>
  html`<label class="check"><input type="checkbox" .checked=${live(checked)} @change=${(event: Event) => change((event.target as HTMLInputElement).checked)}>${label}</label>`;

/** Settings that were never set, as reported by the browser. Invalid zones, such as Chrome's `Etc/Unknown`, are left out. */
function fromBrowser({ language, time_zone: zone }: Settings): Partial<Settings> {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const known = here === "UTC" || Intl.supportedValuesOf("timeZone").includes(here);
  return { ...(language === null && { language: navigator.language }), ...(zone === null && known && { time_zone: here }) };
}

const valueOf = (event: Event) => (event.target as HTMLSelectElement).value;

/** Adds the current value to the options if it is not among them. */
function options(known: [string, string][], chosen: string | null, name: (value: string) => string) {
  const listed = chosen === null || known.some(([value]) => value === chosen) ? known : [[chosen, name(chosen)] as [string, string], ...known];
  return listed.map(([value, name]) => html`<option value=${value} ?selected=${value === chosen}>${name}</option>`);
}

const zoneName = (zone: string) => zone.replaceAll("_", " ");
