/**
 * Approvals. From top to bottom: updates between turns · the records, each with its cards · a card · the queue of
 * pending approvals · drafts · the brake · their styles. `qwestly-chat.js` puts them on the page.
 */

import { ChatError, WORDS_LIMIT, characters, counted, element, grow, icon, iconButton, pointInTime, showCount, spinner, spoken, until } from "./qwestly-parts.js";

const OFTEN_MS = 2_000;
const SELDOM_MS = 30_000;
const PAGE = 100; // records per request

// ── Updates between turns ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Polls for updates, one request at a time: often while something runs or `watched` says that a person looks on.
 * `take` receives the items of each response.
 */
export class Updates {
  #read;
  #take;
  #watched;
  #cursor = null;
  #active = false;
  #failures = 0;
  #current = null; // the request that runs
  #next = null; // the request that follows it
  #stopped = false;
  #timer;

  constructor(read, take, watched) {
    this.#read = read;
    this.#take = take;
    this.#watched = watched;
    document.addEventListener("visibilitychange", this.#look);
    this.now();
  }

  stop() {
    this.#stopped = true;
    clearTimeout(this.#timer);
    document.removeEventListener("visibilitychange", this.#look);
  }

  /** Resolves with the next request that starts from now on: the response to the current one may be older. */
  now() {
    clearTimeout(this.#timer);
    this.#next ??= this.#follow();
    return this.#next;
  }

  async #follow() {
    await this.#current;
    this.#next = null;
    if (this.#stopped) return;
    this.#current = this.#ask();
    await this.#current;
    this.#current = null;
    if (!this.#next) this.#wait();
  }

  async #ask() {
    const first = this.#cursor === null;
    try {
      const { items, cursor, active } = await this.#read(first ? "" : `?after=${encodeURIComponent(this.#cursor)}`);
      if (this.#stopped) return;
      this.#cursor = cursor;
      this.#active = active;
      this.#failures = 0;
      this.#take(items, first);
    } catch (error) {
      if (ChatError.from(error).code === "invalid") this.#cursor = null; // the cursor is too old
      this.#failures += 1;
    }
  }

  #look = () => {
    if (!document.hidden) this.now();
    else if (!this.#current) this.#wait();
  };

  #wait() {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => this.now(), this.#delay);
  }

  get #delay() {
    const usual = (this.#active || this.#watched()) && !document.hidden ? OFTEN_MS : SELDOM_MS;
    return Math.max(usual, Math.min(OFTEN_MS * 2 ** this.#failures, SELDOM_MS));
  }
}

// ── The records ─────────────────────────────────────────────────────────────────────────────────────────────────────

const FINAL = new Set(["rejected", "revised", "expired", "done", "failed", "changed", "gone"]);
const stage = ({ status }) => (status === "pending" || status === "frozen" ? 0 : FINAL.has(status) ? 2 : 1);

const SEEN_ANOTHER = "This is not what you were shown. Please look at it again.";

/** All known approvals, from whichever response, and the cards that show them. */
export class Approvals {
  #backend;
  #decide;
  #changed;
  #views = new Map();
  #cards = new Map(); // by place and id
  #deciding = new Map();

  /** `decide(view, decision)` posts a person's decision; `changed` is called whenever an approval is new or changed. */
  constructor({ backend, decide, changed }) {
    this.#backend = backend;
    this.#decide = decide;
    this.#changed = changed;
  }

  get waiting() {
    return this.#all().filter((view) => stage(view) === 0);
  }

  has(id) {
    return this.#views.has(id);
  }

  of(conversation) {
    return this.#all().filter(({ conversation_id: id }) => id === conversation);
  }

  /** Returns true if it is new; what is frozen or no longer frozen is not, as the brake says that. A response read before a decision and arriving after it does not undo the decision. */
  learn(view) {
    if (view.undoes) return false; // the card of what it undoes says so
    const known = this.#views.get(view.approval_id);
    if (known && stage(view) < stage(known)) return false;
    this.#views.set(view.approval_id, view);
    for (const cards of this.#cards.values()) cards.get(view.approval_id)?.show(view);
    this.#changed();
    return known?.status !== view.status && !(known && stage(known) === 0 && stage(view) === 0);
  }

  /** A place has one card per record, reused each time it is rendered, so that typed text is not lost. */
  card(id, place) {
    if (!this.#cards.has(place)) this.#cards.set(place, new Map());
    const cards = this.#cards.get(place);
    if (!cards.has(id)) {
      const card = new ApprovalCard(
        (decision) => this.#answer(id, decision),
        () => this.#undo(id),
      );
      card.show(this.#views.get(id));
      cards.set(id, card);
    }
    return cards.get(id);
  }

  /** Update the times that the cards show. */
  tick() {
    for (const cards of this.#cards.values()) for (const card of cards.values()) card.showTime();
  }

  async readWaiting() {
    let after = null;
    do after = await this.#read("waiting", after);
    while (after !== null);
  }

  #all() {
    return [...this.#views.values()].sort((one, other) => one.created_at - other.created_at);
  }

  async #read(state, after = null) {
    const from = after === null ? "" : `&after=${encodeURIComponent(after)}`;
    const { items, next } = await this.#backend.json("GET", `/api/approvals?state=${state}&limit=${PAGE}${from}`);
    for (const view of items) this.learn(view);
    return next;
  }

  /** Takes back what was done; the server's record of it says whether that is done. */
  async #undo(id) {
    const event = encodeURIComponent(`${id}:done`);
    const { by } = await this.#backend.json("POST", `/api/activity/${event}/undo`);
    this.learn({ ...this.#views.get(id), undone_by: by.approval_id, undo_until: null });
  }

  /** One decision at a time per record, from whichever of its cards. */
  #answer(id, decision) {
    if (!this.#deciding.has(id)) {
      const answer = this.#carry(this.#views.get(id), decision).finally(() => this.#deciding.delete(id));
      this.#deciding.set(id, answer);
    }
    return this.#deciding.get(id);
  }

  async #carry(view, decision) {
    try {
      await this.#decide(view, decision);
    } catch (error) {
      const { code, message } = ChatError.from(error);
      if (code === "not_found") return void this.learn({ ...view, status: "gone" });
      // If this request fails too, show why the decision failed.
      await this.#read("all").catch(() => {});
      throw new ChatError(code, code === "changed" ? SEEN_ANOTHER : message);
    }
  }
}

// ── A card ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const EFFECTS = {
  write: "Changes your saved data",
  outward: "Others will see this",
  destructive: "Cannot be undone",
};
/** The sentences for approvals about memories, in place of the usual ones. */
const OF_MEMORIES = {
  keep_memories: {
    effect: "Remembered only if you say yes",
    heading: "Will be remembered",
    yes: "Remember",
    no: "Don’t remember",
    became: { done: "Remembered", rejected: "Not remembered", expired: "Expired · not remembered" },
  },
  forget_memory: {
    effect: "Cannot be undone",
    heading: "Will be forgotten",
    yes: "Forget",
    no: "Keep",
    became: { done: "Forgotten", rejected: "Kept", expired: "Expired · nothing was forgotten" },
  },
};
const BECAME = {
  frozen: "Frozen while everything is paused. You can decide it once it runs again",
  approved: "Approved · about to be done",
  executing: "Approved · being done…",
  accepted: "Approved · being done…",
  unknown: "Approved; we are finding out whether it was done",
  done: "Approved · done",
  failed: "Approved · it could not be done",
  changed: "Approved, but it had changed meanwhile: you are asked anew",
  rejected: "You said no",
  revised: "You asked for a change",
  expired: "Expired",
  gone: "This no longer exists",
};
const MARKS = { frozen: "pause", done: "check", failed: "alert", changed: "info", revised: "info", rejected: "close", expired: "close", gone: "close" };

/** The outcome, in a sentence. */
export function became({ tool, status, decided_by: by, undone_by: undoneBy }) {
  if (undoneBy) return "Done, and undone";
  if (status === "changed" && by === "nobody") return "No longer asked";
  const words = OF_MEMORIES[tool]?.became[status] ?? BECAME[status] ?? status;
  if (by === "level") return words.replace(/^Approved/, "Allowed by your level");
  return by === "link" ? `${words} (decided by e-mail)` : words;
}

const textList = (texts, attributes = {}) => element("ul", attributes, ...texts.map((text) => element("li", {}, text)));

const showEvidence = (evidence) =>
  element("details", {}, element("summary", {}, `Evidence (${evidence.length})`), textList(evidence));

const showChange = ({ name, before, after, evidence = [] }) =>
  element(
    "div",
    { class: "change" },
    element("dt", {}, name),
    element("dd", { class: "before" }, spoken("Before: "), before ? element("del", {}, before) : "empty"),
    element("dd", { class: "after" }, spoken("After: "), after ? element("ins", {}, after) : "removed"),
    evidence.length ? element("dd", { class: "from" }, showEvidence(evidence)) : "",
  );

/** What would be remembered or forgotten, one per line. */
const showMemories = (changes, { heading }) =>
  element(
    "div",
    { class: "section" },
    element("h4", {}, heading),
    element("ul", { class: "memories" }, ...changes.map(showMemory)),
  );

const showMemory = ({ name, before, after, evidence = [] }) =>
  element(
    "li",
    {},
    after === null ? element("del", {}, before) : element("span", {}, after),
    " ",
    element("span", { class: "type" }, name),
    evidence.length ? showEvidence(evidence) : "",
  );

function showClaim({ text, quotes = [], arithmetic = [], confirmed, unchecked }) {
  const claim = element("li", {}, text);
  if (confirmed) claim.append(" ", element("span", { class: "confirmed" }, "Confirmed by you"));
  if (unchecked) claim.append(" ", element("span", { class: "unchecked" }, "Not checked by a second reader"));
  if (quotes.length) claim.append(showQuotes(quotes, arithmetic));
  return claim;
}

/** Each quote in its sentence, and the arithmetic from quoted figures to those of the claim. */
const showQuotes = (quotes, arithmetic) =>
  element(
    "details",
    {},
    element("summary", {}, `Evidence (${quotes.length})`),
    element(
      "ul",
      {},
      ...quotes.map(({ source, before, quote, after }) => element("li", {}, `${source}: “`, before, element("mark", {}, quote), after, "”")),
      ...arithmetic.map((step) => element("li", {}, step)),
    ),
  );

const showSection = ({ heading, claims }) =>
  element("div", { class: "section" }, element("h4", {}, heading), element("ul", {}, ...claims.map(showClaim)));

const showLeftOut = (items) =>
  element("div", { class: "section" }, element("h4", {}, "Left out"), element("ul", {}, ...items.map(({ text, why }) => element("li", {}, text, textList(why)))));

const SURE = { low: "Your agent is not sure that you want this.", medium: "Your agent is fairly sure that you want this.", high: "Your agent is sure that you want this." };

const showAlternatives = (texts) => element("div", { class: "section" }, element("h4", {}, "What it thought of as well"), textList(texts));

/** The content of an approval, as nodes. */
function showPreview({ tool, rationale, alternatives = [], confidence, preview }) {
  const { changes = [], sections = [], left_out: leftOut = [], difference = [] } = preview;
  const ofMemories = OF_MEMORIES[tool];
  const nodes = [];
  if (difference.length) nodes.push(textList(difference, { class: "difference" }));
  if (rationale) nodes.push(element("p", { class: "rationale" }, rationale));
  if (SURE[confidence]) nodes.push(element("p", { class: "rationale" }, SURE[confidence]));
  if (changes.length) nodes.push(ofMemories ? showMemories(changes, ofMemories) : element("dl", {}, ...changes.map(showChange)));
  nodes.push(...sections.map(showSection));
  if (alternatives.length) nodes.push(showAlternatives(alternatives));
  if (leftOut.length) nodes.push(showLeftOut(leftOut));
  return nodes;
}

const isTexts = (value) => Array.isArray(value) && value.every((each) => typeof each === "string");
const linesOf = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** An input for one argument, and a function that reads it; null for a type that no input can edit. */
function fieldFor(label, value) {
  const area = (text, hint) =>
    element("textarea", { rows: "1", "aria-label": hint ? `${label}, ${hint}` : label, input: ({ target }) => grow(target) }, text);
  if (isTexts(value)) {
    const node = area(value.join("\n"), "one a line");
    return { node, read: () => linesOf(node.value) };
  }
  if (typeof value === "number") {
    const node = element("input", { type: "number", step: "any", value: String(value), "aria-label": label });
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

/** The card of one record. `decide({decision, args_digest, …})` resolves once the decision was accepted. */
class ApprovalCard {
  #decide;
  #view = null;
  #shown = "";
  #sending = false;
  #editing = false;
  #fields = [];
  #effect = element("p", { class: "effect" });
  #title = element("h3");
  #content = element("div", { class: "asked" });
  #body = element("details", {}, element("summary", {}, "What was asked"), this.#content);
  #time = element("p", { class: "time" });
  #words = element("textarea", {
    rows: "1",
    "aria-label": "Your words on it",
    placeholder: "Your words on it (optional)",
    input: () => this.#type(),
  });
  #counter = element("p", { class: "counter" });
  #edits = element("div", { class: "edits" });
  #approve = button("Approve", () => this.#send("approve"));
  #edit = button("Edit", () => this.#toggleEditing(true));
  #change = button("Change", () => this.#askAnew());
  #reject = button("Reject", () => this.#send("reject"));
  #save = button("Approve as edited", () => this.#approveEdited());
  #cancel = button("Cancel", () => this.#toggleEditing(false));
  #box = element("div", { class: "box", click: () => this.#words.focus() }, this.#words);
  #buttons = element("div", { class: "choices" }, this.#approve, this.#edit, this.#change, this.#reject, this.#save, this.#cancel);
  #answer = element("div", { class: "answering", keydown: (event) => this.#escape(event) }, this.#box, this.#counter, this.#edits, this.#buttons);
  #outcome = element("p", { class: "outcome", tabindex: "-1" });
  #said = element("p", { class: "said-why" });
  #undo = button("Undo", () => this.#takeBack());
  #problem = element("p", { class: "problem failed", role: "status", hidden: true });
  #takeBackNow;

  /** `undo()` resolves once what was done is taken back. */
  constructor(decide, undo) {
    this.#decide = decide;
    this.#takeBackNow = undo;
    this.element = element(
      "section",
      { class: "card", role: "group" },
      this.#effect,
      this.#title,
      this.#body,
      this.#time,
      this.#answer,
      this.#outcome,
      this.#said,
      this.#undo,
      this.#problem,
    );
  }

  show(view) {
    const shown = JSON.stringify(view);
    if (shown === this.#shown) return;
    const decided = this.#view?.status === "pending" && view.status !== "pending";
    this.#shown = shown;
    this.#view = view;
    this.#effect.textContent = OF_MEMORIES[view.tool]?.effect ?? EFFECTS[view.effect] ?? "";
    this.#approve.textContent = OF_MEMORIES[view.tool]?.yes ?? "Approve";
    this.#reject.textContent = OF_MEMORIES[view.tool]?.no ?? "Reject";
    this.#title.textContent = view.preview.title;
    this.element.setAttribute("aria-label", `Approval: ${view.preview.title}`);
    this.#content.replaceChildren(...showPreview(view));
    this.#body.hidden = !this.#content.hasChildNodes(); // for sensitive content only the title remains after the decision
    this.#buildFields(view);
    if (decided) this.#problem.hidden = true;
    this.#refresh();
  }

  showTime() {
    this.#undo.hidden = !(this.#view.undo_until > Date.now() / 1000);
    this.#time.textContent = `Expires ${until(this.#view.expires_at)}`;
    this.#time.title = new Date(this.#view.expires_at * 1000).toLocaleString();
  }

  #buildFields({ args, editable, preview }) {
    const name = (arg) => (editable.length === 1 && preview.changes?.length === 1 ? preview.changes[0].name : arg.replaceAll("_", " "));
    const fields = editable.map((arg) => ({ arg, label: name(arg), ...fieldFor(name(arg), args[arg]) }));
    this.#fields = fields.filter(({ node }) => node);
    this.#editing = false;
    this.#edits.replaceChildren(
      ...this.#fields.map(({ label, node }) => element("label", {}, element("span", { "aria-hidden": "true" }, label), node)),
    );
  }

  #toggleEditing(editing) {
    this.#editing = editing;
    this.#tell("");
    this.#refresh();
    for (const { node } of this.#fields) if (node.tagName === "TEXTAREA") grow(node);
    (editing ? this.#fields[0].node : this.#edit).focus();
  }

  /** Escape closes the fields only; it does not stop a turn or close the queue as well. */
  #escape(event) {
    if (event.key !== "Escape" || event.isComposing || !this.#editing) return;
    event.preventDefault();
    event.stopPropagation();
    this.#toggleEditing(false);
  }

  #type() {
    grow(this.#words);
    showCount(this.#counter, characters(this.#words.value.trim()), WORDS_LIMIT);
  }

  #askAnew() {
    if (this.#words.value.trim()) return this.#send("revise");
    this.#tell("What should be different? Write it here, then press Change.");
    this.#words.focus();
  }

  #approveEdited() {
    const args = Object.fromEntries(this.#fields.map(({ arg, read }) => [arg, read()]));
    const empty = this.#fields.find(({ arg }) => args[arg] === undefined);
    if (!empty) return this.#send("edit", { args });
    this.#tell(`${empty.label} is empty.`);
    empty.node.focus();
  }

  async #send(decision, more = {}) {
    const reason = this.#words.value.trim();
    if (this.#sending) return;
    if (characters(reason) > WORDS_LIMIT) return this.#tell(`Please keep it to ${WORDS_LIMIT.toLocaleString("en")} characters.`);
    const pressed = this.element.getRootNode().activeElement;
    const hadFocus = this.#hasFocus;
    this.#sending = true;
    this.#tell("");
    this.#refresh();
    try {
      await this.#decide({ decision, args_digest: this.#view.args_digest, ...more, ...(reason && { reason }) });
    } catch (error) {
      if (this.#pending) this.#tell(ChatError.from(error).message); // else it was decided elsewhere, and the card shows that
    }
    const keepsFocus = hadFocus && this.#hasFocus;
    this.#sending = false;
    this.#refresh();
    if (keepsFocus && this.#pending) (pressed.checkVisibility() ? pressed : this.#approve).focus();
  }

  async #takeBack() {
    this.#undo.disabled = true;
    this.#tell("");
    try {
      await this.#takeBackNow();
      this.#outcome.focus();
    } catch (error) {
      this.#tell(`Not undone. ${ChatError.from(error).message}`);
    }
    this.#undo.disabled = false;
  }

  #tell(sentence) {
    this.#problem.textContent = sentence;
    this.#problem.hidden = !sentence;
  }

  get #pending() {
    return this.#view.status === "pending";
  }

  get #waits() {
    return stage(this.#view) === 0; // pending or frozen
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
    this.element.setAttribute("aria-busy", String(this.#sending && this.#pending));
    this.#effect.hidden = !this.#waits || !this.#effect.textContent;
    this.#time.hidden = !this.#waits;
    this.showTime();
    this.#showChoices();
    this.#outcome.hidden = !settled;
    this.#outcome.replaceChildren(...this.#outcomeNodes(status));
    const words = by === "level" ? null : reason;
    this.#said.textContent = [outcome, words && `You said: “${words}”`].filter(Boolean).join(" ");
    this.#said.hidden = this.#pending || !this.#said.textContent;
    // The focused element is hidden or disabled now: the next Tab must continue from here.
    if (hadFocus && settled && !this.#content.matches(":focus-within")) this.#outcome.focus();
  }

  #showChoices() {
    this.#answer.hidden = !this.#pending;
    this.#edits.hidden = this.#save.hidden = this.#cancel.hidden = !this.#editing;
    this.#approve.hidden = this.#reject.hidden = this.#editing;
    this.#box.hidden = this.#editing || this.#view.tool in OF_MEMORIES; // yes or no is enough
    this.#change.hidden = this.#editing || this.#view.revisable === false;
    this.#edit.hidden = this.#editing || this.#fields.length === 0;
    for (const node of this.#answer.querySelectorAll("button, textarea, input")) node.disabled = this.#sending;
  }

  #outcomeNodes(status) {
    if (this.#pending) return [spinner(), "Sending…"];
    const mark = MARKS[status] ? icon(MARKS[status]) : spinner();
    return [mark, element("span", {}, became(this.#view))];
  }
}

const button = (label, click) => element("button", { type: "button", class: "quiet-button", click }, label);

// ── The queue ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** All pending approvals of all conversations. Those decided here stay visible until the queue is closed. */
export class Queue {
  #approvals;
  #list = element("div", { class: "cards" });
  #note = element("p", { class: "list-note", role: "status" });
  #listed = new Set();
  #reading = false;

  constructor() {
    this.element = element(
      "dialog",
      { class: "queue", "aria-labelledby": "waiting" },
      element("div", { class: "bar" }, element("h2", { id: "waiting" }, "Waiting for you"), iconButton("close", "Close the queue", () => this.element.close())),
      this.#note,
      this.#list,
    );
  }

  async open(approvals) {
    this.#approvals = approvals;
    this.#reading = true;
    this.#listed.clear();
    this.#list.replaceChildren();
    this.element.showModal();
    this.refresh();
    try {
      await approvals.readWaiting();
      this.#reading = false;
      this.refresh();
    } catch (error) {
      this.#reading = false;
      this.#note.textContent = `Not all of it could be read. ${ChatError.from(error).message}`;
    }
  }

  /** Also called when something changed while it is open. */
  refresh() {
    if (!this.element.open) return;
    for (const view of this.#approvals.waiting) if (!this.#listed.has(view.approval_id)) this.#add(view);
    this.#note.textContent = this.#listed.size ? "" : this.#reading ? "Reading…" : "Nothing waits for you.";
  }

  #add({ approval_id: id, revises }) {
    this.#listed.add(id);
    const card = this.#approvals.card(id, "queue").element;
    if (this.#listed.has(revises)) this.#approvals.card(revises, "queue").element.after(card);
    else this.#list.append(card);
  }
}

// ── Drafts ──────────────────────────────────────────────────────────────────────────────────────────────────────────

const DRAFT_MARKS = { waiting: "info", drafted: "check", published: "check", rejected: "close", expired: "close", stopped: "close", failed: "alert" };

/** The progress of drafts, one line each. */
export class Drafts {
  #known = new Map();

  /** Returns true if it is new; an item can come twice, and late. */
  learn(draft, at) {
    const known = this.#known.get(draft.draft_id) ?? { line: element("p", { class: "draft" }), at: -Infinity };
    if (at <= known.at) return false;
    this.#known.set(draft.draft_id, { ...known, ...draft, at });
    known.line.classList.toggle("failed", draft.status === "failed");
    known.line.replaceChildren(DRAFT_MARKS[draft.status] ? icon(DRAFT_MARKS[draft.status]) : spinner(), element("span", {}, draft.label));
    return true;
  }

  /** The lines of a conversation: running drafts; ended ones that `stood` there before; and the last failure. */
  lines(conversation, stood) {
    const drafts = [...this.#known.values()].filter(({ conversation_id: id }) => id === conversation);
    const latest = Math.max(...drafts.map(({ at }) => at));
    const shown = ({ status, at, line }) =>
      status === "running" || status === "waiting" || stood(line) || (status === "failed" && at === latest);
    return drafts.filter(shown).map(({ line }) => line);
  }
}

// ── The brake ───────────────────────────────────────────────────────────────────────────────────────────────────────

function receiptWords({ stopped, finished, unknown, running }) {
  const parts = [
    stopped.length && `${counted(stopped.length, "task")} stopped`,
    finished.length && `${finished.length} had already finished`,
    unknown.length && `${unknown.length} sent, outcome not known yet`,
    running.length && `${running.length} could not be stopped yet`,
  ].filter(Boolean);
  return parts.length ? `${parts.join(", ")}.` : "Nothing was running.";
}

function brakeWords({ state, since, receipt, everybody }) {
  if (state === "running") return "";
  if (everybody) return "Qwestly has paused its agent for everybody.";
  if (state === "pausing") return "Pausing everything…";
  return [`Everything is paused since ${pointInTime(since)}.`, receipt && receiptWords(receipt)].filter(Boolean).join(" ");
}

/** A button that pauses all of a person's agents and resumes them, and a line with the status. */
export class Brake {
  #post;
  #changed;
  #fail;
  #posting = false;
  #standing = { state: "running" };
  #label = element("span", { class: "label" });
  button = element("button", { type: "button", class: "brake", click: () => this.#press() });
  line = element("p", { class: "paused", role: "status", hidden: true });

  /** `post(method)` turns the brake on (POST) or off (DELETE) and returns the status; `fail` receives an error. */
  constructor({ post, changed, fail }) {
    this.#post = post;
    this.#changed = changed;
    this.#fail = fail;
    this.#show();
  }

  get pulled() {
    return this.#standing.state !== "running";
  }

  learn(standing) {
    if (this.#posting) return; // its response will be newer
    this.#standing = standing;
    this.#show();
  }

  async #press() {
    if (this.#posting || this.#standing.everybody) return;
    const [before, pulling] = [this.#standing, !this.pulled];
    this.#posting = true;
    if (pulling) this.#standing = { state: "pausing" };
    this.#show();
    try {
      this.#standing = await this.#post(pulling ? "POST" : "DELETE");
    } catch (error) {
      this.#standing = before;
      this.#fail(`${pulling ? "Not everything could be paused." : "It could not be let run again."} ${ChatError.from(error).message}`);
    }
    this.#posting = false;
    this.#show();
  }

  #show() {
    const label = this.pulled ? "Let it run again" : "Pause everything";
    this.button.replaceChildren(icon(this.pulled ? "play" : "pause"), this.#label);
    this.#label.textContent = label;
    this.button.title = label;
    this.button.setAttribute("aria-label", label);
    // Not `disabled`, which would remove the focus.
    this.button.setAttribute("aria-disabled", String(this.#posting || Boolean(this.#standing.everybody)));
    this.line.hidden = !this.pulled;
    const words = brakeWords(this.#standing);
    if (this.line.textContent !== words) this.line.replaceChildren(icon("pause"), element("span", {}, words));
    this.#changed();
  }
}

// ── Styles ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const APPROVAL_STYLES = new CSSStyleSheet();
APPROVAL_STYLES.replaceSync(`
.asides { display: grid; gap: .75rem; min-inline-size: 0; }
.asides:empty { display: none; }
.card { display: grid; gap: .75rem; min-inline-size: 0; padding: 1rem 1.1rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--surface); overflow-wrap: anywhere; scroll-margin-block: 1rem; }
.card > *, .card details > * { min-inline-size: 0; margin: 0; }
.card h3 { font-size: 1.05rem; line-height: 1.3; font-weight: 650; }
.card h4 { margin: 0; font-size: .95rem; font-weight: 650; }
.card .effect, .card .time { color: var(--muted); font-size: .85rem; }
.card .effect { margin-block-end: -.6rem; }
.card summary { inline-size: fit-content; padding: .1rem .4rem; margin-inline-start: -.4rem; border-radius: .4rem; color: var(--muted); font-size: .85rem; cursor: pointer; }
.card summary:hover { color: var(--text); }
.card details[data-pending=true] > summary { display: none; }
.asked { display: grid; gap: .75rem; }
.asked ul { margin: 0; padding-inline-start: 1.2rem; }
.asked ul ul { color: var(--muted); font-size: .88rem; }
.asked li::marker { color: var(--muted); }
.asked li + li { margin-block-start: .3rem; }
.asked p, .asked li, .asked dd { white-space: pre-line; }
.asked .difference { list-style: none; padding: .5rem .8rem; border-inline-start: 3px solid var(--accent); background: var(--raised); border-radius: .3rem; }
.rationale { color: var(--muted); font-size: .95rem; }
.card dl { display: grid; gap: .6rem; margin: 0; }
.change { display: grid; gap: .25rem; }
.change dt { font-size: .85rem; font-weight: 600; color: var(--muted); }
.change dd { margin: 0; padding: .3rem .7rem; border-radius: .4rem; background: var(--background); border: 1px solid var(--line); }
.change .before { color: var(--muted); }
.change .after { border-inline-start: 3px solid var(--accent); }
.change ins { text-decoration: none; }
.change .from { padding: 0; border: 0; background: none; }
.section { display: grid; gap: .3rem; }
.asked .memories { list-style: none; display: grid; gap: .4rem; padding: 0; }
.asked .memories li { margin: 0; padding: .45rem .7rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--background); }
.memories del { text-decoration: line-through 1px color-mix(in srgb, var(--danger) 60%, transparent); }
.memories .type { color: var(--muted); font-size: .8rem; }
mark { background: color-mix(in srgb, var(--accent) 18%, transparent); color: inherit; }
.confirmed, .unchecked { display: inline-block; padding: 0 .5rem; border: 1px solid var(--line); border-radius: 1rem; color: var(--muted); font-size: .78rem; white-space: nowrap; }
.unchecked { border-style: dashed; }
.answering { display: grid; gap: .6rem; }
.answering .box { padding: .1rem .9rem; border-radius: 1.1rem; }
.answering .box textarea { margin-block: .3rem; font-size: .95rem; }
.answering .choices { justify-content: flex-start; flex-wrap: wrap; margin: 0; }
.answering .quiet-button { border-color: light-dark(#85938d, #64746e); min-block-size: 2.25rem; }
.answering .quiet-button:disabled { opacity: .55; }
.edits { display: grid; gap: .6rem; }
.edits label { display: grid; gap: .25rem; font-size: .85rem; font-weight: 600; color: var(--muted); }
.edits label > span::first-letter { text-transform: uppercase; }
.edits textarea, .edits input:not([type=checkbox]) { inline-size: 100%; margin: 0; padding: .45rem .8rem; border: 1px solid light-dark(#85938d, #64746e); border-radius: .6rem; background: var(--background); color: var(--text); font: inherit; font-size: 1rem; font-weight: 400; }
.edits :is(textarea, input):focus-visible { outline: 2px solid var(--accent); outline-offset: -1px; }
.edits input[type=checkbox] { justify-self: start; inline-size: 1.2rem; block-size: 1.2rem; accent-color: var(--accent); }
.outcome, .draft, .paused { display: flex; align-items: center; gap: .6rem; }
.outcome { font-weight: 600; font-size: .95rem; border-radius: .3rem; }
.outcome .icon-check, .draft .icon-check { color: var(--accent); }
.outcome .icon-alert, .draft .icon-alert { color: var(--danger); }
.said-why { color: var(--muted); font-size: .9rem; white-space: pre-line; }
.draft { color: var(--muted); font-size: .9rem; overflow-wrap: anywhere; }
.draft.failed { color: var(--text); }
.draft span, .outcome span { min-inline-size: 0; }
.paused { margin-block-end: .6rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .7rem; background: var(--raised); font-size: .9rem; }
.brake, .waiting { display: flex; align-items: center; gap: .4rem; flex: none; min-inline-size: 2.5rem; min-block-size: 2.5rem; padding: 0 .6rem; color: var(--muted); font-size: .9rem; }
.brake:hover, .waiting:hover { background: var(--raised); color: var(--text); }
.brake[aria-disabled=true] { opacity: .55; cursor: default; }
.count { min-inline-size: 1.35rem; padding: 0 .4rem; border-radius: 1rem; background: var(--accent); color: var(--on-accent); font-size: .8rem; font-weight: 650; line-height: 1.35rem; text-align: center; }
.queue { inline-size: min(40rem, calc(100vw - 1.5rem)); max-inline-size: none; max-block-size: min(46rem, calc(100dvh - 1.5rem)); padding: 0; overflow: hidden auto; overscroll-behavior: contain; }
.queue .bar { position: sticky; inset-block-start: 0; z-index: 1; padding-inline: 1.25rem .6rem; background: var(--background); border-block-end: 1px solid var(--line); }
.queue .bar h2 { flex: 1; }
.queue .list-note { padding: 1rem 1.25rem; }
.queue .cards { display: grid; gap: .9rem; padding: 1rem; }
.queue .cards:empty { display: none; }
.queue p { color: inherit; }
.queue :is(.effect, .time, .rationale, .said-why, .list-note, .problem:not(.failed)) { color: var(--muted); }
.queue .problem.failed { color: var(--danger); }
@media (pointer: coarse) {
  .answering .quiet-button { min-block-size: 44px; min-inline-size: 44px; }
  .answering .box textarea { margin-block: .6rem; font-size: 1rem; /* Safari zooms in on less */ }
  .card summary { padding-block: .6rem; }
}
@container (max-width: 759.98px) {
  .brake .label, .waiting .label { display: none; }
  .brake, .waiting { justify-content: center; padding: 0 .3rem; }
  .card { padding: .85rem .9rem; }
}
`);
