/** Shared by the parts of the widget: errors and their sentences, DOM helpers, and times. */

export const WORDS_LIMIT = 2_000; // characters of a comment on an answer or a decision
const NEARLY_ALL = 0.95; // share of a limit from which the count is shown

export const SENTENCES = {
  unauthorized: "Please sign in again.",
  not_found: "That conversation no longer exists.",
  invalid: "This message could not be sent.",
  too_long: "This message is too long.",
  attachments_unsupported: "Files cannot be read here yet. Please paste the text.",
  conversation_busy: "The last message of this conversation is still being answered.",
  too_many_turns: "That was a lot at once. Please wait a minute and try again.",
  over_budget: "Today’s limit is reached. Please try again tomorrow.",
  braked: "The agent is switched off at the moment.",
  changed: "The conversation has moved on.",
  model_unavailable: "The language model cannot be reached right now. Please try again in a moment.",
  deadline: "This took too long, so it was stopped.",
  unavailable: "Qwestly is not available right now. Please try again in a moment.",
  internal: "Something went wrong on our side. Please try again.",
};

export class ChatError extends Error {
  /** `message` is a sentence for a person; without one the sentence of the code is used. */
  constructor(code, message, retryAfter = 0) {
    super(message || SENTENCES[code] || SENTENCES.internal);
    this.code = code;
    this.retryAfter = retryAfter;
  }

  static from(error) {
    if (error instanceof ChatError) return error;
    console.error(error);
    return new ChatError("internal");
  }

  static async of(response) {
    const error = (await response.json().catch(() => null))?.error ?? {};
    const code = error.code ?? (response.status === 401 ? "unauthorized" : "unavailable");
    return new ChatError(code, error.message, Number(response.headers.get("Retry-After")));
  }
}

// ── Building the page ───────────────────────────────────────────────────────────────────────────────────────────────

/** Attributes are strings or booleans; a function is a listener for the event of its name. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

const ICONS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l.8 12.5h8.4L17 7M10.5 10.5v5.5M13.5 10.5v5.5",
  send: "M12 19V5.5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  check: "M5.5 12.5l4.5 4.5 9-10",
  alert: "M12 8v5M12 16.2v.3M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z",
  queue: "M4 13.5h4l1.5 3h5l1.5-3h4M4 13.5v5h16v-5M4 13.5l3-8h10l3 8",
  pause: "M8.5 6v12M15.5 6v12",
  play: "M8 5.5v13l10.5-6.5z",
  info: "M12 11v5.2M12 7.5v.3M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z",
  up: "M3 10.5h4.5v9H3zM7.5 10.7l3.6-6.9c1.4 0 2.4 1 2.4 2.4v3.3h4.6a1.8 1.8 0 0 1 1.8 2.1l-1.1 6.3a1.9 1.9 0 0 1-1.9 1.6H7.5",
  down: "M3 13.5h4.5v-9H3zM7.5 13.3l3.6 6.9c1.4 0 2.4-1 2.4-2.4v-3.3h4.6a1.8 1.8 0 0 0 1.8-2.1l-1.1-6.3a1.9 1.9 0 0 0-1.9-1.6H7.5",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon", `icon-${name}`);
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export const spinner = () => element("span", { class: "spinner", "aria-hidden": "true" });
export const spoken = (text) => element("span", { class: "spoken" }, text);

export const iconButton = (name, label, click, attributes = {}) =>
  element("button", { type: "button", class: "icon-button", "aria-label": label, title: label, click, ...attributes }, icon(name));

// keyCode 229: Safari ends a composition before the event of the key that ended it
export const isEnter = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229;

export function grow(textarea) {
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
}

export function showCount(place, count, limit) {
  place.textContent = count < limit * NEARLY_ALL ? "" : `${count.toLocaleString("en")} of ${limit.toLocaleString("en")} characters`;
  place.classList.toggle("over", count > limit);
}

export const characters = (text) => [...text].length;
export const counted = (count, noun) => (count ? `${count} ${noun}${count === 1 ? "" : "s"}` : "");

// ── Moments ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const RELATIVE = new Intl.RelativeTimeFormat("en");
const NEAR = new Map([
  [-1, "yesterday"],
  [0, "today"],
  [1, "tomorrow"],
]);
const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
const daysBetween = (one, other) => Math.round((midnight(other) - midnight(one)) / 86_400_000); // one may have 23 or 25 hours

/** A time for people: "yesterday at 14:05", "Monday 3 November at 14:05". Times are seconds since the epoch. */
export function pointInTime(seconds, now = Date.now() / 1000) {
  const date = new Date(seconds * 1000);
  const named = NEAR.get(daysBetween(new Date(now * 1000), date));
  const day = named ?? date.toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long" });
  return `${day} at ${date.toLocaleTimeString(undefined, { timeStyle: "short" })}`;
}

/** The time until a moment, never too short: "in 5 minutes", "tomorrow at 14:05", "in 2 days, on Monday …". */
export function until(seconds, now = Date.now() / 1000) {
  const minutes = Math.ceil((seconds - now) / 60);
  if (minutes <= 0) return "now";
  if (minutes <= 90) return RELATIVE.format(minutes, "minute");
  const days = daysBetween(new Date(now * 1000), new Date(seconds * 1000));
  return `${days > 1 ? `${RELATIVE.format(days, "day")}, on ` : ""}${pointInTime(seconds, now)}`;
}
