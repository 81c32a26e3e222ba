/** <qwestly-chat endpoint="https://…" token-url="/token">: conversations with the agent. README.md has its attributes.
 *
 * Texts from the server or a model become text nodes, except Markdown, which `markdown.ts` renders and sanitizes.
 */

import type { ApprovalView, BrakeStatus, Conversation, Decision, EventView, FeedbackView, MemoryView, MessageView, Update, Updates as Polled } from "../api.ts";
import { became } from "../approval_card.ts";
import { Approvals } from "../approvals.ts";
import { Backend, Tokens, conversationPath, fetchToken } from "../backend.ts";
import { Brake } from "../brake.ts";
import { ConversationList } from "../conversation_list.ts";
import { characters, element, grow, icon, iconButton, isEnter, showCount, spinner, spoken } from "../dom.ts";
import { Drafts } from "../drafts.ts";
import { ChatError } from "../errors.ts";
import { readEvents } from "../events.ts";
import { Feedback } from "../feedback.ts";
import { Memories, remembered } from "../memory_lines.ts";
import { type NextStep, NextSteps } from "../next_steps.ts";
import { Queue } from "../queue.ts";
import { ResumeDrop } from "../resume_drop.ts";
import { STRINGS_CHANGES, strings } from "../strings.ts";
import { APPROVAL_STYLES } from "../styles/approvals.ts";
import { NARROW_PX, PHONE_PX, STYLES } from "../styles/chat.ts";
import { CONTROL_STYLES } from "../styles/controls.ts";
import { DOCUMENT_STYLES } from "../styles/document.ts";
import { MEMORY_STYLES } from "../styles/memories.ts";
import { FINAL, Turn } from "../turn.ts";
import { Updates } from "../updates.ts";
import { BASE_STYLES } from "./base.ts";

const MESSAGE_LIMIT = 20_000; // characters, as the server counts them: code points

const POLL_MS = 2_000;
const BUSY_WAIT_S = 2; // if a 409 has no Retry-After

const NEAR_BOTTOM_PX = 48;
const LANDING_PX = 12; // space above a question that was scrolled to

/** Errors of the turn itself, not of a decision posted with it; a 404 may be either. */
const NO_TURN = new Set(["conversation_busy", "too_many_turns", "over_budget", "not_found"]);
/** Errors of a decision, not of the agent's answer to it. */
const OF_DECISION = new Set(["changed", "braked", "not_found", "invalid"]);

type GetToken = () => Promise<string>;

/** The content of a turn's request: decisions, a regeneration, an edit of the last message, or a new message. */
function bodyOf({ decisions, replaces, said, id, answers }: Turn) {
  if (decisions) return { decisions };
  if (!replaces) return { message: said, message_id: id, ...(answers && { answers }) };
  return replaces === id ? { message: said, replaces } : { replaces };
}

export class QwestlyChat extends HTMLElement {
  #getToken: GetToken | null = null;
  #backend: Backend | null = null;
  #conversation: string | null = null; // id of the open one; null if it does not exist yet
  #turns: Turn[] = [];
  #feedbacks = new Map<string, Feedback>(); // by the answer's id
  #work = new AbortController(); // requests for the open conversation
  #wake: () => void = () => {};
  #pinned = true;
  #landing: HTMLElement | null = null; // a new question, to be scrolled to its beginning
  #seen = ""; // the response shown for the open conversation
  #loaded = false;
  #approvals!: Approvals;
  #drafts = this.#newDrafts();
  #memories!: Memories;
  #updates: Updates | null = null;
  #resume!: ResumeDrop;
  #again: (() => void) | null = null; // the retry that the notice offers
  #wasPaused = false;
  #role: string | null = null; // of the stored conversation that is open
  #nextRole: string | null = null; // of the next new conversation, if it is not the default

  // The parts of the page, in order.
  #chat!: HTMLElement;
  #strings!: typeof strings; // with which the parts were built
  #list!: ConversationList;
  #main!: HTMLElement;
  #menu!: HTMLButtonElement;
  #heading!: HTMLElement;
  #waiting!: HTMLButtonElement;
  #brake!: Brake;
  #log!: HTMLElement;
  #next!: NextSteps;
  #latest!: HTMLButtonElement;
  #empty!: HTMLElement;
  #notice!: HTMLElement;
  #input!: HTMLTextAreaElement;
  #button!: HTMLButtonElement;
  #counter!: HTMLElement;
  #status!: HTMLElement;
  #happened!: HTMLElement;
  #queue!: Queue;
  #news = element("div", { class: "news", role: "status", hidden: true });

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [BASE_STYLES.styleSheet!, CONTROL_STYLES, STYLES, APPROVAL_STYLES, DOCUMENT_STYLES, MEMORY_STYLES];
    this.#build();
  }

  /** An async function that returns a token; used instead of the attribute `token-url`. */
  get getToken(): GetToken | null {
    return this.#getToken;
  }

  set getToken(ask: GetToken | null) {
    this.#getToken = ask;
    if (this.isConnected && !this.#backend) this.#start();
  }

  /** Focuses the composer. */
  override focus(options?: FocusOptions) {
    this.#input.focus(options);
  }

  connectedCallback() {
    if (Object.hasOwn(this, "getToken")) {
      const { getToken } = this; // set before this class was defined: hand it to the accessor
      Reflect.deleteProperty(this, "getToken");
      this.#getToken = getToken;
    }
    if (this.#strings !== strings) this.#buildAnew();
    STRINGS_CHANGES.addEventListener("change", this.#showStrings);
    this.#resizes.observe(this);
    this.#resizes.observe(this.#log);
    addEventListener("pagehide", this.#keepDraft);
    addEventListener("online", this.#reconnect);
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
    this.#resume.stop();
    this.#wake();
    this.#resizes.disconnect();
    STRINGS_CHANGES.removeEventListener("change", this.#showStrings);
    removeEventListener("pagehide", this.#keepDraft);
    removeEventListener("online", this.#reconnect);
    document.removeEventListener("visibilitychange", this.#catchUp);
    this.#backend = null;
  }

  /** Rebuilds the element after the page replaced strings, and reopens the open conversation. */
  #showStrings = () => {
    const open = this.#backend && this.#conversation;
    this.disconnectedCallback();
    this.connectedCallback();
    if (open && this.hasAttribute("conversation")) this.#open(open); // the attribute may name an earlier one
  };

  #start() {
    this.#showBrand();
    this.#backend = new Backend(this.getAttribute("endpoint") ?? "", new Tokens(() => this.#askToken()));
    this.#approvals = new Approvals({
      backend: this.#backend,
      decide: (view, decision) => this.#decide(view, decision),
      changed: () => this.#showWaiting(),
    });
    this.#drafts = this.#newDrafts();
    const undo = (id: string) => this.#server.json<{ restored: MemoryView[] }>("POST", `/api/memories/${encodeURIComponent(id)}/undo`);
    this.#memories = new Memories(undo, this.#announce);
    this.#input.value = this.#recall("draft") ?? this.#input.value;
    const conversation = this.getAttribute("conversation") ?? this.#recall("conversation");
    if (conversation) this.#open(conversation);
    else this.#show([], false);
    this.#list.read();
    this.#watch(this.#backend);
  }

  get #server(): Backend {
    if (!this.#backend) throw new ChatError("unavailable"); // the element was taken off the page
    return this.#backend;
  }

  #showBrand() {
    const [name, logo, color] = ["brand-name", "brand-logo", "brand-color"].map((each) => this.getAttribute(each));
    if (color) this.style.setProperty("--qwestly-accent", color);
    this.#list.showBrand(name ?? "", logo ?? "");
  }

  async #askToken(): Promise<string> {
    if (!this.#getToken) return fetchToken(this.getAttribute("token-url") ?? "");
    try {
      return await this.#getToken();
    } catch (error) {
      console.error(error); // the page's own function: its author needs the cause
      throw new ChatError("unauthorized", strings.chat.couldNotSignIn);
    }
  }

  // State of this tab that survives a reload. The key includes the token's URL: an origin may have several users.

  /** The role of conversations started here; null for the default. */
  get #newRole() {
    return this.#nextRole ?? this.getAttribute("agent-role");
  }

  #key(name: string) {
    const role = this.hasAttribute("agent-role") ? ` ${this.getAttribute("agent-role")}` : "";
    return `qwestly-chat ${name} ${this.getAttribute("endpoint") ?? ""} ${this.getAttribute("token-url") ?? ""}${role}`;
  }

  #recall(name: string) {
    return sessionStorage.getItem(this.#key(name));
  }

  #remember(name: string, value: string | null) {
    if (value) sessionStorage.setItem(this.#key(name), value);
    else sessionStorage.removeItem(this.#key(name));
  }

  #keepDraft = () => {
    const unsent = this.#turns.filter((turn) => !turn.accepted).map((turn) => turn.said);
    this.#remember("draft", [...unsent, this.#input.value].filter(Boolean).join("\n\n"));
  };

  // ── conversations ──

  /** Returns a message that was never accepted to the input when the user leaves the conversation. */
  #leave() {
    this.#work.abort();
    this.#wake();
    this.#work = new AbortController();
    this.#seen = "";
    for (const turn of this.#turns.toReversed()) if (!turn.accepted) this.#return(turn);
    this.#notify(null);
  }

  #return(turn: Turn) {
    turn.element.remove();
    this.#turns = this.#turns.filter((each) => each !== turn);
    this.#input.value = [turn.said, this.#input.value].filter(Boolean).join("\n\n");
  }

  #startNew(role: string | null = null) {
    this.#leave();
    this.#nextRole = role;
    this.#role = null;
    this.#become(null, "");
    this.#show([], false);
  }

  #become(id: string | null, title: string | null) {
    const isOther = id !== this.#conversation;
    this.#conversation = id;
    this.#remember("conversation", id);
    this.#heading.textContent = title || strings.chat.newConversation;
    this.#list.show(id);
    if (isOther) this.dispatchEvent(new CustomEvent("conversationchange", { detail: { id } }));
  }

  async #open(id: string) {
    this.#leave();
    this.#nextRole = null;
    this.#become(id, strings.chat.conversation);
    this.#loaded = false;
    this.#turns = [];
    this.#pinned = true;
    this.#log.replaceChildren(element("div", { class: "working" }, spinner(), strings.chat.opening));
    this.#changed();
    await this.#follow(id);
  }

  /** Loads a conversation. While a turn is running in it, follows its stream, or else reloads it periodically. */
  async #follow(id: string) {
    const { signal } = this.#work;
    try {
      for (;;) {
        const { title, role, messages, running } = await this.#server.json<Conversation>("GET", conversationPath(id), { signal });
        if (signal.aborted) return;
        this.#become(id, title);
        this.#role = role ?? "chat";
        this.#show(messages, running);
        if (!running) return;
        if (!(await this.#takeUp(id, signal)) && !signal.aborted) await this.#pause(POLL_MS);
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted) this.#couldNotRead(id, ChatError.from(error));
    }
  }

  /** Follows the running answer, which is streamed from its beginning. Returns true if it was read to its end. */
  async #takeUp(id: string, signal: AbortSignal): Promise<boolean> {
    try {
      const response = await this.#server.call("GET", `/api/chat/${encodeURIComponent(id)}/stream?as=plain`, { signal });
      if (response.status === 204 || !response.body) return false;
      return (await this.#read(response.body, signal, (answerId) => this.#turnOf(answerId))) !== null;
    } catch {
      return false; // the conversation has the text so far
    }
  }

  /** The turn with this answer; otherwise the last turn, if it has no answer yet. */
  #turnOf(answerId: string): Turn {
    const last = this.#turns.at(-1);
    const turn = last && (!last.answered || last.answerId === answerId) ? last : this.#addTurn(answerId, null);
    this.#log.append(turn.element);
    turn.begin();
    turn.accepted = true;
    return turn;
  }

  #couldNotRead(id: string, error: ChatError) {
    this.#log.querySelector(":scope > .working")?.remove();
    if (error.code === "not_found") this.#forget(strings.errors.not_found);
    else this.#notify(error.message, () => this.#open(id));
  }

  /** Leaves a conversation that no longer exists. */
  #forget(sentence: string) {
    this.#startNew();
    this.#notify(sentence);
    this.#list.read();
  }

  /** The conversation may have continued in another tab. */
  #catchUp = () => {
    const idle = !this.#running && this.#turns.every((turn) => turn.accepted);
    if (!document.hidden && this.#backend && this.#conversation && idle) this.#follow(this.#conversation);
  };

  /** Called when the network is back: continues an interrupted answer, and sends a lost message again under its id. */
  #reconnect = () => {
    this.#updates?.now();
    const last = this.#turns.at(-1);
    const unsent = last && !last.accepted && !last.running && last.failure === "network" && last.said !== null;
    if (unsent && this.#backend && !this.#running) this.#run(last);
    else if (this.#again) this.#again();
    else this.#catchUp();
  };

  #show(messages: MessageView[], running: boolean) {
    const seen = JSON.stringify([messages, running]);
    if (seen === this.#seen) return;
    this.#seen = seen;
    this.#loaded = true;
    const focused = this.shadowRoot!.activeElement as HTMLElement | null;
    this.#turns = [];
    for (const message of messages) this.#load(message);
    const last = this.#turns.at(-1);
    for (const turn of this.#turns) if (turn !== last) turn.withdrawRetry();
    if (running) last?.resume();
    this.#log.replaceChildren(...(last ? this.#turns.map((turn) => turn.element) : [this.#empty]));
    if (running) this.#next.hide();
    else this.#showNext();
    this.#placeAll();
    if (focused?.isConnected) focused.focus({ preventScroll: true }); // inserting a node again removes its focus
    if (running && last) last.underWay = true;
    this.#changed();
  }

  #load({ id, role, content, created_at: at, status, error, steps, feedback, approvals, memories }: MessageView) {
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
    this.#turns.at(-1)!.accepted = true;
    if (at) this.#turns.at(-1)!.at(at);
  }

  #addTurn(id: string, said: string | null): Turn {
    const turn = new Turn({
      id,
      said,
      announce: this.#announce,
      onRetry: () => {
        if (!this.#running) this.#run(turn);
        this.#input.focus();
      },
      onContinue: () => this.send(strings.turn.continue),
      onExplain: () => this.#explain(turn),
      onAsk: (view) => this.#ask(view),
      onDecided: (view) => this.#decided(view),
      onMemory: (memory) => this.#note(memory),
      onActivity: (detail) => this.dispatchEvent(new CustomEvent("activity", { detail, bubbles: true, composed: true })),
      onGrow: () => this.#stick(),
      onAgain: () => this.#replace(turn, null),
      onEdit: (text) => this.#replace(turn, text),
    });
    this.#turns.push(turn);
    return turn;
  }

  #announce = (sentence: string) => void (this.#status.textContent = sentence);

  #feedback(id: string): Feedback {
    const known = this.#feedbacks.get(id);
    if (known) return known;
    const backend = this.#server; // post the last press even if the element is removed meanwhile
    const path = `/api/messages/${encodeURIComponent(id)}/feedback`;
    const post = (feedback: FeedbackView | null) => backend.json("POST", path, { body: feedback ?? { thumb: null } });
    const made = new Feedback(post, this.#announce);
    this.#feedbacks.set(id, made);
    return made;
  }

  /** The stream only names the tool calls; the conversation has their results. */
  async #explain(turn: Turn) {
    const { signal } = this.#work;
    try {
      const { messages } = await this.#server.json<Conversation>("GET", conversationPath(this.#conversation!), { signal });
      turn.explain(messages.find(({ id }) => id === turn.answerId)?.steps ?? []);
    } catch (error) {
      if (!signal.aborted) this.#notify(`${strings.chat.couldNotLoadSteps} ${ChatError.from(error).message}`);
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

  #suggest({ target }: Event) {
    const text = (target as HTMLElement).closest("button")?.textContent?.trim() ?? "";
    if (this.#sendable(text)) this.#send(text);
  }

  #sendable(text: string) {
    return Boolean(text) && characters(text) <= MESSAGE_LIMIT && this.#loaded && !this.#running;
  }

  /** Sends a message in the person's name, with a `role` in a new conversation of that role. Returns false if none can
   * be sent now. */
  send(text: string, role: string | null = null): boolean {
    if (!this.#backend) return false;
    if (role) this.#startNew(role);
    if (!this.#sendable(text)) return false;
    this.#send(text);
    return true;
  }

  #send(text: string) {
    const last = this.#turns.at(-1);
    const turn = this.#addTurn(crypto.randomUUID(), text);
    // Of an answer that broke off, the end may be unseen. When the message is posted again, it still answers this one.
    turn.answers = last && !last.failure ? last.answerId : null;
    turn.at(new Date().toISOString());
    this.#run(turn);
    this.#input.focus();
  }

  /** Replaces the text of the last message, or regenerates the answer if no text is given. */
  #replace(turn: Turn, text: string | null) {
    if (this.#running || !this.#loaded || turn !== this.#turns.at(-1)) return;
    turn.replaces = text === null ? turn.answerId : turn.id;
    if (text !== null) turn.say(text);
    this.#run(turn);
    this.#input.focus();
  }

  async #run(turn: Turn) {
    this.#leaveAlone();
    for (const other of this.#turns) other.withdrawRetry();
    this.#turns = [...this.#turns.filter((other) => other !== turn), turn];
    this.#empty.remove();
    this.#next.hide();
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
    this.#list.read();
    this.#updates?.now();
    this.#showNext();
    this.dispatchEvent(new CustomEvent("turnend"));
  }

  /** Shows the next steps under an answer in a conversation with the default role. */
  async #showNext() {
    const last = this.#turns.at(-1);
    if ((this.#role ?? this.#newRole ?? "chat") !== "chat" || !last?.answerId || last.failure) return this.#next.hide();
    last.element.append(this.#next.element);
    await this.#next.show(new Set(this.#turns.map(({ said }) => said)));
    this.#stick();
  }

  #takeStep({ label, does }: NextStep) {
    if (does === "review") this.showApprovals();
    else if (does === "upload") this.#resume.file.click();
    else this.send(label);
  }

  /** Cancels a reload, because a new turn has started. */
  #leaveAlone() {
    this.#work.abort();
    this.#work = new AbortController();
    this.#seen = "";
    this.#notify(null);
  }

  async #stream(turn: Turn, signal: AbortSignal): Promise<void> {
    const response = await this.#post(turn, signal);
    await this.#read(response.body!, signal, () => turn);
  }

  /** Shows an answer while it is streamed. Returns its turn, or null if the user left the conversation before its end. */
  async #read(body: ReadableStream<Uint8Array>, signal: AbortSignal, turnOf: (answerId: string) => Turn): Promise<Turn | null> {
    let turn: Turn | null = null;
    for await (const { name, data } of readEvents(body)) {
      if (signal.aborted) return null;
      if (name === "conversation") this.#begun((turn = turnOf(`msg_${data.run_id}`)), data);
      else if (turn?.answerId && (name === "error" || name === "done")) turn.rate(this.#feedback(turn.answerId));
      if (name === "error") throw new ChatError(data.code, data.message);
      if (name === "done") {
        turn?.done(data);
        return turn;
      }
      const grows = name === "text_delta" && turn?.writing; // the turn reports new text itself
      if (name === "handover") turn?.place(this.#handover(data));
      if (turn && Turn.hears(name)) turn[name](data);
      if (!grows) this.#changed();
    }
    throw new ChatError("network", strings.network.cut);
  }

  /** A button that goes on with these words in a new conversation of another role. */
  #handover({ role, words }: { role: string; words: string }) {
    return element("div", { class: "suggestions next" }, element("button", { type: "button", click: () => this.send(words, role) }, words));
  }

  /** Waits for a busy conversation once, for as long as the server asks. */
  async #post(turn: Turn, signal: AbortSignal): Promise<Response> {
    const what = bodyOf(turn);
    const attempt = () => {
      const where = this.#conversation ? { conversation_id: this.#conversation } : { role: this.#newRole ?? undefined };
      return this.#server.call("POST", "/api/chat", { signal, body: { ...what, ...where } });
    };
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ChatError) || error.code !== "conversation_busy" || turn.decisions) throw error;
      turn.wait(strings.chat.waitingForAnswer);
      await this.#pause((error.retryAfter || BUSY_WAIT_S) * 1000);
      if (signal.aborted || turn.stopping) throw error;
      return attempt();
    }
  }

  #begun(turn: Turn, { conversation_id: id, run_id: run }: { conversation_id: string; run_id: string }) {
    turn.accepted = turn.underWay = true;
    turn.replaces = null;
    turn.answerId = `msg_${run}`;
    if (id !== this.#conversation) {
      this.#become(id, turn.said);
      this.#list.read();
    }
    if (turn.stopping) this.#postStop(turn);
    if (turn.decisions) this.#updates?.now();
  }

  /** Throws errors that belong to the decision's card and not to the answer. */
  #failed(turn: Turn, error: ChatError) {
    if (turn.decisions && (!turn.underWay || OF_DECISION.has(error.code))) {
      this.#return(turn);
      this.#changed();
      throw error;
    }
    if (error.code === "not_found" && this.#conversation) {
      turn.accepted = false; // it was stored in a conversation that is gone
      this.#forget(`${strings.errors.not_found} ${strings.chat.backInTheBox}`);
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

  async #postStop(turn: Turn) {
    const { signal } = this.#work;
    try {
      await this.#server.json("POST", `${conversationPath(this.#conversation!)}/stop`, { body: {}, signal });
    } catch (error) {
      if (signal.aborted) return;
      turn.stopping = false;
      this.#notify(`${strings.chat.couldNotStop} ${ChatError.from(error).message}`);
      this.#changed();
    }
  }

  #pause(milliseconds: number) {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  // ── updates outside turns ──

  /** Asks for updates now. */
  refresh() {
    this.#updates?.now();
  }

  /** Opens the queue of pending approvals. */
  showApprovals() {
    if (!this.#backend || this.#queue.element.open) return;
    this.#queue.open(this.#approvals);
    this.#updates?.now();
  }

  #watch(backend: Backend) {
    const read = (query: string) => backend.json<Polled>("GET", `/api/updates${query}`);
    this.#updates = new Updates(read, (items, first) => this.#take(items, first), () => this.#queue.element.open);
    this.#showWaiting();
  }

  /** Items that exist when the page is opened are shown, and not announced. */
  #take(items: Update[], first: boolean) {
    // Take all drafts before placing any: a failed one gives way to one started after it.
    const drafts = items.flatMap((each) => (each.type === "draft" && this.#drafts.learn(each.draft, each.at) ? [each.draft] : []));
    for (const each of items) {
      if (each.type === "approval") this.#takeApproval(each.approval, first);
      else if (each.type === "brake") this.#brake.learn(each.brake);
      else if (each.type === "activity" && !first) this.#showNews(each.activity);
    }
    if (drafts.length) this.#placeAll();
    const failed = drafts.findLast(({ status }) => status === "failed");
    if (failed && !first) this.#happened.textContent = failed.label; // progress is not announced
    this.#approvals.tick();
    this.#memories.tick();
  }

  /** Shows a line above the composer that a briefing or a lesson is ready, with a button that opens it. */
  #showNews({ type, title, data }: EventView) {
    const told = (detail: object) => ({ bubbles: true, composed: true, detail });
    const show = (label: string, event: () => Event) => {
      const open = () => {
        this.#news.hidden = true;
        this.dispatchEvent(event());
      };
      this.#news.replaceChildren(element("span", {}, `${title}.`), element("button", { type: "button", class: "quiet", click: open }, label));
      this.#news.hidden = false;
    };
    if (type === "lesson.ready") show(strings.learning.open, () => new CustomEvent("showplace", told({ place: "lessons", id: data["lesson_id"] })));
    if (type !== "briefing.told") return;
    show(strings.shared.openBriefing, () => new CustomEvent("showbriefing", told({ id: data["briefing_id"] })));
    this.dispatchEvent(new CustomEvent("briefed", told({ id: data["briefing_id"] })));
  }

  #takeApproval(view: ApprovalView, first: boolean) {
    const news = this.#approvals.learn(view);
    this.#placeAll();
    if (!news || first) return;
    if (view.status === "pending" && this.#conversation === view.conversation_id) this.#land(view);
    const { title } = view.preview;
    this.#happened.textContent = view.status === "pending" ? strings.chat.needsApproval(title) : strings.shared.labeled(title, became(view));
  }

  /** From a conversation's response. Returns its card. */
  #know(view: ApprovalView): HTMLElement {
    this.#approvals.learn(view);
    return this.#approvals.card(view.approval_id, "log").element;
  }

  /** From a stream. */
  #ask(view: ApprovalView): HTMLElement {
    this.#happened.textContent = strings.chat.needsApproval(view.preview.title);
    const card = this.#know(view);
    this.#land(view);
    return card;
  }

  /** From a stream. */
  #decided(view: ApprovalView): HTMLElement {
    this.#happened.textContent = strings.shared.labeled(view.preview.title, became(view));
    return this.#know(view);
  }

  /** From a stream. */
  #note(memory: MemoryView): HTMLElement {
    this.#happened.textContent = remembered(memory);
    return this.#memories.line(memory);
  }

  #newDrafts() {
    return new Drafts((kind) => {
      const requests: Record<string, string> = strings.drafts.again;
      const again = requests[kind];
      return again ? () => this.send(again) : null;
    });
  }

  /** Places the open conversation's new cards: after the card that they replace, otherwise last. */
  #placeAll() {
    const last = this.#turns.at(-1);
    if (!this.#conversation || !last) return;
    const stands = (node: Node) => this.#log.contains(node);
    for (const { approval_id: id, revises } of this.#approvals.of(this.#conversation)) {
      const card = this.#approvals.card(id, "log").element;
      if (stands(card)) continue;
      const earlier = this.#approvals.has(revises) ? this.#approvals.card(revises, "log").element : null;
      if (earlier && stands(earlier)) earlier.after(card);
      else last.place(card);
    }
    for (const line of this.#drafts.lines(this.#conversation, stands)) if (!stands(line)) last.place(line);
    this.#stick();
  }

  #showWaiting() {
    const count = this.#approvals.waiting.length;
    this.#queue.refresh();
    if (this.#waiting.dataset["count"] === String(count)) return;
    this.#waiting.dataset["count"] = String(count);
    const badge = this.#waiting.querySelector<HTMLElement>(".count")!;
    badge.replaceChildren(String(count), spoken(` ${strings.chat.waiting}`));
    badge.hidden = count === 0;
    this.dispatchEvent(new CustomEvent("approvalswaiting", { detail: { count } }));
  }

  /** Posts it with a turn, so that the agent continues, if the open conversation is free; else by the decision's route.
  */
  async #decide(view: ApprovalView, decision: Decision): Promise<void> {
    const here = view.conversation_id !== null && view.conversation_id === this.#conversation;
    if (here && this.#loaded && !this.#running && (await this.#decideInTurn(view, decision))) {
      await this.#updates?.now(); // the outcome is not in the stream
    } else {
      const path = `/api/approvals/${encodeURIComponent(view.approval_id)}/decision`;
      this.#takeApproval(await this.#server.json<ApprovalView>("POST", path, { body: decision }), false);
      this.#updates?.now();
    }
  }

  /** Returns true if there was a turn for it. */
  async #decideInTurn({ approval_id }: ApprovalView, decision: Decision): Promise<boolean> {
    const turn = this.#addTurn(crypto.randomUUID(), null);
    turn.decisions = [{ approval_id, ...decision }];
    try {
      await this.#run(turn);
      return true;
    } catch (error) {
      if (error instanceof ChatError && NO_TURN.has(error.code)) return false;
      throw error;
    }
  }

  // ── the list of conversations ──

  #pick(id: string) {
    this.#toggleDrawer(false);
    this.#input.focus();
    this.#open(id);
  }

  #pickNew() {
    this.#toggleDrawer(false);
    this.#startNew();
    this.#input.focus();
  }

  #toggleDrawer(open: boolean) {
    if (open === this.#drawerOpen) return;
    this.#chat.toggleAttribute("data-drawer", open);
    this.#main.inert = open;
    (open ? this.#list : this.#menu).focus();
  }

  get #drawerOpen() {
    return this.#chat.hasAttribute("data-drawer");
  }

  // ── the page ──

  #buildAnew() {
    const { value } = this.#input;
    this.#build();
    this.#input.value = value;
  }

  #build() {
    this.#strings = strings;
    this.#queue = new Queue();
    this.#next = new NextSteps({
      read: () => this.#server.json<NextStep[]>("GET", "/api/suggestions"),
      take: (step) => this.#takeStep(step),
    });
    this.#list = new ConversationList({
      backend: () => this.#server,
      pick: (id) => this.#pick(id),
      pickNew: () => this.#pickNew(),
      close: () => this.#toggleDrawer(false),
      deleted: (id) => void (id === this.#conversation && this.#startNew()),
      titled: (title) => void (this.#heading.textContent = title),
    });
    this.#brake = new Brake({
      send: (method) => this.#server.json<BrakeStatus>(method, "/api/brake").finally(() => this.#updates?.now()),
      changed: () => this.#showBrake(),
      fail: (sentence) => this.#notify(sentence),
    });
    const review = () => {
      this.#updates?.now();
      this.showApprovals();
    };
    this.#resume = new ResumeDrop({ backend: () => this.#server, review });
    this.#main = element("div", { class: "main" }, this.#buildHeader(), this.#buildLog(), this.#buildComposer());
    this.#resume.watch(this.#main);
    this.#showBrake();
    this.#status = element("div", { class: "spoken", role: "status" });
    // A region of its own, so that an answer that ends at the same moment does not replace it.
    this.#happened = element("div", { class: "spoken", "aria-live": "polite" });
    const skip = element("button", { type: "button", class: "skip", click: () => this.focus() }, strings.chat.skip);
    this.#chat = element("div", { class: "chat", keydown: (event: KeyboardEvent) => this.#escape(event) }, skip, this.#list.element, this.#main, this.#status, this.#happened, this.#list.dialog, this.#queue.element);
    this.shadowRoot!.replaceChildren(this.#chat);
  }

  #buildHeader() {
    this.#menu = iconButton("menu", strings.chat.conversations, () => this.#toggleDrawer(true), { class: "icon-button drawer-only" });
    this.#heading = element("h2", {}, strings.chat.newConversation);
    const fresh = iconButton("plus", strings.chat.newConversation, () => this.#pickNew(), { class: "icon-button drawer-only" });
    this.#waiting = element(
      "button",
      { type: "button", class: "waiting", title: strings.chat.approvals, click: () => this.showApprovals() },
      icon("queue"),
      element("span", { class: "label" }, strings.chat.approvals),
      element("span", { class: "count", hidden: true }),
    );
    return element("div", { class: "bar title" }, this.#menu, this.#heading, this.#waiting, this.#brake.button, fresh);
  }

  #buildLog() {
    const starters = (this.hasAttribute("agent-role") ? [] : strings.chat.starters).map((text) => element("button", { type: "button" }, text));
    const suggestions = element("slot", { name: "suggestion", click: (event: Event) => this.#suggest(event) }, ...starters);
    this.#empty = element(
      "div",
      { class: "empty" },
      element("h3", {}, strings.chat.heading),
      element("p", {}, strings.chat.promise),
      element("div", { class: "suggestions" }, suggestions),
    );
    const attributes = { class: "log", role: "log", "aria-live": "polite", "aria-label": strings.chat.messages, tabindex: "0" };
    const review = ({ detail: id }: CustomEvent<string>) => this.#queue.open(this.#approvals, id);
    this.#log = element("div", { ...attributes, scroll: () => this.#noteScroll(), review }, this.#empty);
    this.#latest = iconButton("latest", strings.chat.jumpToLatest, () => this.#jump(), { class: "icon-button latest", hidden: true });
    return element("div", { class: "log-box" }, this.#log, this.#latest);
  }

  #buildComposer() {
    this.#notice = element("div", { class: "notice", role: "alert", hidden: true });
    this.#input = element("textarea", {
      rows: "1",
      "aria-label": strings.chat.yourMessage,
      "aria-describedby": "told counter",
      placeholder: strings.chat.write,
      enterkeyhint: "send",
      keydown: (event: KeyboardEvent) => this.#enter(event),
      input: () => this.#changed(),
    });
    // Ignore the second click of a double click on Send: it is not meant as Stop.
    const press = ({ detail }: MouseEvent) => detail > 1 || (this.#running ? this.#stop() : this.#submit());
    this.#button = element("button", { type: "button", class: "send", click: press });
    this.#counter = element("p", { class: "counter", id: "counter" });
    const told = element("p", { class: "told", id: "told" }, strings.chat.disclosure);
    const box = element("div", { class: "box", click: () => this.#input.focus() }, this.#input, this.#button, this.#resume.button);
    return element("div", { class: "composer" }, this.#notice, this.#news, this.#resume.line, this.#resume.file, this.#brake.line, box, told, this.#counter);
  }

  #enter(event: KeyboardEvent) {
    if (!isEnter(event)) return;
    event.preventDefault();
    this.#submit();
  }

  #escape(event: KeyboardEvent) {
    if (event.key !== "Escape" || event.isComposing || this.#list.dialog.open || this.#queue.element.open) return;
    if (this.#drawerOpen) this.#toggleDrawer(false);
    else this.#stop();
  }

  /** Shows a message that concerns no single turn; null removes it. */
  #notify(sentence: string | null, again: (() => void) | null = null, label = strings.shared.tryAgain) {
    this.#again = again;
    this.#notice.hidden = sentence === null;
    this.#notice.replaceChildren(icon("alert"), element("span", {}, sentence ?? ""));
    if (again) this.#notice.append(element("button", { type: "button", class: "quiet", click: again }, label));
  }

  #showBrake() {
    if (!(this.#input as HTMLTextAreaElement | undefined)) return; // not built yet
    this.#input.placeholder = this.#brake.pulled ? strings.chat.paused : strings.chat.write;
    const [isResumed, last] = [this.#wasPaused && !this.#brake.pulled, this.#turns.at(-1)];
    this.#wasPaused = this.#brake.pulled;
    if (!isResumed || !last || last.accepted || last.failure !== "braked") return;
    this.#notify(strings.chat.sendAfterPause, () => this.#run(last), strings.shared.send);
  }

  /** Updates the composer from the state, and keeps the scroll position at the bottom if it is there. */
  #changed() {
    const running = this.#running;
    const text = this.#input.value.trim();
    const label = running ? (running.stopping ? strings.chat.stopping : strings.chat.stop) : strings.shared.send;
    const hadFocus = this.shadowRoot!.activeElement === this.#button;
    if (this.#button.title !== label) {
      this.#button.replaceChildren(icon(running ? "stop" : "send"));
      this.#button.title = label;
      this.#button.setAttribute("aria-label", label);
    }
    this.#button.classList.toggle("stopping", Boolean(running?.stopping));
    for (const turn of this.#turns) turn.offerReplacing(!running && this.#loaded && turn === this.#turns.at(-1));
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
    this.#latest.hidden = this.#pinned;
  }

  #jump() {
    this.#pinned = true;
    this.#stick();
    this.#input.focus();
  }

  /** On a phone, opens a new question as a sheet unless the user is typing or looks at another view: a dialog of a hidden chat would make the whole page inert. */
  #land({ approval_id: id }: ApprovalView) {
    const isFree = this.checkVisibility() && !this.#queue.element.open && !this.#list.dialog.open && !this.#drawerOpen && !this.#input.value.trim();
    if (this.clientWidth <= PHONE_PX && isFree) this.#queue.open(this.#approvals, id);
    if (this.#pinned) this.#landing = this.#approvals.card(id, "log").element;
  }

  /** Keeps the end in view, or the beginning of a question that does not fit into the view. */
  #stick() {
    if (!this.#pinned) return;
    this.#log.scrollTop = this.#log.scrollHeight;
    const card = this.#landing;
    if (!card || !this.#log.contains(card)) return;
    const above = this.#log.getBoundingClientRect().top - card.getBoundingClientRect().top;
    if (above > 0) this.#log.scrollTop -= above + LANDING_PX;
    this.#landing = null;
  }

  #resizes = new ResizeObserver(() => {
    if (this.clientWidth >= NARROW_PX && this.#drawerOpen) this.#toggleDrawer(false);
    this.#stick();
  });
}

