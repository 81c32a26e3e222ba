/** Renders the Markdown of a growing text as nodes: GitHub's flavor, sanitized by DOMPurify. HTML in it stays text. */

import DOMPurify from "dompurify";
import type { Token } from "marked";

import { copyButton } from "./copy.ts";
import { element } from "./dom.ts";
import { type Links, htmlOf } from "./markdown_html.ts";
import { AS_WRITTEN, CODE_LINES, type Cut, cutOf, readOn, sourcesOf, unlessTooDeep, without } from "./markdown_parts.ts";
import { strings } from "./strings.ts";

const ALLOWED_TAGS = "a blockquote br code del em h3 h4 h5 h6 hr input li ol p pre span strong table tbody td th thead tr ul".split(" ");
const ALLOWED_ATTR = ["align", "checked", "class", "disabled", "href", "start", "type"];

interface Part {
  key: string; // equal for parts that look the same
  source: string;
  nodes: ChildNode[];
  cut: Cut | null;
}

/** The parts that a container shows, in order. */
const shown = new WeakMap<HTMLElement, Part[]>();

/** The element that contains the parts of a cut block. */
const boxes = new WeakMap<Cut, Element>();

/**
 * Render a growing text. A part whose source did not change keeps its nodes, so that a reader's selection survives the
 * stream, and only the last parts are parsed again.
 */
export function renderMarkdown(container: HTMLElement, text: string): void {
  const known = shown.get(container) ?? [];
  const { settled, tokens, goesOn } = readOn(known, text.replace(/\r\n?/g, "\n"));
  const parts = known.slice(0, settled);
  const forget = () => known.splice(parts.length).forEach(({ nodes }) => nodes.forEach((node) => node.remove()));
  for (const [index, token] of tokens.entries()) {
    const cut = index === 0 ? goesOn : null;
    const sources = sourcesOf(token, cut);
    const keys = sources.map((source, at) => [token.type, cutOf(token)?.isLoose, at > 0 || cut !== null, source].join("\n"));
    const differs = keys.findIndex((key, at) => known[parts.length + at]?.key !== key);
    const same = differs < 0 ? keys.length : differs;
    parts.push(...known.slice(parts.length, parts.length + same));
    if (differs < 0) continue;
    forget();
    const begun = same > 0 ? parts.at(-1)!.cut : cut;
    const going = begun ?? cutOf(token);
    const fresh = nodesOf(going ? without(token, begun ? same : 0, cut) : token, tokens.links ?? {});
    const nodes = begun ? addTo(boxes.get(begun)!, fresh) : begin(container, fresh, going);
    parts.push(...keys.slice(same).map((key, at) => ({ key, source: sources[same + at]!, nodes: nodes[at] ?? [], cut: going })));
  }
  forget();
  shown.set(container, parts);
}

/** Shows the nodes of a token. Returns those of each of its parts. */
function begin(container: HTMLElement, nodes: ChildNode[], cut: Cut | null): ChildNode[][] {
  container.append(...nodes);
  if (!cut) return [nodes];
  const box = boxOf(nodes);
  boxes.set(cut, box);
  return [nodes, ...groupsOf(box).slice(1)];
}

/** Appends further parts to a block. Returns the nodes of each. */
function addTo(box: Element, nodes: ChildNode[]): ChildNode[][] {
  const groups = groupsOf(boxOf(nodes));
  box.append(...groups.flat());
  return groups;
}

/** The parts, each with the blank after it. */
const groupsOf = (box: Element): ChildNode[][] => Array.from(box.children, (child) => (child.nextSibling instanceof Text ? [child, child.nextSibling] : [child]));

const boxOf = ([first]: ChildNode[]) => (first as Element).querySelector(":scope > table > tbody, :scope > pre > code") ?? (first as Element);

function nodesOf(token: Token, links: Links): ChildNode[] {
  const asWritten = () => [element("p", {}, token.raw)];
  return token.type === AS_WRITTEN ? asWritten() : unlessTooDeep(() => rendered(token, links), asWritten);
}

function rendered(token: Token, links: Links): ChildNode[] {
  if (token.type === "space") return [];
  const clean = DOMPurify.sanitize(htmlOf(token, links), { ALLOWED_TAGS, ALLOWED_ATTR, RETURN_DOM_FRAGMENT: true });
  for (const link of clean.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  clean.querySelectorAll("pre").forEach(dressCode);
  for (const box of clean.querySelectorAll("input")) box.ariaLabel = box.closest("li")?.textContent?.trim() || strings.markdown.task;
  clean.querySelectorAll("table").forEach((table) => {
    const scrolled = element("div", { class: "scrolled", tabindex: "0" });
    table.replaceWith(scrolled);
    scrolled.append(table);
  });
  return [...clean.childNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE || node.textContent?.trim());
}

/** A block of code with its language and a button that copies it. */
function dressCode(pre: HTMLPreElement): void {
  const code = pre.querySelector("code")!;
  const language = /language-(\S+)/.exec(code.className)?.[1] ?? "";
  code.removeAttribute("class");
  const lines = code.textContent.split(/(?<=\n)/);
  const parts = lines.flatMap((_, at) => (at % CODE_LINES === 0 ? [element("span", {}, lines.slice(at, at + CODE_LINES).join(""))] : []));
  code.replaceChildren(...parts);
  pre.tabIndex = 0;
  const box = element("div", { class: "code" });
  pre.replaceWith(box);
  const copied = () => code.textContent.replace(/\n$/, "");
  box.append(element("div", { class: "code-bar" }, element("span", {}, language), copyButton(strings.markdown.copyCode, copied)), pre);
}
