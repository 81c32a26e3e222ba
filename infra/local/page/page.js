/** The local stack's page: who the demo user is, what answers, the widget, and what goes on behind it. */

const POLL_MS = 2_000;
const user = new URLSearchParams(location.search).get("user") || "auth0|demo";
const find = (selector) => document.querySelector(selector);

function modelLine({ model }) {
  return model === "scripted"
    ? "Answers come from the scripted model; set DEEPSEEK_API_KEY for the real one."
    : `Answers come from ${model}.`;
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
  return date.toLocaleString(undefined, today ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
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

/** A list that is read again and again. A row whose item did not change keeps its nodes, and with them the focus. */
class LiveList {
  #path;
  #row;
  #place;
  #note;
  #empty;
  #reading = false;
  #shown = new Map();

  constructor(name, row, empty) {
    this.#path = `/local/${name}`;
    this.#row = row;
    this.#empty = empty;
    this.#place = find(`#${name}`);
    this.#note = this.#place.previousElementSibling;
  }

  async read() {
    if (this.#reading) return;
    this.#reading = true;
    try {
      this.#show((await ask("GET", this.#path)).items);
    } catch (error) {
      tell(this.#note, `Could not be read: ${error.message}.`, true);
    }
    this.#reading = false;
  }

  #show(items) {
    const known = this.#shown;
    this.#shown = new Map();
    items.forEach((item, index) => {
      const key = JSON.stringify(item);
      const row = known.get(key) ?? node("li", {}, ...[this.#row(item)].flat());
      known.delete(key);
      this.#shown.set(key, row);
      if (this.#place.children[index] !== row) this.#place.insertBefore(row, this.#place.children[index] ?? null);
    });
    for (const row of known.values()) row.remove();
    tell(this.#note, items.length ? "" : this.#empty);
  }
}

const lists = [
  new LiveList("outbox", mailRow, "No mail yet."),
  new LiveList("workflows", workflowRow, "None has run yet."),
  new LiveList("schedules", scheduleRow, "There are none."),
];

async function watch() {
  if (!document.hidden) await Promise.all(lists.map((list) => list.read()));
  setTimeout(watch, POLL_MS);
}

function toggleBackstage() {
  const shown = document.body.classList.toggle("backstage");
  find("#backstage").setAttribute("aria-pressed", String(shown));
}

function showCount({ detail: { count } }) {
  find("#count").textContent = count ? `${count} waiting` : "Nothing waits";
}

const chat = find("qwestly-chat");
find("#user").value = user;
find("#backstage").addEventListener("click", toggleBackstage);
find("#queue").addEventListener("click", () => {
  document.body.classList.remove("backstage"); // the queue is part of the widget, which is hidden behind this
  chat.showApprovals();
});
find("dialog button").addEventListener("click", () => find("dialog").close());
chat.addEventListener("approvalswaiting", showCount);
// Before the element is defined: it reads its attributes when it starts.
chat.setAttribute("token-url", `/local/token?user=${encodeURIComponent(user)}`);
await import("/widget/qwestly-chat.js");

watch();
const place = find("#status");
await showStatus(place).catch((error) => {
  place.textContent = `What runs could not be read: ${error.message}.`;
});
