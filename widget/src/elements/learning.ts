/** <qwestly-learning>: questions due today, the goal and the gaps before it, the learning path, and a lesson. */

import { type TemplateResult, css, html, nothing } from "lit";

import { strings } from "../strings.ts";
import { untilDay } from "../time.ts";
import { AgentElement, BASE_STYLES } from "./base.ts";

interface Question { lesson_id: string; number: number; text: string; options: string[]; due_at: string; answers: number; right_answers: number }
interface Quote { module_id: string; title: string; text: string; source: string }
type Stage = "writing" | "reading" | "answered" | "learned" | "failed" | "stopped";
interface Summary { lesson_id: string; title: string; topic: string; subject: string; stage: Stage; label: string }
interface Sentence { point: number; text: string; quotes: Quote[] }
interface Lesson extends Summary {
  outline: string[];
  sentences: Sentence[];
  questions: Question[];
  left_out: number;
  general: number;
  checked: boolean;
}
interface Module { id: string; title: string; summary: string; state: "open" | Exclude<Stage, "failed" | "stopped">; lesson_id: string | null }
interface Gap { title: string; need: string; need_quote: { text: string }; asked?: { requirement: string; quote: string } | null; have: string; have_quotes: { text: string }[]; topic: string }
interface Learning {
  progress: { goal: string; goals: { text: string; quote: string }[]; gaps: Gap[]; due: number; unread: number; next: { topic: string; module: string; why: string } | null };
  path: { subject: string; topics: { topic: string; modules: Module[] }[] }[];
  due: Question[];
  lessons: Summary[];
}
interface Answer { is_right: boolean; right: number; because: string; explained: Sentence[]; question: Question }
type How = "differently" | "example";
interface Explanation { sentences: { text: string; quotes: { of: "lesson" | "you"; text: string }[] }[]; note: string }

type Felt = "hard" | "good" | "easy";
const FELT: Felt[] = ["hard", "good", "easy"];
const WRITING_MS = 2_000; // how often a lesson that is being written is looked for
const keyOf = ({ lesson_id: lesson, number }: Question) => `${lesson}/${number}`;

export class QwestlyLearning extends AgentElement {
  static override properties = {
    ...AgentElement.properties,
    learning: { state: true }, lesson: { state: true }, answered: { state: true }, isChoosing: { state: true }, felt: { state: true },
    explained: { state: true },
  };
  static override styles = [BASE_STYLES, css`
    article .head h2 { flex: 1 1 12rem; }
    section, .points, .questions { display: grid; gap: .75rem; }
    ul { display: grid; gap: .5rem; }
    form { display: flex; flex-wrap: wrap; gap: .5rem; }
    form .field { flex: 1 1 12rem; inline-size: auto; }
    .explained { display: grid; gap: .5rem; }
    summary { color: var(--accent); }
    .unchecked { border-block-end: 1px dashed var(--edge); }
    .module { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; padding-block: .35rem; }
    .module > :first-child { flex: 1 1 12rem; }
    fieldset { display: grid; gap: .5rem; }
    legend { float: inline-start; padding: 0; font-weight: 600; } /* afloat it stands in the frame, not on it */
    .option { inline-size: 100%; padding: .5rem .85rem; border: 1px solid var(--edge); border-radius: .6rem; background: var(--background); text-align: start; }
    .felt { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
    .felt .quiet { padding: .1rem .6rem; font-size: var(--note); }
    .option:hover:enabled { background: var(--raised); }
    .option.right { border-color: var(--accent); opacity: 1; }
    .option.wrong { border-color: var(--danger); opacity: 1; }
    @media (pointer: coarse) { .option { min-block-size: 44px; } }
  `];

  declare learning: Learning | null;
  declare lesson: Lesson | null;
  /** The chosen option and its result, by question. */
  declare answered: Map<string, Answer & { chosen: number }>;
  declare isChoosing: boolean;
  /** The difficulty that the user chose before answering, by question; "good" by default. */
  declare felt: Map<string, Felt>;

  /** Further explanations of an answer, by question. `null` while one is being written. */
  declare explained: Map<string, Explanation | null>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    Object.assign(this, { learning: null, lesson: null, answered: new Map(), felt: new Map(), explained: new Map(), isChoosing: false });
  }

  override disconnectedCallback() {
    clearTimeout(this.#timer);
    super.disconnectedCallback();
  }

  override async refresh() {
    await this.load(strings.learning.couldNotLoad, async () => this.#learn(await this.backend.json<Learning>("GET", "/api/learning")));
  }

  /** Shows it, tells the page what waits, and looks again soon while a lesson is being written. */
  #learn(learning: Learning) {
    this.learning = learning;
    const { due, unread } = learning.progress;
    this.dispatchEvent(new CustomEvent("lessonswaiting", { detail: { due, unread }, bubbles: true, composed: true }));
    clearTimeout(this.#timer);
    if (this.isConnected && learning.lessons.some(({ stage }) => stage === "writing")) this.#timer = setTimeout(() => this.refresh(), WRITING_MS);
  }

  /** Has a module written, or a topic's next one. */
  async #begin(module: string) {
    await this.attempt(strings.learning.couldNotBegin, async () => {
      await this.backend.json<Summary>("POST", "/api/lessons", { body: { module } });
      await this.refresh();
    });
  }

  /** A name of the library begins its lesson; whatever else is typed is for the agent to understand. */
  #want = async (event: Event) => {
    event.preventDefault();
    const input = (event.target as HTMLFormElement).querySelector("input")!;
    const words = input.value.trim();
    if (!words) return;
    input.value = "";
    const isSame = (name: string) => name.localeCompare(words, undefined, { sensitivity: "base" }) === 0;
    const known = this.learning?.path.flatMap(({ topics }) => topics).some(({ topic, modules }) => isSame(topic) || modules.some(({ title }) => isSame(title)));
    if (known) await this.#begin(words);
    else this.dispatchEvent(new CustomEvent("asklesson", { bubbles: true, composed: true, detail: { words } }));
  };

  /** Opens a lesson. */
  async open(id: string) {
    await this.attempt(strings.learning.couldNotOpen, async () => {
      this.lesson = await this.backend.json<Lesson>("GET", `/api/lessons/${encodeURIComponent(id)}`);
      this.answered = new Map();
    });
  }

  #close = async () => {
    const id = this.lesson?.lesson_id;
    this.lesson = null;
    this.answered = new Map();
    await this.refresh();
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>(`[data-lesson="${CSS.escape(id ?? "")}"]`)?.focus();
  };

  #choose = async (event: Event) => {
    event.preventDefault();
    const goal = (event.target as HTMLFormElement).querySelector("input")!.value.trim();
    this.isChoosing = true;
    await this.attempt(strings.shared.couldNotSave, async () => {
      this.#learn(await this.backend.json<Learning>("PUT", "/api/learning/goal", { body: { goal } }));
    });
    this.isChoosing = false;
  };

  async #answer(question: Question, chosen: number) {
    const path = `/api/lessons/${encodeURIComponent(question.lesson_id)}/questions/${question.number}`;
    await this.attempt(strings.learning.couldNotSaveAnswer, async () => {
      const answer = await this.backend.json<Answer>("POST", path, { body: { option: chosen, answers: question.answers, felt: this.felt.get(keyOf(question)) ?? "good" } });
      this.answered = new Map([...this.answered, [keyOf(question), { ...answer, chosen }]]);
    });
  }

  async #explain(question: Question, how: How) {
    const show = (explanation: Explanation | null) => (this.explained = new Map([...this.explained, [keyOf(question), explanation]]));
    show(null);
    const path = `/api/lessons/${encodeURIComponent(question.lesson_id)}/questions/${question.number}/explanation`;
    await this.attempt(strings.learning.couldNotExplain, async () => void show(await this.backend.json<Explanation>("POST", path, { body: { how } })));
    if (!this.explained.get(keyOf(question))) this.explained = new Map([...this.explained].filter(([key]) => key !== keyOf(question)));
  }

  override updated(changed: Map<string, unknown>) {
    if (changed.has("lesson") && this.lesson) this.renderRoot.querySelector<HTMLElement>("h2")?.focus();
  }

  override render(): TemplateResult {
    const problem = html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>`;
    if (this.lesson) return this.#lesson(this.lesson, problem);
    return html`<div class="page">
      <div class="head"><h2>${strings.learning.title}</h2></div>
      ${problem}
      ${this.learning ? this.#overview(this.learning) : nothing}
    </div>`;
  }

  #overview({ progress, path, due, lessons }: Learning) {
    const of = (wanted: Stage) => lessons.filter(({ stage }) => stage === wanted);
    const failed = lessons[0]?.stage === "failed" || lessons[0]?.stage === "stopped" ? lessons[0] : null;
    return html`
      <form @submit=${this.#want}><input class="field" name="topic" aria-label=${strings.learning.want} maxlength="200" autocomplete="off" placeholder=${strings.learning.want}><button class="quiet">${strings.learning.start}</button></form>
      <div role="status">${of("writing").map(({ title }) => html`<p class="soft">${strings.learning.writing(title)}</p>`)}</div>
      ${of("reading").map(({ lesson_id: id, title }) => html`<div class="module row"><span><strong>${title}</strong><span class="soft"> ${strings.learning.ready}</span></span>${this.#read(id, title)}</div>`)}
      ${failed ? html`<p class="problem">${strings.shared.labeled(strings.shared.quoted(failed.title), failed.label)}</p>` : nothing}
      <section aria-labelledby="due"><h3 id="due">${strings.learning.due}</h3>
        ${due.length ? html`<div class="questions">${due.map((each) => this.#question(each))}</div>` : html`<p class="soft">${strings.learning.nothingDue}</p>`}
      </section>
      <section aria-labelledby="goal"><h3 id="goal">${strings.learning.goal}</h3>
        <form @submit=${this.#choose}>
          <input class="field" aria-labelledby="goal" maxlength="200" autocomplete="off" list="goals" .value=${progress.goal} placeholder=${strings.learning.goalExample}>
          <datalist id="goals">${progress.goals.map(({ text }) => html`<option value=${text}></option>`)}</datalist>
          <button class="quiet" ?disabled=${this.isChoosing}>${this.isChoosing ? strings.learning.looking : strings.shared.save}</button>
        </form>
        ${progress.gaps.length ? html`<p class="soft">${strings.learning.stillNeededFor(progress.goal)}</p>
          <ul aria-label=${strings.learning.stillNeeded}>${progress.gaps.map((gap) => this.#gap(gap, path))}</ul>` : nothing}
        ${progress.next ? html`<div class="module"><span class="soft">${strings.learning.next} <strong>${progress.next.module}</strong>. ${progress.next.why}</span>${this.#start(progress.next.module)}</div>` : nothing}
      </section>
      <section aria-labelledby="path"><h3 id="path">${strings.learning.library}</h3>
        ${path.map(({ subject, topics }) => html`<details class="row" ?open=${topics.some(({ modules }) => modules.some(({ state }) => state !== "open"))}><summary>${subject}</summary>
          ${topics.map(({ topic, modules }) => html`<ul aria-label=${topic}>${modules.map((module) => html`<li class="module"><span>${strings.shared.labeled(topic, module.title)}</span>${this.#act(module)}</li>`)}</ul>`)}</details>`)}
        ${path.length ? nothing : html`<p class="empty">${strings.learning.libraryEmpty}</p>`}
      </section>`;
  }

  #gap({ title, need, need_quote: quote, asked, have, have_quotes: haves, topic }: Gap, path: Learning["path"]) {
    const modules = path.flatMap(({ topics }) => topics).find((each) => each.topic === topic)?.modules ?? [];
    return html`<li class="row"><p><strong>${title}</strong></p><p>${need}</p>
      ${modules.map((module) => html`<div class="module"><span>${module.title}</span>${this.#act(module)}</div>`)}
      <details><summary>${strings.shared.why}</summary>${asked ? html`<p>${strings.learning.asked}</p><blockquote>${strings.shared.quoted(asked.quote)}</blockquote><p>${strings.learning.librarySays}</p>` : nothing}<blockquote>${strings.shared.quoted(quote.text)}</blockquote>
        ${have ? html`<p>${have}</p>${haves.map(({ text }) => html`<blockquote>${strings.shared.quoted(text)}</blockquote>`)}` : html`<p class="soft">${strings.learning.notMentioned}</p>`}</details></li>`;
  }

  /** A module's state, with the button that fits it. */
  #act({ title, state, lesson_id: lesson }: Module) {
    return html`<span class="badge ${state}">${strings.learning.states[state]}</span>${state === "open" ? this.#start(title) : nothing}${lesson && state !== "open" && state !== "writing" ? this.#read(lesson, title) : nothing}`;
  }

  #start(title: string) {
    return html`<button type="button" class="quiet" aria-label=${strings.shared.labeled(strings.learning.start, title)} @click=${() => this.#begin(title)}>${strings.learning.start}</button>`;
  }

  #read(lesson: string, title: string) {
    return html`<button type="button" class="quiet" data-lesson=${lesson} aria-label=${strings.learning.readOne(title)} @click=${() => this.open(lesson)}>${strings.learning.read}</button>`;
  }

  #lesson(lesson: Lesson, problem: TemplateResult) {
    const { title, topic, outline, sentences, questions, left_out: leftOut } = lesson;
    return html`<article class="page">
      <div class="head"><h2 tabindex="-1">${title}</h2><button type="button" class="quiet" @click=${this.#close}>${strings.learning.back}</button></div>
      <p class="soft">${topic}. ${lesson.checked ? strings.learning.checked : strings.learning.unchecked(lesson.general, sentences.length)}${leftOut ? ` ${strings.learning.leftOut(leftOut)}` : ""}</p>
      ${problem}
      <div class="points">${outline.map((point, place) => {
        const said = sentences.filter((each) => each.point === place);
        return said.length ? html`<section><h3>${point}</h3>
          <p>${said.map(({ text, quotes }) => html`${quotes.length ? text : html`<span class="unchecked">${text}<span class="soft"> ${strings.learning.notChecked}</span></span>`} `)}</p>
          ${said.some(({ quotes }) => quotes.length) ? html`<details><summary>${strings.learning.whatLibrarySays}</summary>${said.flatMap(({ quotes }) => quotes).map(({ text, title: page, source }) => html`<blockquote cite=${page} title=${source}>${strings.shared.quoted(text)}</blockquote>`)}</details>` : nothing}
        </section>` : nothing;
      })}</div>
      ${questions.length ? html`<section aria-labelledby="questions"><h3 id="questions">${strings.learning.questions}</h3><div class="questions">${questions.map((each) => this.#question(each))}</div></section>` : nothing}
    </article>`;
  }

  /** Easy questions are repeated later, hard ones sooner. The rating is sent with the answer. */
  #feeling(question: Question) {
    const key = keyOf(question);
    const felt = this.felt.get(key) ?? "good";
    const choose = (value: Felt) => (this.felt = new Map([...this.felt, [key, value]]));
    return html`<div class="felt soft" role="group" aria-label=${strings.learning.feels}>${strings.learning.thisFeels} ${FELT.map((value) => html`<button type="button" class="quiet" aria-pressed=${felt === value} @click=${() => choose(value)}>${strings.learning.felt[value]}</button>`)}</div>`;
  }

  #question(question: Question) {
    const answer = this.answered.get(keyOf(question));
    const markOf = (place: number) => (!answer ? "" : place === answer.right ? "right" : place === answer.chosen ? "wrong" : "");
    return html`<fieldset class="row"><legend>${question.text}</legend>
      ${question.options.map((option, place) => html`<button type="button" class="option ${markOf(place)}" ?disabled=${Boolean(answer)} @click=${() => this.#answer(question, place)}>${option}</button>`)}
      ${answer ? nothing : this.#feeling(question)}
      <p class="soft" role="status" ?hidden=${!answer}>${answer ? html`${answer.is_right ? strings.learning.right : strings.learning.wrong} ${answer.because} ${strings.learning.askAgain(untilDay(answer.question.due_at))}` : nothing}</p>
      ${answer && !answer.is_right ? this.#explanation(question, answer) : nothing}
    </fieldset>`;
  }

  #explanation(question: Question, { because, explained }: Answer) {
    const others = explained.filter(({ text }) => text !== because);
    const told = this.explained.get(keyOf(question));
    const ask = (how: How) => html`<button type="button" class="quiet" ?disabled=${told === null} @click=${() => this.#explain(question, how)}>${strings.learning.explain[how]}</button>`;
    return html`<div class="explained" role="group" aria-label=${strings.learning.explanation}>
      ${others.length ? html`<p>${others.map(({ text }) => html`${text} `)}</p>` : nothing}
      ${explained.flatMap(({ quotes }) => quotes).length ? html`<details><summary>${strings.learning.whatLibrarySays}</summary>${explained.flatMap(({ quotes }) => quotes).map(({ text }) => html`<blockquote>${strings.shared.quoted(text)}</blockquote>`)}</details>` : nothing}
      <div aria-live="polite">${told ? html`${told.note ? html`<p class="soft">${told.note}</p>` : nothing}${told.sentences.map(({ text, quotes }) => html`<p>${text}</p>${quotes.map(({ of, text: words }) => html`<blockquote>${strings.shared.labeled(strings.learning.quoteOf[of], strings.shared.quoted(words))}</blockquote>`)}`)}` : nothing}</div>
      <div class="tools">${ask("differently")}${ask("example")}</div>
    </div>`;
  }
}
