/** A card as others will see it: headline, timeline, chips, and small numbers that open the evidence. */

import type { LeftOut, ShownClaim, ShownQuote, ShownSection } from "./api.ts";
import { element } from "./dom.ts";
import { withMarks } from "./marks.ts";
import { strings } from "./strings.ts";

const HEADLINE = "headline";
const SHAPES = new Set(["experience", "education", "skills", "preferences"]);
const FIGURE = /(?:[€$£]\s?)?\d[\d.,]*(?:\s?(?:%|k|m|million|billion)(?![\p{L}\d]))?/giu;

/** The sections of a text below the user's name. The number of a claim, and each underlined word, opens its evidence;
 * that of the first claim with such words is open. */
export function showCard(sections: ShownSection[], person = ""): HTMLElement {
  let count = 0;
  let isOpened = false;
  const claim = (tag: "li" | "p", { text, quotes = [], marks = [], confirmed, unchecked }: ShownClaim, kind = "") => {
    const isFirst = marks.length > 0 && !isOpened;
    isOpened ||= isFirst;
    const shownEvidence = quotes.length ? new Evidence(++count, quotes, marks.length > 0, isFirst) : null;
    const underlined = (words: string) => (shownEvidence ? element("button", { type: "button", class: "marked", click: () => shownEvidence.toggle() }, words) : element("u", {}, words));
    const words = withMarks(text, marks, underlined);
    const shown = element(tag, tag === "p" ? { class: "headline" } : {}, ...(kind === "achievements" ? words.flatMap((each) => (typeof each === "string" ? withFigures(each) : [each])) : words));
    if (confirmed || unchecked) shown.append(" ", element("span", { class: "badge" }, strings.careerCard.yourOwnWords));
    if (shownEvidence) shown.append(" ", ...shownEvidence.nodes);
    return shown;
  };
  const name = person ? [element("p", { class: "person" }, person)] : [];
  const nodes = sections.map((section) => {
    const { heading, kind = "", claims = [] } = section;
    if (kind === HEADLINE) return element("header", {}, ...name.splice(0), ...claims.map((each) => claim("p", each)));
    const items = grouped(claims.map((each) => ({ item: claim("li", each, each.is_detail ? "achievements" : kind), isDetail: each.is_detail ?? false })));
    return element("div", { class: "section" }, element("h4", {}, heading), element("ul", { class: SHAPES.has(kind) ? kind : "plain" }, ...items));
  });
  return element("article", { class: "career", "aria-label": strings.careerCard.label }, ...name, ...nodes);
}

/** The items of a list, with details in a nested list below their item. */
function grouped(claims: { item: HTMLElement; isDetail: boolean }[]): HTMLElement[] {
  const items: HTMLElement[] = [];
  for (const { item, isDetail } of claims) {
    const position = items.at(-1);
    if (!isDetail || !position) items.push(item);
    else if (position.lastElementChild?.className === "details") position.lastElementChild.append(item);
    else position.append(element("ul", { class: "details" }, item));
  }
  return items;
}

const withFigures = (text: string) => {
  const nodes: (Node | string)[] = [];
  let from = 0;
  for (const match of text.matchAll(FIGURE)) {
    nodes.push(text.slice(from, match.index), element("strong", {}, match[0]));
    from = match.index + match[0].length;
  }
  return [...nodes, text.slice(from)];
};

/** The evidence of a claim: a number, and the list that it opens. */
class Evidence {
  readonly #list: HTMLElement;
  readonly #mark: HTMLElement;

  constructor(number: number, quotes: ShownQuote[], hasMarks: boolean, isOpen: boolean) {
    const why = hasMarks ? [element("li", { class: "why" }, strings.shared.notFound)] : [];
    this.#list = element("ul", { class: "evidence", hidden: !isOpen }, ...why, ...quotes.map(showQuote));
    const attributes = { type: "button", class: "evidence-mark", "aria-label": strings.careerCard.evidence(number), "aria-expanded": String(isOpen) };
    this.#mark = element("button", { ...attributes, click: () => this.toggle() }, String(number));
  }

  get nodes(): HTMLElement[] {
    return [this.#mark, this.#list];
  }

  toggle() {
    this.#list.hidden = !this.#list.hidden;
    this.#mark.setAttribute("aria-expanded", String(!this.#list.hidden));
  }
}

/** A quote in its sentence, with the name of its source. */
export const showQuote = ({ source, before, quote, after }: ShownQuote) =>
  element("li", {}, element("q", {}, before, element("mark", {}, quote), after), " ", element("cite", {}, source));

/** The left-out claims, with reasons. */
export const showLeftOut = (items: LeftOut[]) =>
  element(
    "div",
    { class: "section" },
    element("h4", {}, strings.shared.leftOut),
    element("ul", {}, ...items.map(({ text, why }) => element("li", {}, text, element("ul", {}, ...why.map((each) => element("li", {}, each)))))),
  );
