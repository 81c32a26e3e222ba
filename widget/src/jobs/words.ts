/** Words and links that the parts of `<qwestly-jobs>` share. */

import { html, nothing } from "lit";

import type { ShownQuote } from "../api.ts";
import { strings } from "../strings.ts";
import type { Pay } from "./types.ts";

/** A link to an external page; nothing if it is not a web address. */
export const outside = (url: string, words: string) =>
  /^https?:\/\//i.test(url) && URL.canParse(url) ? html`<a href=${url} target="_blank" rel="noopener noreferrer">${words}</a>` : nothing;

/** "€60,000–80,000 a year". */
export function payWords({ lowest, highest, currency, per }: Pay): string {
  const known = [...new Set([lowest, highest].filter((each) => each !== null))];
  const style = /^[A-Z]{3}$/.test(currency) ? ({ style: "currency", currency } as const) : {};
  const format = new Intl.NumberFormat(strings.locale, { ...style, maximumFractionDigits: 0 });
  const amount = known.length === 2 ? format.formatRange(known[0]!, known[1]!) : known.length ? format.format(known[0]!) : "";
  return amount && strings.jobs.pay(amount, per);
}

const A_YEAR: Record<string, number> = { hour: 2_080, day: 260, week: 52, month: 12, year: 1 };

/** The highest pay of a year, to sort by; -1 if amount or period is not stated. */
export const payOfAYear = (pay: Pay | null) => (pay?.per ? (pay.highest ?? pay.lowest ?? -1) * A_YEAR[pay.per]! : -1);

/** A day: "Nov 3, 2026"; empty if there is none. */
export function dayWords(moment: string | null): string {
  const date = new Date(moment ?? NaN);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleDateString(strings.locale, { dateStyle: "medium" });
}

export const quoteRow = ({ source, before, quote, after }: ShownQuote) =>
  html`<blockquote>${before}<mark>${quote}</mark>${after}<cite>${source}</cite></blockquote>`;
