/** The responses of the routes for jobs, documents, applications and résumés. */

import type { LeftOut, ResumeView, ShownClaim, ShownQuote } from "../api.ts";

export interface Reason { text: string; advert_quote: string; person_quote: string | null; person_source: string | null }
export interface Pay { lowest: number | null; highest: number | null; currency: string; per: string | null }
export type Fit = "strong" | "good" | "stretch";
export interface JobWarning { kind: string; text: string; quote: string }
export type MatchStatus = "new" | "saved" | "hidden";
export type Verdict = "up" | "down" | "not_this_kind";
export interface JobMatch {
  id: string;
  title: string;
  company: string;
  place: string;
  is_remote: boolean;
  /** Not sent by earlier servers. */
  way?: "on_site" | "hybrid" | "remote" | null;
  remote_within?: string[];
  fit?: Fit | null;
  warnings?: JobWarning[];
  pay: Pay | null;
  posted_at: string | null;
  url: string;
  attribution: string;
  is_closed: boolean;
  status: MatchStatus;
  verdict: Verdict | null;
  reasons_for: Reason[];
  reasons_against: Reason[];
  application_id: string | null;
}
export interface JobList { items: JobMatch[]; missing: string[]; searched_at: string | null; is_searching: boolean; has_wishes: boolean }

export interface Wishes {
  titles: string[];
  places: string[];
  remote: "any" | "only" | "no";
  pay_from: number | null;
  pay_currency: string | null;
  languages: string[];
  work_permits: string[];
  never: string[];
}
export interface JobSettings { is_on: boolean; wishes: Wishes; next_at: string | null; boards: string[]; suggestions?: Suggestion[] }
/** `because` are the user's words; empty if it comes from their profile. */
export interface Suggestion { wish: "titles" | "places" | "never"; value: string; because: string }
export interface Weight { says: string; weight: number }

export type DocumentKind = "resume" | "cover_letter";
export interface DocumentView {
  id: string;
  kind: DocumentKind;
  job_id: string;
  job: string;
  status: "writing" | "ready" | "failed" | "stopped";
  label: string;
  version: number;
  flagged: boolean;
  created_at: string;
}
export interface CoverageItem { requirement: string; met: "met" | "partly" | "not_met"; advert_quote: string; quotes: ShownQuote[] }
export type HeadField = "name" | "location" | "email" | "phone" | "links";

export interface DocumentPart { key: string; heading: string; sentences: string[] }

export interface DocumentDetail extends DocumentView {
  markdown: string | null;
  head: Partial<Record<HeadField, string>>;
  /** Null until the person chose. */
  chosen_head: HeadField[] | null;
  sentences: ShownClaim[];
  /** What can be changed: the sentences of each section or position, in order. */
  parts: DocumentPart[];
  revision: number;
  can_undo: boolean;
  left_out: LeftOut[];
  coverage: CoverageItem[] | null;
}

export interface Application {
  id: string;
  job: { id: string; title: string; company: string; url: string };
  status: "preparing" | "applied" | "interview" | "offer" | "rejected" | "withdrawn" | "closed";
  next_step: string | null;
  next_at: string | null;
  /** Time of the reminder; null if no step is due, or if the user was reminded already. */
  due_at: string | null;
  approval_id: string | null;
  /** Status of the latest approval to send it; null if none was requested. */
  approval_status: string | null;
  can_apply: boolean;
  applied_at: string | null;
  notes: string | null;
}

export interface ResumeField { quote: string; original: string; start: number; end: number; is_checked: boolean }
export interface ResumeDetail extends ResumeView {
  text: string;
  resume: Record<string, unknown>;
  fields: Record<string, ResumeField>;
  unread: string[];
  left_out: { path: string; why: string }[];
}
