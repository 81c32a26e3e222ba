import type { DraftView } from "./api.ts";
import { type IconName, element, icon, spinner } from "./dom.ts";
import { strings } from "./strings.ts";

const DRAFT_MARKS: Record<string, IconName> = { unfinished: "info", waiting: "info", drafted: "check", published: "check", rejected: "close", expired: "close", stopped: "close", failed: "alert" };

/** The stages of a draft, with the current one; nothing after its end. */
function stagesOf({ stage }: DraftView): HTMLElement[] {
  if (!stage) return [];
  const names = Object.keys(strings.drafts.stages);
  const items = Object.entries(strings.drafts.stages).map(([name, label]) => {
    const past = names.indexOf(name) < names.indexOf(stage);
    return element("li", { class: past ? "past" : "", ...(name === stage && { "aria-current": "step" }) }, label);
  });
  return [element("ol", { class: "stages", "aria-label": strings.drafts.progress }, ...items)];
}

/** The progress of drafts, one line each. */
export class Drafts {
  #again: (kind: string) => (() => void) | null;
  #known = new Map<string, DraftView & { line: HTMLElement; at: string }>();

  /** `again` contains the message that requests another draft, by kind. */
  constructor(again: (kind: string) => (() => void) | null) {
    this.#again = again;
  }

  /** Returns true if the item is new; items can arrive twice, or late. */
  learn(draft: DraftView, at: string): boolean {
    const known = this.#known.get(draft.draft_id) ?? { line: element("div", { class: "draft" }), at: "" };
    if (at <= known.at) return false;
    this.#known.set(draft.draft_id, { ...known, ...draft, at });
    const mark = DRAFT_MARKS[draft.status];
    known.line.classList.toggle("failed", draft.status === "failed");
    known.line.replaceChildren(mark ? icon(mark) : spinner(), element("span", {}, draft.label), ...stagesOf(draft), ...this.#offers(draft));
    return true;
  }

  /** Offers to start a draft again that was stopped by a pause. */
  #offers({ status, kind }: DraftView): HTMLElement[] {
    const click = status === "stopped" ? this.#again(kind) : null;
    return click ? [element("button", { type: "button", class: "quiet", click }, strings.drafts.draftAgain)] : [];
  }

  /** The lines of a conversation: running drafts; ended ones that `stood` there before; and the last, if it failed or was stopped. */
  lines(conversation: string, stood: (line: HTMLElement) => boolean) {
    const drafts = [...this.#known.values()].filter(({ conversation_id: id }) => id === conversation);
    const latest = drafts.map(({ at }) => at).sort().at(-1); // all in the same format
    const shown = ({ status, at, line }: { status: string; at: string; line: HTMLElement }) =>
      status === "running" || status === "waiting" || stood(line) || ((status === "failed" || status === "stopped") && at === latest);
    return drafts.filter(shown).map(({ line }) => line);
  }
}
