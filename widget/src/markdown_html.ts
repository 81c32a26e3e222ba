/** Markdown as HTML, block by block: GitHub's flavor by `marked`. HTML in it stays text; the caller must sanitize the result. */

import { Marked, type Token, type Tokens, type TokensList } from "marked";

import type { InPieces } from "./markdown_parts.ts";
import { strings } from "./strings.ts";

/** A text's link reference definitions, which links in any block may use. */
export type Links = TokensList["links"];

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => ESCAPES[character]!);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    paragraph(paragraph) {
      const pieces = (paragraph as Partial<InPieces>).pieces;
      return pieces ? `<p>${pieces.map((tokens) => `<span>${this.parser.parseInline(tokens)}</span>`).join("")}</p>` : false;
    },
    // An answer's headings begin at the third level, below the widget's own.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    // Loading an image would reveal the reader to its server.
    image: ({ text, href }) => escaped(strings.markdown.image(text || href)),
    link({ href, raw, tokens }: Tokens.Link) {
      if (!/^https?:\/\//i.test(href) || !URL.canParse(href)) return escaped(raw);
      return `<a href="${escaped(href)}">${this.parser.parseInline(tokens)}</a>`;
    },
  },
});

/** The blocks of a text. */
export const lexed = (text: string): TokensList => marked.lexer(text);

export const htmlOf = (block: Token, links: Links): string => marked.parser(Object.assign([block], { links }));
