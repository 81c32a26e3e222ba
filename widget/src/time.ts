/** Times for people. A moment is ISO 8601, as the server sends it. */

const RELATIVE = new Intl.RelativeTimeFormat("en");
const NEAR = new Map([
  [-1, "yesterday"],
  [0, "today"],
  [1, "tomorrow"],
]);
const midnight = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
const daysBetween = (one: Date, other: Date) => Math.round((midnight(other).getTime() - midnight(one).getTime()) / 86_400_000); // one may have 23 or 25 hours

/** A time for people: "yesterday at 2:05 PM", "Monday, November 3 at 2:05 PM". */
export function pointInTime(moment: string, now = Date.now()) {
  const date = new Date(moment);
  const named = NEAR.get(daysBetween(new Date(now), date));
  const day = named ?? date.toLocaleDateString("en-US", { weekday: "long", day: "numeric", month: "long" });
  return `${day} at ${date.toLocaleTimeString(undefined, { timeStyle: "short" })}`;
}

/** The time until a moment, never too short: "in 5 minutes", "tomorrow at 2:05 PM", "in 2 days, on Monday …". */
export function until(moment: string, now = Date.now()) {
  const minutes = Math.ceil((Date.parse(moment) - now) / 60_000);
  if (minutes <= 0) return "now";
  if (minutes <= 90) return RELATIVE.format(minutes, "minute");
  const days = daysBetween(new Date(now), new Date(moment));
  return `${days > 1 ? `${RELATIVE.format(days, "day")}, on ` : ""}${pointInTime(moment, now)}`;
}

/** How long ago a moment is: "5 hours ago", "2 days ago". */
export function ago(moment: string, now = Date.now()) {
  const hours = Math.floor((now - Date.parse(moment)) / 3_600_000);
  return hours < 24 ? RELATIVE.format(-hours, "hour") : RELATIVE.format(-Math.floor(hours / 24), "day");
}

/** A duration: "1.3 s". */
export function seconds(milliseconds: number) {
  if (milliseconds < 100) return "< 0.1 s";
  return `${(milliseconds / 1000).toFixed(milliseconds < 9_950 ? 1 : 0)} s`;
}

/** The time of today, else the day. */
export function day(timestamp: string) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "";
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(undefined, today ? { timeStyle: "short" } : { dateStyle: "medium" });
}
