import type { ApprovalView, Decision, EventView, MemoryView, Problem, Source, Step } from "./api.ts";
import { copyButton } from "./copy.ts";
import { type IconName, element, icon, iconButton, spinner, spoken } from "./dom.ts";
import type { Feedback } from "./feedback.ts";
import { renderMarkdown } from "./markdown.ts";
import { SaidMessage } from "./said_message.ts";
import { Sources } from "./sources.ts";
import { strings } from "./strings.ts";
import { pointInTime, seconds } from "./time.ts";
import { sentenceCase } from "./words.ts";

/** Errors without a Retry button, because a repetition would fail too; a message that was not accepted returns to the input. */
export const FINAL = new Set(["invalid", "too_long", "attachments_unsupported", "over_budget"]);

/** Maximum announced characters of an answer. */
const SPOKEN_LIMIT = 4_000;

/** The reasons why an answer is incomplete, by status. */
const unfinished = (status: string) =>
  status === "stopped" ? strings.turn.stopped : status === "failed" ? strings.errors.internal : strings.turn.interrupted;

/**
 * A user message and its answer. The methods in `EVENTS` handle the stream's events of the same name; a new kind
 * of event is a new method there, and its nodes go into `answer`, before `footer`.
 */
const EVENTS = ["text_delta", "tool_call", "tool_result", "progress", "approval_required", "approval_decided", "memory", "sources", "activity"] as const;

interface ShownStep {
  mark: HTMLElement;
  state: HTMLElement;
  time: HTMLElement;
  why: HTMLElement;
  what: HTMLElement;
  ok: boolean | null;
  ms: number | null | undefined; // undefined: not read yet
  problem: string | null | undefined;
  arguments: string | undefined; // JSON, or its beginning
}
type Learnt = Pick<Step, "id"> & Partial<Pick<Step, "ok" | "ms" | "problem" | "arguments">>;

interface TurnOptions {
  id: string;
  /** Null for an answer without a message. */
  said: string | null;
  announce: (sentence: string) => void;
  onRetry: () => void;
  onContinue: () => void;
  onExplain: () => void;
  onAsk: (view: ApprovalView) => HTMLElement;
  /** Notices of decisions made at the user's level, or by a typed yes or no. */
  onDecided: (view: ApprovalView) => HTMLElement;
  onMemory: (memory: MemoryView) => HTMLElement;
  onActivity: (event: EventView) => void;
  /** Called when the text has grown on the screen. */
  onGrow: () => void;
  onAgain: () => void;
  onEdit: (text: string) => void;
}

export class Turn {
  readonly id: string;
  said: string | null;
  replaces: string | null = null; // id of the message or answer that this one replaces
  answers: string | null = null; // id of the last answer on the screen when the message was sent
  readonly element: HTMLElement;
  readonly answer: HTMLElement;
  readonly footer: HTMLElement;
  accepted = false; // the server has stored the message
  answered = false; // an answer was loaded into it
  running = false;
  underWay = false; // the server has begun this run
  stopping = false;
  answerId: string | null = null; // known once the server has begun this run
  decisions: ({ approval_id: string } & Decision)[] | null = null; // what it posts instead of a message
  failure: string | null = null; // the code of the error that ended it
  #announce: TurnOptions["announce"];
  #onExplain: TurnOptions["onExplain"];
  #onAsk: TurnOptions["onAsk"];
  #onDecided: TurnOptions["onDecided"];
  #onMemory: TurnOptions["onMemory"];
  #onActivity: TurnOptions["onActivity"];
  #onGrow: TurnOptions["onGrow"];
  #text = "";
  #frame = 0; // of the browser's animation, in which the text is rendered
  #steps = new Map<string, ShownStep>();
  #notes = new Set<string>();
  #writing = false;
  #asks = false;
  #feedback: Feedback | null = null;
  #stepsBox = element("details", { class: "steps", hidden: true, toggle: () => this.#wonder() });
  #stepsTitle = element("summary");
  #stepsList = element("ul");
  #content = element("div", { class: "content" });
  #workingLabel = element("span");
  #working = element("div", { class: "working", hidden: true }, spinner(), this.#workingLabel);
  #sources = new Sources();
  #asides = element("div", { class: "asides" });
  #problem = element("p", { class: "problem", hidden: true });
  #retry: HTMLButtonElement;
  #continue: HTMLButtonElement;
  #again: HTMLButtonElement;
  #actions: HTMLElement;
  #message: SaidMessage | null = null;
  #when = element("time", { class: "when", hidden: true });

  constructor({ id, said, announce, onRetry, onContinue, onExplain, onAsk, onDecided, onMemory, onActivity, onGrow, onAgain, onEdit }: TurnOptions) {
    this.id = id;
    this.said = said;
    this.#announce = announce;
    this.#onExplain = onExplain;
    this.#onAsk = onAsk;
    this.#onDecided = onDecided;
    this.#onMemory = onMemory;
    this.#onActivity = onActivity;
    this.#onGrow = onGrow;
    this.#retry = element("button", { type: "button", class: "quiet", hidden: true, click: onRetry }, strings.turn.retry);
    this.#continue = element("button", { type: "button", class: "quiet", hidden: true, click: onContinue }, strings.shared.continue);
    this.#again = iconButton("again", strings.turn.answerAgain, onAgain, { class: "icon-button thumb", hidden: true });
    this.#actions = element("div", { class: "thumbs", hidden: true }, copyButton(strings.turn.copyAnswer, () => this.#text, "icon-button thumb"), this.#again);
    this.footer = element("div", { class: "footer" }, this.#problem, this.#continue, this.#retry, this.#actions, this.#when);
    this.#stepsBox.append(this.#stepsTitle, this.#stepsList);
    this.answer = element(
      "div",
      { class: "answer", role: "group", "aria-label": strings.turn.agent },
      this.#stepsBox,
      this.#content,
      this.#sources.element,
      this.#working,
      this.#asides,
      this.footer,
    );
    // Announce steps and the whole answer in the status region, but neither every delta nor loaded messages.
    this.element = element("article", { class: "turn", "aria-live": "off" });
    if (said !== null) {
      this.#message = new SaidMessage(said, onEdit);
      this.element.append(this.#message.element);
    }
    this.element.append(this.answer);
  }

  /** Shows the time of the message. */
  at(moment: string) {
    this.#when.hidden = false;
    this.#when.dateTime = moment;
    this.#when.textContent = sentenceCase(pointInTime(moment));
  }

  begin() {
    this.#text = "";
    this.#steps.clear();
    this.#notes.clear();
    this.#asks = false;
    this.#stepsList.replaceChildren();
    this.#sources.clear();
    this.#feedback?.element.remove();
    this.#feedback = this.answerId = this.failure = null;
    this.#render();
    this.underWay = this.stopping = false;
    this.resume();
  }

  /** Shows the turn as running, with what it has so far. */
  resume() {
    this.running = true;
    this.#writing = false;
    this.#workingLabel.textContent = strings.turn.thinking;
    this.#problem.hidden = this.#retry.hidden = this.#continue.hidden = true;
    this.#refresh();
  }

  wait(label: string) {
    this.#workingLabel.textContent = label;
    this.#announce(label);
  }

  /** True while text follows text. */
  get writing() {
    return this.#writing;
  }

  /** True for the name of an event that a method of this class handles. */
  static hears(name: string): name is (typeof EVENTS)[number] {
    return (EVENTS as readonly string[]).includes(name);
  }

  text_delta({ content }: { content: string }) {
    this.#text += content;
    if (this.#writing) return this.#renderSoon();
    this.#stepsBox.open = false;
    this.#writing = true;
    this.#render();
    this.#refresh();
  }

  #render() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    renderMarkdown(this.#content, this.#text);
  }

  /** Renders at most once per frame: a fast model sends more chunks than the screen shows frames. */
  #renderSoon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#render();
      this.#onGrow();
    });
  }

  tool_call({ id, name, label, arguments: given }: Step) {
    this.#addStep({ id, label: label || name, arguments: given });
    this.#writing = false;
    this.#stepsBox.open = true;
    this.#announce(label || name);
    this.#refresh();
  }

  tool_result({ id, ok }: Step) {
    this.#learn({ id, ok });
    this.#refresh();
  }

  sources({ sources }: { sources: Source[] }) {
    this.#sources.add(sources);
    this.#refresh();
  }

  activity(event: EventView) {
    this.#onActivity(event);
  }

  /** A notice on how the answer was made; shown once even if it is sent repeatedly. */
  progress({ label }: { label: string }) {
    if (this.#notes.has(label)) return;
    this.#notes.add(label);
    this.#stepsList.append(element("li", { class: "note" }, element("span", { class: "mark" }, icon("info")), label));
    this.#writing = false;
    this.#stepsBox.open = true;
    this.#announce(label);
    this.#refresh();
  }

  approval_required(view: ApprovalView) {
    const card = this.#onAsk(view);
    const isShownAgain = card.isConnected;
    this.ask(card);
    if (isShownAgain) {
      card.tabIndex = -1;
      card.focus({ preventScroll: true });
    }
    this.#refresh();
  }

  /** Shows an action that ran without approval, at the user's level; decisions of the user are shown on their cards. */
  approval_decided(view: ApprovalView) {
    const card = this.#onDecided(view);
    if (view.decided_by === "level") this.place(card);
  }

  memory(view: MemoryView) {
    this.place(this.#onMemory(view));
  }

  /** Shows an approval. Its tool call waits for a person: without a result it has not failed. */
  ask(card: HTMLElement) {
    this.#asks = true;
    this.place(card);
  }

  /** Shows a node that belongs to the answer but is not part of its text. */
  place(node: HTMLElement) {
    this.#asides.append(node);
  }

  done({ content, stopped }: { content: string; stopped?: boolean }) {
    this.#text = content || this.#text;
    this.#render();
    this.#end(stopped ? strings.turn.stopped : null);
    this.#announce(stopped ? strings.turn.stopped : this.#spokenAnswer());
  }

  /** The answer, or the beginning of a long one, because a screen reader reads a status message to its end. */
  #spokenAnswer(): string {
    const { children, textContent } = this.#content;
    if (textContent!.length <= SPOKEN_LIMIT) return this.#content.innerText;
    const beginning = Array.from(children, (block) => block.textContent).join("\n").slice(0, SPOKEN_LIMIT);
    return strings.turn.goesOn(beginning);
  }

  fail({ code, message }: Problem) {
    this.failure = code;
    this.#end(message, code);
    this.#problem.classList.add("failed");
    this.#announce(message);
  }

  /** An answer as the server stores it. */
  load({ content, status, error, steps }: { content: string; status: string; error?: Problem | null | undefined; steps?: Step[] | undefined }) {
    this.#text = content;
    this.#render();
    for (const { name, label, ms, sources, ...step } of steps ?? []) {
      this.#addStep({ ...step, label: label || name, ms: ms ?? null });
      this.#sources.add(sources ?? []);
    }
    const problem = status === "complete" ? null : (error?.message ?? unfinished(status));
    this.#end(problem, error?.code);
    this.#problem.classList.toggle("failed", status === "failed");
    this.#offerContinuing(status === "interrupted" && content.trim() !== "");
  }

  /** Adds details of the steps that are not in the stream. */
  explain(steps: Step[]) {
    for (const { id, ms, problem, arguments: given } of steps) this.#learn({ id, ms: ms ?? null, problem, arguments: given });
    this.#refresh();
  }

  /** Called once the server has stored the whole answer. */
  rate(feedback: Feedback) {
    this.#feedback = feedback;
    this.footer.append(feedback.element);
    this.#refresh();
  }

  /** Replaces the shown text of the message. */
  say(text: string) {
    this.said = text;
    this.#message?.show(text);
  }

  /** Lets a person edit the message and ask for another answer: the server replaces the last ones only. */
  offerReplacing(isOffered: boolean) {
    const isKept = isOffered && this.accepted && this.said !== null;
    this.#again.hidden = !isKept || this.answerId === null || !this.#continue.hidden; // Regenerate does the same
    this.#message?.offerEdit(isKept);
  }

  /** The server accepts a message again only if no other follows it. */
  withdrawRetry() {
    if (this.accepted) this.#retry.hidden = this.#continue.hidden = true;
  }

  /** Lets a user continue an interrupted answer, or regenerate it. */
  #offerContinuing(isOffered: boolean) {
    this.#continue.hidden = !isOffered;
    this.#retry.textContent = isOffered ? strings.turn.regenerate : strings.turn.retry;
  }

  #addStep({ id, label, ok, ms, problem, arguments: given }: Learnt & { label: string }) {
    const mark = element("span", { class: "mark" });
    const state = spoken("");
    const time = element("span", { class: "time" });
    const why = element("p", { class: "why" });
    const what = element("p", { class: "why" });
    this.#stepsList.append(element("li", {}, mark, element("span", {}, label), state, time, what, why));
    this.#steps.set(id, { mark, state, time, why, what, ok: ok ?? null, ms, problem, arguments: given });
  }

  #learn({ id, ...news }: Learnt) {
    const step = this.#steps.get(id);
    if (step) Object.assign(step, news);
  }

  #wonder() {
    const unexplained = [...this.#steps.values()].some(({ ms }) => ms === undefined);
    if (this.#stepsBox.open && !this.running && unexplained) this.#onExplain();
  }

  /** Marks steps without a result as ended, because they will get none after the turn. */
  #showStep({ mark, state, time, why, what, ok, ms, problem, arguments: given }: ShownStep) {
    what.textContent = lookedFor(given);
    what.hidden = !what.textContent;
    time.textContent = ms === undefined || ms === null ? "" : seconds(ms);
    why.textContent = problem ?? "";
    why.hidden = !problem;
    const [result, shown] = this.#stateOf(ok);
    const words = ` (${result})`;
    if (state.textContent === words) return;
    state.textContent = words;
    mark.replaceChildren(shown ? icon(shown) : spinner());
  }

  #stateOf(ok: boolean | null): [string, IconName | null] {
    if (ok) return [strings.turn.done, "check"];
    if (ok === null && this.running) return [strings.turn.underWay, null];
    return this.#hasFailed(ok) ? [strings.turn.failed, "close"] : [strings.turn.asked, "info"];
  }

  #hasFailed(ok: boolean | null) {
    return ok === false || (ok === null && !this.running && !(this.#asks && this.#problem.hidden));
  }

  #end(problem: string | null, code?: string) {
    if (this.#frame) this.#render(); // show all the text of an interrupted answer
    this.running = this.stopping = false;
    this.#stepsBox.open = false;
    this.#problem.classList.remove("failed");
    this.#problem.textContent = problem ?? "";
    this.#problem.hidden = problem === null;
    this.#offerContinuing(false);
    this.#retry.hidden = problem === null || this.said === null || (code !== undefined && FINAL.has(code));
    this.#refresh();
  }

  #refresh() {
    const steps = [...this.#steps.values()];
    const failed = steps.filter(({ ok }) => this.#hasFailed(ok)).length;
    const pending = steps.some(({ ok }) => ok === null);
    for (const step of steps) this.#showStep(step);
    const title = [steps.length && strings.turn.steps(steps.length), failed && strings.turn.failedSteps(failed), this.#notes.size && strings.turn.notes(this.#notes.size)];
    this.#stepsTitle.textContent = title.filter(Boolean).join(", ");
    this.#stepsBox.hidden = !this.#stepsTitle.textContent;
    this.#working.hidden = !this.running || pending || this.#writing;
    this.#actions.hidden = this.running || !this.#text.trim();
    if (this.#feedback) this.#feedback.element.hidden = this.running || !this.#text.trim();
    this.answer.setAttribute("aria-busy", String(this.running));
  }
}

/** Arguments that are not shown: limits, and ids of records. */
const UNSAID = /^(limit|after|.*_ids?)$/;

/** The arguments of a step, in words: "Looked for: payments". */
function lookedFor(given: string | undefined): string {
  const names: Record<string, string> = strings.turn.arguments;
  try {
    const told = Object.entries(JSON.parse(given || "{}") as Record<string, unknown>).filter(([name, value]) => !UNSAID.test(name) && value !== null && value !== "");
    return told.map(([name, value]) => strings.shared.labeled((Object.hasOwn(names, name) && names[name]) || sentenceCase(name), wordsOf(value))).join(" · ");
  } catch {
    return (given ?? "").replaceAll(/["{}[\]]/g, ""); // truncated JSON
  }
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(wordsOf).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value).map(([name, each]) => `${sentenceCase(name)} ${wordsOf(each)}`).join(", ");
}
