/** The content of an approval: what would change, the evidence, and what was left out. */

import type { ApprovalView, Change, ShownClaim, ShownSection } from "./api.ts";
import { showCard, showLeftOut, showQuote } from "./career_card.ts";
import { difference as compare } from "./difference.ts";
import { type Attributes, element, spoken } from "./dom.ts";
import { renderMarkdown } from "./markdown.ts";
import { underlineIn, withMarks } from "./marks.ts";
import { strings } from "./strings.ts";

interface OfMemories { effect: string; heading: string; yes: string; no: string; became: Record<string, string> }

/** The sentences for approvals about memories, which replace the usual ones. */
export function ofMemories(tool: string): OfMemories | undefined {
  const tools: Record<string, OfMemories> = strings.approval.ofMemories;
  return tools[tool];
}

const MOST_DIFFERENCES = 3; // lines shown without unfolding
const MOST_QUOTES = 12; // of one value, likewise

const textList = (texts: string[], attributes: Attributes = {}) => element("ul", attributes, ...texts.map((text) => element("li", {}, text)));

const showEvidence = (evidence: string[]) =>
  element("details", {}, element("summary", {}, strings.preview.evidence(evidence.length)), textList(evidence));

const showChange = ({ name, before, after, evidence = [], quotes = [] }: Change, title = "") => {
  const words = before && after ? compare(before, after) : null;
  const isSame = words?.some(({ kind, text }) => kind === "same" && text.trim()) ?? false;
  const ofOne = (other: "gone" | "new") => (isSame ? words! : []).filter(({ kind }) => kind !== other).map(({ kind, text }) => (kind === "same" ? text : element("mark", { class: kind }, text)));
  const allQuotes = element("ul", { class: "evidence" }, ...quotes.map(showQuote));
  return element(
    "div",
    { class: "change" },
    element("dt", title.toLowerCase().includes(name.toLowerCase()) ? { class: "spoken" } : {}, name),
    element("dd", { class: "before" }, spoken(`${strings.preview.before} `), before ? element("del", {}, ...(isSame ? ofOne("new") : [before])) : strings.preview.empty),
    element("dd", { class: "after" }, spoken(`${strings.preview.after} `), after ? element("ins", {}, ...(isSame ? ofOne("gone") : [after])) : strings.preview.removed),
    quotes.length ? element("dd", { class: "from" }, quotes.length > MOST_QUOTES ? element("details", {}, element("summary", {}, strings.documents.whereFrom), allQuotes) : allQuotes) : "",
    evidence.length ? element("dd", { class: "from" }, showEvidence(evidence)) : "",
  );
};

/** The memories that would be stored or forgotten, one per line. */
const showMemories = (changes: Change[], { heading }: OfMemories) =>
  element(
    "div",
    { class: "section" },
    element("h4", {}, heading),
    element("ul", { class: "memories" }, ...changes.map(showMemory)),
  );

const showMemory = ({ name, before, after, evidence = [] }: Change) =>
  element(
    "li",
    {},
    after === null ? element("del", {}, before ?? "") : element("span", {}, after),
    " ",
    element("span", { class: "type" }, name),
    evidence.length ? showEvidence(evidence) : "",
  );

/** The changes since the previous approval; a long list is folded. */
function showDifference(difference: string[]): HTMLElement {
  const list = textList(difference, { class: "difference" });
  if (difference.length <= MOST_DIFFERENCES) return list;
  return element("details", {}, element("summary", {}, strings.preview.changedSince(difference.length)), list);
}

const showAlternatives = (texts: string[]) => element("div", { class: "section" }, element("h4", {}, strings.preview.otherOptions), textList(texts));

const showSentence = ({ text, quotes = [], marks = [], unchecked, confirmed }: ShownClaim) =>
  element(
    "li",
    {},
    ...withMarks(text, marks),
    unchecked || confirmed ? element("span", { class: "badge" }, ` ${unchecked ? strings.careerCard.yourOwnWords : strings.documents.yours}`) : "",
    element("ul", { class: "evidence" }, ...(marks.length ? [element("li", { class: "why" }, strings.shared.notFound)] : []), ...quotes.map(showQuote)),
  );

/** A document as its reader sees it, with the evidence of its sentences below. */
function showDocument({ heading, markdown = "", claims = [] }: ShownSection): HTMLElement {
  const page = element("article", { class: "page-like", "aria-label": heading });
  renderMarkdown(page, markdown);
  underlineIn(page, claims);
  const hasMarks = claims.some(({ marks }) => marks?.length);
  const evidence = element("details", { open: hasMarks }, element("summary", {}, strings.documents.whereFrom), element("ul", {}, ...claims.map(showSentence)));
  return element("div", { class: "section" }, element("h4", {}, heading), page, claims.length ? evidence : "");
}

/** The content of an approval, as nodes. */
export function showPreview({ tool, rationale, wish, alternatives = [], confidence, mail_problem: mailProblem, preview }: ApprovalView): HTMLElement[] {
  const { changes = [], sections = [], left_out: leftOut = [], difference = [] } = preview;
  const memories = ofMemories(tool);
  const byConfidence: Record<string, string> = strings.preview.sure;
  const nodes: HTMLElement[] = [];
  if (mailProblem) nodes.push(element("p", { class: "rationale" }, mailProblem));
  if (wish) nodes.push(element("p", { class: "rationale" }, strings.preview.youAsked(wish)));
  if (difference.length) nodes.push(showDifference(difference));
  if (rationale) nodes.push(element("p", { class: "rationale" }, rationale));
  const sure = byConfidence[confidence ?? ""];
  if (sure) nodes.push(element("p", { class: "rationale" }, sure));
  if (changes.length) nodes.push(memories ? showMemories(changes, memories) : element("dl", {}, ...changes.map((each) => showChange(each, changes.length === 1 ? preview.title : ""))));
  const documents = sections.filter(({ markdown }) => markdown);
  const others = sections.filter(({ markdown }) => !markdown);
  if (others.length) nodes.push(showCard(others, documents.length ? "" : preview.person));
  nodes.push(...documents.map(showDocument));
  if (alternatives.length) nodes.push(showAlternatives(alternatives));
  if (leftOut.length) nodes.push(showLeftOut(leftOut));
  return nodes;
}
