/**
 * The parts of a growing Markdown text, so that only the last are parsed again: blocks, each item of a list, each row of
 * a table, some lines of a block of code, and the pieces of a long paragraph.
 */

import type { Token, Tokens } from "marked";

import { type Links, lexed } from "./markdown_html.ts";
import { behind, piecesOf } from "./markdown_pieces.ts";

/** A list can continue after a blank line and the beginning of an item, so the last three parts of a growing text can change. */
const UNSETTLED_PARTS = 3;

/** Lines per part of a code block. */
export const CODE_LINES = 50;

/** A prefix that makes the parser treat the rest of a paragraph as a paragraph. */
const A_WORD = "x ";

/** The type of a token that is shown as plain text. */
export const AS_WRITTEN = "as written";

/** A block that is rendered in parts. */
export interface Cut {
  type: "list" | "table" | "code" | "paragraph";
  isLoose: boolean; // true for a list with paragraphs in its items
  head: string; // the prefix that the parser needs before the parts of a table, code block or paragraph
}

/** A paragraph that is rendered in pieces. */
export type InPieces = Tokens.Paragraph & { pieces: Token[][] };

/** Data of a part that was parsed before. */
export interface Known {
  source: string;
  cut: Cut | null;
}

export interface Reading {
  settled: number; // number of parts that are not parsed again
  tokens: Token[] & { links?: Links };
  goesOn: Cut | null; // the cut block that the first token continues
}

/** Parses the text after the parts that no longer change. */
export function readOn(known: Known[], source: string): Reading {
  const settled = settledParts(known, source);
  const last = settled.at(-1);
  const cut = last?.cut ?? null;
  if (cut === null || known[settled.length]?.cut !== cut) return { settled: settled.length, tokens: tokensOf(restOf(source, settled)), goesOn: null };
  const rest = restOf(source, settled);
  const tokens = tokensOf(headOf(cut, last!.source) + rest);
  if (continues(tokens[0], cut, rest)) return { settled: settled.length, tokens, goesOn: cut };
  const before = settled.filter((part) => part.cut !== cut);
  return { settled: before.length, tokens: tokensOf(restOf(source, before)), goesOn: null };
}

/** The sources of a token's parts. */
export function sourcesOf(token: Token, goesOn: Cut | null): string[] {
  if (token.type === "list") return itemsOf(token as Tokens.List, goesOn).map(({ raw }) => raw);
  if (token.type === "paragraph") return sourcesOfPieces(token as Tokens.Paragraph, goesOn);
  const { head, count, together } = linesOf(token);
  if (count === 0) return [token.raw];
  const lines = token.raw.split(/(?<=\n)/);
  const before = lines.splice(0, head).join("");
  lines.push(lines.splice(count - 1).join(""));
  const sources = lines.flatMap((_, at) => (at % together === 0 ? [lines.slice(at, at + together).join("")] : []));
  if (!goesOn) sources[0] = before + sources[0]!;
  return sources;
}

/** The rest of a cut token, without its first parts. */
export function without(token: Token, count: number, goesOn: Cut | null): Token {
  switch (token.type) {
    case "list":
      return { ...token, items: itemsOf(token as Tokens.List, goesOn).slice(count) } as Token;
    case "table":
      return { ...token, rows: (token as Tokens.Table).rows.slice(count) } as Token;
    case "code":
      // The renderer drops the end of the last line.
      return { ...token, text: codeLines(token as Tokens.Code).slice(count * CODE_LINES).join("\n") + "\n" } as Token;
    default:
      return { ...token, pieces: pieces(token as Tokens.Paragraph, goesOn).slice(count) } as InPieces;
  }
}

/** Describes how a token is cut; null if it is a single part. */
export function cutOf(token: Token): Cut | null {
  if (token.type === "list") return { type: "list", isLoose: (token as Tokens.List).loose, head: "" };
  if (token.type === "paragraph") return pieces(token as Tokens.Paragraph, null).length > 1 ? { type: "paragraph", isLoose: false, head: A_WORD } : null;
  const { head, count } = linesOf(token);
  return count === 0 ? null : { type: token.type as "table" | "code", isLoose: false, head: token.raw.split(/(?<=\n)/, head).join("") };
}

/** The number of lines of a table or fenced code block, of its head, and per part. */
function linesOf(token: Token): { head: number; count: number; together: number } {
  if (token.type === "table") return { head: 2, count: (token as Tokens.Table).rows.length, together: 1 };
  if (token.type === "code" && token.codeBlockStyle !== "indented") return { head: 1, count: codeLines(token as Tokens.Code).length, together: CODE_LINES };
  return { head: 0, count: 0, together: 1 };
}

const codeLines = ({ text }: Tokens.Code) => (text ? text.split("\n") : []);

const pieces = ({ tokens }: Tokens.Paragraph, goesOn: Cut | null) => piecesOf(goesOn ? behind(tokens, goesOn.head.length) : tokens);

function sourcesOfPieces(paragraph: Tokens.Paragraph, goesOn: Cut | null): string[] {
  const sources = pieces(paragraph, goesOn).map((tokens) => tokens.map(({ raw }) => raw).join(""));
  const known = sources.slice(0, -1).join("").length + (goesOn?.head.length ?? 0);
  return [...sources.slice(0, -1), paragraph.raw.slice(known)];
}

function settledParts(known: Known[], source: string): Known[] {
  const parts = known.slice(0, -UNSETTLED_PARTS);
  return source.startsWith(parts.map((part) => part.source).join("")) ? parts : [];
}

const restOf = (source: string, parts: Known[]) => source.slice(parts.reduce((length, part) => length + part.source.length, 0));

/** The prefix that makes the parser treat the rest of a block as the same block: its head, or an item that makes a list loose. */
const headOf = ({ type, isLoose, head }: Cut, before: string) => (type === "list" && isLoose ? `${/^ *(?:[-+*]|\d+[.)])/.exec(before)?.[0]} x\n\n` : head);

const itemsOf = (list: Tokens.List, goesOn: Cut | null) => list.items.slice(goesOn?.isLoose ? 1 : 0);

function continues(token: Token | undefined, cut: Cut, rest: string): boolean {
  if (token?.type !== cut.type || (token.type === "list" && (token as Tokens.List).loose !== cut.isLoose)) return false;
  const [first] = sourcesOf(token, cut);
  return Boolean(first) && rest.startsWith(first!);
}

/** The parser is recursive, so deeply nested text can make it fail. */
function tokensOf(rest: string): Token[] & { links?: Links } {
  return unlessTooDeep(() => lexed(rest), () => [{ type: AS_WRITTEN, raw: rest }]);
}

export function unlessTooDeep<T>(make: () => T, instead: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return instead();
  }
}
