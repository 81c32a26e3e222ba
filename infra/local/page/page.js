/** The local stack's page: who the demo user is, what answers, the widget, and what goes on behind it. */

import { Graph } from "./graphs.js";

const POLL_MS = 2_000;
const WHO = "A script answers here. With keys, or MODEL_BASE_URL=… (Ollama, LM Studio), a real model does.";
const user = new URLSearchParams(location.search).get("user") || "auth0|demo";
const TOKEN_URL = `/local/token?user=${encodeURIComponent(user)}`;
const find = (selector) => document.querySelector(selector);

function modelLine({ model }) {
  return model === "scripted" ? WHO : `Answers come from ${model}.`;
}

function detailsLine({ embeddings, database }) {
  return `Embeddings: ${embeddings}. Database: ${database}.`;
}

async function ask(method, path) {
  const response = await fetch(path, { method });
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return response.json();
}

async function showStatus(place) {
  const status = await ask("GET", "/local/status");
  find("#who").textContent = status.model === "scripted" ? WHO : "";
  place.textContent = [modelLine(status), detailsLine(status), ...status.notes].join(" ");
}

// ── What goes on behind the chat ────────────────────────────────────────────────────────────────────────────────────

function node(tag, attributes, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

const named = (name, more) => node("span", { className: "what" }, node("span", { className: "name" }, name), node("span", { className: "more" }, more));

function clock(seconds) {
  const date = new Date(seconds * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString("en-US", today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}

function openMail({ id, subject }) {
  const path = `/local/outbox/${encodeURIComponent(id)}`;
  find("#subject").textContent = subject;
  find("dialog a").href = path;
  find("iframe").src = path;
  find("dialog").showModal();
}

function mailRow(mail) {
  const open = node("button", { type: "button", className: "mail" }, named(mail.subject, `${clock(mail.at)} to ${mail.to}`));
  open.addEventListener("click", () => openMail(mail));
  return open;
}

// All on this page are of one stack.
function plain(name) {
  return name.replace(/^qwestly-agent-local-/, "").replaceAll(/[-_]/g, " ");
}

function workflowRow({ name, machine, status, state, started_at: started }) {
  const shown = node("span", { className: "state" }, plain(state ?? status.toLowerCase()));
  shown.dataset.status = status;
  shown.dataset.state = state ?? "";
  const row = named(plain(machine), clock(started));
  row.title = name;
  return [row, shown];
}

function scheduleRow({ name, expression }) {
  const run = node("button", { type: "button", className: "small" }, "Run now");
  run.setAttribute("aria-label", `Run ${plain(name)} now`);
  run.addEventListener("click", () => runNow(name, run));
  return [named(plain(name), expression), run];
}

async function runNow(name, button) {
  const note = find("#ran");
  button.disabled = true;
  tell(note, `${plain(name)} runs…`);
  try {
    const { failed } = await ask("POST", `/local/schedules/${encodeURIComponent(name)}`);
    tell(note, failed ? `${plain(name)} ran and failed; its log says why.` : `${plain(name)} has run.`, Boolean(failed));
  } catch (error) {
    tell(note, `${plain(name)} could not be run: ${error.message}.`, true);
  }
  button.disabled = false;
  button.focus();
  for (const list of lists) list.read();
}

function tell(note, sentence, failed = false) {
  note.textContent = sentence;
  note.hidden = !sentence;
  note.classList.toggle("failed", failed);
}

/** Rows that are shown again and again. One whose item did not change keeps its nodes, and with them the focus. */
class LiveRows {
  #place;
  #row;
  #className;
  #shown = new Map();

  constructor(place, row, className = "") {
    this.#place = place;
    this.#row = row;
    this.#className = className;
  }

  show(items) {
    const known = this.#shown;
    this.#shown = new Map();
    items.forEach((item, index) => {
      const key = JSON.stringify(item);
      const row = known.get(key) ?? node("li", { className: this.#className }, ...[this.#row(item)].flat());
      known.delete(key);
      this.#shown.set(key, row);
      if (this.#place.children[index] !== row) this.#place.insertBefore(row, this.#place.children[index] ?? null);
    });
    for (const row of known.values()) row.remove();
  }
}

class LiveList {
  #path;
  #rows;
  #note;
  #empty;
  #told;
  #reading = false;

  /** `told` also hears the items. */
  constructor(name, row, empty, told = () => {}) {
    const place = find(`#${name}`);
    this.#path = `/local/${name}`;
    this.#rows = new LiveRows(place, row);
    this.#empty = empty;
    this.#told = told;
    this.#note = place.previousElementSibling;
  }

  async read() {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const { items } = await ask("GET", this.#path);
      this.#rows.show(items);
      this.#told(items);
      tell(this.#note, items.length ? "" : this.#empty);
    } catch (error) {
      tell(this.#note, `Could not be read: ${error.message}.`, true);
    }
    this.#reading = false;
  }
}

let graphs = null; // read once: the definitions do not change while the page is open
let executions = [];

function markGraphs(items) {
  executions = items.filter(({ status }) => status === "RUNNING");
  for (const graph of graphs ?? []) graph.mark(executions.filter(({ machine }) => plain(machine) === graph.machine));
}

async function readGraphs() {
  const note = find("#graphs").previousElementSibling;
  graphs = [];
  try {
    graphs = (await ask("GET", "/local/graphs")).items.map((each) => new Graph(each));
    find("#graphs").replaceChildren(...graphs.map(({ element }) => element));
    markGraphs(executions);
    tell(note, "Lines show what follows while all goes well. A state that no line leads to is for what goes wrong.");
  } catch (error) {
    graphs = null;
    tell(note, `Could not be read: ${error.message}.`, true);
  }
}

function readBackstage() {
  if (!graphs) readGraphs();
  return Promise.all(lists.map((list) => list.read()));
}

const lists = [
  new LiveList("outbox", mailRow, "No mail yet."),
  new LiveList("workflows", workflowRow, "None has run yet.", markGraphs),
  new LiveList("schedules", scheduleRow, "There are none."),
];

// ── The views ───────────────────────────────────────────────────────────────────────────────────────────────────────

const TITLE = document.title;
const SEEN_MS = 5_000; // how often the view that is seen is read anew
const views = [...document.querySelectorAll("main > [data-view]")];
const elements = ["home", "chat", "interview", "approvals", "memories", "briefing", "jobs", "learning", "activity", "settings"].map((name) => find(`qwestly-${name}`));
const buttons = [...document.querySelectorAll(".views button")];
let tabOfJobs = "matches";
const tabs = [...document.querySelectorAll(".tabs button")];

const mark = (each, isCurrent) => isCurrent ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current");

/** The current tab; of the jobs, the one of the part that is shown. */
function markTab() {
  const { view } = views.find((each) => !each.hidden).dataset;
  for (const each of tabs) mark(each, each.dataset.view === view && [undefined, tabOfJobs].includes(each.dataset.part));
  find(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** A view, which alone is seen, and the views that it is grouped with; of the jobs also a part. */
function show(view, part = null) {
  const { group } = views.find((each) => each.dataset.view === view).dataset;
  for (const each of views) each.hidden = each.dataset.view !== view;
  for (const each of buttons) mark(each, each.dataset.group === group);
  for (const each of tabs) each.hidden = each.dataset.group !== group;
  if (part) find("qwestly-jobs").open?.(part);
  markTab();
  find(".tabs").hidden = tabs.every((each) => each.hidden);
  if (matchMedia("(max-width: 899.98px)").matches) toggleBackstage(false);
  if (view === "chat") find("qwestly-chat").refresh?.();
  else readSeen();
}

/** By the place that a line or a mail names: the view, and the part of it. */
const PLACES = {
  activity: ["activity"],
  applications: ["jobs", "applications"],
  approvals: ["approvals"],
  chat: ["chat"],
  documents: ["jobs", "documents"],
  interviews: ["interview"],
  jobs: ["jobs", "matches"],
  lessons: ["learning"],
  memories: ["memories"],
  resumes: ["jobs", "resumes"],
  wishes: ["jobs", "wishes"],
};

function showPlace({ place, id }) {
  const [view, part] = PLACES[place];
  show(view, part);
  if (id && view === "approvals") find("qwestly-approvals").open(id);
  if (id && view === "learning") find("qwestly-learning").open(id);
}

/** To the composer of the chat, or to another view as a whole. */
function focusContent() {
  const seen = views.find((each) => !each.hidden);
  if (!seen.matches("qwestly-chat")) seen.tabIndex = -1;
  seen.focus();
}

/** The chat asks for updates by itself. Until the bundle is there, an element is no more than its tag. */
function readSeen() {
  for (const each of elements) if (!document.hidden && each !== find("qwestly-chat") && each.checkVisibility()) each.refresh?.();
}

/** What a mail's link names: `#approvals/<id>`, `#jobs`, …; null for home. */
function linked() {
  const [, place, id] = /^#(\w+)(?:\/(.+))?$/.exec(location.hash) ?? [];
  return Object.hasOwn(PLACES, place ?? "") ? { place, id: id && decodeURIComponent(id) } : null;
}

function openNamed() {
  if (linked()) showPlace(linked());
}

/** Hears an event of an element, also one that does not bubble. */
function listen(name, act) {
  document.addEventListener(name, ({ detail }) => act(detail ?? {}), true);
}

/** What was erased is no longer shown, either. */
function startAnew() {
  const chat = find("qwestly-chat");
  const fresh = chat.cloneNode();
  chat.remove();
  sessionStorage.clear(); // the chat kept what was typed as it was taken away
  find("qwestly-home").after(fresh);
  views[views.indexOf(chat)] = elements[elements.indexOf(chat)] = fresh;
}

const counts = { needs: 0, waiting: 0, briefings: 0, due: 0, unread: 0 };

/** On Home's button what its first line counts, on each part's its own. */
function showCounts(changed) {
  const { needs, waiting, briefings, due, unread } = Object.assign(counts, changed);
  showBadge(".views [data-group=home]", needs, needs === 1 ? "needs you" : "need you");
  showBadge(".tabs [data-view=approvals]", waiting, "waiting");
  showBadge(".tabs [data-view=activity]", briefings, "new briefing");
  const learning = [due && `${due} to answer`, unread && `${unread} to read`].filter(Boolean).join(", ");
  for (const button of [".views [data-group=work]", ".tabs [data-view=learning]"]) showBadge(button, due + unread, learning);
  document.title = needs ? `(${needs}) ${TITLE}` : TITLE;
}

/** What another element counts otherwise than Home did has changed since: Home counts anew. */
function countAnew(changed) {
  const isNew = Object.entries(changed).some(([name, count]) => counts[name] !== count);
  showCounts(changed);
  if (isNew) find("qwestly-home").refresh?.();
}

function showBadge(button, count, words) {
  const badge = find(`${button} .count`);
  badge.replaceChildren(node("span", { ariaHidden: "true" }, String(count)), node("span", { className: "spoken" }, ` ${words}`));
  badge.hidden = !count;
}

/** Has the last conversation read for what to remember. */
async function end(button) {
  const note = find("#ended");
  button.disabled = true;
  try {
    const { items } = await api("GET", "/api/conversations?limit=1");
    if (items.length) await api("POST", `/api/conversations/${encodeURIComponent(items[0].id)}/end`);
    tell(note, items.length ? `“${items[0].title}” is being read for what to remember.` : "There is no conversation yet.");
  } catch (error) {
    tell(note, error.message, true);
  }
  button.disabled = false;
}

/** An answer of the agent's own routes. */
async function api(method, path) {
  const { token } = await ask("GET", TOKEN_URL);
  const response = await fetch(path, { method, headers: { Authorization: `Bearer ${token}` } });
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message ?? `It answered ${response.status}.`);
  return answer;
}

async function watch() {
  if (!document.hidden) {
    if (document.body.classList.contains("backstage")) await readBackstage();
  }
  setTimeout(watch, POLL_MS);
}

function toggleBackstage(shown) {
  document.body.classList.toggle("backstage", shown);
  find("#backstage").setAttribute("aria-pressed", String(shown));
  localStorage.setItem("backstage", shown ? "shown" : "");
}

for (const button of buttons) button.addEventListener("click", () => show([...tabs, ...views].find((each) => each.dataset.group === button.dataset.group).dataset.view));
for (const each of tabs) each.addEventListener("click", () => show(each.dataset.view, each.dataset.part));
find(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  focusContent();
});
find("#user").value = user;
find("#end").addEventListener("click", ({ target }) => end(target));
find("#backstage").addEventListener("click", () => {
  toggleBackstage(!document.body.classList.contains("backstage"));
  if (document.body.classList.contains("backstage")) readBackstage();
});
find("dialog button").addEventListener("click", () => find("dialog").close());
listen("showplace", showPlace);
listen("say", ({ words }) => {
  show("chat");
  find("qwestly-chat").send(words);
});
listen("showapprovals", ({ id }) => {
  show("approvals");
  if (id) find("qwestly-approvals").open(id);
});
listen("showjobs", ({ part }) => show("jobs", part));
listen("partshown", ({ tab }) => {
  tabOfJobs = tab;
  markTab();
});
listen("showbriefing", ({ id }) => {
  show("activity");
  find("#briefing").open = true;
  find("qwestly-briefing").open(id);
});
listen("asklesson", ({ words }) => {
  show("chat");
  find("qwestly-chat").send(words, "learning");
});
listen("activity", readSeen);
listen("erased", startAnew);
listen("needsyou", ({ count }) => showCounts({ needs: count }));
listen("approvalswaiting", ({ count }) => countAnew({ waiting: count }));
listen("lessonswaiting", countAnew);
find("#briefing").addEventListener("toggle", readSeen);
listen("briefingsunread", ({ count }) => showCounts({ briefings: count }));
listen("briefed", () => find("qwestly-briefing").refresh?.());
if (localStorage.getItem("backstage") && !matchMedia("(max-width: 899.98px)").matches) toggleBackstage(true);
show(...(PLACES[linked()?.place] ?? ["home"]));
// Before the elements are defined: they read their attributes when they start.
for (const each of elements) each.setAttribute("token-url", TOKEN_URL);
await import("/widget/qwestly.js");

// Unless somebody chose another view while the elements were loaded.
if (linked() && !views.find((each) => each.dataset.view === PLACES[linked().place][0]).hidden) openNamed();
if (document.activeElement === document.body && !find("qwestly-chat").hidden) focusContent();
addEventListener("hashchange", openNamed);
setInterval(readSeen, SEEN_MS);
watch();
const place = find("#status");
await showStatus(place).catch((error) => {
  place.textContent = `What runs could not be read: ${error.message}.`;
});
