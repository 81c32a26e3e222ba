/** <qwestly-learning>: what is due today, the goal and what is between, the library's path, and a lesson. */

import { type TemplateResult, css, html, nothing } from "lit";

import { AgentElement, BASE_STYLES } from "./base.ts";

interface Question { lesson_id: string; number: number; text: string; options: string[]; due_at: string; answers: number; right_answers: number }
interface Quote { module_id: string; title: string; text: string }
interface Summary { lesson_id: string; title: string; topic: string; subject: string; status: "writing" | "ready" | "failed" | "stopped"; label: string }
interface Lesson extends Summary {
  outline: string[];
  sentences: { point: number; text: string; quotes: Quote[] }[];
  questions: Question[];
  left_out: number;
  checked: boolean;
}
interface Module { id: string; title: string; summary: string; state: "open" | "writing" | "ready"; lesson_id: string | null }
interface Gap { title: string; need: string; need_quote: { text: string }; asked?: { requirement: string; quote: string } | null; have: string; have_quotes: { text: string }[]; topic: string }
interface Learning {
  progress: { goal: string; goals: { text: string; quote: string }[]; gaps: Gap[]; due: number; next: { topic: string; module: string; why: string } | null };
  path: { subject: string; topics: { topic: string; modules: Module[] }[] }[];
  due: Question[];
  lessons: Summary[];
}
interface Answer { is_right: boolean; right: number; because: string; question: Question }

const STATES: Record<Module["state"], string> = { open: "Not started", writing: "In progress", ready: "Learned" };
type Felt = "hard" | "good" | "easy";
const FELT: [Felt, string][] = [["hard", "Hard"], ["good", "Just right"], ["easy", "Easy"]];
const keyOf = ({ lesson_id: lesson, number }: Question) => `${lesson}/${number}`;

export class QwestlyLearning extends AgentElement {
  static override properties = {
    ...AgentElement.properties,
    learning: { state: true }, lesson: { state: true }, answered: { state: true }, isChoosing: { state: true }, felt: { state: true },
  };
  static override styles = [BASE_STYLES, css`
    article .head h2 { flex: 1 1 12rem; }
    section, .points, .questions { display: grid; gap: .75rem; }
    h3 { font-size: 1.05rem; line-height: 1.3; }
    ul { display: grid; gap: .6rem; }
    .goal { display: flex; flex-wrap: wrap; gap: .5rem; }
    .goal .field { flex: 1 1 12rem; inline-size: auto; }
    summary { inline-size: fit-content; color: var(--accent); cursor: pointer; }
    blockquote { margin: .35rem 0; padding-inline-start: .7rem; border-inline-start: 2px solid var(--accent); color: var(--muted); font-size: .9rem; }
    .chip { flex: none; padding: 0 .55rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--muted); font-size: .78rem; white-space: nowrap; }
    .chip.ready { border-color: var(--accent); color: var(--accent); }
    .unchecked { border-block-end: 1px dashed var(--edge); }
    .module { display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .75rem; padding-block: .35rem; }
    .module > :first-child { flex: 1 1 12rem; }
    fieldset { display: grid; gap: .5rem; }
    legend { float: inline-start; padding: 0; font-weight: 600; } /* afloat it stands in the frame, not on it */
    .option { inline-size: 100%; padding: .5rem .85rem; border: 1px solid var(--edge); border-radius: .6rem; background: var(--background); text-align: start; cursor: pointer; }
    .felt { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem; }
    .felt .quiet { padding: .1rem .6rem; font-size: .85rem; }
    .option:hover:enabled { background: var(--raised); }
    .option.right { border-color: var(--accent); opacity: 1; }
    .option.wrong { border-color: var(--danger); opacity: 1; }
    @media (pointer: coarse) { .option { min-block-size: 44px; } }
  `];

  declare learning: Learning | null;
  declare lesson: Lesson | null;
  /** By question: the option that was chosen, and what came of it. */
  declare answered: Map<string, Answer & { chosen: number }>;
  declare isChoosing: boolean;
  /** By question: how it feels, said before an option is chosen; what is not said is "good". */
  declare felt: Map<string, Felt>;

  constructor() {
    super();
    Object.assign(this, { learning: null, lesson: null, answered: new Map(), felt: new Map(), isChoosing: false });
  }

  override async refresh() {
    await this.load("We couldn’t load your learning.", async () => {
      this.learning = await this.backend.json<Learning>("GET", "/api/learning");
    });
  }

  async #open(id: string) {
    await this.attempt("We couldn’t open the lesson.", async () => {
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
    await this.attempt("We couldn’t save that.", async () => {
      this.learning = await this.backend.json<Learning>("PUT", "/api/learning/goal", { body: { goal } });
    });
    this.isChoosing = false;
  };

  async #answer(question: Question, chosen: number) {
    const path = `/api/lessons/${encodeURIComponent(question.lesson_id)}/questions/${question.number}`;
    await this.attempt("We couldn’t save your answer.", async () => {
      const answer = await this.backend.json<Answer>("POST", path, { body: { option: chosen, answers: question.answers, felt: this.felt.get(keyOf(question)) ?? "good" } });
      this.answered = new Map([...this.answered, [keyOf(question), { ...answer, chosen }]]);
    });
  }

  override updated(changed: Map<string, unknown>) {
    if (changed.has("lesson") && this.lesson) this.renderRoot.querySelector<HTMLElement>("h2")?.focus();
  }

  override render(): TemplateResult {
    const problem = html`<p class="problem" role="alert" ?hidden=${!this.problem}>${this.problem}</p>`;
    if (this.lesson) return this.#lesson(this.lesson, problem);
    return html`<div class="page">
      <div class="head"><h2>Learning</h2></div>
      ${problem}
      ${this.learning ? this.#overview(this.learning) : nothing}
    </div>`;
  }

  #overview({ progress, path, due, lessons }: Learning) {
    const writing = lessons.filter(({ status }) => status === "writing");
    const failed = lessons[0] && lessons[0].status !== "ready" && lessons[0].status !== "writing" ? lessons[0] : null;
    return html`
      <section aria-labelledby="due"><h3 id="due">Due today</h3>
        ${due.length ? html`<div class="questions">${due.map((each) => this.#question(each))}</div>` : html`<p class="soft">Nothing’s due. Questions come back just before you’d forget them.</p>`}
      </section>
      ${writing.map(({ title }) => html`<p class="soft" role="status">We’re writing “${title}”.</p>`)}
      ${failed ? html`<p class="problem">“${failed.title}”: ${failed.label}</p>` : nothing}
      <section aria-labelledby="goal"><h3 id="goal">Your goal</h3>
        <form class="goal" @submit=${this.#choose}>
          <input class="field" aria-labelledby="goal" maxlength="200" autocomplete="off" list="goals" .value=${progress.goal} placeholder="Head of Product">
          <datalist id="goals">${progress.goals.map(({ text }) => html`<option value=${text}></option>`)}</datalist>
          <button class="quiet" ?disabled=${this.isChoosing}>${this.isChoosing ? "Looking…" : "Save"}</button>
        </form>
        ${progress.gaps.length ? html`<p class="soft">What you still need for ${progress.goal}:</p>
          <ul aria-label="What you still need">${progress.gaps.map((gap) => this.#gap(gap))}</ul>` : nothing}
        ${progress.next ? html`<p class="soft">Next: <strong>${progress.next.module}</strong>. ${progress.next.why}</p>` : nothing}
      </section>
      <section aria-labelledby="path"><h3 id="path">The library</h3>
        ${path.map(({ subject, topics }) => html`<details class="row" ?open=${topics.some(({ modules }) => modules.some(({ state }) => state !== "open"))}><summary>${subject}</summary>
          ${topics.map(({ topic, modules }) => html`<ul aria-label=${topic}>${modules.map((module) => this.#module(topic, module))}</ul>`)}</details>`)}
        ${path.length ? nothing : html`<p class="empty">The library is empty.</p>`}
      </section>`;
  }

  #gap({ title, need, need_quote: quote, asked, have, have_quotes: haves }: Gap) {
    return html`<li class="row"><p><strong>${title}</strong></p><p>${need}</p>
      <details><summary>Why</summary>${asked ? html`<p>The job posting asks for it:</p><blockquote>“${asked.quote}”</blockquote><p>Our library says:</p>` : nothing}<blockquote>“${quote.text}”</blockquote>
        ${have ? html`<p>${have}</p>${haves.map(({ text }) => html`<blockquote>“${text}”</blockquote>`)}` : html`<p class="soft">You haven’t mentioned this yet.</p>`}</details></li>`;
  }

  #module(topic: string, { title, state, lesson_id: lesson }: Module) {
    return html`<li class="module"><span>${topic}: ${title}</span><span class="chip ${state}">${STATES[state]}</span>
      ${state === "ready" && lesson ? html`<button type="button" class="quiet" data-lesson=${lesson} aria-label="Read ${title}" @click=${() => this.#open(lesson)}>Read</button>` : nothing}
      ${state === "open" ? html`<button type="button" class="quiet" aria-label="Start lesson: ${title}" @click=${() => this.#ask(topic, title)}>Start lesson</button>` : nothing}</li>`;
  }

  #ask(topic: string, module: string) {
    this.dispatchEvent(new CustomEvent("asklesson", { bubbles: true, composed: true, detail: { topic, module } }));
  }

  #lesson(lesson: Lesson, problem: TemplateResult) {
    const { title, topic, outline, sentences, questions, left_out: leftOut } = lesson;
    return html`<article class="page">
      <div class="head"><h2 tabindex="-1">${title}</h2><button type="button" class="quiet" @click=${this.#close}>Back</button></div>
      <p class="soft">${topic}. ${lesson.checked ? "Every sentence cites our library." : "Underlined sentences are general knowledge we haven’t checked."}${leftOut ? ` ${leftOut === 1 ? "One sentence was" : `${leftOut} sentences were`} left out because our library doesn’t back it up.` : ""}</p>
      ${problem}
      <div class="points">${outline.map((point, place) => {
        const said = sentences.filter((each) => each.point === place);
        return said.length ? html`<section><h3>${point}</h3>
          <p>${said.map(({ text, quotes }) => html`${quotes.length ? text : html`<span class="unchecked">${text}<span class="soft"> (not checked)</span></span>`} `)}</p>
          ${said.some(({ quotes }) => quotes.length) ? html`<details><summary>What the library says</summary>${said.flatMap(({ quotes }) => quotes).map(({ text, title: page }) => html`<blockquote cite=${page}>“${text}”</blockquote>`)}</details>` : nothing}
        </section>` : nothing;
      })}</div>
      ${questions.length ? html`<section aria-labelledby="questions"><h3 id="questions">Three questions</h3><div class="questions">${questions.map((each) => this.#question(each))}</div></section>` : nothing}
    </article>`;
  }

  /** An easy one comes back later, a hard one sooner; it is sent with the answer. */
  #feeling(question: Question) {
    const key = keyOf(question);
    const felt = this.felt.get(key) ?? "good";
    const choose = (value: Felt) => (this.felt = new Map([...this.felt, [key, value]]));
    return html`<div class="felt soft" role="group" aria-label="How this one feels">This one feels: ${FELT.map(([value, label]) => html`<button type="button" class="quiet" aria-pressed=${felt === value} @click=${() => choose(value)}>${label}</button>`)}</div>`;
  }

  #question(question: Question) {
    const answer = this.answered.get(keyOf(question));
    const markOf = (place: number) => (!answer ? "" : place === answer.right ? "right" : place === answer.chosen ? "wrong" : "");
    return html`<fieldset class="row"><legend>${question.text}</legend>
      ${question.options.map((option, place) => html`<button type="button" class="option ${markOf(place)}" ?disabled=${Boolean(answer)} @click=${() => this.#answer(question, place)}>${option}</button>`)}
      ${answer ? nothing : this.#feeling(question)}
      <p class="soft" role="status" ?hidden=${!answer}>${answer ? html`${answer.is_right ? "That’s right." : "Not quite."} ${answer.because} We’ll ask again ${dayOf(answer.question.due_at)}.` : nothing}</p>
    </fieldset>`;
  }
}

/** "today", "tomorrow", or in how many days. */
function dayOf(moment: string): string {
  const midnight = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
  const days = Math.round((midnight(new Date(moment)) - midnight(new Date())) / 86_400_000);
  return days < 1 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`;
}
