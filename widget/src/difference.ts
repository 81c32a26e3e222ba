/** The difference between two texts, word by word. */

const MOST_WORDS = 400; // per text; longer texts are not compared, because the cost is quadratic

export type Part = { kind: "same" | "gone" | "new"; text: string };

/** The parts of both texts in order, by their heaviest common subsequence of words; null if they are too long. */
export function difference(before: string, after: string): Part[] | null {
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  if (old.length > MOST_WORDS || fresh.length > MOST_WORDS) return null;
  const common = commonWeights(old, fresh);
  const parts: Part[] = [];
  const add = (kind: Part["kind"], text: string) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      add("same", old[i]!);
      [i, j] = [i + 1, j + 1];
    } else if (j === fresh.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!)) add("gone", old[i++]!);
    else add("new", fresh[j++]!);
  }
  return parts;
}

const wordsOf = (text: string) => text.match(/\s+|[\p{L}\p{N}]+|[^\p{L}\p{N}\s]/gu) ?? [];

/** The weight of a common word; blanks weigh little. */
const weightOf = (word: string) => (word.trim() ? 10 : 1);

/** `[i][j]`: the weight of the best common subsequence of `old` from i and `fresh` from j. */
function commonWeights(old: string[], fresh: string[]): number[][] {
  const weights = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      weights[i]![j] = old[i] === fresh[j] ? weights[i + 1]![j + 1]! + weightOf(old[i]!) : Math.max(weights[i + 1]![j]!, weights[i]![j + 1]!);
    }
  }
  return weights;
}
