/** The server's responses, see docs/integrate.md. Moments are ISO 8601, in UTC. */

export type Thumb = "up" | "down";
export interface FeedbackView { thumb: Thumb; words?: string | null }
export interface Problem { code: string; message: string }
export interface Step {
  id: string;
  name: string;
  label: string;
  ok: boolean | null;
  ms?: number | null;
  problem?: string | null;
  arguments?: string;
  sources?: Source[];
}
export interface Source { id: string; kind: "document" | "memory" | "documentation" | "profile" | "message" | "job" | "application" | "web" | "library"; title: string; text: string }
export interface MemoryView { id: string; content: string; status: string; undo_until: string | null }
export interface MessageView {
  id: string;
  role: "user" | "assistant";
  content: string;
  created_at?: string;
  status: string;
  error?: Problem | null;
  steps?: Step[];
  feedback?: FeedbackView | null;
  approvals?: ApprovalView[];
  drafts?: DraftView[];
  memories?: MemoryView[];
}
export interface ConversationRow {
  id: string;
  title: string;
  updated_at: string;
  running: boolean;
  found?: { message_id: string | null; snippet: string; words: string[] } | null;
}
export interface Conversation { id: string; title: string; role?: string; messages: MessageView[]; running: boolean }

export interface Change { name: string; before: string | null; after: string | null; evidence?: string[]; quotes?: ShownQuote[] }
export interface ShownQuote { source: string; before: string; quote: string; after: string }
export interface ShownClaim {
  text: string;
  quotes?: ShownQuote[];
  marks?: string[]; // words that code did not find in the quotes
  confirmed?: boolean;
  unchecked?: boolean;
  is_detail?: boolean; // true for a detail of the preceding position
}
export interface ShownSection { heading: string; kind?: string; markdown?: string; claims?: ShownClaim[] } // `markdown`: a whole document, as it is sent
export interface LeftOut { text: string; why: string[] }
export interface Preview {
  title: string;
  person?: string; // the name on the card
  changes?: Change[];
  sections?: ShownSection[];
  left_out?: LeftOut[];
  difference?: string[];
}
export interface ApprovalView {
  approval_id: string;
  kind: string;
  tool: string;
  effect: string;
  status: string;
  /** What is asked, in a line with its value. */
  line?: string;
  /** Who asks. */
  source?: string;
  preview: Preview;
  args: Record<string, unknown>;
  args_digest: string;
  editable: string[];
  revisable: boolean;
  rationale: string;
  alternatives?: string[];
  confidence?: string | null;
  conversation_id: string | null;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
  decided_by: string | null;
  reason: string | null;
  outcome: string | null;
  link?: string | null;
  /** Why the user gets no mail about it. */
  mail_problem?: string | null;
  wish?: string | null;
  undo_until: string | null;
  undoes: string | null;
  undone_by: string | null;
  revises: string | null;
}
export interface Decision {
  decision: "approve" | "edit" | "revise" | "reject";
  args_digest: string;
  args?: Record<string, unknown>;
  reason?: string;
  /** True if the whole preview was shown: only then a yes counts toward earned autonomy. */
  opened?: boolean;
}
export interface DraftView {
  draft_id: string;
  kind: string;
  status: string;
  label: string;
  stage?: "evidence" | "writing" | "decision" | null;
  conversation_id: string | null;
}
export interface ResumeView {
  id: string;
  name: string;
  status: "reading" | "parsing" | "checking" | "saving" | "proposed" | "done" | "failed" | "stopped";
  label: string;
  approval_id: string | null;
}
export interface Receipt { stopped: string[]; finished: string[]; unknown: string[]; running: string[]; waiting?: string[] }
export interface BrakeStatus {
  state: string;
  since: string | null;
  receipt: Receipt | null;
  everybody: boolean;
}
export interface EventView {
  id: string;
  at: string;
  type: string;
  role: string;
  severity: "info" | "warning" | "action_required";
  title: string;
  about: string;
  why: string;
  data: Record<string, string | number | string[]>;
  undo_until: string | null;
}
export type Update =
  | { type: "approval"; id: string; at: string; approval: ApprovalView }
  | { type: "draft"; id: string; at: string; draft: DraftView }
  | { type: "brake"; id: string; at: string; brake: BrakeStatus }
  | { type: "activity"; id: string; at: string; activity: EventView };
export interface Updates { items: Update[]; cursor: string; active: boolean }
export interface Page<Item> { items: Item[]; next: string | null }
/** The earned autonomy of what one tool does. */
export interface EarnedKind { tool: string; title: string; means: string; is_earned: boolean; record: string }
export interface Settings { level: string; ceiling: string; language: string | null; time_zone: string | null; mail_questions?: boolean; mail_reminders?: boolean }
export interface BriefingPlan { on: boolean; hour: number; minute: number; days: number[]; mail: boolean; quiet: boolean; time_zone: string; next: string | null }

export interface InterviewSummary {
  id: string;
  title: string;
  role: string;
  last_used: string;
  phase: "divergence" | "deep_dive" | "convergence" | "end";
  completeness: number;
  ended: "covered" | "nothing_new" | "tired" | "asked" | "out_of_topics" | "out_of_time" | null;
}
export interface AspectView { name: string; status: "open" | "covered" | "closed"; quotes: string[]; known_from: string }
export interface TopicView {
  title: string;
  status: "mentioned" | "backlog" | "active" | "completed";
  priority: number;
  completeness: number;
  aspects: AspectView[];
}
export interface StatementView { topic: string; text: string; quotes: { message_id: string; text: string }[]; is_new: boolean }
export interface InterviewView extends InterviewSummary {
  topics: TopicView[];
  draft: StatementView[];
  version: number;
  is_writing: boolean;
  why: string;
  minutes: number | null;
  ended_by: string;
}
export interface InterviewVersion { version: number; added: string[]; dropped: string[] }
