/**
 * <qwestly-chat endpoint="https://…" token-url="/token">: Qwestly's reference chat widget, one custom element.
 *
 * It speaks the plain protocol of the chat function: JSON in, named server-sent events out. From top to bottom:
 * limits and sentences · tokens · the backend · Markdown · feedback · one turn on the page · the element · its styles.
 * Approvals are in `qwestly-approvals.js`, remembered items in `qwestly-memories.js`, shared parts in
 * `qwestly-parts.js`. Text of a server or a model becomes text nodes: nothing in these files writes markup.
 */

import { APPROVAL_STYLES, Approvals, Brake, Drafts, Queue, Updates, became } from "./qwestly-approvals.js";
import { MEMORY_STYLES, Memories, remembered } from "./qwestly-memories.js";
import {
  ChatError,
  SENTENCES,
  WORDS_LIMIT,
  characters,
  counted,
  element,
  grow,
  icon,
  iconButton,
  isEnter,
  showCount,
  spinner,
  spoken,
} from "./qwestly-parts.js";

const MESSAGE_LIMIT = 20_000; // characters, as the server counts them: code points
const TOKEN_MARGIN_MS = 30_000;
const POLL_MS = 2_000;
const BUSY_WAIT_S = 2; // if a 409 has no Retry-After
const SILENCE_MS = 45_000; // three missed keep-alives: the connection is dead
const NARROW_PX = 760; // below it the conversation list is a drawer; the style sheet says the same
const NEAR_BOTTOM_PX = 48;

const UNREACHABLE = "Qwestly cannot be reached. Check your connection and try again.";
const CUT = "The connection was lost before the answer was complete.";
/** Errors for which sending again cannot help: no Retry; a message that was not accepted returns to the input. */
const FINAL = new Set(["invalid", "too_long", "attachments_unsupported", "over_budget"]);
/** Errors of the turn, and not of the decision that it carries; a 404 may be either. */
const NO_TURN = new Set(["conversation_busy", "too_many_turns", "over_budget", "not_found"]);
/** Errors of a decision, and not of the answer to it. */
const OF_DECISION = new Set(["changed", "braked", "not_found", "invalid"]);
const UNFINISHED = {
  stopped: "Stopped.",
  interrupted: "This answer was interrupted.",
  failed: SENTENCES.internal,
};

// ── Tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Holds one token, in memory only, and gets a new one when it is about to expire or was rejected. */
class Tokens {
  #ask;
  #token = null;
  #asking = null;

  constructor(ask) {
    this.#ask = ask;
  }

  async current() {
    if (this.#token !== null && millisecondsLeft(this.#token) >= TOKEN_MARGIN_MS) return this.#token;
    this.#asking ??= this.#renew().finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** Takes the token that failed, because another call may have got a newer one meanwhile. */
  reject(token) {
    if (this.#token === token) this.#token = null;
  }

  async #renew() {
    this.#token = await this.#ask();
    return this.#token;
  }
}

/** A token without an expiry is used until it is rejected. */
function millisecondsLeft(token) {
  try {
    const payload = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const { exp } = JSON.parse(atob(payload));
    return exp === undefined ? Infinity : exp * 1000 - Date.now();
  } catch {
    return Infinity;
  }
}

async function fetchToken(url) {
  const response = await orUnreachable(fetch(url, { credentials: "same-origin", cache: "no-store" }));
  if (!response.ok) throw await ChatError.of(response);
  const { token } = (await response.json().catch(() => null)) ?? {};
  if (!token) throw new ChatError("unauthorized");
  return token;
}

// ── The backend ─────────────────────────────────────────────────────────────────────────────────────────────────────

class Backend {
  #endpoint;
  #tokens;

  constructor(endpoint, tokens) {
    this.#endpoint = endpoint.replace(/\/$/, "");
    this.#tokens = tokens;
  }

  /** Returns a successful response; after a 401 it tries once more with a new token. */
  async call(method, path, { body, signal } = {}) {
    const attempt = async (token) =>
      orUnreachable(
        fetch(`${this.#endpoint}${path}`, {
          method,
          signal,
          credentials: "omit",
          headers: { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) },
          body: body && JSON.stringify(body),
        }),
      );
    const token = await this.#tokens.current();
    let response = await attempt(token);
    if (response.status === 401) {
      this.#tokens.reject(token);
      response = await attempt(await this.#tokens.current());
    }
    if (!response.ok) throw await ChatError.of(response);
    return response;
  }

  async json(method, path, options) {
    const response = await this.call(method, path, options);
    return response.json().catch(() => {
      throw new ChatError("unavailable");
    });
  }
}

const conversationPath = (id) => `/api/conversations/${encodeURIComponent(id)}`;

/** Throws if no data arrives for too long. */
function orSilence(promise, sentence) {
  let timer;
  const silence = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new ChatError("network", sentence)), SILENCE_MS);
  });
  return Promise.race([promise, silence]).finally(() => clearTimeout(timer));
}

const networkError = (sentence) => (error) => {
  throw error.name === "AbortError" || error instanceof ChatError ? error : new ChatError("network", sentence);
};
const orUnreachable = (promise) => orSilence(promise, UNREACHABLE).catch(networkError(UNREACHABLE));
const orCut = (promise) => orSilence(promise, CUT).catch(networkError(CUT));

/** Reads server-sent events as {name, data}. Ends with the stream, even if that was incomplete. */
async function* readEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader(); // joins characters split over chunks
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await orCut(reader.read());
      if (done) return;
      const blocks = (buffer + value).split(/\r\n\r\n|\n\n|\r\r/);
      buffer = blocks.pop();
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // already failed or finished: ignore
  }
}

/** Returns null for a block without data: a keep-alive comment. */
function parseEvent(block) {
  let name = "message";
  const data = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/.exec(line);
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  if (data.length === 0) return null;
  try {
    return { name, data: JSON.parse(data.join("\n")) };
  } catch {
    throw new ChatError("network", CUT);
  }
}

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────────────────────────

const FENCE = /^\s*(```|~~~)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

/**
 * Renders the Markdown of a growing text. A block whose source did not change keeps its nodes, so that a reader's
 * selection survives the stream and a delta re-renders one block only.
 */
function renderMarkdown(container, text) {
  const blocks = splitBlocks(text);
  while (container.childNodes.length > blocks.length) container.lastChild.remove();
  blocks.forEach((block, index) => {
    const shown = container.childNodes[index];
    if (shown?.source === block) return;
    const node = renderBlock(block);
    node.source = block;
    if (shown) shown.replaceWith(node);
    else container.append(node);
  });
}

const isOrdered = (item) => /\d/.test(item[2]);

/** True if a line continues the block. Only a list continues after a blank line, with an item or an indented line. */
function continues(block, line) {
  const list = ITEM.exec(block[0] ?? "");
  const item = ITEM.exec(line);
  if (!list) return !item;
  if (!item) return block.at(-1).trim() !== "" || /^\s/.test(line);
  return item[1].length > list[1].length || isOrdered(item) === isOrdered(list);
}

/** Fences and headings are blocks of their own; other blocks end at a blank line or where `continues` is false. */
function splitBlocks(text) {
  const blocks = [];
  let block = [];
  let fence = null;
  const end = () => {
    if (block.some((line) => line.trim())) blocks.push(block.join("\n"));
    block = [];
  };
  for (const line of text.split(/\r\n|\n|\r/)) {
    const mark = FENCE.exec(line)?.[1];
    if (fence) {
      block.push(line);
      if (mark !== fence) continue;
      fence = null;
      end();
    } else if (mark) {
      end();
      fence = mark;
      block.push(line);
    } else if (HEADING.test(line)) {
      end();
      blocks.push(line);
    } else if (!line.trim()) {
      if (ITEM.test(block[0] ?? "")) block.push(line);
      else end();
    } else {
      if (!continues(block, line)) end();
      block.push(line);
    }
  }
  end();
  return blocks;
}

function renderBlock(block) {
  const lines = block.split("\n");
  const heading = HEADING.exec(block);
  if (FENCE.test(block)) return renderCode(lines);
  // An answer's headings begin at the third level, below the widget's own.
  if (heading) return element(`h${Math.min(heading[1].length + 2, 6)}`, {}, ...renderInline(heading[2]));
  if (ITEM.test(lines[0])) return renderList(lines);
  return element("p", {}, ...renderInline(block));
}

function renderCode([opening, ...lines]) {
  const mark = FENCE.exec(opening)[1];
  const end = lines.findIndex((line) => line.trim().startsWith(mark));
  const code = (end === -1 ? lines : lines.slice(0, end)).join("\n");
  return element("pre", { tabindex: "0" }, element("code", {}, code));
}

/** Lines indented below an item belong to it, and form a nested list if they begin like one. */
function renderList(lines) {
  const first = ITEM.exec(lines[0]);
  const list = isOrdered(first) ? element("ol", { start: String(parseInt(first[2], 10)) }) : element("ul");
  let own = [];
  let nested = [];
  const end = () => {
    if (!own.length) return;
    const item = element("li", {}, ...renderInline(own.join("\n")));
    if (nested.length) item.append(renderList(nested));
    list.append(item);
    own = [];
    nested = [];
  };
  for (const line of lines.filter((each) => each.trim())) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= first[1].length) {
      end();
      own.push(item[3]);
    } else if (item || nested.length) nested.push(line);
    else own.push(line.trim());
  }
  end();
  return list;
}

// Each alternative stops at the next character of its own kind, so that no text takes quadratic time.
const INLINE = new RegExp(
  [
    "(?<ticks>`{1,2})(?!`)(?<code>[^`]+)\\k<ticks>(?!`)",
    "(?<bang>!?)\\[(?<label>[^\\[\\]]*)\\]\\(\\s?(?<target>[^()\\s]*(?:\\([^()\\s]*\\)[^()\\s]*)*)(?:\\s\"[^\"()]*\")?\\s?\\)",
    "\\*\\*(?=\\S)(?<strong>(?:[^*]|\\*(?!\\*))+\\*?)\\*\\*(?!\\*)",
    "(?<![\\w*])\\*(?![\\s*])(?<em>[^*]+)(?<!\\s)\\*(?!\\w)",
    "(?<!\\w)_(?![\\s_])(?<under>[^_]+)_(?!\\w)",
    "(?<url>https?://[^\\s<>\"`*]+[^\\s<>\"`*.,;:!?'’”)\\]])",
  ].join("|"),
  "g",
);

function renderInline(text) {
  const nodes = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(text.slice(from, match.index), renderSpan(match));
    from = match.index + match[0].length;
  }
  nodes.push(text.slice(from));
  return nodes;
}

function renderSpan({ 0: source, groups: { code, bang, label, target, strong, em, under, url } }) {
  if (code !== undefined) return element("code", {}, code);
  if (strong !== undefined) return element("strong", {}, ...renderInline(strong));
  if (em ?? under) return element("em", {}, ...renderInline(em ?? under));
  if (url !== undefined) return link(url, url);
  // Loading an image would tell its server who reads what.
  if (bang) return `[image: ${label || target}]`;
  return /^https?:\/\//i.test(target) && URL.canParse(target) ? link(target, label || target) : source;
}

const link = (href, text) => element("a", { href, target: "_blank", rel: "noopener noreferrer" }, text);

// ── Feedback ────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Feedback on one answer: a thumb and, after thumbs down, a comment. `post` stores {thumb, words?}; null removes it.
 * The page has one per answer and reuses it each time the answer is rendered, so that typed text is not lost. A press
 * overrides what is read later, because that request may have begun before the press.
 */
class Feedback {
  #post;
  #announce;
  #kept = null; // stored by the server
  #wanted = null; // shown
  #pressed = false;
  #posting = false;
  #asking = false;
  #up = iconButton("up", "Good answer", () => this.#press("up"), { class: "icon-button thumb" });
  #down = iconButton("down", "Not helpful", () => this.#press("down"), { class: "icon-button thumb" });
  #note = element("p", { class: "problem", hidden: true });
  #field = element("textarea", {
    rows: "1",
    "aria-label": "What was wrong?",
    placeholder: "What was wrong? (optional)",
    enterkeyhint: "send",
    keydown: (event) => this.#key(event),
    input: () => this.#type(),
  });
  #send = element("button", { type: "button", class: "quiet-button", "aria-label": "Send what was wrong", click: () => this.#say() }, "Send");
  #counter = element("p", { class: "counter" });
  #form;

  constructor(post, announce) {
    this.#post = post;
    this.#announce = announce;
    const box = element("div", { class: "box", click: () => this.#field.focus() }, this.#field, this.#send);
    this.#form = element("div", { class: "wrong", keydown: (event) => this.#escape(event) }, box, this.#counter);
    const thumbs = element("div", { class: "thumbs" }, this.#up, this.#down);
    this.element = element("div", { class: "feedback" }, thumbs, this.#note, this.#form);
    this.#show();
  }

  load(kept) {
    if (this.#pressed) return;
    this.#kept = this.#wanted = kept;
    this.#show();
  }

  #press(thumb) {
    const again = this.#wanted?.thumb === thumb;
    this.#asking = thumb === "down" && !again;
    this.#want(again ? null : { thumb });
    this.#reveal();
  }

  #type() {
    this.#show();
    this.#reveal();
  }

  #reveal() {
    this.#form.scrollIntoView({ block: "nearest" });
  }

  #say() {
    const words = this.#field.value.trim();
    if (!words || characters(words) > WORDS_LIMIT) return;
    this.#asking = false;
    this.#want({ thumb: "down", words });
  }

  /** One request at a time, so that none overtakes another; of several presses meanwhile only the last is posted. */
  async #want(feedback) {
    this.#pressed = true;
    this.#wanted = feedback;
    this.#tell("");
    this.#show();
    if (this.#posting) return;
    this.#posting = true;
    for (let posted; posted !== this.#wanted; ) {
      posted = this.#wanted;
      try {
        await this.#post(posted);
        this.#kept = posted;
        if (posted?.words && posted === this.#wanted) this.#thank();
      } catch (error) {
        if (posted === this.#wanted) posted = this.#restore(posted, ChatError.from(error));
      }
    }
    this.#posting = false;
  }

  #thank() {
    this.#field.value = "";
    this.#tell("Thank you.");
  }

  #restore(failed, { message }) {
    this.#wanted = this.#kept;
    this.#asking = Boolean(failed?.words);
    this.#tell(`Not saved. ${message}`);
    this.#show();
    return this.#wanted;
  }

  #tell(sentence) {
    this.#note.textContent = sentence;
    this.#note.hidden = !sentence;
    if (sentence) this.#announce(sentence);
  }

  #key(event) {
    if (!isEnter(event)) return;
    event.preventDefault();
    this.#say();
  }

  /** Escape closes the field only; it does not stop the turn that runs as well. */
  #escape(event) {
    if (event.key !== "Escape" || event.isComposing) return;
    event.stopPropagation();
    this.#asking = false;
    this.#show();
  }

  #show() {
    const thumb = this.#wanted?.thumb;
    this.#up.setAttribute("aria-pressed", String(thumb === "up"));
    this.#down.setAttribute("aria-pressed", String(thumb === "down"));
    const hadFocus = this.#form.matches(":focus-within");
    this.#form.hidden = !this.#asking || thumb !== "down";
    if (hadFocus && this.#form.hidden) this.#down.focus();
    const count = characters(this.#field.value.trim());
    this.#send.disabled = count === 0 || count > WORDS_LIMIT;
    this.#field.setAttribute("aria-invalid", String(count > WORDS_LIMIT));
    showCount(this.#counter, count, WORDS_LIMIT);
    grow(this.#field);
  }
}

// ── One turn on the page ────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A user message and its answer. The methods in `Turn.EVENTS` handle the stream's events of the same name; a new kind
 * of event is a new method there, and its nodes go into `answer`, before `footer`.
 */
class Turn {
  accepted = false; // the server has stored the message
  answered = false; // an answer was loaded into it
  running = false;
  underWay = false; // the server has begun this run
  stopping = false;
  answerId = null; // known once the server has begun this run
  decisions = null; // what it posts instead of a message
  #announce;
  #onExplain;
  #onAsk;
  #onMemory;
  #text = "";
  #steps = new Map();
  #notes = new Set();
  #writing = false;
  #asks = false;
  #feedback = null;
  #stepsBox = element("details", { class: "steps", hidden: true, toggle: () => this.#wonder() });
  #stepsTitle = element("summary");
  #stepsList = element("ul");
  #content = element("div", { class: "content" });
  #workingLabel = element("span");
  #working = element("div", { class: "working", hidden: true }, spinner(), this.#workingLabel);
  #asides = element("div", { class: "asides" });
  #problem = element("p", { class: "problem", hidden: true });
  #retry;

  /** `said` is null for an answer without a message. */
  constructor({ id, said, announce, onRetry, onExplain, onAsk, onMemory }) {
    this.id = id;
    this.said = said;
    this.#announce = announce;
    this.#onExplain = onExplain;
    this.#onAsk = onAsk;
    this.#onMemory = onMemory;
    this.#retry = element("button", { type: "button", class: "quiet-button", hidden: true, click: onRetry }, "Retry");
    this.footer = element("div", { class: "footer" }, this.#problem, this.#retry);
    this.#stepsBox.append(this.#stepsTitle, this.#stepsList);
    this.answer = element(
      "div",
      { class: "answer", role: "group", "aria-label": "Qwestly" },
      this.#stepsBox,
      this.#content,
      this.#working,
      this.#asides,
      this.footer,
    );
    // Announce steps and the whole answer in the status region, but neither every delta nor loaded messages.
    this.element = element("article", { class: "turn", "aria-live": "off" });
    if (said !== null) this.element.append(element("div", { class: "said", role: "group", "aria-label": "You" }, said));
    this.element.append(this.answer);
  }

  begin() {
    this.#text = "";
    this.#steps.clear();
    this.#notes.clear();
    this.#asks = false;
    this.#stepsList.replaceChildren();
    this.#feedback?.element.remove();
    this.#feedback = this.answerId = null;
    renderMarkdown(this.#content, "");
    this.underWay = this.stopping = false;
    this.resume();
  }

  /** Shows the turn as running, with what it has so far. */
  resume() {
    this.running = true;
    this.#writing = false;
    this.#workingLabel.textContent = "Thinking…";
    this.#problem.hidden = this.#retry.hidden = true;
    this.#refresh();
  }

  wait(label) {
    this.#workingLabel.textContent = label;
    this.#announce(label);
  }

  static EVENTS = new Set(["text_delta", "tool_call", "tool_result", "progress", "approval_required", "approval_decided", "memory"]);

  text_delta({ content }) {
    this.#text += content;
    if (!this.#writing) this.#stepsBox.open = false;
    this.#writing = true;
    renderMarkdown(this.#content, this.#text);
    this.#refresh();
  }

  tool_call({ id, name, label }) {
    this.#addStep({ id, label: label || name });
    this.#writing = false;
    this.#stepsBox.open = true;
    this.#announce(label || name);
    this.#refresh();
  }

  tool_result({ id, ok, ms, problem }) {
    this.#learn({ id, ok, ms, problem });
    this.#refresh();
  }

  /** A notice on how the answer was made; shown once even if it is sent repeatedly. */
  progress({ label }) {
    if (this.#notes.has(label)) return;
    this.#notes.add(label);
    this.#stepsList.append(element("li", { class: "note" }, element("span", { class: "mark" }, icon("info")), label));
    this.#writing = false;
    this.#stepsBox.open = true;
    this.#announce(label);
    this.#refresh();
  }

  approval_required(view) {
    this.ask(this.#onAsk(view));
    this.#refresh();
  }

  /** What was done unasked, at the user's level; what they decided shows on its own card. */
  approval_decided(view) {
    if (view.decided_by === "level") this.place(this.#onAsk(view));
  }

  memory(view) {
    this.place(this.#onMemory(view));
  }

  /** Shows an approval. Its tool call waits for a person: without a result it has not failed. */
  ask(card) {
    this.#asks = true;
    this.place(card);
  }

  /** Shows a node that belongs to the answer but is not part of its text. */
  place(node) {
    this.#asides.append(node);
  }

  done({ content, stopped }) {
    this.#text = content || this.#text;
    renderMarkdown(this.#content, this.#text);
    this.#end(stopped ? UNFINISHED.stopped : null);
    this.#announce(stopped ? UNFINISHED.stopped : this.#content.innerText);
  }

  fail({ code, message }) {
    this.#end(message, code);
    this.#problem.classList.add("failed");
    this.#announce(message);
  }

  /** An answer as the server stores it. */
  load({ content, status, error, steps }) {
    this.#text = content;
    renderMarkdown(this.#content, content);
    for (const { id, name, label, ok, ms, problem } of steps ?? []) {
      this.#addStep({ id, label: label || name, ok, ms: ms ?? null, problem });
    }
    const problem = status === "complete" ? null : (error?.message ?? UNFINISHED[status] ?? UNFINISHED.interrupted);
    this.#end(problem, error?.code);
    this.#problem.classList.toggle("failed", status === "failed");
  }

  /** Adds details of the steps that are not in the stream. */
  explain(steps) {
    for (const { id, ms, problem } of steps) this.#learn({ id, ms: ms ?? null, problem });
    this.#refresh();
  }

  /** Called once the server has all of the answer. */
  rate(feedback) {
    this.#feedback = feedback;
    this.footer.append(feedback.element);
    this.#refresh();
  }

  /** The server accepts a message again only if no other follows it. */
  withdrawRetry() {
    if (this.accepted) this.#retry.hidden = true;
  }

  #addStep({ id, label, ok, ms, problem }) {
    const mark = element("span", { class: "mark" });
    const state = spoken("");
    const time = element("span", { class: "time" });
    const why = element("p", { class: "why" });
    this.#stepsList.append(element("li", {}, mark, element("span", {}, label), state, time, why));
    this.#steps.set(id, { mark, state, time, why, ok: ok ?? null, ms, problem });
  }

  #learn({ id, ...news }) {
    const step = this.#steps.get(id);
    if (step) Object.assign(step, news);
  }

  #wonder() {
    const unexplained = [...this.#steps.values()].some(({ ms }) => ms === undefined);
    if (this.#stepsBox.open && !this.running && unexplained) this.#onExplain();
  }

  /** A step that has no result when its turn ends will never have one. */
  #showStep({ mark, state, time, why, ok, ms, problem }) {
    time.textContent = ms === undefined || ms === null ? "" : seconds(ms);
    why.textContent = problem ?? "";
    why.hidden = !problem;
    const [words, shown] = this.#stateOf(ok);
    if (state.textContent === words) return;
    state.textContent = words;
    mark.replaceChildren(shown ? icon(shown) : spinner());
  }

  #stateOf(ok) {
    if (ok) return [" (done)", "check"];
    if (ok === null && this.running) return [" (under way)", null];
    return this.#hasFailed(ok) ? [" (failed)", "close"] : [" (asked for your approval)", "info"];
  }

  #hasFailed(ok) {
    return ok === false || (ok === null && !this.running && !(this.#asks && this.#problem.hidden));
  }

  #end(problem, code) {
    this.running = this.stopping = false;
    this.#stepsBox.open = false;
    this.#problem.classList.remove("failed");
    this.#problem.textContent = problem ?? "";
    this.#problem.hidden = problem === null;
    this.#retry.hidden = problem === null || this.said === null || FINAL.has(code);
    this.#refresh();
  }

  #refresh() {
    const steps = [...this.#steps.values()];
    const failed = steps.filter(({ ok }) => this.#hasFailed(ok)).length;
    const pending = steps.some(({ ok }) => ok === null);
    for (const step of steps) this.#showStep(step);
    const title = [counted(steps.length, "step"), failed ? `${failed} failed` : "", counted(this.#notes.size, "note")];
    this.#stepsTitle.textContent = title.filter(Boolean).join(", ");
    this.#stepsBox.hidden = !this.#stepsTitle.textContent;
    this.#working.hidden = !this.running || pending || this.#writing;
    if (this.#feedback) this.#feedback.element.hidden = this.running || !this.#text.trim();
    this.answer.setAttribute("aria-busy", String(this.running));
  }
}

function seconds(milliseconds) {
  if (milliseconds < 100) return "< 0.1 s";
  return `${(milliseconds / 1000).toFixed(milliseconds < 9_950 ? 1 : 0)} s`;
}

// ── The element ─────────────────────────────────────────────────────────────────────────────────────────────────────

class QwestlyChat extends HTMLElement {
  #getToken = null;
  #backend = null;
  #conversation = null; // id of the open one; null if it does not exist yet
  #turns = [];
  #feedbacks = new Map(); // by the answer's id
  #work = new AbortController(); // requests for the open conversation
  #wake = () => {};
  #pinned = true;
  #listing = 0;
  #next = null;
  #seen = ""; // the response that is shown of the open conversation
  #loaded = false;
  #approvals = null;
  #drafts = new Drafts();
  #memories = null;
  #updates = null;
  #queue = new Queue();

  // The parts of the page, in its order.
  #chat;
  #newButton;
  #rows;
  #listNote;
  #more;
  #main;
  #menu;
  #heading;
  #waiting;
  #brake;
  #log;
  #empty;
  #notice;
  #input;
  #button;
  #counter;
  #status;
  #happened;
  #dialog;

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [STYLES, APPROVAL_STYLES, MEMORY_STYLES];
    this.#build();
  }

  /** An async function that returns a token; used instead of the attribute `token-url`. */
  get getToken() {
    return this.#getToken;
  }

  set getToken(ask) {
    this.#getToken = ask;
    if (this.isConnected && !this.#backend) this.#start();
  }

  connectedCallback() {
    if (Object.hasOwn(this, "getToken")) {
      const { getToken } = this; // set before this class was defined: hand it to the accessor
      delete this.getToken;
      this.#getToken = getToken;
    }
    this.#resizes.observe(this);
    this.#resizes.observe(this.#log);
    addEventListener("pagehide", this.#keepDraft);
    document.addEventListener("visibilitychange", this.#catchUp);
    if (this.#getToken || this.hasAttribute("token-url")) this.#start();
  }

  disconnectedCallback() {
    this.#keepDraft();
    this.#turns = [];
    this.#feedbacks.clear();
    this.#work.abort();
    this.#updates?.stop();
    this.#queue.element.close();
    this.#wake();
    this.#resizes.disconnect();
    removeEventListener("pagehide", this.#keepDraft);
    document.removeEventListener("visibilitychange", this.#catchUp);
    this.#backend = null;
  }

  #start() {
    this.#backend = new Backend(this.getAttribute("endpoint") ?? "", new Tokens(() => this.#askToken()));
    this.#approvals = new Approvals({
      backend: this.#backend,
      decide: (view, decision) => this.#decide(view, decision),
      changed: () => this.#showWaiting(),
    });
    this.#drafts = new Drafts();
    const undo = (id) => this.#backend.json("POST", `/api/memories/${encodeURIComponent(id)}/undo`);
    this.#memories = new Memories(undo, this.#announce);
    this.#input.value = this.#recall("draft") ?? this.#input.value;
    const conversation = this.#recall("conversation");
    if (conversation) this.#open(conversation);
    else this.#show([], false);
    this.#list();
    this.#watch(this.#backend);
  }

  async #askToken() {
    if (!this.#getToken) return fetchToken(this.getAttribute("token-url"));
    try {
      return await this.#getToken();
    } catch (error) {
      console.error(error); // the page's own function: its author needs the cause
      throw new ChatError("unauthorized", "You could not be signed in. Please try again.");
    }
  }

  // State of this tab that survives a reload. The key includes the token's URL: an origin may have several users.

  #key(name) {
    return `qwestly-chat ${name} ${this.getAttribute("endpoint") ?? ""} ${this.getAttribute("token-url") ?? ""}`;
  }

  #recall(name) {
    return sessionStorage.getItem(this.#key(name));
  }

  #remember(name, value) {
    if (value) sessionStorage.setItem(this.#key(name), value);
    else sessionStorage.removeItem(this.#key(name));
  }

  #keepDraft = () => {
    const unsent = this.#turns.filter((turn) => !turn.accepted).map((turn) => turn.said);
    this.#remember("draft", [...unsent, this.#input.value].filter(Boolean).join("\n\n"));
  };

  // ── conversations ──

  /** A message that was never accepted returns to the input when its view is left. */
  #leave() {
    this.#work.abort();
    this.#wake();
    this.#work = new AbortController();
    this.#seen = "";
    for (const turn of this.#turns.toReversed()) if (!turn.accepted) this.#return(turn);
    this.#notify(null);
  }

  #return(turn) {
    turn.element.remove();
    this.#turns = this.#turns.filter((each) => each !== turn);
    this.#input.value = [turn.said, this.#input.value].filter(Boolean).join("\n\n");
  }

  #startNew() {
    this.#leave();
    this.#become(null, "");
    this.#show([], false);
  }

  #become(id, title) {
    this.#conversation = id;
    this.#remember("conversation", id);
    this.#heading.textContent = title || "New conversation";
    for (const row of this.#rows.children) {
      row.querySelector(".open").setAttribute("aria-current", String(row.dataset.id === id));
    }
  }

  async #open(id) {
    this.#leave();
    this.#become(id, "Conversation");
    this.#loaded = false;
    this.#turns = [];
    this.#pinned = true;
    this.#log.replaceChildren(element("div", { class: "working" }, spinner(), "Opening the conversation…"));
    this.#changed();
    await this.#follow(id);
  }

  /** Loads a conversation, and reloads it while a turn runs whose stream we do not have. */
  async #follow(id) {
    const { signal } = this.#work;
    try {
      for (;;) {
        const { title, messages, running } = await this.#backend.json("GET", conversationPath(id), { signal });
        if (signal.aborted) return;
        this.#become(id, title);
        this.#show(messages, running);
        if (!running) return;
        await this.#pause(POLL_MS);
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted) this.#couldNotRead(id, ChatError.from(error));
    }
  }

  #couldNotRead(id, error) {
    this.#log.querySelector(":scope > .working")?.remove();
    if (error.code === "not_found") this.#forget(SENTENCES.not_found);
    else this.#notify(error.message, () => this.#open(id));
  }

  /** Leaves a conversation that no longer exists. */
  #forget(sentence) {
    this.#startNew();
    this.#notify(sentence);
    this.#list();
  }

  /** The conversation may have continued in another tab. */
  #catchUp = () => {
    const idle = !this.#running && this.#turns.every((turn) => turn.accepted);
    if (!document.hidden && this.#backend && this.#conversation && idle) this.#follow(this.#conversation);
  };

  #show(messages, running) {
    const seen = JSON.stringify([messages, running]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#loaded = true;
    const focused = this.shadowRoot.activeElement;
    this.#turns = [];
    for (const message of messages) this.#load(message);
    const last = this.#turns.at(-1);
    for (const turn of this.#turns) if (turn !== last) turn.withdrawRetry();
    if (running) last?.resume();
    this.#log.replaceChildren(...(last ? this.#turns.map((turn) => turn.element) : [this.#empty]));
    this.#placeAll();
    if (focused?.isConnected) focused.focus({ preventScroll: true }); // inserting a node again removes its focus
    if (running && last) last.underWay = true;
    this.#changed();
  }

  #load({ id, role, content, status, error, steps, feedback, approvals, memories }) {
    const last = this.#turns.at(-1);
    if (role === "assistant") {
      const turn = last && !last.answered ? last : this.#addTurn(id, null);
      for (const view of approvals ?? []) turn.ask(this.#know(view));
      for (const memory of memories ?? []) turn.place(this.#memories.line(memory));
      turn.load({ content, status, error, steps });
      turn.answered = true;
      turn.answerId = id;
      this.#feedback(id).load(feedback ?? null);
      turn.rate(this.#feedback(id));
    } else {
      this.#addTurn(id, content || null).load({ content: "", status: "interrupted", error });
    }
    this.#turns.at(-1).accepted = true;
  }

  #addTurn(id, said) {
    const turn = new Turn({
      id,
      said,
      announce: this.#announce,
      onRetry: () => {
        if (!this.#running) this.#run(turn);
        this.#input.focus();
      },
      onExplain: () => this.#explain(turn),
      onAsk: (view) => this.#ask(view),
      onMemory: (memory) => this.#note(memory),
    });
    this.#turns.push(turn);
    return turn;
  }

  #announce = (sentence) => (this.#status.textContent = sentence);

  #feedback(id) {
    if (!this.#feedbacks.has(id)) {
      const backend = this.#backend; // the last press is posted even if the element is gone by then
      const path = `/api/messages/${encodeURIComponent(id)}/feedback`;
      const post = (feedback) => backend.json("POST", path, { body: feedback ?? { thumb: null } });
      this.#feedbacks.set(id, new Feedback(post, this.#announce));
    }
    return this.#feedbacks.get(id);
  }

  /** The stream only names the tool calls; the conversation has their results. */
  async #explain(turn) {
    const { signal } = this.#work;
    try {
      const { messages } = await this.#backend.json("GET", conversationPath(this.#conversation), { signal });
      turn.explain(messages.find(({ id }) => id === turn.answerId)?.steps ?? []);
    } catch (error) {
      if (!signal.aborted) this.#notify(`The steps could not be read. ${ChatError.from(error).message}`);
    }
  }

  // ── a turn ──

  get #running() {
    return this.#turns.find((turn) => turn.running);
  }

  #submit() {
    const text = this.#input.value.trim();
    if (!this.#sendable(text)) return;
    this.#input.value = "";
    this.#send(text);
  }

  #suggest({ target }) {
    const text = target.closest("button")?.textContent.trim();
    if (this.#sendable(text)) this.#send(text);
  }

  #sendable(text) {
    return Boolean(text) && characters(text) <= MESSAGE_LIMIT && this.#loaded && !this.#running;
  }

  #send(text) {
    const turn = this.#addTurn(crypto.randomUUID(), text);
    this.#run(turn);
    this.#input.focus();
  }

  async #run(turn) {
    this.#leaveAlone();
    for (const other of this.#turns) other.withdrawRetry();
    this.#turns = [...this.#turns.filter((other) => other !== turn), turn];
    this.#empty.remove();
    this.#log.append(turn.element);
    turn.begin();
    this.#pinned = true;
    this.#changed();
    const work = this.#work;
    try {
      await this.#stream(turn, work.signal);
    } catch (error) {
      if (!work.signal.aborted) this.#failed(turn, ChatError.from(error));
    }
    if (work.signal.aborted) return;
    this.#changed();
    this.#list();
    this.#updates.now();
  }

  /** Ends a reload that a turn has overtaken. */
  #leaveAlone() {
    this.#work.abort();
    this.#work = new AbortController();
    this.#seen = "";
    this.#notify(null);
  }

  async #stream(turn, signal) {
    const response = await this.#post(turn, signal);
    for await (const { name, data } of readEvents(response.body)) {
      if (signal.aborted) return;
      if (turn.answerId && (name === "error" || name === "done")) turn.rate(this.#feedback(turn.answerId));
      if (name === "conversation") this.#begun(turn, data);
      else if (name === "error") throw new ChatError(data.code, data.message);
      else if (name === "done") return turn.done(data);
      else if (Turn.EVENTS.has(name)) turn[name](data);
      this.#changed();
    }
    throw new ChatError("network", CUT);
  }

  /** Waits for a busy conversation once, for as long as the server asks. */
  async #post(turn, signal) {
    const what = turn.decisions ? { decisions: turn.decisions } : { message: turn.said, message_id: turn.id };
    const attempt = () =>
      this.#backend.call("POST", "/api/chat", { signal, body: { ...what, conversation_id: this.#conversation ?? undefined } });
    try {
      return await attempt();
    } catch (error) {
      if (error.code !== "conversation_busy" || turn.decisions) throw error;
      turn.wait("Waiting for the last answer to finish…");
      await this.#pause((error.retryAfter || BUSY_WAIT_S) * 1000);
      if (signal.aborted || turn.stopping) throw error;
      return attempt();
    }
  }

  #begun(turn, { conversation_id: id, run_id: run }) {
    turn.accepted = turn.underWay = true;
    turn.answerId = `msg_${run}`;
    if (id !== this.#conversation) {
      this.#become(id, turn.said);
      this.#list();
    }
    if (turn.stopping) this.#postStop(turn);
    if (turn.decisions) this.#updates.now();
  }

  /** Throws errors that belong to the decision's card and not to the answer. */
  #failed(turn, error) {
    if (turn.decisions && (!turn.underWay || OF_DECISION.has(error.code))) {
      this.#return(turn);
      this.#changed();
      throw error;
    }
    if (error.code === "not_found" && this.#conversation) {
      turn.accepted = false; // it was stored in a conversation that is gone
      this.#forget(`${SENTENCES.not_found} Your message is back in the box; sending it starts a new one.`);
    } else if (error.code === "changed" && this.#conversation) {
      this.#open(this.#conversation);
      this.#notify(error.message);
    } else if (FINAL.has(error.code) && !turn.accepted) {
      this.#return(turn);
      if (this.#turns.length === 0) this.#log.append(this.#empty);
      this.#notify(error.message);
    } else {
      turn.fail(error);
    }
  }

  /** A turn that the server has not begun yet is stopped once it has: stopping earlier would stop another tab's turn.
  */
  #stop() {
    const turn = this.#running;
    if (!turn || turn.stopping) return;
    turn.stopping = true;
    this.#wake();
    this.#changed();
    if (turn.underWay) this.#postStop(turn);
  }

  async #postStop(turn) {
    const { signal } = this.#work;
    try {
      await this.#backend.json("POST", `${conversationPath(this.#conversation)}/stop`, { body: {}, signal });
    } catch (error) {
      if (signal.aborted) return;
      turn.stopping = false;
      this.#notify(`This could not be stopped. ${ChatError.from(error).message}`);
      this.#changed();
    }
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  // ── updates outside turns ──

  /** Opens the queue of pending approvals. */
  showApprovals() {
    if (!this.#backend || this.#queue.element.open) return;
    this.#queue.open(this.#approvals);
    this.#updates.now();
  }

  #watch(backend) {
    const read = (query) => backend.json("GET", `/api/updates${query}`);
    this.#updates = new Updates(read, (items, first) => this.#take(items, first), () => this.#queue.element.open);
    this.#showWaiting();
  }

  /** Items that exist when the page is opened are shown, and not announced. */
  #take(items, first) {
    // Take all drafts before placing any: a failed one gives way to one started after it.
    const drafts = items.filter(({ type, at, draft }) => type === "draft" && this.#drafts.learn(draft, at));
    for (const { type, approval, brake } of items) {
      if (type === "approval") this.#takeApproval(approval, first);
      else if (type === "brake") this.#brake.learn(brake);
    }
    if (drafts.length) this.#placeAll();
    const failed = drafts.findLast(({ draft }) => draft.status === "failed");
    if (failed && !first) this.#happened.textContent = failed.draft.label; // progress is not announced
    this.#approvals.tick();
    this.#memories.tick();
  }

  #takeApproval(view, first) {
    const news = this.#approvals.learn(view);
    this.#placeAll();
    if (!news || first) return;
    const { title } = view.preview;
    this.#happened.textContent = view.status === "pending" ? `Your approval is asked for: ${title}` : `${title}: ${became(view)}`;
  }

  /** From a conversation's response. Returns its card. */
  #know(view) {
    this.#approvals.learn(view);
    return this.#approvals.card(view.approval_id, "log").element;
  }

  /** From a stream. */
  #ask(view) {
    this.#happened.textContent = `Your approval is asked for: ${view.preview.title}`;
    return this.#know(view);
  }

  /** From a stream. */
  #note(memory) {
    this.#happened.textContent = remembered(memory);
    return this.#memories.line(memory);
  }

  /** Places cards of the open conversation that are not shown yet: after the card that they replace, else last. */
  #placeAll() {
    const last = this.#turns.at(-1);
    if (!this.#conversation || !last) return;
    const stands = (node) => this.#log.contains(node);
    for (const { approval_id: id, revises } of this.#approvals.of(this.#conversation)) {
      const card = this.#approvals.card(id, "log").element;
      if (stands(card)) continue;
      const earlier = this.#approvals.has(revises) && this.#approvals.card(revises, "log").element;
      if (earlier && stands(earlier)) earlier.after(card);
      else last.place(card);
    }
    for (const line of this.#drafts.lines(this.#conversation, stands)) if (!stands(line)) last.place(line);
    this.#stick();
  }

  #showWaiting() {
    const count = this.#approvals.waiting.length;
    this.#queue.refresh();
    if (this.#waiting.dataset.count === String(count)) return;
    this.#waiting.dataset.count = String(count);
    this.#waiting.setAttribute("aria-label", count ? `Approvals, ${count} waiting` : "Approvals");
    const badge = this.#waiting.querySelector(".count");
    badge.textContent = String(count);
    badge.hidden = count === 0;
    this.dispatchEvent(new CustomEvent("approvalswaiting", { detail: { count } }));
  }

  /** Posts it with a turn, so that the agent continues, if the open conversation is free; else by the decision's route.
  */
  async #decide(view, decision) {
    const here = view.conversation_id !== null && view.conversation_id === this.#conversation;
    if (here && this.#loaded && !this.#running && (await this.#decideInTurn(view, decision))) {
      await this.#updates.now(); // the outcome is not in the stream
    } else {
      const path = `/api/approvals/${encodeURIComponent(view.approval_id)}/decision`;
      this.#takeApproval(await this.#backend.json("POST", path, { body: decision }), false);
      this.#updates.now();
    }
  }

  /** Returns true if there was a turn for it. */
  async #decideInTurn({ approval_id }, decision) {
    const turn = this.#addTurn(crypto.randomUUID(), null);
    turn.decisions = [{ approval_id, ...decision }];
    try {
      await this.#run(turn);
      return true;
    } catch (error) {
      if (NO_TURN.has(error.code)) return false;
      throw error;
    }
  }

  // ── the list of conversations ──

  async #list(after) {
    const reading = ++this.#listing; // of several responses the last one is shown
    try {
      const query = after ? `?after=${encodeURIComponent(after)}` : "";
      const { items, next } = await this.#backend.json("GET", `/api/conversations${query}`);
      if (reading !== this.#listing) return;
      this.#next = next;
      const rows = items.map((item) => this.#row(item));
      if (after) this.#rows.append(...rows);
      else this.#rows.replaceChildren(...rows);
      const open = items.find(({ id }) => id === this.#conversation);
      if (open?.title) this.#heading.textContent = open.title;
      this.#listNote.textContent = this.#rows.children.length ? "" : "Your conversations will be listed here.";
    } catch (error) {
      if (reading !== this.#listing || !this.#backend) return;
      this.#listNote.replaceChildren(
        ChatError.from(error).message,
        element("button", { type: "button", class: "quiet-button", click: () => this.#list() }, "Try again"),
      );
    }
    this.#more.hidden = !this.#next;
  }

  #row({ id, title, updated_at: updated, running }) {
    const name = title || "Untitled";
    const open = element(
      "button",
      { type: "button", class: "open", title: name, click: () => this.#pick(id), "aria-current": String(id === this.#conversation) },
      element("span", { class: "name" }, name),
      element("span", { class: "when" }, running ? "Working…" : day(updated)),
    );
    const remove = iconButton("trash", `Delete “${name}”`, () => this.#confirmDelete(id, name));
    return element("li", { "data-id": id }, open, remove);
  }

  #pick(id) {
    this.#toggleDrawer(false);
    this.#input.focus();
    this.#open(id);
  }

  #pickNew() {
    this.#toggleDrawer(false);
    this.#startNew();
    this.#input.focus();
  }

  #confirmDelete(id, name) {
    this.#dialog.querySelector(".name").textContent = `“${name}”`;
    this.#dialog.returnValue = "";
    this.#dialog.onclose = () => {
      if (this.#dialog.returnValue === "delete") this.#delete(id);
    };
    this.#dialog.showModal();
  }

  async #delete(id) {
    try {
      await this.#backend.json("DELETE", conversationPath(id));
    } catch (error) {
      const { code, message } = ChatError.from(error);
      if (code !== "not_found") {
        this.#listNote.textContent = `It could not be deleted. ${message}`;
        return;
      }
    }
    if (id === this.#conversation) this.#startNew();
    await this.#list();
    this.#newButton.focus(); // the focused button was removed with its row
  }

  #toggleDrawer(open) {
    if (open === this.#drawerOpen) return;
    this.#chat.toggleAttribute("data-drawer", open);
    this.#main.inert = open;
    (open ? this.#newButton : this.#menu).focus();
  }

  get #drawerOpen() {
    return this.#chat.hasAttribute("data-drawer");
  }

  // ── the page ──

  #build() {
    this.#newButton = element(
      "button",
      { type: "button", class: "new", click: () => this.#pickNew() },
      icon("plus"),
      "New conversation",
    );
    this.#rows = element("ul", { class: "rows" });
    this.#listNote = element("p", { class: "list-note", role: "status" });
    this.#more = element("button", { type: "button", class: "quiet-button", hidden: true, click: () => this.#list(this.#next) }, "Show older");
    const nav = element(
      "nav",
      { "aria-label": "Conversations" },
      element("div", { class: "bar" }, this.#newButton, iconButton("close", "Close the list", () => this.#toggleDrawer(false), { class: "icon-button drawer-only" })),
      element("div", { class: "list" }, this.#rows, this.#listNote, this.#more),
    );
    this.#brake = new Brake({
      post: (method) => this.#backend.json(method, "/api/brake").finally(() => this.#updates.now()),
      changed: () => this.#showBrake(),
      fail: (sentence) => this.#notify(sentence),
    });
    this.#main = element("div", { class: "main" }, this.#buildHeader(), this.#buildLog(), this.#buildComposer());
    this.#showBrake();
    this.#status = element("div", { class: "spoken", role: "status" });
    // A region of its own, so that an answer that ends at the same moment does not replace it.
    this.#happened = element("div", { class: "spoken", "aria-live": "polite" });
    this.#dialog = this.#buildDialog();
    this.#chat = element("div", { class: "chat", keydown: (event) => this.#escape(event) }, nav, this.#main, this.#status, this.#happened, this.#dialog, this.#queue.element);
    this.shadowRoot.append(this.#chat);
  }

  #buildHeader() {
    this.#menu = iconButton("menu", "Conversations", () => this.#toggleDrawer(true), { class: "icon-button drawer-only" });
    this.#heading = element("h2", {}, "New conversation");
    const fresh = iconButton("plus", "New conversation", () => this.#pickNew(), { class: "icon-button drawer-only" });
    this.#waiting = element(
      "button",
      { type: "button", class: "waiting", title: "Approvals", "aria-label": "Approvals", click: () => this.showApprovals() },
      icon("queue"),
      element("span", { class: "label" }, "Approvals"),
      element("span", { class: "count", hidden: true }),
    );
    return element("div", { class: "bar title" }, this.#menu, this.#heading, this.#waiting, this.#brake.button, fresh);
  }

  #buildLog() {
    const suggestions = element("slot", {
      name: "suggestion",
      click: (event) => this.#suggest(event),
    });
    this.#empty = element(
      "div",
      { class: "empty" },
      element("h3", {}, "What would you like to work on?"),
      element("p", {}, "Ask about your career, your documents, or how Qwestly works."),
      element("div", { class: "suggestions" }, suggestions),
    );
    const attributes = { class: "log", role: "log", "aria-live": "polite", "aria-label": "Messages", tabindex: "0" };
    this.#log = element("div", { ...attributes, scroll: () => this.#noteScroll() }, this.#empty);
    return this.#log;
  }

  #buildComposer() {
    this.#notice = element("div", { class: "notice", role: "alert", hidden: true });
    this.#input = element("textarea", {
      rows: "1",
      "aria-label": "Your message",
      "aria-describedby": "counter",
      placeholder: "Write a message…",
      enterkeyhint: "send",
      keydown: (event) => this.#enter(event),
      input: () => this.#changed(),
    });
    // Ignore the second click of a double click on Send: it is not meant as Stop.
    const press = ({ detail }) => detail > 1 || (this.#running ? this.#stop() : this.#submit());
    this.#button = element("button", { type: "button", class: "send", click: press });
    this.#counter = element("p", { class: "counter", id: "counter" });
    const box = element("div", { class: "box", click: () => this.#input.focus() }, this.#input, this.#button);
    return element("div", { class: "composer" }, this.#notice, this.#brake.line, box, this.#counter);
  }

  #buildDialog() {
    const body = element("p", {}, element("span", { class: "name" }), " and everything said in it will be deleted. This cannot be undone.");
    const form = element(
      "form",
      { method: "dialog" },
      element("h2", { id: "question" }, "Delete this conversation?"),
      body,
      element(
        "div",
        { class: "choices" },
        element("button", { class: "quiet-button", value: "", autofocus: true }, "Cancel"),
        element("button", { class: "danger-button", value: "delete" }, "Delete"),
      ),
    );
    return element("dialog", { "aria-labelledby": "question" }, form);
  }

  #enter(event) {
    if (!isEnter(event)) return;
    event.preventDefault();
    this.#submit();
  }

  #escape(event) {
    if (event.key !== "Escape" || event.isComposing || this.#dialog.open || this.#queue.element.open) return;
    if (this.#drawerOpen) this.#toggleDrawer(false);
    else this.#stop();
  }

  /** Shows a message that concerns no single turn; null removes it. */
  #notify(sentence, again) {
    this.#notice.hidden = sentence === null;
    this.#notice.replaceChildren(icon("alert"), element("span", {}, sentence ?? ""));
    if (again) this.#notice.append(element("button", { type: "button", class: "quiet-button", click: again }, "Try again"));
  }

  #showBrake() {
    if (!this.#input) return; // not built yet
    this.#input.placeholder = this.#brake.pulled ? "The agent is paused" : "Write a message…";
  }

  /** Updates the composer from the state, and keeps the scroll position at the bottom if it is there. */
  #changed() {
    const running = this.#running;
    const text = this.#input.value.trim();
    const label = running ? (running.stopping ? "Stopping…" : "Stop") : "Send";
    const hadFocus = this.shadowRoot.activeElement === this.#button;
    if (this.#button.title !== label) {
      this.#button.replaceChildren(icon(running ? "stop" : "send"));
      this.#button.title = label;
      this.#button.setAttribute("aria-label", label);
    }
    this.#button.classList.toggle("stopping", Boolean(running?.stopping));
    this.#button.disabled = !running && !this.#sendable(text);
    if (hadFocus && !running) this.#input.focus();
    const count = characters(text);
    showCount(this.#counter, count, MESSAGE_LIMIT);
    this.#input.setAttribute("aria-invalid", String(count > MESSAGE_LIMIT));
    grow(this.#input);
    this.#stick();
  }

  #noteScroll() {
    const { scrollHeight, scrollTop, clientHeight } = this.#log;
    this.#pinned = scrollHeight - scrollTop - clientHeight < NEAR_BOTTOM_PX;
  }

  #stick() {
    if (this.#pinned) this.#log.scrollTop = this.#log.scrollHeight;
  }

  #resizes = new ResizeObserver(() => {
    if (this.clientWidth >= NARROW_PX && this.#drawerOpen) this.#toggleDrawer(false);
    this.#stick();
  });
}

function day(timestamp) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "";
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, today ? { timeStyle: "short" } : { dateStyle: "medium" });
}

// ── Styles ──────────────────────────────────────────────────────────────────────────────────────────────────────────

// A constructed style sheet, because a strict content security policy forbids style elements. A page sets
// `color-scheme` on the element to choose light or dark, and --qwestly-… to choose colors and fonts.
const STYLES = new CSSStyleSheet();
STYLES.replaceSync(`
:host {
  color-scheme: light dark;
  --background: var(--qwestly-background, light-dark(#ffffff, #131716));
  --surface: var(--qwestly-surface, light-dark(#f5f7f5, #1a201e));
  --raised: var(--qwestly-raised, light-dark(#e9efec, #26302d));
  --text: var(--qwestly-text, light-dark(#18211e, #e6ece9));
  --muted: var(--qwestly-muted, light-dark(#56645f, #9db0a9));
  --line: var(--qwestly-line, light-dark(#dde4e0, #2c3633));
  --accent: var(--qwestly-accent, light-dark(#0d6a59, #63cfb6));
  --on-accent: var(--qwestly-on-accent, light-dark(#ffffff, #06231c));
  --danger: var(--qwestly-danger, light-dark(#a8322a, #f29a90));
  --on-danger: light-dark(#ffffff, #2b0906);
  display: block;
  container-type: inline-size;
  block-size: 100%;
  min-block-size: 20rem;
  background: var(--background);
  color: var(--text);
  font: 1rem/1.55 var(--qwestly-font, system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif);
  text-align: start;
}
:host([hidden]), [hidden] { display: none !important; }
*, *::before, *::after { box-sizing: border-box; }
h2, h3, p, ul { margin: 0; }
button, textarea { font: inherit; color: inherit; }
button { cursor: pointer; border: 0; background: none; border-radius: .6rem; }
button:disabled { cursor: default; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.spoken { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.icon { inline-size: 1.25rem; block-size: 1.25rem; flex: none; fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linecap: round; stroke-linejoin: round; }
.icon-stop { fill: currentColor; }

.chat { position: relative; display: grid; grid-template-columns: 17rem minmax(0, 1fr); block-size: 100%; min-block-size: inherit; overflow: hidden; }
.bar { display: flex; align-items: center; gap: .5rem; min-block-size: 3.75rem; padding: .5rem 1rem; }
.icon-button { display: grid; place-items: center; flex: none; inline-size: 2.5rem; block-size: 2.5rem; padding: 0; color: var(--muted); }
.icon-button:hover { background: var(--raised); color: var(--text); }
.quiet-button { padding: .3rem .9rem; border: 1px solid var(--line); background: var(--background); font-size: .9rem; }
.quiet-button:hover { background: var(--raised); }
.danger-button { padding: .3rem .9rem; border: 1px solid transparent; background: var(--danger); color: var(--on-danger); font-size: .9rem; }
.danger-button:hover { filter: brightness(1.1); }
.drawer-only { display: none; }

nav { display: flex; flex-direction: column; min-block-size: 0; background: var(--surface); border-inline-end: 1px solid var(--line); }
.new { flex: 1; display: flex; align-items: center; gap: .5rem; padding: .5rem .75rem; border: 1px solid var(--line); background: var(--background); font-weight: 550; }
.new:hover { border-color: var(--accent); color: var(--accent); }
.list { overflow-y: auto; flex: 1; padding: .25rem .5rem 1rem; }
.list > .quiet-button { margin: .5rem; }
.rows { list-style: none; padding: 0; display: grid; gap: 2px; }
.rows li { display: flex; align-items: center; border-radius: .6rem; }
.rows li:hover, .rows li:has(.open[aria-current=true]) { background: var(--raised); }
.open { flex: 1; min-inline-size: 0; display: grid; padding: .5rem .5rem .5rem .75rem; text-align: start; }
.open[aria-current=true] .name { font-weight: 600; }
.open .name { overflow: hidden; display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow-wrap: anywhere; font-size: .95rem; }
.open .when { color: var(--muted); font-size: .8rem; }
.rows .icon-button { inline-size: 2rem; block-size: 2rem; margin-inline-end: .35rem; }
.rows .icon-button .icon { inline-size: 1.1rem; }
.rows .icon-button:hover { color: var(--danger); }
.rows .icon-button:focus-visible, .open:focus-visible { outline-offset: -2px; }
@media (hover: hover) {
  .rows .icon-button { opacity: 0; }
  .rows li:is(:hover, :focus-within) .icon-button { opacity: 1; }
}
.list-note { display: grid; gap: .5rem; justify-items: start; padding: .5rem .75rem; color: var(--muted); font-size: .9rem; }
.list-note:empty { display: none; }

.main { display: flex; flex-direction: column; min-inline-size: 0; min-block-size: 0; }
.title { border-block-end: 1px solid var(--line); padding-inline: 1.5rem; }
.title h2 { flex: 1; min-inline-size: 0; font-size: 1rem; font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.log { flex: 1; min-block-size: 0; overflow-y: auto; overflow-x: hidden; overscroll-behavior: contain; padding: 1.5rem; display: flex; flex-direction: column; gap: 1.75rem; }
.log:focus-visible { outline-offset: -2px; }
.log > * { inline-size: 100%; max-inline-size: 46rem; margin-inline: auto; flex: none; }
.empty { margin-block: auto; display: grid; gap: .5rem; justify-items: center; text-align: center; }
.empty h3 { font-size: 1.4rem; line-height: 1.3; font-weight: 600; letter-spacing: -.01em; text-wrap: balance; }
.empty p { color: var(--muted); text-wrap: balance; }
.suggestions { display: flex; flex-wrap: wrap; justify-content: center; gap: .6rem; margin-block-start: 1rem; }
::slotted(button) { font: inherit; font-size: .95rem; cursor: pointer; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: 2rem; background: var(--surface); color: var(--text); }
::slotted(button:hover) { border-color: var(--accent); color: var(--accent); }
::slotted(button:focus-visible) { outline: 2px solid var(--accent); outline-offset: 2px; }

.turn { display: grid; gap: 1rem; }
.said { justify-self: end; max-inline-size: min(85%, 36rem); padding: .6rem 1rem; border-radius: 1.1rem 1.1rem .3rem 1.1rem; background: var(--raised); white-space: pre-wrap; overflow-wrap: anywhere; }
.answer { display: grid; gap: .75rem; min-inline-size: 0; }
.steps { color: var(--muted); font-size: .9rem; }
.steps summary { inline-size: fit-content; padding: .1rem .4rem; margin-inline-start: -.4rem; border-radius: .4rem; cursor: pointer; }
.steps summary:hover { color: var(--text); }
.steps ul { list-style: none; display: grid; gap: .3rem; margin-block-start: .35rem; padding: .1rem 0 .1rem .85rem; border-inline-start: 2px solid var(--line); }
.steps li { display: grid; grid-template-columns: 1.1rem fit-content(100%) 1fr; column-gap: .6rem; overflow-wrap: anywhere; }
.steps .time { font-size: .8rem; line-height: 1.75; white-space: nowrap; font-variant-numeric: tabular-nums; }
.steps .why { grid-column: 2 / -1; }
.working { display: flex; align-items: center; gap: .6rem; }
.mark { display: grid; place-items: center; inline-size: 1.1rem; block-size: 1.55em; }
.mark .icon { inline-size: 1.1rem; }
.mark .icon-check { color: var(--accent); }
.mark .icon-close { color: var(--danger); }
.working { color: var(--muted); font-size: .95rem; }
.spinner { flex: none; inline-size: .95rem; block-size: .95rem; border: 2px solid var(--line); border-block-start-color: var(--accent); border-radius: 50%; animation: turn 900ms linear infinite; }
@keyframes turn { to { transform: rotate(1turn); } }
.footer { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem .9rem; font-size: .9rem; }
.footer:not(:has(> :not([hidden]))), .content:empty { display: none; }
.problem { color: var(--muted); }
.problem.failed { color: var(--danger); }
.feedback { display: contents; }
.thumbs { display: flex; margin: -.4rem -.375rem; }
.thumb { inline-size: 2rem; block-size: 2rem; }
.thumb[aria-pressed=true] { color: var(--accent); }
.thumb[aria-pressed=true] .icon { fill: currentColor; }
.thumb:focus-visible { outline-offset: -2px; }
.wrong { flex-basis: 100%; max-inline-size: 34rem; scroll-margin-block: 1rem; }
.wrong .box { padding: .15rem .25rem .15rem .9rem; border-radius: 1.2rem; }
.wrong textarea { margin-block: .3rem; }
.wrong .quiet-button { border-color: transparent; color: var(--accent); font-weight: 550; }
.wrong .quiet-button:disabled { background: none; color: var(--muted); font-weight: inherit; }
@media (hover: hover) {
  .turn:not(:last-child, :hover, :focus-within) .thumb[aria-pressed=false] { opacity: 0; }
}
@media (pointer: coarse) {
  .thumbs { margin: -.75rem; }
  .thumb { inline-size: 44px; block-size: 44px; }
  .wrong textarea { margin-block: .6rem; font-size: 1rem; /* Safari zooms in on less */ }
  .wrong .quiet-button { min-block-size: 44px; min-inline-size: 44px; }
}

.content { display: grid; gap: .75rem; min-inline-size: 0; overflow-wrap: anywhere; }
.content > * { margin: 0; min-inline-size: 0; }
.content :is(h3, h4, h5, h6) { line-height: 1.3; font-weight: 650; font-size: 1rem; }
.content h3 { font-size: 1.2rem; }
.content h4 { font-size: 1.08rem; }
.content :is(h3, h4, h5, h6):not(:first-child) { margin-block-start: .35rem; }
.content p, .content li { white-space: pre-line; }
.content :is(ul, ol) { padding-inline-start: 1.5rem; margin: 0; }
.content li + li, .content li > :is(ul, ol) { margin-block-start: .3rem; }
.content li::marker { color: var(--muted); }
.content code { font: .9em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; padding: .1em .35em; border-radius: .35em; background: var(--raised); }
.content pre { overflow-x: auto; padding: .85rem 1rem; border: 1px solid var(--line); border-radius: .7rem; background: var(--surface); }
.content pre code { padding: 0; background: none; overflow-wrap: normal; }
.content a { color: var(--accent); text-underline-offset: .2em; }

.composer { padding: .25rem 1.5rem 1rem; }
.composer > * { max-inline-size: 46rem; margin-inline: auto; }
.notice { display: flex; align-items: center; gap: .6rem; margin-block-end: .6rem; padding: .5rem .9rem; border: 1px solid var(--line); border-radius: .7rem; background: var(--surface); font-size: .9rem; }
.notice span { flex: 1; }
.notice .icon { color: var(--danger); }
.box { display: flex; align-items: flex-end; gap: .5rem; padding: .4rem .4rem .4rem 1.1rem; border: 1px solid light-dark(#85938d, #64746e); border-radius: 1.5rem; background: var(--background); cursor: text; }
.box:focus-within { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); }
textarea { flex: 1; min-inline-size: 0; max-block-size: 12rem; margin-block: .4rem; padding: 0; border: 0; outline: 0; background: none; resize: none; line-height: 1.5rem; }
textarea:focus-visible { outline: 0; }
textarea::placeholder { color: var(--muted); opacity: 1; }
.send { display: grid; place-items: center; flex: none; inline-size: 2.35rem; block-size: 2.35rem; padding: 0; border-radius: 50%; background: var(--accent); color: var(--on-accent); }
.send:hover:enabled { filter: brightness(1.1); }
.send:disabled { background: var(--raised); color: var(--muted); }
.send.stopping { opacity: .6; }
.counter { min-block-size: 1.2rem; padding-block-start: .15rem; text-align: end; font-size: .8rem; color: var(--muted); }
.counter:empty { display: none; }
.counter.over { color: var(--danger); font-weight: 600; }

dialog { max-inline-size: min(26rem, calc(100vw - 2rem)); padding: 1.5rem; border: 1px solid var(--line); border-radius: 1rem; background: var(--background); color: var(--text); box-shadow: 0 1rem 3rem rgb(0 0 0 / .25); }
dialog::backdrop { background: rgb(8 14 12 / .45); }
dialog form { display: grid; gap: .75rem; }
dialog h2 { font-size: 1.1rem; }
dialog p { color: var(--muted); overflow-wrap: anywhere; }
dialog .name { color: var(--text); }
.choices { display: flex; justify-content: flex-end; gap: .6rem; margin-block-start: .5rem; }

@container (max-width: ${NARROW_PX - 0.02}px) {
  .chat { grid-template-columns: minmax(0, 1fr); }
  .drawer-only { display: grid; }
  nav { display: none; position: absolute; inset: 0 auto 0 0; z-index: 1; inline-size: min(20rem, 88%); box-shadow: 0 0 0 100vmax rgb(8 14 12 / .45); }
  [data-drawer] nav { display: flex; }
  .title { padding-inline: .6rem; }
  .title h2 { text-align: center; }
  .log { padding: 1.1rem 1rem; }
  .composer { padding: .25rem .75rem .75rem; }
}
@media (prefers-reduced-motion: reduce) {
  .spinner { animation: none; }
}
`);

customElements.define("qwestly-chat", QwestlyChat);
