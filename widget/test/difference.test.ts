import assert from "node:assert/strict";
import test from "node:test";

import { difference } from "../src/difference.ts";

const shown = (before: string, after: string) =>
  difference(before, after)
    ?.map(({ kind, text }) => ({ same: text, gone: `[-${text}-]`, new: `{+${text}+}` })[kind])
    .join("");

test("a difference keeps what both texts share", () => {
  assert.equal(shown("Product Manager, payments", "Head of Product, payments"), "{+Head of +}Product[- Manager-], payments");
});

test("both texts can be read back from their difference", () => {
  const words = ["a", "b", "c", "d"];
  let seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2 ** 31);
  const text = () => Array.from({ length: next() % 12 }, () => words[next() % words.length]!).join(" ");
  for (let i = 0; i < 500; i++) {
    const [before, after] = [text(), text()];
    const parts = difference(before, after)!;
    const side = (other: string) => parts.filter(({ kind }) => kind !== other).map((part) => part.text).join("");
    assert.equal(side("new"), before);
    assert.equal(side("gone"), after);
  }
});

test("texts that are too long to compare have no difference", () => {
  assert.equal(difference("a ".repeat(500), "b"), null);
});
