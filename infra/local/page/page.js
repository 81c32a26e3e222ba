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
  #reading = false;

  constructor(name, row, empty) {
    const place = find(`#${name}`);
    this.#path = `/local/${name}`;
    this.#rows = new LiveRows(place, row);
    this.#empty = empty;
    this.#note = place.previousElementSibling;
  }

  async read() {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const { items } = await ask("GET", this.#path);
      this.#rows.show(items);
      tell(this.#note, items.length ? "" : this.#empty);
    } catch (error) {
      tell(this.#note, `Could not be read: ${error.message}.`, true);
    }
    this.#reading = false;
  }
}

const lists = [
  new LiveList("outbox", mailRow, "No mail yet."),
  new LiveList("workflows", workflowRow, "None has run yet."),
  new LiveList("schedules", scheduleRow, "There are none."),
];

// ── What is remembered ──────────────────────────────────────────────────────────────────────────────────────────────

const PAGE_LENGTH = 8;
const FOR_GOOD = "Forget this for good? It cannot be brought back. What you wrote stays in the conversation until you delete that.";

let token = null;

/** An answer of the agent's own routes. Its error says what a person may read. */
async function api(method, path, body) {
  const tokenPath = `/local/token?user=${encodeURIComponent(user)}`;
  const send = async () => {
    token ??= (await ask("GET", tokenPath)).token;
    const headers = { Authorization: `Bearer ${token}`, ...(body && { "Content-Type": "application/json" }) };
    return fetch(path, { method, headers, body: body && JSON.stringify(body) });
  };
  let response = await send();
  if (response.status === 401) {
    token = null;
    response = await send();
  }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new Error(answer?.error?.message ?? `It answered ${response.status}.`);
  return answer;
}

const day = (moment) => new Date(moment).toLocaleDateString(undefined, { dateStyle: "medium" });
const small = (label, act, more = {}) => {
  const made = node("button", { type: "button", className: "small", ...more }, label);
  made.addEventListener("click", act);
  return made;
};

/** What a search says where meaning could not be compared. */
const HOW_FOUND = {
  words: "Search by meaning is not available right now, so these were found by their words alone.",
  salience: "Nothing has these words, and search by meaning is not available right now. Here is what matters most.",
};

function known({ type, since, said_at: said, sure, count, score, status }) {
  const when = since ? `since ${day(since)}` : said && `told on ${day(said)}`;
  const line = node("p", { className: "more" }, [type, when, status === "active" && sure, count > 1 && `said ${count} times`].filter(Boolean).join(" · "));
  if (score) line.title = `by words ${score.words ?? "–"}, by meaning ${score.meaning ?? "–"}, salience ${score.salience}: ${score.total}`;
  return line;
}

function whyOf({ quote, question, said_on: said, conversation, before }) {
  const lines = [];
  if (question) lines.push(node("p", { className: "more" }, `Asked: ${question}`));
  if (quote) lines.push(node("blockquote", {}, `“${quote}”`));
  const where = conversation ? ` in “${conversation}”` : "";
  if (said) lines.push(node("p", { className: "more" }, `You wrote this on ${day(said)}${where}.`));
  for (const each of before) {
    const until = each.superseded_at ? `, until ${day(each.superseded_at)}` : "";
    lines.push(node("p", { className: "more" }, `Before that: “${each.content}”${until}.`));
  }
  return lines;
}

/** The section of memories: what is remembered and why, what is not checked yet; correct and forget. While somebody writes in it, it stands still. */
class Memories {
  #rows = new LiveRows(find("#memories"), (memory) => this.#row(memory), "memory");
  #note = find("#none");
  #search = find("#search");
  #became = find("#became");
  #pages = 1;
  #reading = null;

  constructor() {
    find("#remembered > form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#restart();
    });
    this.#search.addEventListener("input", () => this.#search.value || this.#restart());
    find("#more").addEventListener("click", () => {
      this.#pages += 1;
      this.read();
    });
    find("#end").addEventListener("click", (event) => this.#act(event.target, () => this.#end()));
  }

  #restart() {
    this.#pages = 1;
    this.#reading = null; // what is being read answers another question
    this.read();
  }

  async read() {
    if (this.#reading || find("#memories form, #memories [role=group]")) return;
    const reading = (this.#reading = Symbol());
    try {
      // One after the other: a browser has six connections to a server, and the other lists want theirs.
      const { items, next, by } = await this.#all();
      const proposed = await api("GET", "/api/memories?status=proposed&limit=100");
      const unchecked = await api("GET", "/api/memories?status=unchecked&limit=100");
      // Somebody may have begun to write since.
      if (reading !== this.#reading || find("#memories form, #memories [role=group]")) return;
      const searched = this.#search.value.trim(); // what is not checked yet is found by no search
      this.#show(searched ? items : [...unchecked.items, ...items], next, proposed.items.length, by);
    } catch (error) {
      if (reading === this.#reading) tell(this.#note, `Could not be read: ${error.message}`, true);
    }
    if (reading === this.#reading) this.#reading = null;
  }

  async #all() {
    const found = [];
    const query = this.#search.value.trim();
    for (let page = 0, after = "0"; ; page += 1) {
      const wanted = new URLSearchParams({ limit: PAGE_LENGTH, after, ...(query && { query }) });
      const { items, next, found_by: by } = await api("GET", `/api/memories?${wanted}`);
      found.push(...items);
      if (page + 1 >= this.#pages || !next) return { items: found, next, by };
      after = next;
    }
  }

  #show(items, next, waiting, by) {
    this.#rows.show(items);
    find("#more").hidden = !next;
    find("#proposed").hidden = !waiting;
    find("#proposed span").textContent = waiting === 1 ? "One waits for your yes" : `${waiting} wait for your yes`;
    tell(this.#note, items.length ? HOW_FOUND[by] ?? "" : this.#search.value.trim() ? "Nothing like that is remembered." : "Nothing is remembered yet.");
  }

  #row(memory) {
    const why = node("details", {}, node("summary", {}, "Why"));
    why.addEventListener("toggle", () => why.open && this.#explain(why, memory), { once: true });
    const acts = node("div", { className: "acts" });
    acts.append(
      small("Correct", () => this.#correct(acts, memory), { ariaLabel: `Correct: ${memory.content}` }),
      small("Forget", () => this.#forget(acts, memory), { ariaLabel: `Forget: ${memory.content}` }),
    );
    const unchecked = memory.status === "unchecked" ? [" ", node("span", { className: "badge" }, "Not checked yet")] : [];
    return [node("p", { className: "name" }, memory.content, ...unchecked), known(memory), why, acts];
  }

  async #explain(why, { id }) {
    const note = node("p", { className: "note" }, "Reading…");
    why.append(note);
    try {
      note.replaceWith(...whyOf(await api("GET", `/api/memories/${encodeURIComponent(id)}`)));
    } catch (error) {
      tell(note, `Could not be read: ${error.message}`, true);
    }
  }

  #correct(acts, { id, content }) {
    const text = node("textarea", { value: content, maxLength: 300, required: true, ariaLabel: "What holds instead" });
    const save = node("button", {}, "Save");
    const form = node("form", {}, text, save, small("Cancel", () => this.#back(form, acts)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#act(save, async () => {
        await api("PATCH", `/api/memories/${encodeURIComponent(id)}`, { content: text.value });
        this.#back(form, acts);
        return "Corrected. What it replaced is under “Why”.";
      });
    });
    this.#instead(acts, form, text);
  }

  #forget(acts, { id }) {
    const sure = small("Forget for good", () =>
      this.#act(sure, async () => {
        const { note } = await api("DELETE", `/api/memories/${encodeURIComponent(id)}`);
        this.#back(asked, acts);
        this.#search.focus();
        return note;
      }),
    );
    sure.classList.add("danger");
    const keep = small("Keep", () => this.#back(asked, acts));
    const asked = node("div", { role: "group", ariaLabel: "Forget this for good?" }, node("p", {}, FOR_GOOD), node("div", { className: "acts" }, sure, keep));
    this.#instead(acts, asked, keep);
  }

  #instead(acts, part, focused) {
    part.addEventListener("keydown", ({ key }) => key === "Escape" && this.#back(part, acts));
    acts.replaceWith(part);
    focused.focus();
  }

  #back(part, acts) {
    part.replaceWith(acts);
    acts.firstElementChild.focus();
  }

  async #end() {
    const { items } = await api("GET", "/api/conversations?limit=1");
    if (!items.length) return "There is no conversation yet.";
    await api("POST", `/api/conversations/${encodeURIComponent(items[0].id)}/end`);
    return `“${items[0].title}” is read now for what to remember.`;
  }

  /** Says what became of it, and shows what there is then. */
  async #act(button, act) {
    button.disabled = true;
    try {
      tell(this.#became, await act());
      this.#restart();
    } catch (error) {
      tell(this.#became, error.message, true);
    }
    button.disabled = false;
  }
}

const memories = new Memories();

async function watch() {
  if (!document.hidden) {
    memories.read(); // which takes longer, and reads once at a time: the lists do not wait for it
    await Promise.all(lists.map((list) => list.read()));
  }
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
for (const button of [find("#queue"), find("#proposed button")]) {
  button.addEventListener("click", () => {
    document.body.classList.remove("backstage"); // the queue is part of the widget, which is hidden behind this
    chat.showApprovals();
  });
}
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
