/** Markdown of a growing text: GitHub's flavor by `marked`, cleaned by DOMPurify. HTML in it stays text. */

import DOMPurify from "dompurify";
import { Marked, type Token, type Tokens, type TokensList } from "marked";

import { copyButton } from "./copy.ts";
import { element } from "./dom.ts";

/** A list goes on behind a blank line and the beginning of an item, so three blocks of a growing text can change. */
const UNSETTLED_BLOCKS = 3;

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    // An answer's headings begin at the third level, below the widget's own.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    // Loading an image would tell its server who reads what.
    image: ({ text, href }) => escaped(`[image: ${text || href}]`),
    link({ href, raw, tokens }: Tokens.Link) {
      if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return escaped(raw);
      return `<a href="${escaped(href)}">${this.parser.parseInline(tokens)}</a>`;
    },
  },
});

const ALLOWED_TAGS = "a blockquote br code del em h3 h4 h5 h6 hr input li ol p pre strong table tbody td th thead tr ul".split(" ");
const ALLOWED_ATTR = ["align", "checked", "class", "disabled", "href", "start", "type"];

/** The type of a token that is shown as it is written. */
const AS_WRITTEN = "as written";

type Links = TokensList["links"];

interface Block {
  source: string;
  nodes: ChildNode[];
}

/** The blocks that a container shows, in order. */
const shown = new WeakMap<HTMLElement, Block[]>();

/**
 * Render a growing text. A block whose source did not change keeps its nodes, so that a reader's selection survives the
 * stream, and only the last blocks are parsed again.
 */
export function renderMarkdown(container: HTMLElement, text: string): void {
  const source = text.replace(/\r\n?/g, "\n");
  const known = shown.get(container) ?? [];
  const blocks = settledBlocks(known, source);
  const settled = blocks.reduce((length, block) => length + block.source.length, 0);
  const rest = source.slice(settled);
  const tokens: Token[] & { links?: Links } = unlessTooDeep(() => marked.lexer(rest), () => [{ type: AS_WRITTEN, raw: rest }]);
  for (const token of tokens) {
    const before = known[blocks.length];
    const isSame = before?.source === token.raw;
    if (!isSame) for (const { nodes } of known.splice(blocks.length)) for (const node of nodes) node.remove();
    blocks.push(isSame ? before : { source: token.raw, nodes: nodesOf(token, tokens.links ?? {}) });
    if (!isSame) container.append(...blocks.at(-1)!.nodes);
  }
  for (const { nodes } of known.slice(blocks.length)) for (const node of nodes) node.remove();
  shown.set(container, blocks);
}

/** The blocks that no longer change; none if the text is another one. */
function settledBlocks(known: Block[], source: string): Block[] {
  const blocks = known.slice(0, -UNSETTLED_BLOCKS);
  return source.startsWith(blocks.map((block) => block.source).join("")) ? blocks : [];
}

function nodesOf(token: Token, links: Links): ChildNode[] {
  const asWritten = () => [element("p", {}, token.raw)];
  return token.type === AS_WRITTEN ? asWritten() : unlessTooDeep(() => rendered(token, links), asWritten);
}

/** The parser recurses, so text can be nested too deep for it. */
function unlessTooDeep<T>(make: () => T, instead: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return instead();
  }
}

function rendered(token: Token, links: Links): ChildNode[] {
  if (token.type === "space") return [];
  const html = marked.parser(Object.assign([token], { links }));
  const clean = DOMPurify.sanitize(html, { ALLOWED_TAGS, ALLOWED_ATTR, RETURN_DOM_FRAGMENT: true });
  for (const link of clean.querySelectorAll("a")) Object.assign(link, { target: "_blank", rel: "noopener noreferrer" });
  clean.querySelectorAll("pre").forEach(dressCode);
  for (const box of clean.querySelectorAll("input")) box.ariaLabel = box.closest("li")?.textContent?.trim() || "Task";
  clean.querySelectorAll("table").forEach((table) => {
    const scrolled = element("div", { class: "scrolled", tabindex: "0" });
    table.replaceWith(scrolled);
    scrolled.append(table);
  });
  return [...clean.childNodes].filter((node) => node.nodeType === Node.ELEMENT_NODE || node.textContent?.trim());
}

/** A block of code with its language and a button that copies it. */
function dressCode(pre: HTMLPreElement): void {
  const code = pre.querySelector("code");
  const language = /language-(\S+)/.exec(code?.className ?? "")?.[1] ?? "";
  code?.removeAttribute("class");
  code?.replaceChildren(code.textContent?.replace(/\n$/, "") ?? "");
  pre.tabIndex = 0;
  const box = element("div", { class: "code" });
  pre.replaceWith(box);
  box.append(element("div", { class: "code-bar" }, element("span", {}, language), copyButton("Copy code", () => code?.textContent ?? "")), pre);
}
