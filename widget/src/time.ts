/** Times for people. A moment is ISO 8601, as the server sends it. */

import { strings } from "./strings.ts";

/** "in 5 minutes", "2 days ago"; with "auto" also "tomorrow" and "now". */
const relative = (count: number, unit: Intl.RelativeTimeFormatUnit, numeric: "always" | "auto" = "always") =>
  new Intl.RelativeTimeFormat(strings.locale, { numeric }).format(count, unit);

const midnight = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());
const daysBetween = (one: Date, other: Date) => Math.round((midnight(other).getTime() - midnight(one).getTime()) / 86_400_000); // a day may have 23 or 25 hours

/** A day for people: "yesterday", "Monday, November 3". */
export function dayOf(moment: string, now = Date.now()) {
  const date = new Date(moment);
  const days = daysBetween(new Date(now), date);
  return Math.abs(days) <= 1 ? relative(days, "day", "auto") : date.toLocaleDateString(strings.locale, { weekday: "long", day: "numeric", month: "long" });
}

/** The time of day: "2:05 PM". */
export const timeOf = (moment: string) => new Date(moment).toLocaleTimeString(strings.locale, { timeStyle: "short" });

/** A time for people: "yesterday at 2:05 PM", "Monday, November 3 at 2:05 PM". */
export const pointInTime = (moment: string, now = Date.now()) => strings.time.at(dayOf(moment, now), timeOf(moment));

/** The time until a moment, rounded up: "in 5 minutes", "tomorrow at 2:05 PM", "in 2 days, on Monday …". */
export function until(moment: string, now = Date.now()) {
  const minutes = Math.ceil((Date.parse(moment) - now) / 60_000);
  if (minutes <= 0) return relative(0, "second", "auto");
  if (minutes <= 90) return relative(minutes, "minute");
  const days = daysBetween(new Date(now), new Date(moment));
  const at = pointInTime(moment, now);
  return days > 1 ? strings.time.inDaysOn(relative(days, "day"), at) : at;
}

/** The day of a future moment: "today", "tomorrow", "in 5 days". */
export function untilDay(moment: string, now = Date.now()) {
  const days = Math.max(0, daysBetween(new Date(now), new Date(moment)) || 0);
  return relative(days, "day", days <= 1 ? "auto" : "always");
}

/** How long ago a moment is: "5 hours ago", "2 days ago". */
export function ago(moment: string, now = Date.now()) {
  const hours = Math.floor((now - Date.parse(moment)) / 3_600_000);
  return hours < 24 ? relative(-hours, "hour") : relative(-Math.floor(hours / 24), "day");
}

/** A duration: "1.3 s". */
export function seconds(milliseconds: number) {
  if (milliseconds < 100) return strings.time.underTenthSecond;
  return strings.time.seconds((milliseconds / 1000).toFixed(milliseconds < 9_950 ? 1 : 0));
}

/** The time if it is today, otherwise the day. */
export function day(timestamp: string) {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return "";
  const today = date.toDateString() === new Date().toDateString();
  return date.toLocaleString(strings.locale, today ? { timeStyle: "short" } : { dateStyle: "medium" });
}
