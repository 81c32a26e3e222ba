/** The pieces of a long paragraph. Text that follows a piece does not change it. */

import type { Token } from "marked";

/** Minimum characters of a piece. */
const LENGTH = 4_000;

const BLANK = /(?<=\S) (?=\S)/g;

/** Characters that open no markup: within a word, between blanks, or around words without an address. */
const INERT = /(?<=\w)_(?=\w)| \* |\[[^[\]]*\](?![(:[])/g;

/** Characters that later text may close, or that may start a table. */
const OPENS = /[*_~`[|]|<[a-z/!?]/i;

/** Cuts inline tokens at blanks where no markup is open. */
export function piecesOf(tokens: Token[]): Token[][] {
  const pieces: Token[][] = [[]];
  let [length, isOpen] = [0, false];
  for (let token of tokens) {
    for (let at; !isOpen && (at = blankIn(token, LENGTH - length)) > 0; length = 0) {
      pieces.at(-1)!.push(cutText(token, 0, at));
      token = cutText(token, at);
      pieces.push([]);
    }
    pieces.at(-1)!.push(token);
    length += token.raw.length;
    isOpen ||= mayGoOn(token);
  }
  return pieces;
}

/** Inline tokens without their first characters, which are text. */
export const behind = ([first, ...more]: Token[], length: number): Token[] => (first ? [cutText(first, length), ...more] : []);

const cutText = (token: Token, from: number, to?: number): Token => {
  const raw = token.raw.slice(from, to);
  return { ...token, raw, text: raw } as Token;
};

/** The position at which the next piece can begin, after that many characters; 0 if there is none in this token. */
function blankIn(token: Token, length: number): number {
  if (token.type !== "text" || !("text" in token) || token.text !== token.raw) return 0;
  BLANK.lastIndex = Math.max(0, length - 1);
  const at = BLANK.test(token.raw) ? BLANK.lastIndex : 0;
  return at > 0 && !opens(token.raw.slice(0, at)) ? at : 0;
}

const opens = (text: string) => OPENS.test(text.replace(INERT, ""));

function mayGoOn(token: Token): boolean {
  if ("tokens" in token && token.tokens?.length) return token.tokens.some(mayGoOn);
  return token.type === "html" || (token.type === "text" && opens(token.raw));
}
