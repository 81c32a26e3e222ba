/** The card of one approval: the question, the decision, and the outcome. */

import type { ApprovalView, Decision } from "./api.ts";
import { type IconName, WORDS_LIMIT, characters, element, grow, icon, showCount, spinner } from "./dom.ts";
import { ChatError } from "./errors.ts";
import { ofMemories, showPreview } from "./preview.ts";
import { stage } from "./stage.ts";
import { strings } from "./strings.ts";
import { until, untilDay } from "./time.ts";

const MARKS: Record<string, IconName> = { frozen: "pause", done: "check", failed: "alert", changed: "info", revised: "info", rejected: "close", expired: "close", gone: "close" };

/** The outcome, in a sentence. */
export function became({ tool, status, decided_by: by, undone_by: undoneBy }: ApprovalView): string {
  if (undoneBy) return strings.approval.undone;
  if (status === "changed" && by === "nobody") return strings.approval.noLongerAsked;
  const usual: Record<string, string> = strings.approval.became;
  const words = ofMemories(tool)?.became[status] ?? usual[status] ?? status;
  if (by === "level") return strings.approval.byLevel(words);
  return by === "link" ? strings.approval.byEmail(words) : words;
}

/** The proposed value and its alternatives, if a pending approval offers a choice. */
function choicesOf({ status, args, editable, alternatives = [] }: ApprovalView): { arg: string; texts: string[] } | null {
  const [arg, ...more] = editable;
  const value = arg && args[arg];
  return status === "pending" && arg && !more.length && typeof value === "string" && alternatives.length ? { arg, texts: [value, ...alternatives] } : null;
}

let groups = 0;

const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every((each) => typeof each === "string");
const linesOf = (text: string) => text.split("\n").map((line) => line.trim()).filter(Boolean);

interface Field { node: HTMLElement; read: () => unknown }

/** An input for one argument, and a function that reads it; null for a type that no input can edit. */
function fieldFor(label: string, value: unknown): Field | null {
  const area = (text: string, hint?: string) =>
    element("textarea", { class: "field", rows: "1", "aria-label": hint ? `${label}, ${hint}` : label, input: ({ target }: { target: HTMLTextAreaElement }) => grow(target) }, text);
  if (isTexts(value)) {
    const node = area(value.join("\n"), strings.approval.oneALine);
    return { node, read: () => linesOf(node.value) };
  }
  if (typeof value === "number") {
    const node = element("input", { class: "field", type: "number", step: "any", value: String(value), "aria-label": label });
    return { node, read: () => (Number.isNaN(node.valueAsNumber) ? undefined : node.valueAsNumber) };
  }
  if (typeof value === "boolean") {
    const node = element("input", { type: "checkbox", checked: value, "aria-label": label });
    return { node, read: () => node.checked };
  }
  if (typeof value !== "string") return null;
  const node = area(value);
  return { node, read: () => node.value.trim() || undefined };
}

const isItems = (value: unknown): value is Record<string, unknown>[] => Array.isArray(value) && value.length > 1 && value.every((each) => typeof each === "object" && each !== null);

/** A list whose items are taken or left, such as positions. */
function fieldForItems(label: string, items: Record<string, unknown>[]): Field {
  const parts = items.map((item) => {
    const name = Object.values(item).filter((value) => typeof value === "string").join(", ");
    const taken = element("input", { type: "checkbox", checked: true, "aria-label": strings.approval.take(name) });
    return { item, taken, node: element("label", { class: "item" }, taken, element("span", {}, name)) };
  });
  const node = element("div", { role: "group", "aria-label": label }, ...parts.map(({ node }) => node));
  const read = () => {
    const kept = parts.filter(({ taken }) => taken.checked).map(({ item }) => item);
    return kept.length ? kept : undefined;
  };
  return { node, read };
}

interface SeveralChange { field: string; value?: unknown }
const isSeveral = (value: unknown): value is SeveralChange[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "object" && each !== null && "field" in each);

/** The fields for several changes: which of them to keep, and their values. Of several items, each is taken or left; what no input can edit is kept as it is. */
function fieldForSeveral(changes: SeveralChange[], names: string[]): Field {
  const parts = changes.map(({ field, value }, place) => {
    const name = names[place] ?? field;
    const taken = element("input", { type: "checkbox", checked: true, "aria-label": strings.approval.take(name) });
    const edited = isItems(value) ? fieldForItems(name, value) : fieldFor(name, value);
    const node = element("div", { class: "several" }, element("label", {}, element("span", {}, name), taken), ...(edited ? [edited.node] : []));
    return { field, taken, node, read: edited?.read ?? (() => value) };
  });
  const read = () => {
    const kept = parts.filter(({ taken }) => taken.checked).map(({ field, read }) => ({ field, value: read() }));
    return kept.length && kept.every(({ value }) => value !== undefined) ? kept : undefined;
  };
  return { node: element("div", { role: "group", "aria-label": strings.approval.changes, tabindex: "-1" }, ...parts.map(({ node }) => node)), read };
}

/** The card of one record. `decide({decision, args_digest, …})` resolves once the decision was accepted. */
export class ApprovalCard {
  readonly element: HTMLElement;
  #decide: (decision: Decision) => Promise<void>;
  #view!: ApprovalView;
  #shown = "";
  #sending = false;
  #editing = false;
  /** The decision that a note is written for; null until one of its buttons is pressed. */
  #noting: "revise" | "reject" | null = null;
  #fields: (Field & { arg: string; label: string })[] = [];
  #effect = element("p", { class: "effect" });
  #title = element("h3");
  #content = element("div", { class: "asked" });
  #body = element("details", {}, element("summary", {}, strings.approval.asked), this.#content);
  #review = element("button", { type: "button", class: "quiet review", click: () => this.#openAlone() }, strings.approval.review);
  #time = element("p", { class: "time" });
  #question = element("div", { class: "question" }, this.#effect, this.#title, this.#body, this.#time);
  #words = element("textarea", {
    rows: "1",
    input: () => this.#type(),
  });
  #counter = element("p", { class: "counter" });
  #edits = element("div", { class: "edits" });
  /** A unique name per card: radio buttons with the same name form a group, and a record may be shown twice. */
  #group = `choice-${(groups += 1)}`;
  #options = element("div", { class: "options", role: "radiogroup", "aria-label": strings.approval.whichOne });
  #approve = button(strings.approval.approve, () => this.#approveChosen(), "main-button");
  #edit = button(strings.shared.edit, () => this.#toggleEditing(true));
  #change = button(strings.approval.askForChanges, () => this.#askAnew());
  #reject = button(strings.approval.decline, () => this.#decline());
  #save = button(strings.approval.approveAsEdited, () => this.#approveEdited(), "main-button");
  #cancel = button(strings.shared.cancel, () => this.#goBack());
  #box = element("div", { class: "box", click: () => this.#words.focus() }, this.#words);
  #buttons = element("div", { class: "choices" }, this.#approve, this.#edit, this.#change, this.#reject, this.#save, this.#cancel);
  #answer = element("div", { class: "answering", keydown: (event: KeyboardEvent) => this.#escape(event) }, this.#options, this.#box, this.#counter, this.#edits, this.#buttons);
  #outcome = element("p", { class: "outcome", tabindex: "-1" });
  #said = element("p", { class: "said-why" });
  #link = element("a", { target: "_blank", rel: "noopener noreferrer" }, strings.approval.seeAsOthers);
  #undo = button(strings.shared.undo, () => this.#takeBack());
  #problem = element("p", { class: "problem failed", role: "status", hidden: true });
  #takeBackNow: () => Promise<void>;
  #line = element("summary");
  #folded: HTMLDetailsElement | null = null;
  /** Makes a scrolling text reachable by keyboard. */
  #resizes = new ResizeObserver(() => void (this.#question.tabIndex = this.#question.scrollHeight > this.#question.clientHeight ? 0 : -1));

  /** `undo()` resolves once the effect is undone. */
  constructor(decide: (decision: Decision) => Promise<void>, undo: () => Promise<void>) {
    this.#decide = decide;
    this.#takeBackNow = undo;
    this.element = element(
      "section",
      { class: "card", role: "group" },
      this.#question,
      this.#review,
      this.#answer,
      this.#outcome,
      this.#said,
      this.#link,
      this.#undo,
      this.#problem,
    );
    for (const node of [this.#question, this.#content]) this.#resizes.observe(node);
  }

  /** The card below a line that says what is asked. Opening one closes the others. */
  get folded(): HTMLDetailsElement {
    this.#folded ??= element("details", { class: "folded", name: "approvals" }, this.#line, this.element);
    return this.#folded;
  }

  show(view: ApprovalView) {
    const shown = JSON.stringify(view);
    if (shown === this.#shown) return;
    const decided = (this.#view as ApprovalView | undefined)?.status === "pending" && view.status !== "pending";
    this.#shown = shown;
    this.#view = view;
    const instead = ofMemories(view.tool);
    const effects: Record<string, string> = strings.approval.effects;
    this.#effect.textContent = instead?.effect ?? effects[view.effect] ?? "";
    this.#approve.textContent = instead?.yes ?? strings.approval.approve;
    this.#reject.textContent = instead?.no ?? strings.approval.decline;
    this.#title.textContent = view.preview.title;
    this.element.setAttribute("aria-label", strings.approval.label(view.preview.title));
    const choices = choicesOf(view);
    this.#content.replaceChildren(...showPreview(choices ? { ...view, alternatives: [] } : view));
    this.#options.replaceChildren(
      ...(choices?.texts ?? []).map((text, place) =>
        element("label", {}, element("input", { type: "radio", name: this.#group, value: text, checked: place === 0 }), element("span", {}, text)),
      ),
    );
    this.#body.hidden = !this.#content.hasChildNodes(); // for sensitive content only the title remains after the decision
    this.#buildFields(view);
    if (decided) this.#problem.hidden = true;
    this.#refresh();
  }

  focusOutcome() {
    this.#outcome.focus({ preventScroll: true });
  }

  #openAlone() {
    this.element.dispatchEvent(new CustomEvent("review", { detail: this.#view.approval_id, bubbles: true }));
  }

  showTime() {
    this.#undo.hidden = !(Date.parse(this.#view.undo_until ?? "") > Date.now());
    this.#time.textContent = strings.approval.expires(until(this.#view.expires_at));
    this.#showLine();
  }

  /** What, before and after, from whom, and until when or with which outcome. Without values the server's line says what. */
  #showLine() {
    const { tool, line, source, preview } = this.#view;
    const [change, ...more] = preview.changes ?? [];
    const values = change && !more.length && !ofMemories(tool) ? strings.approval.fromTo(change.before ?? strings.preview.empty, change.after ?? strings.preview.removed) : "";
    const roles: Record<string, string> = strings.activity.roles;
    const rest = [source && roles[source], this.#waits ? strings.approval.ends(untilDay(this.#view.expires_at)) : became(this.#view)].filter(Boolean).join(" · ");
    this.#line.replaceChildren(element("strong", {}, values ? preview.title : (line ?? preview.title)), element("span", { class: "values" }, values), element("span", { class: "rest" }, rest));
  }

  #buildFields({ args, editable, preview }: ApprovalView) {
    const only = editable.length === 1 && preview.changes?.length === 1 ? preview.changes[0] : null;
    const name = (arg: string) => only?.name ?? arg.replaceAll("_", " ");
    this.#fields = editable.flatMap((arg) => {
      const several = args[arg];
      const field = isSeveral(several) ? fieldForSeveral(several, (preview.changes ?? []).map((each) => each.name)) : fieldFor(name(arg), several);
      return field ? [{ arg, label: name(arg), ...field }] : [];
    });
    this.#editing = false;
    this.#edits.replaceChildren(
      ...this.#fields.map(({ label, node }) => (node.role === "group" ? node : element("label", {}, element("span", { "aria-hidden": "true" }, label), node))),
    );
  }

  #toggleEditing(editing: boolean) {
    this.#editing = editing;
    this.#tell("");
    this.#refresh();
    for (const area of this.#edits.querySelectorAll("textarea")) grow(area);
    (editing ? this.#fields[0]?.node : this.#edit)?.focus();
  }

  /** Escape closes the fields or the note only; it does not stop a turn or close the queue as well. */
  #escape(event: KeyboardEvent) {
    if (event.key !== "Escape" || event.isComposing || !(this.#editing || this.#noting)) return;
    event.preventDefault();
    event.stopPropagation();
    this.#goBack();
  }

  #goBack() {
    if (this.#editing) return this.#toggleEditing(false);
    const pressed = this.#noting === "revise" ? this.#change : this.#reject;
    this.#note(null);
    pressed.focus();
  }

  /** Opens the field for what should differ, or why it is declined. */
  #note(about: "revise" | "reject" | null) {
    this.#noting = about;
    this.#tell("");
    this.#words.ariaLabel = about === "reject" ? strings.approval.whyDecline : strings.approval.whatShouldDiffer;
    this.#words.placeholder = about === "reject" ? strings.approval.whyDecline : strings.approval.whatShouldDiffer;
    this.#refresh();
    if (about) this.#words.focus();
    grow(this.#words);
  }

  #type() {
    grow(this.#words);
    showCount(this.#counter, characters(this.#words.value.trim()), WORDS_LIMIT);
  }

  #askAnew() {
    if (this.#noting !== "revise") return this.#note("revise");
    if (this.#words.value.trim()) return this.#send("revise");
    this.#tell(strings.approval.writeWhatShouldDiffer);
    this.#words.focus();
  }

  /** Memories need no more than yes or no. */
  #decline() {
    if (this.#noting !== "reject" && !ofMemories(this.#view.tool)) return this.#note("reject");
    return this.#send("reject");
  }

  #approveChosen() {
    const choices = choicesOf(this.#view);
    const chosen = this.#options.querySelector<HTMLInputElement>("input:checked")?.value;
    if (!choices || chosen === undefined || chosen === choices.texts[0]) return this.#send("approve");
    return this.#send("edit", { args: { [choices.arg]: chosen } });
  }

  #approveEdited() {
    const args = Object.fromEntries(this.#fields.map(({ arg, read }) => [arg, read()]));
    const empty = this.#fields.find(({ arg }) => args[arg] === undefined);
    if (!empty) return this.#send("edit", { args });
    this.#tell(strings.approval.isEmpty(empty.label));
    empty.node.focus();
  }

  async #send(decision: Decision["decision"], more: Partial<Decision> = {}) {
    const reason = this.#noting ? this.#words.value.trim() : "";
    if (this.#sending) return;
    if (characters(reason) > WORDS_LIMIT) return this.#tell(strings.approval.keepItTo(WORDS_LIMIT.toLocaleString(strings.locale)));
    const pressed = (this.element.getRootNode() as ShadowRoot).activeElement as HTMLElement | null;
    const hadFocus = this.#hasFocus;
    this.#sending = true;
    this.#tell("");
    this.#refresh();
    try {
      await this.#decide({ decision, args_digest: this.#view.args_digest, opened: this.#isOpen, ...more, ...(reason && { reason }) });
    } catch (error) {
      if (this.#pending) this.#tell(ChatError.from(error).message); // otherwise it was decided elsewhere, as the card shows
    }
    const keepsFocus = hadFocus && this.#hasFocus;
    this.#sending = false;
    this.#refresh();
    if (keepsFocus && this.#pending) (pressed?.checkVisibility() ? pressed : this.#noting ? this.#words : this.#approve).focus();
  }

  async #takeBack() {
    this.#undo.disabled = true;
    this.#tell("");
    try {
      await this.#takeBackNow();
      this.#outcome.focus();
    } catch (error) {
      this.#tell(`${strings.shared.couldNotUndo} ${ChatError.from(error).message}`);
    }
    this.#undo.disabled = false;
  }

  #tell(sentence: string) {
    this.#problem.textContent = sentence;
    this.#problem.hidden = !sentence;
  }

  get #pending() {
    return this.#view.status === "pending";
  }

  get #waits() {
    return stage(this.#view) === 0; // pending or frozen
  }

  /** True if the whole preview is shown: neither folded away, nor left to the queue on a phone. */
  get #isOpen() {
    return (this.#content.hasChildNodes() ? this.#content : this.#title).checkVisibility();
  }

  get #hasFocus() {
    return this.element.matches(":focus-within");
  }

  #refresh() {
    const { status, decided_by: by, outcome, reason } = this.#view;
    const hadFocus = this.#hasFocus;
    const settled = !this.#pending || this.#sending;
    if (this.#body.dataset.pending !== String(this.#waits)) this.#body.open = this.#waits;
    this.#body.dataset.pending = String(this.#waits);
    this.element.toggleAttribute("data-asks", this.#pending);
    this.element.setAttribute("aria-busy", String(this.#sending && this.#pending));
    this.#effect.hidden = !this.#waits || !this.#effect.textContent;
    this.#time.hidden = !this.#waits;
    this.showTime();
    this.#showChoices();
    this.#outcome.hidden = !settled;
    this.#outcome.replaceChildren(...this.#outcomeNodes(status));
    const words = by === "level" ? null : reason;
    this.#said.textContent = [!this.#view.undone_by && outcome, words && strings.approval.youSaid(words)].filter(Boolean).join(" ");
    this.#said.hidden = this.#pending || !this.#said.textContent;
    const { link } = this.#view;
    this.#link.hidden = !link || !/^(https:\/\/|http:\/\/127\.0\.0\.1:)/.test(link);
    if (this.#link.hidden) this.#link.removeAttribute("href");
    else this.#link.href = link!;
    // The focused element is hidden or disabled now: the next Tab must continue from here.
    if (hadFocus && settled && !this.#content.matches(":focus-within")) this.#outcome.focus();
  }

  #showChoices() {
    this.#answer.hidden = !this.#pending;
    const isOpen = this.#editing || this.#noting !== null;
    this.#options.hidden = isOpen || !this.#options.hasChildNodes();
    this.#edits.hidden = this.#save.hidden = !this.#editing;
    this.#cancel.hidden = !isOpen;
    this.#change.className = this.#reject.className = this.#noting ? "main-button" : "quiet";
    this.#approve.hidden = isOpen;
    this.#box.hidden = this.#counter.hidden = !this.#noting;
    this.#reject.hidden = isOpen && this.#noting !== "reject";
    this.#change.hidden = (isOpen && this.#noting !== "revise") || this.#view.revisable === false;
    this.#edit.hidden = isOpen || this.#fields.length === 0;
    for (const node of this.#answer.querySelectorAll<HTMLButtonElement>("button, textarea, input")) node.disabled = this.#sending;
  }

  #outcomeNodes(status: string): (Node | string)[] {
    if (this.#pending) return [spinner(), strings.approval.sending];
    const mark = MARKS[status];
    return [mark ? icon(mark) : spinner(), element("span", {}, became(this.#view))];
  }
}

const button = (label: string, click: () => unknown, kind: "main-button" | "quiet" = "quiet") => element("button", { type: "button", class: kind, click }, label);
