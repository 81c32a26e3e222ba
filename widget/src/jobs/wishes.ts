/** The user's search wishes, the switch for the nightly search, and the weights learned from thumbs. */

import { type TemplateResult, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "../elements/base.ts";
import { strings } from "../strings.ts";
import { JOB_STYLES } from "../styles/jobs.ts";
import { pointInTime } from "../time.ts";
import type { JobSettings, Weight, Wishes } from "./types.ts";

const LISTED = ["titles", "places", "languages", "work_permits", "never"] as const;
type Listed = (typeof LISTED)[number];

export class JobWishes extends AgentElement {
  static override properties = { ...AgentElement.properties, settings: { state: true }, weights: { state: true }, said: { state: true } };
  static override styles = [BASE_STYLES, JOB_STYLES];

  declare settings: JobSettings | null;
  declare weights: Weight[];
  declare said: string;

  constructor() {
    super();
    Object.assign(this, { settings: null, weights: [], said: "" });
  }

  override async refresh() {
    if (this.renderRoot?.querySelector("form:focus-within")) return; // do not overwrite what the user is typing
    await this.load(strings.wishes.couldNotLoad, async () => {
      [this.settings, this.weights] = await Promise.all([
        this.backend.json<JobSettings>("GET", "/api/jobs/settings"),
        this.backend.json<{ items: Weight[] }>("GET", "/api/jobs/weights").then(({ items }) => items),
      ]);
    });
  }

  #save = async (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const words = (name: Listed) => String(data.get(name)).split(",").map((each) => each.trim()).filter(Boolean);
    const wishes: Wishes = {
      titles: words("titles"), places: words("places"), languages: words("languages"), work_permits: words("work_permits"), never: words("never"),
      remote: data.get("remote") as Wishes["remote"],
      pay_from: data.get("pay_from") ? Number(data.get("pay_from")) : null,
      pay_currency: String(data.get("pay_currency")).trim().toUpperCase() || null,
    };
    this.said = "";
    await this.attempt(strings.shared.couldNotSave, async () => {
      this.settings = await this.backend.json<JobSettings>("PUT", "/api/jobs/settings", { body: { is_on: data.has("is_on"), wishes } });
      this.said = strings.shared.saved;
    });
  };

  async #forget() {
    await this.attempt(strings.memories.couldNotForget, async () => {
      this.weights = (await this.backend.json<{ items: Weight[] }>("DELETE", "/api/jobs/weights")).items;
      this.said = strings.wishes.forgotten;
    });
  }

  override render(): TemplateResult {
    return html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>
      ${this.settings ? this.#form(this.settings) : nothing}
      <p class="soft" role="status">${this.said}</p>
      ${this.weights.length ? html`<section aria-labelledby="taught"><h3 id="taught">${strings.wishes.taught}</h3>
        <ul aria-label=${strings.wishes.taught}>${this.weights.map(({ says }) => html`<li>${says}</li>`)}</ul>
        <div><button type="button" class="quiet" @click=${this.#forget}>${strings.wishes.forgetAll}</button></div></section>` : nothing}`;
  }

  /** A field's value, or what the profile suggests for an empty one. */
  #field(name: Listed, { wishes, suggestions = [] }: JobSettings) {
    const { label, example } = strings.wishes.fields[name];
    const suggested = suggestions.filter((each) => each.wish === name && !each.because);
    const value = wishes[name].length ? wishes[name] : suggested.map((each) => each.value);
    const said = suggestions.filter((each) => each.wish === name && each.because);
    return html`<label>${label} <input class="field" name=${name} autocomplete="off" placeholder=${example} .value=${value.join(", ")}>
      ${suggested.length && !wishes[name].length ? html`<span class="soft">${strings.wishes.ofProfile}</span>` : nothing}</label>
      ${said.map((each) => html`<p class="soft suggestion">${strings.wishes.youSaid(each.because)} <button type="button" class="link" @click=${() => this.#add(each.value)}>${strings.wishes.add(each.value)}</button></p>`)}`;
  }

  #add(value: string) {
    const { value: before } = this.renderRoot.querySelector<HTMLInputElement>("[name=never]")!;
    const never = [...before.split(",").map((each) => each.trim()).filter(Boolean), value];
    this.renderRoot.querySelector<HTMLInputElement>("[name=never]")!.value = [...new Set(never)].join(", ");
  }

  #form(settings: JobSettings) {
    const { is_on: isOn, wishes, next_at: next, boards } = settings;
    return html`<form class="wishes" @submit=${this.#save}>
      <label class="check"><input type="checkbox" name="is_on" .checked=${isOn}> <span>${strings.wishes.searchNightly}${isOn && next ? html` <span class="soft">${strings.wishes.nextSearch(pointInTime(next))}</span>` : nothing}</span></label>
      ${boards.length ? html`<p class="soft">${strings.wishes.boards(boards.join(", "))}</p>` : html`<p class="problem">${strings.wishes.noBoard}</p>`}
      ${LISTED.map((name) => this.#field(name, settings))}
      <label>${strings.wishes.remote} <select class="field" name="remote">${Object.entries(strings.wishes.remotes).map(([value, label]) => html`<option value=${value} ?selected=${wishes.remote === value}>${label}</option>`)}</select></label>
      <label>${strings.wishes.pay} <input class="field" name="pay_from" type="number" min="0" step="1000" .value=${String(wishes.pay_from ?? "")}></label>
      <label>${strings.wishes.currency} <input class="field" name="pay_currency" maxlength="3" pattern="[A-Za-z]{3}" placeholder=${strings.wishes.currencyExample} .value=${wishes.pay_currency ?? ""}></label>
      <p class="soft wide">${strings.wishes.hint}</p>
      <div class="wide"><button class="main-button">${strings.shared.save}</button></div>
    </form>`;
  }
}
