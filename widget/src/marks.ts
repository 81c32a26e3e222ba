/** Underlines what code did not find in the quotes of a sentence: figures and names, as written. */

import { element } from "./dom.ts";

/** The text, with each mark, as whole words, in an element that `underlined` makes. */
export function withMarks(text: string, marks: string[], underlined: (words: string) => Node = (words) => element("u", {}, words)): (Node | string)[] {
  if (!marks.length) return [text];
  const longestFirst = [...marks].sort((one, other) => other.length - one.length).map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pieces = text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${longestFirst.join("|")})(?![\\p{L}\\p{N}])`, "u"));
  return pieces.map((piece, place) => (place % 2 ? underlined(piece) : piece));
}

/** Underlines the marks of sentences that stand in a rendered text, each in one text node. */
export function underlineIn(root: HTMLElement, sentences: { text: string; marks?: string[] }[]) {
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  while (walker.nextNode()) nodes.push(walker.currentNode as Text);
  for (const node of nodes) {
    const marks = sentences.flatMap(({ text, marks = [] }) => (marks.length && node.data.includes(text) ? marks : []));
    if (marks.length) node.replaceWith(...withMarks(node.data, marks));
  }
}
